"""What a model family says about itself, on its class: nothing elsewhere asks for a model's name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from seesay.text.tokenizer import Tokenizer
from seesay.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

    from seesay.images.features import FeatureSpec

LATER_STAGES = ("regions", "captions")
"""Stages of search that rerank what the first one found."""


class Declared:
    """The attributes, with what holds for most models.

    Attributes:
        family: Its name in the registry, which sets it.
        config_type: The frozen dataclass of its configuration.
        tokenizer_type: How it reads sentences: as whole words, or as `seesay.text.subwords.Subwords`.
        learning_task: How it is learned (`seesay.training.task.register_task`).
        tasks: What can be measured: retrieval, captions, grounding, identification, phrases, attention,
            correspondences.
        measured_by: The command that measures the figures of its card again.
        paper: The tables of its paper: a name in `seesay.evaluation.replication`, or the path of such a file, which
            a model of another package brings along.
        weak_points: What it is bad at, for the card.
        starting_point: What the card says of the published weights that it starts from.
        explainers: The names of its explainers; the first is the default.
        stage: Which stage of search it can be: `first` (one vector an image), `regions` or `captions`.
        tuning: Steps of `seesay tune` besides those of every embedding and every stage of search.
        starts_from: Keys of its configuration that name weights to start from, and the family they have to be of.
        n_dev_images: Dev images used for validation during training (0: all), for models that take minutes for all.
        is_embedding: Whether images and sentences are single vectors, and a score is their inner product.
        normalisations: By what its scores can be divided, the usual way first; none where there is nothing to choose.
        softmaxes: How its scores can sum over words, the usual way first; none where there is nothing to choose.
        graph_kinds: The graphs that its use needs besides that of images (`seesay.export.graphs.KINDS`).
        in_half: Whether its weights are saved in half precision; published ones are kept as they are.
    """

    family: ClassVar[str]
    config_type: ClassVar[type[Any]]
    tokenizer_type: ClassVar[type[Tokenizer]] = Vocabulary
    learning_task: ClassVar[str] = "ranking"
    tasks: ClassVar[tuple[str, ...]] = ("retrieval",)
    measured_by: ClassVar[str] = "seesay evaluate {name} --data DATA --split SPLIT"
    paper: ClassVar[str | Path] = ""
    weak_points: ClassVar[tuple[str, ...]] = ()
    starting_point: ClassVar[str] = ""
    explainers: ClassVar[tuple[str, ...]] = ()
    stage: ClassVar[str | None] = None
    tuning: ClassVar[tuple[str, ...]] = ()
    starts_from: ClassVar[Mapping[str, str]] = {}
    n_dev_images: ClassVar[int] = 0
    is_embedding: ClassVar[bool] = False
    normalisations: ClassVar[tuple[str, ...]] = ()
    softmaxes: ClassVar[tuple[str, ...]] = ()
    graph_kinds: ClassVar[tuple[str, ...]] = ("texts", "score")
    in_half: ClassVar[bool] = True

    @classmethod
    def tuning_steps(cls) -> set[str]:
        """The steps of `seesay tune` that make sense for weights of this family."""
        first = ("hubness", "calibration", "choice", "tags") if cls.is_embedding else ()
        later = ("cascade", "calibration") if cls.stage in LATER_STAGES else ()
        return {*first, *later, *cls.tuning}

    @classmethod
    def task_for(cls, config: Any) -> str:
        """How a model of this configuration is learned."""
        return cls.learning_task

    @classmethod
    def earlier_data(cls, config: Any) -> Sequence[Mapping[str, Any]]:
        """The training data of the weights that a model of this configuration goes on from, where that counts."""
        return ()

    @property
    def can_score(self) -> bool:
        """Whether `score` has an answer, which a language model without images has not."""
        return True

    @property
    def weighs_regions(self) -> bool:
        """Whether the length of a region's vector was learned: the longer, the more there is to say about it."""
        return False

    @property
    def without_graphs(self) -> dict[str, str]:
        """What no graph answers for a model of this configuration, and why."""
        why = "the image is read before the words: there is nothing to keep"
        return {} if self.can_score else dict.fromkeys(("texts", "score"), why)

    @property
    def stage_options(self) -> dict[str, Any]:
        """What `score` is told where it is a stage of search."""
        return {}

    @property
    def pooled_spec(self) -> "FeatureSpec | None":
        """The network of other models whose vectors it can take for its own (`encode_pooled`); for most, none."""
        return None

    def encode_pooled(self, pooled: "Tensor") -> "Tensor":
        """What `encode_images` gives, from vectors of the network `pooled_spec`: (n, …)."""
        raise NotImplementedError

    @classmethod
    def outputs_for(cls, config: Any) -> tuple[str, ...]:
        """Which features a model of this configuration needs of an image."""
        return ("pooled",)

    @classmethod
    def tokenizer_for(cls, config: Any) -> Tokenizer | None:
        """The tokenizer of a model of this configuration where it is not made from the training sentences."""
        return None

    def save_extras(self, folder: Path) -> None:
        """Write what goes into a weights folder besides what its learning task writes; for most, nothing."""

    @classmethod
    def tokenizer_from(cls, config: Any, sentences: Sequence[str]) -> Tokenizer | None:
        """The tokenizer of a model of this configuration where it is learned, and not a list of frequent words."""
        return None

    @classmethod
    def view_dim_for(cls, config: Any) -> int:
        """The width of what search keeps of an image (`Matcher.view`) for a model of this configuration."""
        return int(config.dim)
