"""What can be measured of weights: tasks that measure, and say how their figures are shown (see `base`).

Which tasks weights can do is theirs to say; this is the list of what there is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from seesay.errors import SeesayError
from seesay.evaluation.protocols import find_protocol
from seesay.evaluation.tasks.attention import AttentionTask
from seesay.evaluation.tasks.base import EvaluationTask, Request, abilities
from seesay.evaluation.tasks.captions import CaptionsTask
from seesay.evaluation.tasks.correspondences import CorrespondencesTask
from seesay.evaluation.tasks.explanations import ExplanationsTask
from seesay.evaluation.tasks.grounding import GroundingTask
from seesay.evaluation.tasks.identification import IdentificationTask
from seesay.evaluation.tasks.phrases import PhrasesTask
from seesay.evaluation.tasks.retrieval import RetrievalTask
from seesay.evaluation.tasks.search import SearchTask
from seesay.evaluation.tasks.trials import TrialsTask

__all__ = ["ALL", "TASKS", "EvaluationTask", "Request", "abilities", "choose_tasks", "find_task"]

TASKS: Mapping[str, EvaluationTask] = {
    task.name: task
    for task in (
        CaptionsTask(),
        RetrievalTask(),
        GroundingTask(),
        IdentificationTask(),
        PhrasesTask(),
        AttentionTask(),
        CorrespondencesTask(),
        ExplanationsTask(),
        SearchTask(),
        TrialsTask(),
    )
}
"""By name, in the order in which they are shown."""
ALL = "all"
_OF_A_CAPTIONER = ("beam", "sample", "references", "normalise", "softmax")


def find_task(name: str) -> EvaluationTask:
    """The task of a name; an unknown one is answered with the list."""
    if name not in TASKS:
        raise SeesayError(f"there is no task {name!r}", allowed=(*TASKS, ALL))
    return TASKS[name]


def choose_tasks(request: Request, asked: str | None, options: Mapping[str, Any]) -> list[EvaluationTask]:
    """What is measured, in the order in which it is shown; what the weights cannot do is refused.

    Args:
        asked: A task, `all` that the weights can do, or None for what is measured by default.
        options: What was given on the command line, by name.
    """
    name = request.weights.name
    if asked not in (None, ALL):
        task = find_task(str(asked))
        if not task.needs_model:
            return [task]
    able = abilities(request.model)
    if asked not in (None, ALL):
        tasks = [TASKS[str(asked)]]
    elif asked == ALL:
        tasks = [task for task in TASKS.values() if task.name in able]
    else:
        tasks = [task for task in TASKS.values() if task.by_default and task.name in able]
        if options.get("entities"):
            tasks.append(TASKS["grounding"])
    needed = [*tasks, *([TASKS["grounding"]] if options.get("page") else [])]
    if lacking := [task for task in needed if task.name not in able]:
        can = [task for task in TASKS if task in able]
        raise SeesayError(f"{name} {lacking[0].lack}", allowed=f"--task {', '.join(can)}", hint="seesay models")
    if others := [task.name for task in tasks if (request.engine or "torch") not in task.engines]:
        able_too = [task.name for task in TASKS.values() if request.engine in task.engines and task.name in able]
        raise SeesayError(
            f"{others[0]} is not measured with the engine {request.engine}", allowed=f"--task {', '.join(able_too)}"
        )
    if find_protocol(request.protocol).n_near and ([task.name for task in tasks], request.engine) != (
        ["retrieval"],
        "torch",
    ):
        raise SeesayError(
            f"{request.protocol} is for retrieval alone, measured with torch", allowed="--task retrieval --engine torch"
        )
    _refuse_options_of_others(name, tasks, able, options)
    return tasks


def _refuse_options_of_others(
    name: str, tasks: Sequence[EvaluationTask], able: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Refuse an option that would be without effect."""
    for option in dict.fromkeys(option for task in TASKS.values() for option in task.options):
        takers = [task.name for task in TASKS.values() if option in task.options]
        captioner = option not in _OF_A_CAPTIONER or "captions" in able
        if options.get(option) and not (captioner and any(option in task.options for task in tasks)):
            of = " of a captioner" if option in _OF_A_CAPTIONER else ""
            why = f"measures {' and '.join(task.name for task in tasks)}" if captioner else "is no captioner"
            raise SeesayError(f"--{option} is for the {' and '.join(takers)}{of}; {name} {why}", hint="seesay models")
