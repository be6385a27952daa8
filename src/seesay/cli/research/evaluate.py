"""`seesay evaluate`: measure trained weights and compare them with the papers."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli import light
from seesay.cli.options import Images, OverwriteFolder, Ray
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.evaluation.tasks.base import Request


def evaluate(
    context: typer.Context,
    data: Annotated[
        str | None, light.Option("--data", "-d", help="A captioned collection: a path, or a name in SEESAY_DATA.")
    ] = None,
    weights: Annotated[
        str | None,
        light.Argument(metavar="WEIGHTS", help="Weights by name or folder (seesay models), or 'shipped'."),
    ] = None,
    split: Annotated[str, light.Option(help="train, dev, test, or all.")] = "test",
    images: Images = None,
    task: Annotated[
        str | None,
        light.Option(
            help="captions, retrieval, grounding, identification, phrases, attention, correspondences, "
            "explanations, search, trials, or all "
            "that the weights can do. Default: captions and retrieval, as far as the weights can do them.",
        ),
    ] = None,
    protocol: Annotated[
        str,
        light.Option(
            help="full, 1k, 5-fold (five times 1,000 images, averaged), 5k, or shortlist-N (retrieval: the sentences "
            "of the N nearest images)."
        ),
    ] = "full",
    limit: Annotated[
        int | None, light.Option(min=1, max=ranges.COUNT, metavar="N", help="A quick look at N images.")
    ] = None,
    seed: Annotated[
        int | None,
        light.Option(min=0, max=ranges.SEED, help="Draw the images of a protocol at random (default: the first)."),
    ] = None,
    beam: Annotated[
        int | None,
        light.Option(
            min=1, max=ranges.BEAM, metavar="N",
            help="Captions: width of the beam; 1 is greedy, without rules on length or repetition.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        light.Option(
            min=1, max=ranges.SEED, metavar="SEED",
            help="Captions: sample every word by its probability, without rules on length or repetition.",
        ),
    ] = None,
    references: Annotated[
        str | None, light.Option(metavar="DATA", help="Captions: rerank by consensus with its training images.")
    ] = None,
    choose_on: Annotated[
        str | None,
        light.Option(metavar="SPLIT", help="Choose k and m of reranking, or an ensemble, on this split of --data."),
    ] = None,
    k: Annotated[
        int | None, light.Option("--k", min=1, max=ranges.COUNT, help="Reranking: how many similar photos count.")
    ] = None,
    m: Annotated[
        int | None, light.Option("--m", min=1, max=ranges.COUNT, help="Reranking: how many of their captions count.")
    ] = None,
    normalise: Annotated[
        str | None, light.Option(help="Retrieval by a captioner: marginal, mean-image or none.")
    ] = None,
    softmax: Annotated[
        str | None,
        light.Option(help="Retrieval by m-RNN: exact (default), or logits, which is fast and approximate."),
    ] = None,
    ensemble: Annotated[
        str | None,
        light.Option(
            metavar="NAMES", help="Evaluate an ensemble: comma-separated weights, its folder, or 'shipped'."
        ),
    ] = None,
    entities: Annotated[
        str | None, light.Option(metavar="DATA", help="Boxes of phrases, for tasks that need them: flickr30k_entities.")
    ] = None,
    page: Annotated[
        Path | None, light.Option(metavar="DIR", help="Write a web page that shows the region of each word.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        light.Option("--set", metavar="config.KEY=VALUE", help="Measure with another value of the configuration."),
    ] = None,
    ray: Ray = None,
    engine: Annotated[
        str,
        light.Option(
            metavar="torch|runtime",
            help="Measure the PyTorch model, or the ONNX graphs that the commands for photos use.",
        ),
    ] = "torch",
    paper: Annotated[
        str | None,
        light.Option(
            metavar="NAME",
            help="Print the tables and claims of a paper with our figures: mrnn, hmlstm, dvsa, smlstm, identifier.",
        ),
    ] = None,
    measure: Annotated[bool, light.Option("--measure", help="With --paper: measure its claims again first.")] = False,
    where: Annotated[
        str | None,
        light.Option(metavar="PLACE", help="With --paper: only this part of it, such as 'Table 2' or 'Figure 3'."),
    ] = None,
    records: Annotated[
        Path | None,
        light.Option(metavar="DIR", help="With --paper: the folder of results. Default: that of the source tree."),
    ] = None,
    output: Annotated[
        Path | None,
        light.Option(
            "--output", "-o", metavar="DIR",
            help="Folder of the report and the plots. Default: seesay-report/WEIGHTS-DATA-SPLIT; with --json, none.",
        ),
    ] = None,
    overwrite: OverwriteFolder = False,
    record: Annotated[bool, light.Option("--record", help="Keep the figures with the weights, in their card.")] = False,
    as_json: Annotated[bool, light.Option("--json", help="Print the report as JSON, and nothing else.")] = False,
) -> None:  # fmt: skip
    """Measure how well weights find sentences for images and images for sentences, write captions, and find regions.

    Prints the papers' results on the same data, with ours below. Writes report.json, report.md and the files of a task:
    recall.png, ranks.png, captions.json or reliability.png. Missing features are computed first; with stored features a
    joint embedding takes seconds. A captioner takes many minutes to score all pairs; --limit 100 gives a quick look.
    `seesay evaluate shipped --task search` measures the ranking of `seesay search`; without --task, `shipped` is the
    ensemble that ships. --page writes a web page, for models with regions. --paper compares each table, figure and
    claim of a paper with the recorded results.

    \b
    Examples:
        seesay evaluate vse -d flickr8k
        seesay evaluate mrnn -d flickr8k --task captions --references flickr8k
        seesay evaluate --ensemble shipped -d flickr8k --json
        seesay evaluate --paper smlstm
    """
    if paper is not None:
        from seesay.cli.research.papers import show_paper

        show_paper(dict(context.params))
        return

    from seesay import data as collections
    from seesay.catalogue.ensembles import find_ensemble
    from seesay.cli.ensembles import evaluate_together, name_members
    from seesay.cli.progress import progress_bar
    from seesay.cli.reporting import finish
    from seesay.cli.research.checks import (
        SHIPPED,
        read_changes,
        refuse_contradictions,
        require_data,
        require_weights,
        what_ships,
    )
    from seesay.engines import ENGINES
    from seesay.errors import SeesayError
    from seesay.evaluation.ensembles import describe_ensemble
    from seesay.evaluation.protocols import find_protocol
    from seesay.evaluation.report import build_report, figures_to_record
    from seesay.evaluation.tasks import TASKS, choose_tasks
    from seesay.evaluation.tasks.base import Request, abilities
    from seesay.models import pretrained
    from seesay.system.results import check_result_folder

    command = _command_line(context)
    if weights == SHIPPED:
        weights, ensemble, task = what_ships(task, ensemble)
    options = {**context.params, "ensemble": ensemble, "task": task}
    refuse_contradictions(options)
    if engine not in ENGINES:
        raise SeesayError(f"there is no engine {engine!r}", allowed=ENGINES)
    wanted = find_protocol(f"limit-{limit}" if limit else protocol).name
    together = name_members(weights, ensemble) if ensemble is not None else None
    kept_with = find_ensemble(str(ensemble)) if together is not None and record else None
    if together is not None:
        weights = together[0] if isinstance(together, list) else together.members[0].name
    about = pretrained.find(require_weights(weights))
    whole = collections.load(require_data(data), images=images)
    collection = whole if split == "all" else whole.split(split)
    dev = whole.split(choose_on) if choose_on else None
    others = collections.load(references) if references else None
    folder = output
    if folder is None and not as_json:
        folder = Path("seesay-report") / f"{about.name}-{collection.name}-{split}"
    for place, holds in ((folder, ("report.json", "report.md")), (page, ("index.html", "alignments.js"))):
        if place is not None:
            check_result_folder(place, holds=holds, overwrite=overwrite)
    if together is not None:
        chosen, found = evaluate_together(together, whole, collection, wanted, options)
        report = build_report([found], about, collection, split, command=command)
        if kept_with is not None:
            pretrained.record_figures(kept_with.folder, *figures_to_record(report, kept_with.figures))
        finish(report | {"model": describe_ensemble(chosen)}, [TASKS["retrieval"]], [found], folder, as_json)
        if folder is not None:
            chosen.write(folder / "ensemble")
        return
    bar = partial(progress_bar, quiet=as_json)
    request = Request(
        about, collection, split, wanted, seed, read_changes(changes), entities, others, dev, beam, k, m, normalise,
        softmax, ray, bar, engine, sample,
    )  # fmt: skip
    tasks = choose_tasks(request, task, options)
    # Everything about a captioner takes long enough for a bar of its own.
    if any(each.needs_model for each in tasks) and "captions" in abilities(request.model):
        with bar(f"features of {collection.name}", "photos") as on_progress:
            request.evaluation_set(on_progress).read(request.answers)
    evaluations = [found for each in tasks for found in each.measure(request)]
    if page is not None:
        _write_page(request, page)
    how = {key: value for each in tasks for key, value in each.describe(request).items()}
    report = build_report(evaluations, about, collection, split, how=how, command=command)
    if changes:
        report["model"]["set"] = changes
    if engine != "torch":
        report["model"]["engine"] = engine
    if record:
        pretrained.record_figures(about.folder, *figures_to_record(report, about.figures))
    finish(report, tasks, evaluations, folder, as_json)


# Options that say where figures go, and not which.
_NOT_MEASURED = ("output", "overwrite", "record", "page", "as_json", "measure")


def _write_page(request: "Request", page: Path) -> None:
    from seesay.evaluation.page import write_page

    model: Any = request.model
    with request.bar(f"page of {request.collection.name}", "photos") as on_progress:
        write_page(model, request.measured(), page, on_progress=on_progress)
    light.echo(f"open {page / 'index.html'}", err=True)


def _command_line(context: typer.Context) -> str:
    """What measures the same again, whatever program called this."""
    given = context.params
    words = ["seesay", "evaluate", *([given["weights"]] if given["weights"] else [])]
    for parameter in context.command.params:
        name = str(parameter.name)
        value = given.get(name)
        is_default = value is False or (not value and value != 0) or (name, value) == ("engine", "torch")
        if is_default or name in ("weights", *_NOT_MEASURED) or (name == "protocol" and given["limit"]):
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [parameter.opts[0], str(each)]
    return shlex.join(words)
