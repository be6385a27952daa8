"""`seesay evaluate`: measure trained weights and put them beside the papers."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from seesay.data import Collection
    from seesay.evaluation.captions import CaptionEvaluation
    from seesay.evaluation.grounding import GroundingEvaluation
    from seesay.evaluation.protocols import Evaluation
    from seesay.evaluation.report import Measured
    from seesay.evaluation.reranking import RerankingEvaluation
    from seesay.models.base import Captioner, Matcher

TASKS = ("captions", "retrieval", "grounding")


def evaluate(
    context: typer.Context,
    data: Annotated[str, typer.Option("--data", "-d", help="A collection: a path or a name under SEESAY_DATA.")],
    weights: Annotated[
        str | None,
        typer.Argument(metavar="WEIGHTS", help="Weights by name or folder (seesay models); not needed by --ensemble."),
    ] = None,
    split: Annotated[str, typer.Option(help="train, dev, test, or all.")] = "test",
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the pictures, where they lie elsewhere.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="captions, retrieval, grounding or all. Default: all that the weights can do.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="full, 1k, 5-fold (five times 1,000 images, averaged) or 5k.")
    ] = "full",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="A quick look at N images instead of a protocol.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the images of a protocol at random; else the first are taken.")
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Captions: width of the beam, 1 for greedy.")
    ] = None,
    references: Annotated[
        str | None, typer.Option(metavar="DATA", help="Captions: rerank by consensus with its training images.")
    ] = None,
    choose_on: Annotated[
        str | None,
        typer.Option(metavar="SPLIT", help="Choose k and m of reranking, or an ensemble, on this split of --data."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="Reranking: neighbours whose captions count.")] = None,
    m: Annotated[int | None, typer.Option("--m", min=1, help="Reranking: captions that the mean is over.")] = None,
    normalise: Annotated[
        str | None, typer.Option(help="Retrieval by a captioner: marginal, mean-image or none.")
    ] = None,
    ensemble: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Evaluate an ensemble: comma-separated weights, its folder, or shipped."),
    ] = None,
    entities: Annotated[
        str | None, typer.Option(metavar="DATA", help="Grounding: boxes of phrases, such as flickr30k_entities.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a page on which words light their regions.")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="local|auto", help="Compare all pairs on a Ray cluster: one here, or any.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR",
            help="Where the report and the plots go: seesay-report/WEIGHTS-DATA-SPLIT, or with --json nowhere.",
        ),
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Keep the figures with the weights, in their card.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")] = False,
) -> None:  # fmt: skip
    """Measure how well weights find sentences for images and images for sentences, write captions, and find places.

    Prints the papers' own rows for the same data with ours underneath, and writes report.json, report.md, recall.png,
    ranks.png and captions.json. Features are computed where they are not stored yet; with stored ones a joint embedding
    takes seconds. A captioner's likelihoods of all pairs take many minutes: --limit 100 is a quick look. Weights that
    know regions can also be asked where phrases are (--entities) and leave a page to browse (--page).
    """
    from seesay import data as collections
    from seesay.cli.ensembles import evaluate_together, name_members
    from seesay.cli.progress import progress_bar
    from seesay.cli.reporting import finish, require_writable
    from seesay.evaluation.ensembles import describe_ensemble
    from seesay.evaluation.protocols import find_protocol, read_measured
    from seesay.evaluation.report import build_report, figures_to_record
    from seesay.models import pretrained
    from seesay.models.base import Captioner

    names = [parameter.name for parameter in context.command.params if parameter.name not in _NOT_MEASURED]
    options = {name: context.params[name] for name in names if name in context.params}
    _refuse_contradictions({**options, "record": record, "page": page})
    wanted = find_protocol(f"limit-{limit}" if limit else protocol).name
    together = name_members(weights, ensemble) if ensemble is not None else None
    if together is not None:
        weights = together[0] if isinstance(together, list) else together.members[0].name
    about = pretrained.find(_require_weights(weights))
    whole = collections.load(data, images=images)
    collection = whole if split == "all" else whole.split(split)
    dev = whole.split(choose_on) if choose_on else None
    others = collections.load(references) if references else None
    folder = output
    if folder is None and not as_json:
        folder = Path("seesay-report") / f"{about.name}-{collection.name}-{split}"
    for place in (folder, page):
        if place is not None:
            require_writable(place)
    if together is not None:
        chosen, found = evaluate_together(together, whole, collection, wanted, options)
        report = build_report([found], about, collection, split, command=_command_line(options))
        finish(report | {"model": describe_ensemble(chosen)}, ["retrieval"], [found], folder, as_json)
        if folder is not None:
            chosen.write(folder / "ensemble")
        return
    model = pretrained.load(about.folder)
    tasks = _choose_tasks(model, about.name, {**options, "page": page})
    if isinstance(model, Captioner):  # of which everything takes long enough for a bar of its own
        with progress_bar(f"features of {collection.name}", quiet=as_json) as on_progress:
            read_measured(model, collection, find_protocol(wanted), seed=seed, on_progress=on_progress)
    evaluations: list[Measured] = []
    if "captions" in tasks:
        evaluations += _measure_captions(model, collection, wanted, others, dev, options)
    if "retrieval" in tasks:
        evaluations.append(_measure_retrieval(model, collection, wanted, options))
    if "grounding" in tasks:
        evaluations.append(_measure_grounding(model, collection, wanted, options))
    if page is not None:
        _write_page(model, collection, wanted, page, options)
    by_likelihood = _normalisation(model, normalise) if "retrieval" in tasks else None
    report = build_report(
        evaluations, about, collection, split, normalise=by_likelihood, command=_command_line(options)
    )
    if record:
        pretrained.record_figures(about.folder, *figures_to_record(report, about.figures))
    finish(report, tasks, evaluations, folder, as_json)


_NOT_MEASURED = ("output", "record", "page")  # options that say where figures go, and not which
_NOT_TOGETHER = ("task", "beam", "references", "normalise", "entities", "page", "record")  # for single weights


def _require_weights(weights: str | None) -> str:
    from seesay.errors import SeesayError

    if weights is None:
        raise SeesayError("there are no weights to measure", hint="seesay evaluate vse --data flickr8k")
    return weights


def _refuse_contradictions(options: dict[str, Any]) -> None:
    from seesay.errors import SeesayError
    from seesay.models.base import NORMALISATIONS

    if options["limit"] and options["protocol"] != "full":
        raise SeesayError("--limit and --protocol both say which images are measured", allowed="one of them")
    if options["choose_on"] and (options["k"] or options["m"]):
        raise SeesayError("k and m are either given or chosen", allowed="--choose-on SPLIT, or --k N and --m N")
    if options["ensemble"] and (asked := [name for name in _NOT_TOGETHER if options[name]]):
        raise SeesayError(f"--{asked[0]} is for single weights", allowed="--ensemble with --split, --protocol, --seed")
    alone = ("k", "m") if options["ensemble"] else ("choose_on", "k", "m")
    if not options["references"] and (asked := [name for name in alone if options[name]]):
        raise SeesayError(
            f"--{asked[0].replace('_', '-')} is for reranking, which needs captioned pictures",
            hint="--references DATA",
        )
    if options["normalise"] not in (None, *NORMALISATIONS):
        raise SeesayError(f"there is no normalisation {options['normalise']!r}", allowed=NORMALISATIONS)


def _choose_tasks(model: "Matcher", name: str, options: dict[str, Any]) -> list[str]:
    """What is measured, in the order in which it is shown; what the weights cannot do is refused."""
    from seesay.errors import SeesayError
    from seesay.models.aligner import Aligner
    from seesay.models.base import Captioner

    can = {
        "captions": isinstance(model, Captioner),
        "retrieval": model.can_score,
        "grounding": isinstance(model, Aligner),
    }
    asked = options["task"]
    if asked not in (None, "all", *TASKS):
        raise SeesayError(f"there is no task {asked!r}", allowed=(*TASKS, "all"))
    # Without boxes nothing can be said about places, so they are only looked for where somebody asks.
    able = [task for task in TASKS if can[task] and (task != "grounding" or asked or options["entities"])]
    tasks = [asked] if asked in TASKS else able
    if "captions" in tasks and not can["captions"]:
        raise SeesayError(f"{name} matches pictures and sentences and writes no captions", allowed="--task retrieval")
    if not can["grounding"] and ("grounding" in tasks or options["entities"] or options["page"]):
        raise SeesayError(f"{name} finds no regions", allowed="weights that do, such as dvsa", hint="seesay models")
    for option, needed in (("beam", "captions"), ("references", "captions"), ("normalise", "retrieval")):
        if options[option] and not (isinstance(model, Captioner) and needed in tasks):
            why = f"measures {' and '.join(tasks)}" if isinstance(model, Captioner) else "is no captioner"
            raise SeesayError(f"--{option} is for the {needed} of a captioner; {name} {why}", hint="seesay models")
    return tasks


def _measure_captions(
    model: Any,
    collection: "Collection",
    protocol: str,
    references: "Collection | None",
    dev: "Collection | None",
    options: dict[str, Any],
) -> "list[CaptionEvaluation | RerankingEvaluation]":
    from seesay.captioning.settings import Settings
    from seesay.cli.progress import progress_bar
    from seesay.evaluation.captions import evaluate_captions, training_sentences
    from seesay.evaluation.reranking import evaluate_reranking, given_settings
    from seesay.system.cluster import spreading

    captioner: Captioner = model
    settings = Settings.of(captioner, beam=options["beam"])
    training = training_sentences(captioner.weights) if captioner.weights else None
    quiet, seed = options["as_json"], options["seed"]
    found: list[CaptionEvaluation | RerankingEvaluation] = []
    with progress_bar(f"captions of {collection.name}", quiet=quiet) as on_progress:
        found.append(
            evaluate_captions(
                captioner, collection, protocol, seed=seed, settings=settings, training=training,
                on_progress=on_progress,
            )
        )  # fmt: skip
    if references is not None:
        title = f"hypotheses for {collection.name}"
        with spreading(options["ray"]) as spread, progress_bar(title, quiet=quiet) as on_progress:
            found.append(
                evaluate_reranking(
                    captioner, collection, references, protocol, seed=seed, settings=settings, dev=dev,
                    k_m=given_settings(settings, options["k"], options["m"]), spread=spread, on_progress=on_progress,
                )
            )  # fmt: skip
    return found


def _measure_retrieval(
    model: "Matcher", collection: "Collection", protocol: str, options: dict[str, Any]
) -> "Evaluation":
    from seesay.cli.progress import progress_bar
    from seesay.evaluation.protocols import evaluate_retrieval
    from seesay.system.cluster import spreading

    quiet, seed, way = options["as_json"], options["seed"], _normalisation(model, options["normalise"])
    if way is None:
        title = f"features of {collection.name}"
        with spreading(options["ray"]) as spread, progress_bar(title, quiet=quiet) as on_progress:
            return evaluate_retrieval(model, collection, protocol, seed=seed, spread=spread, on_progress=on_progress)
    captioner: Any = model
    if options["ray"]:  # whose workers have no bar to show
        with spreading(options["ray"]) as spread:
            score = partial(captioner.score, normalise=way)
            return evaluate_retrieval(model, collection, protocol, seed=seed, score=score, spread=spread)
    with progress_bar(f"likelihoods of {collection.name}", "words", quiet=quiet) as on_progress:
        score = partial(captioner.score, normalise=way, on_progress=on_progress)
        return evaluate_retrieval(model, collection, protocol, seed=seed, score=score)


def _measure_grounding(
    model: Any, collection: "Collection", protocol: str, options: dict[str, Any]
) -> "GroundingEvaluation":
    from seesay import data as collections
    from seesay.cli.progress import progress_bar
    from seesay.data import entities
    from seesay.evaluation.grounding import evaluate_grounding

    boxed = entities.attach(collection, collections.locate(options["entities"] or "flickr30k_entities"))
    with progress_bar(f"places in {collection.name}", quiet=options["as_json"]) as on_progress:
        return evaluate_grounding(model, boxed, protocol, seed=options["seed"], on_progress=on_progress)


def _write_page(model: Any, collection: "Collection", protocol: str, page: Path, options: dict[str, Any]) -> None:
    from seesay.cli.progress import progress_bar
    from seesay.evaluation.page import write_page
    from seesay.evaluation.protocols import find_protocol, take_measured

    shown = take_measured(collection, find_protocol(protocol), options["seed"])
    with progress_bar(f"page of {collection.name}", quiet=options["as_json"]) as on_progress:
        write_page(model, shown, page, on_progress=on_progress)
    typer.echo(f"open {page / 'index.html'}", err=True)


def _normalisation(model: "Matcher", asked: str | None) -> str | None:
    """How likelihoods are normalised; None for a model whose scores are none."""
    from seesay.models.base import NORMALISATIONS, Captioner

    return (asked or NORMALISATIONS[0]) if isinstance(model, Captioner) else None


def _command_line(options: dict[str, Any]) -> str:
    """What measures the same again, whatever program called this."""
    words = ["seesay", "evaluate", *([options["weights"]] if options["weights"] else [])]
    for name, value in options.items():
        if value is not None and name not in ("weights", "as_json") and not (name == "protocol" and options["limit"]):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)
