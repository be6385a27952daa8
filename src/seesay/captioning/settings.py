"""How captions are written."""

from dataclasses import dataclass, fields, replace
from typing import cast, get_args

from seesay.captioning.consensus import PAPER_K_M, Metric
from seesay.catalogue.weights import Trained, tuned_table
from seesay.errors import SeesayError
from seesay.system import ranges
from seesay.system.tables import read_table


@dataclass(frozen=True)
class Settings:
    """How captions are written; what dev has chosen for weights is the table `captioning` of their config.json.

    Attributes:
        beam: Width of the beam where captions are not reranked.
        candidates: Width of the beam, and sentences of it, where they are, by consensus or by a matcher.
        length_power: See `seesay.captioning.beam.beam`.
        min_length: Words without which a sentence does not end.
        max_length: Words at which a sentence is cut.
        no_repeat: No run of so many words is said twice; 0 allows everything.
        metric: Similarity of sentences in reranking: `cider` or `bleu`.
        k: Neighbours whose captions count.
        m: Captions, the most similar ones, that the mean is over; 0 takes the paper's number for the metric.
    """

    beam: int = 10
    candidates: int = 10
    length_power: float = 0.0
    min_length: int = 1
    max_length: int = 30
    no_repeat: int = 0
    metric: str = "cider"
    k: int = 60
    m: int = 0

    def __post_init__(self) -> None:
        if self.metric not in get_args(Metric):
            raise SeesayError(f"there is no similarity {self.metric!r}", allowed=get_args(Metric))
        for key in ("beam", "candidates", "min_length", "max_length", "k"):
            if getattr(self, key) < 1:
                raise SeesayError(f"{key} is {getattr(self, key)}", allowed="1 or more")
            most = ranges.LENGTH if key.endswith("length") else ranges.COUNT if key == "k" else ranges.BEAM
            if getattr(self, key) > most:
                raise SeesayError(f"{key} is {getattr(self, key)}", allowed=f"up to {most:,}")
        if self.m == 0:
            object.__setattr__(self, "m", PAPER_K_M[cast(Metric, self.metric)][1])

    @classmethod
    def of(cls, model: Trained, **changes: object) -> "Settings":
        """Those of a model's weights, but for the changes that are not None.

        Example:
            >>> Settings.of(Model("mrnn-flickr8k"), beam=3, metric=None).beam  # doctest: +SKIP
            3
        """
        table = tuned_table(model.weights, "captioning") if model.weights else None
        origin = str(model.weights.folder / "config.json") if model.weights else "captioning"
        own = read_table(cls, table or {}, origin, "captioning.")
        given = {key: value for key, value in changes.items() if value is not None}
        if unknown := given.keys() - {field.name for field in fields(cls)}:
            raise SeesayError(f"there is no setting {min(unknown)!r}", allowed=[field.name for field in fields(cls)])
        if given.get("metric", own.metric) != own.metric:
            given = {"m": 0, **given}  # a number of captions was chosen for one similarity only
        return replace(own, **given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sampling:
    """Draw captions instead of searching for the best (`seesay.captioning.decoding.sample`)."""

    temperature: float = 1.0
    top_k: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        least, most = ranges.TEMPERATURE
        if not least <= self.temperature <= most:
            raise SeesayError(f"the temperature is {self.temperature}", allowed=f"{least} to {most:g}")
        if not (0 <= self.top_k <= ranges.COUNT and 0 <= self.seed <= ranges.SEED):
            raise SeesayError(
                f"top_k is {self.top_k}, the seed {self.seed}", allowed=f"up to {ranges.COUNT:,} and {ranges.SEED:,}"
            )
