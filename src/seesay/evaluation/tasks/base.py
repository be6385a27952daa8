"""An evaluation task: it measures weights, and says how its figures are shown next to those of the papers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from seesay.data import Collection, entities, locate
from seesay.engines import answering, open_model
from seesay.evaluation.protocols import EvaluationSet, Protocol, find_protocol
from seesay.evaluation.report import Measured, Report
from seesay.models.base import Matcher, Weights
from seesay.models.pretrained import load
from seesay.runtime.protocol import Answering
from seesay.system.progress import Progress

Bar = Callable[[str, str], AbstractContextManager[Progress | None]]
"""Shows how far something is: from its title and what is counted to what is called with how much is done."""


def no_bar(title: str, unit: str = "photos") -> AbstractContextManager[Progress | None]:
    """Shows nothing."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its figures in a report, its heading, and how our figure is written."""

    key: str
    heading: str
    form: str = ".1f"


Columns = Mapping[str, tuple[Column, ...]]
"""Group of columns → columns."""


@dataclass(frozen=True)
class Request:
    """Weights, the images to measure them on, and how.

    Attributes:
        weights: Which.
        collection: One split of a collection.
        split: Its name.
        protocol: One of `seesay.evaluation.protocols.PROTOCOLS`.
        seed: Draws the images of a protocol at random; None takes them in their order.
        changes: Values of the weights' configuration that are to be others, as in `bag_score=0.5`.
        entities: The collection that has boxes of phrases.
        references: Captions: images whose captions rerank.
        dev: Captions: the split on which k and m are chosen.
        beam, k, m: Captions: as given, else as the weights say.
        sample: Captions: the seed by which they are drawn at random; None searches for the best.
        normalise: Retrieval by likelihoods: how they are normalised.
        softmax: Retrieval by likelihoods: whether words' probabilities are exact (`seesay.models.mrnn.SOFTMAXES`).
        ray: The cluster that compares pairs.
        engine: What computes: `torch`, or `runtime` for graphs.
        bar: Shows how far a part is.
    """

    weights: Weights
    collection: Collection
    split: str
    protocol: str = "full"
    seed: int | None = None
    changes: Sequence[str] = ()
    entities: str | None = None
    references: Collection | None = None
    dev: Collection | None = None
    beam: int | None = None
    k: int | None = None
    m: int | None = None
    normalise: str | None = None
    softmax: str | None = None
    ray: str | None = None
    bar: Bar = no_bar
    engine: str = "torch"
    sample: int | None = None

    @cached_property
    def answers(self) -> Answering:
        """The weights as they answer by the engine that is measured."""
        return open_model(self.weights.folder, self.engine) if self.engine != "torch" else answering(self.model)

    @cached_property
    def model(self) -> Matcher:
        """The weights, ready to use."""
        return load(self.weights.folder, changes=self.changes)

    def evaluation_set(self, on_progress: Progress | None = None) -> EvaluationSet:
        """What the model is measured on."""
        return EvaluationSet(self.collection, self.protocol, self.seed, on_progress=on_progress)

    def measured(self) -> Collection:
        """The images that the protocol takes."""
        return self.evaluation_set().take()

    def attach_boxes(self, collection: Collection) -> Collection:
        """Images with the boxes of their phrases."""
        return entities.attach(collection, locate(self.entities or "flickr30k_entities"))

    def part(self, task: str, collection: Collection, part: dict[str, Any], **seconds: float) -> "Part":
        """What a task measured of some images, as a part of a report."""
        counts = len(collection), len(collection.sentences)
        return Part(task, part, find_protocol(self.protocol), self.seed, *counts, seconds)


@dataclass(frozen=True)
class Part:
    """What a task measured, for tasks whose figures need no class of their own.

    Attributes:
        task: Its name.
        figures: Its part of a report.
        n_images: Images that were measured on.
        n_sentences: Their sentences.
        seconds: How long the parts took.
    """

    task: str
    figures: dict[str, Any]
    protocol: Protocol
    seed: int | None
    n_images: int
    n_sentences: int
    seconds: dict[str, float] = field(default_factory=dict)

    def to_report(self) -> dict[str, Any]:
        """The part of a report that this is."""
        return {self.task: self.figures}


def abilities(model: Matcher) -> tuple[str, ...]:
    """Names of the tasks that a model can be measured in.

    Beside those that it names, every model can identify, and one with an explainer can be measured by its explanations.
    """
    named = dict.fromkeys((*model.tasks, "identification", *(["explanations"] if model.explainers else [])))
    return tuple(name for name in named if name not in ("retrieval", "phrases") or model.can_score)


def round_all(part: Any, digits: int = 4) -> Any:
    """A table with its numbers rounded, as a report keeps them.

    Example:
        >>> round_all({"pointing": 33.33333333, "n": 3, "steps": [0.12345678]})
        {'pointing': 33.3333, 'n': 3, 'steps': [0.1235]}
    """
    if isinstance(part, Mapping):
        return {key: round_all(value, digits) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [round_all(value, digits) for value in part]
    return round(part, digits) if isinstance(part, float) else part


class EvaluationTask(ABC):
    """One thing that can be measured of weights.

    Attributes:
        name: What `--task` takes; its part of a report has the same name.
        columns: Of the table that shows it.
        lack: What is said of weights that cannot do it.
        by_default: Whether it is measured where no task is asked for.
        needs_model: Whether the weights themselves have to be able to do it.
        options: Options of the request that are for this task alone.
        engines: Which can be measured (`seesay.engines.ENGINES`).
    """

    name: ClassVar[str]
    columns: ClassVar[Columns]
    lack: ClassVar[str] = ""
    by_default: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ()
    engines: ClassVar[tuple[str, ...]] = ("torch",)

    @abstractmethod
    def measure(self, request: Request) -> list[Measured]:
        """Measure, and give what `seesay.evaluation.report.build_report` takes."""

    def rows(self, report: Report) -> list[tuple[str, Mapping[str, Any]]]:
        """The name and the figures of each row of ours: one, unless a task has baselines."""
        return [(report["model"]["name"], report[self.name])]

    def remarks(self, report: Report) -> list[str]:
        """What a reader has to know of the figures."""
        return []

    def describe(self, request: Request) -> dict[str, Any]:
        """What the `protocol` of a report says beside which images were measured."""
        return {}

    def write_files(self, evaluations: Sequence[Measured], title: str, folder: Path) -> None:  # noqa: B027 (optional)
        """Write what belongs to a report and is no figure, such as plots; evaluations of other tasks are left out."""
