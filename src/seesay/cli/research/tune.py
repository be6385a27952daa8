"""`seesay tune`: choose the settings of trained weights on dev."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from seesay.cli import light
from seesay.cli.options import Images, Overwrite
from seesay.cli.pictures import require_free
from seesay.system import ranges

if TYPE_CHECKING:
    from seesay.catalogue.weights import Weights
    from seesay.training.finishing.recording import Change
    from seesay.training.finishing.requests import Proposal, Request


def tune(
    weights: Annotated[str, light.Argument(metavar="WEIGHTS", help="Weights by name or folder (seesay models).")],
    only: Annotated[
        list[str] | None, light.Option(metavar="STEP", help="Only this step (see above). Repeatable.")
    ] = None,
    data: Annotated[
        list[str] | None,
        light.Option(
            "--data",
            "-d",
            metavar="DATA",
            help="Choose on the dev split of this collection. Repeatable for captions, cascade, choice, ensemble, "
            "matching, short, tags and vectors. Default: the data of the present table, else flickr8k, or the recipe's "
            "dev data if the weights were trained on other data.",
        ),
    ] = None,
    images: Images = None,
    entities: Annotated[
        str, light.Option(metavar="DATA", help="Flickr30k Entities, for noun phrases and boxes.")
    ] = "flickr30k_entities",
    judgements: Annotated[
        str,
        light.Option(
            metavar="DATA",
            help="calibration: people's judgements of photos and sentences, or none to use captions instead.",
        ),
    ] = "",
    after: Annotated[
        str,
        light.Option(
            metavar="NAMES",
            help="cascade: the stages of search before this one, such as vse,dvsa. matching and presence: the matcher "
            "that judges the whole photo.",
        ),
    ] = "",
    members: Annotated[
        str, light.Option(metavar="NAMES", help="ensemble: its members. The folder WEIGHTS is made if there is none.")
    ] = "",
    centres: Annotated[
        int, light.Option(min=1, max=ranges.RESULTS, metavar="N", help="hubness: cluster centres on each side.")
    ] = 128,
    min_count: Annotated[
        int | None,
        light.Option(min=1, max=ranges.COUNT, metavar="N", help="prune: drop words that training saw fewer times."),
    ] = None,
    output: Annotated[
        Path | None, light.Option("--output", "-o", metavar="DIR", help="prune: the folder of the pruned weights.")
    ] = None,
    report: Annotated[
        Path | None, light.Option(metavar="FILE", help="Write the figures behind each choice, as JSON.")
    ] = None,
    overwrite: Overwrite = False,
    dry_run: Annotated[bool, light.Option("--dry-run", help="Report what would change, and change nothing.")] = False,
    check: Annotated[
        bool,
        light.Option(
            "--check",
            help="Choose every present table again without writing it, and report whether it comes out the same. "
            "Exit code 1 if one does not.",
        ),
    ] = False,
    as_json: Annotated[bool, light.Option("--json", help="Print what changed as JSON.")] = False,
) -> None:
    """Choose the settings of trained weights on dev data, and write them into the weights folder.

    Each step chooses one table of config.json and prints what it changed. Without --only, all steps that the weights
    can use are run. A table is stored with its data, date, version and the digests of all weights that took part; if
    one of these weights changes, the table is refused. A step that is run again uses the same data as before.

    \b
    Steps:
        vectors      weights of an eye's second embedding and of its hubness correction
        short        how much the hubness correction counts for words and short phrases
        hubness      hubness correction of an embedding
        cascade      weight of a later stage of search, and how many photos it reranks
        calibration  the curve from search scores to probabilities
        choice       how sure an embedding is of its choice among photos
        captions     beam, length and reranking of captions
        matching     weight of a matcher in the order of captions
        confidence   which captions are marked as unsure
        grounding    how heat maps become points, boxes and phrases
        boxes        learn where phrases lie from boxes that people drew
        presence     which phrases are reported as not found
        tags         weight of a photo's tags in search
        ensemble     weights of the members of an ensemble
        prune        remove rare words; only with --only

    \b
    Examples:
        seesay tune vse --only calibration --dry-run
        seesay tune vse --check
        seesay tune runs/dvsa/weights
        seesay tune mine --only ensemble --members vse,dvsa,mrnn
        seesay tune runs/hmlstm/weights --only prune --min-count 8 -o pruned
    """
    from seesay.catalogue.weights import find
    from seesay.system.files import replace_atomically
    from seesay.system.results import MARK, check_result_folder
    from seesay.training.finishing import checking
    from seesay.training.finishing.embeddings import SPLIT
    from seesay.training.finishing.recording import compare, record
    from seesay.training.finishing.steps import NEED_BOXES, PROPOSERS, lacks_matcher

    if report is not None:
        require_free(report, Path(weights) / "config.json", *(data or ()), overwrite=overwrite)
    if output is not None:
        begins = ["vocabulary.json", "card.md"]
        check_result_folder(output, holds=["config.json", "model.safetensors"], begins=begins, overwrite=overwrite)
    steps = _choose_steps(weights, only or [], members, check)
    if "prune" in steps:
        _prune(weights, steps, min_count, output, dry_run, as_json)
        return
    is_new = not (Path(weights) / "config.json").is_file()
    about = _new_ensemble(weights) if members and is_new else find(weights)
    request = _request(data, images, entities, judgements, after, members, centres, quiet=as_json)
    if not only and not request.has_entities and any(step in NEED_BOXES for step in steps):
        steps = [step for step in steps if step not in NEED_BOXES]
        request.tell(f"{', '.join(NEED_BOXES)} are left out: they need the boxes of Flickr30k Entities (--entities)")
    if not only and "matching" in steps and lacks_matcher(about, request):
        steps.remove("matching")
        request.tell("matching is left out: no matcher sees what these weights see (--after)")
    told: list[dict[str, Any]] = []
    for step in steps:
        start = time.monotonic()
        proposal = PROPOSERS[step](find(about.folder) if about.folder.is_dir() else about, request)
        if check:
            change = checking.check(about.folder, proposal)
        elif dry_run:
            change = compare(about.folder, proposal.section, proposal.table)
        else:
            if proposal.save:
                proposal.save(about.folder)
            if step == "ensemble" and members:
                _write_ensemble(about.folder, proposal, f"{proposal.data}/{SPLIT}")
            change = record(
                about.folder, proposal.section, proposal.table,
                data=proposal.data, split=proposal.split, beside=proposal.beside,
            )  # fmt: skip
        done = _done(change, dry_run, check)
        told.append(_tell(step, proposal, change, done, time.monotonic() - start, as_json))
        if check:
            told[-1]["difference"] = min(checking.difference(change), 1.0)  # 1.0: not a number
    if report is not None:
        today = datetime.now(UTC).isoformat(timespec="seconds")
        written = {"software": MARK, "weights": about.name, "date": today, "steps": told}
        with replace_atomically(report) as temporary:
            temporary.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    if as_json:
        told = [{key: value for key, value in each.items() if key != "figures"} for each in told]
        light.echo(json.dumps({"weights": about.name, "written": not (dry_run or check), "steps": told}, indent=2))
    if check and any(each["difference"] > checking.WITHIN for each in told):
        raise light.Exit(1)


def _choose_steps(weights: str, only: list[str], members: str, check: bool) -> list[str]:
    """The steps that are wanted, in the order in which later ones need earlier ones."""
    from seesay.catalogue.weights import STEPS, find
    from seesay.errors import SeesayError
    from seesay.training.finishing.checking import steps_taken
    from seesay.training.finishing.steps import steps_for

    if unknown := [step for step in only if step not in STEPS]:
        raise SeesayError(f"there is no step {unknown[0]!r}", allowed=STEPS)
    if members:
        if only not in ([], ["ensemble"]):
            raise SeesayError("--members is for an ensemble", hint="--only ensemble")
        return ["ensemble"]
    found = find(weights)
    able = steps_for(found)
    if lacking := [step for step in only if step not in (*able, "prune")]:
        raise SeesayError(f"{found.name} has no use for {lacking[0]}", allowed=[*able, "prune"])
    if not (only or able):
        raise SeesayError(f"{found.name} has no settings to tune", allowed="--only prune", hint="seesay models")
    if check and not only:
        able = steps_taken(found)
        if not able:
            raise SeesayError(f"{found.name} has no tables to check", hint=f"seesay tune {found.name}")
    return [step for step in STEPS if step in (only or able)]


def _request(
    data: list[str] | None,
    images: Path | None,
    entities: str,
    judgements: str,
    after: str,
    members: str,
    centres: int,
    *,
    quiet: bool,
) -> "Request":
    from seesay.library.indexing.encoding import likeliest_tags
    from seesay.library.ranking.tags import find_clues
    from seesay.library.tag_names import classes_named
    from seesay.text.function_words import content_words
    from seesay.training.finishing.requests import QueryWords, Request

    def names(given: str) -> tuple[str, ...]:
        return tuple(name.strip() for name in given.split(",") if name.strip())

    def tell(line: str) -> None:
        if not quiet:
            light.echo(line, err=True)

    words = QueryWords(content_words, classes_named, likeliest_tags, find_clues)
    return Request(words, tuple(data or ()), images, entities, judgements, names(after), names(members), centres, tell)


def _done(change: "Change", dry_run: bool, check: bool) -> str:
    """What became of a table, in a few words."""
    from seesay.training.finishing.checking import WITHIN, difference

    if not check:
        return ("would change" if dry_run else "changed") if change.keys else "no change"
    if not change.keys:
        return "same"
    found = difference(change)
    how_much = f" by up to {100 * found:.2g} %" if found < float("inf") else ""
    return f"same, but for rounding{how_much}" if found <= WITHIN else f"differs{how_much}"


def _tell(
    step: str, proposal: "Proposal", change: "Change", done: str, seconds: float, as_json: bool
) -> dict[str, Any]:
    if not as_json:
        light.echo(f"{step}: {done}, chosen on {proposal.data}/{proposal.split} in {seconds:.0f} s")
        for key, (old, new) in change.keys.items():
            light.echo(f"  {key}: {'–' if old is None else old} → {'–' if new is None else new}")
    return {
        "step": step,
        "section": proposal.section,
        "table": proposal.table,
        "data": proposal.data,
        "split": proposal.split,
        "changed": {key: list(values) for key, values in change.keys.items()},
        "seconds": round(seconds, 1),
        "figures": proposal.figures,
    }


def _new_ensemble(folder: str) -> "Weights":
    from seesay.catalogue.ensembles import Ensemble
    from seesay.catalogue.weights import Weights

    return Weights(Path(folder), Ensemble(()).about(Path(folder).name))


def _write_ensemble(folder: Path, proposal: "Proposal", chosen_on: str) -> None:
    """Make the folder of an ensemble, before what was chosen is recorded in it."""
    from seesay.catalogue.ensembles import Ensemble, Member

    members = tuple(Member(**own) for own in proposal.table)
    Ensemble(members, chosen_on).write(folder)


def _prune(
    weights: str, steps: list[str], min_count: int | None, output: Path | None, dry_run: bool, as_json: bool
) -> None:
    from seesay.errors import SeesayError
    from seesay.models.pretrained import load
    from seesay.training.finishing.prune import prune_model, save_pruned

    if steps != ["prune"] or min_count is None or output is None:
        raise SeesayError(
            "words are pruned in a step of its own, into a folder of its own",
            hint=f"seesay tune {weights} --only prune --min-count 8 -o DIR, then seesay tune DIR",
        )
    model = load(weights)
    pruned = prune_model(model, min_count)
    before, kept = len(model.vocabulary), len(pruned.vocabulary)
    if not dry_run:
        save_pruned(model, pruned, min_count, output)
    if as_json:
        light.echo(json.dumps({"words": before, "kept": kept, "written": None if dry_run else str(output)}))
    else:
        light.echo(
            f"{before:,} words, {kept:,} kept" + ("" if dry_run else f", in {output}; seesay tune {output} next")
        )
