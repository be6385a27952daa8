"""Learning tasks: what the training loop and a run ask of them, and their registry.

A model names its learning task (`Matcher.learning_task`); the task registers itself under that name:

    @register_task("ranking")
    class RankingTask(SourceTask[Matcher]): ...

Another package brings a task by registering it in the module of its model, or by an entry point of the group
`seesay.tasks`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from torch import Tensor, distributed, nn

from seesay.data.examples import Examples
from seesay.models.base import Matcher
from seesay.system.registry import Registry
from seesay.training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss to go downhill on, and what to write in the log.

    Args:
        total: Scalar whose gradients, summed over the processes, are those of the whole batch's loss.
        logs: Figures for the log; `loss` is the value for the whole batch in every process.
    """

    total: Tensor
    logs: dict[str, float]

    @classmethod
    def of_whole_batch(cls, value: Tensor, world: int, **logs: float) -> "Loss":
        """From the loss of the whole batch, which every process has computed (see `gather_with_own_gradient`)."""
        return cls(value / world, {"loss": float(value.detach()), **logs})

    @classmethod
    def of_own_part(cls, part: Tensor, world: int, **logs: float) -> "Loss":
        """From this process's part of a loss that is a sum of parts."""
        whole = part.detach().clone()
        if world > 1:
            distributed.all_reduce(whole)
        return cls(part, {"loss": float(whole), **logs})


class Trainable(Protocol):
    """What the loop asks: a model, its batches, their loss, dev figures.

    Batches are functions of (epoch, index), so that a run can be resumed anywhere.

    Attributes:
        evaluates_together: Whether all processes take part in an evaluation; else the first measures alone.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from seesay.training.loop import train
        >>> from seesay.training.recipe import DataRecipe, DevRecipe, OptimiserRecipe, Recipe, SourceRecipe, StopRecipe
        >>> class Halving:
        ...     evaluates_together = False
        ...     model = nn.Linear(1, 1, bias=False)
        ...     def n_batches(self, epoch): return 20
        ...     def batch(self, epoch, index): return float(index % 3)
        ...     def loss(self, batch, rank, world):
        ...         return Loss.of_whole_batch((self.model.weight * batch - batch / 2).square().sum(), world)
        ...     def evaluate(self): return {"error": abs(self.model.weight.item() - 0.5)}
        >>> recipe = Recipe(
        ...     name="halving",
        ...     model="line",
        ...     data=DataRecipe(train=(SourceRecipe("numbers"),), dev=DevRecipe("numbers")),
        ...     stop=StopRecipe(epochs=2, metric="error", mode="min"),
        ...     optimiser=OptimiserRecipe(name="sgd", rate=0.1),
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = train(Halving(), recipe, Path(folder))
        >>> result.steps, result.best["error"] < 1e-4
        (40, True)
    """

    evaluates_together: bool = False

    @property
    def model(self) -> nn.Module:
        """What is being learned."""

    def n_batches(self, epoch: int) -> int:
        """How many batches an epoch (from 0) has."""

    def batch(self, epoch: int, index: int) -> Any:
        """The description of a whole batch, the same in every process."""

    def loss(self, batch: Any, rank: int, world: int) -> Loss:
        """This process's share of the loss of a batch."""

    def evaluate(self) -> dict[str, float]:
        """Dev figures of the model as it stands."""


class Task(Trainable, Protocol):
    """What a whole run asks: from a model, collections and a recipe to finished weights.

    Attributes:
        name: In the registry, which sets it.
        recipe: What is run.
        sources: The collections that are learned from.
        dev: The collection that is measured on.
    """

    name: ClassVar[str]
    recipe: Recipe
    sources: list[Examples]
    dev: Examples

    def __init__(self, model: Any, sources: Sequence[Examples], dev: Examples, recipe: Recipe) -> None: ...

    @property
    def model(self) -> Matcher:
        """What is being learned."""

    def finalize(self) -> None:
        """Complete the model once its best weights are known and before they are saved."""

    def save_extras(self, folder: Path) -> None:
        """Write what goes into the weights folder besides the weights."""

    def measure(self, model: Matcher) -> dict[str, Any]:
        """The figures of saved weights on dev, for their config.json and card."""


class MoreDev(ABC):
    """Of a learning task that is measured on several dev sets, where the mean over all of them decides.

    Attributes:
        more_dev: Those after the first; the run sets them.
    """

    more_dev: Sequence[Examples] = ()

    @abstractmethod
    def measure_on(self, model: Matcher, dev: Examples) -> dict[str, Any]:
        """The figures of saved weights on one of them."""


_REGISTRY: Registry[type[Task]] = Registry("learning task", "seesay.training", "register_task", "seesay.tasks")

register_task = _REGISTRY.register
"""Makes a class a learning task, which models call by the name that is given."""


def task_class(name: str) -> type[Task]:
    """The class of a learning task; an unknown name is answered with those that are installed."""
    return _REGISTRY.find(name)
