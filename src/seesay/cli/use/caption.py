"""`seesay caption`: say what is in pictures."""

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seesay.captioning.reranking import Reranker
    from seesay.captioning.sentences import Caption
    from seesay.captioning.settings import Sampling, Settings
    from seesay.images.extraction import FeatureTable
    from seesay.models.base import Captioner
    from seesay.system.progress import Progress


def caption(
    photos: Annotated[
        list[Path], typer.Argument(metavar="PHOTO…", help="Pictures, and folders whose pictures are all taken.")
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="WEIGHTS", help="Weights by name or folder (seesay models).")
    ] = "mrnn",
    n_best: Annotated[int, typer.Option("--n-best", "-n", min=1, metavar="N", help="Captions for each picture.")] = 1,
    start: Annotated[str, typer.Option(metavar="WORDS", help='First words to continue, such as "a man in".')] = "",
    max_length: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Words at which a caption is cut.", show_default=False)
    ] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Beginnings that the search keeps; 1 is greedy.")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw the words instead of searching the best.")] = False,
    temperature: Annotated[
        float | None, typer.Option(metavar="T", help="With --sample: below 1 likely words come more often.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="With --sample: draw among the N likeliest words only.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="With --sample: draws the same again.")] = None,
    references: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="A captioned collection to rerank against: a path or a name."),
    ] = None,
    rerank: Annotated[
        bool, typer.Option("--rerank/--no-rerank", help="Prefer what people said about similar pictures.")
    ] = True,
    k: Annotated[int | None, typer.Option("--k", min=1, metavar="N", help="Similar pictures that count.")] = None,
    m: Annotated[int | None, typer.Option("--m", min=1, metavar="N", help="Of their captions, the nearest N.")] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Similarity of captions: cider or bleu.")] = None,
    coco: Annotated[
        Path | None, typer.Option("--coco", metavar="FILE", help="Write a COCO result file with the best captions.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Write the caption that fits each picture best.

    A captioned collection (--references) makes captions better: of several candidates, those that agree with what
    people said about similar pictures of it come first. Its features are computed once and kept.

    Of several captions (--n-best) each stands behind the logarithm of its probability and, where they are reranked,
    its agreement with what people said. What is not given is as it was chosen for the weights.
    """
    from seesay.errors import SeesayError

    if beam is not None and beam < n_best:
        raise SeesayError(f"a beam of {beam} has no {n_best} captions", hint=f"--beam {n_best}")
    if references is None:
        _refuse_alone({"--k": k, "--m": m, "--metric": metric}, "--references DATA")
    sampling = _read_sampling(sample, beam, temperature, top_k, seed)
    paths, failures = find_photos(photos)
    if coco is not None:
        _require_different_ids(paths)

    from tempfile import TemporaryDirectory

    from seesay.captioning.captions import caption_images, read_start
    from seesay.captioning.settings import Settings
    from seesay.cli.progress import progress_bar
    from seesay.models.pretrained import load_captioner

    captioner = load_captioner(model)
    settings = Settings.of(captioner, beam=beam, candidates=beam, max_length=max_length, metric=metric, k=k, m=m)
    read_start(captioner, start)  # refuse it before anything is computed
    reranker = _read_references(captioner, references, settings, quiet=as_json) if references and rerank else None
    if rerank and references is None and not sample:
        typer.echo(
            "seesay: the captions are not reranked: there is no captioned collection to compare them with\n"
            "  try: --references DATA with a collection such as Flickr8K or a table of your own, or --no-rerank",
            err=True,
        )
    with TemporaryDirectory(prefix="seesay-") as folder:
        with progress_bar("features", quiet=as_json) as on_progress:
            table, found, unusable = _features_of(paths, captioner, Path(folder), on_progress)
        with progress_bar("captions", quiet=as_json) as on_progress:
            captions = caption_images(
                captioner, table, n_best=n_best, start=start, settings=settings, sampling=sampling, reranker=reranker,
                on_progress=on_progress,
            )  # fmt: skip
    failures |= unusable
    if coco is not None:
        _write_coco(coco, found, captions)
    if as_json:
        _print_json(model, reranker is not None, found, captions, failures)
    else:
        _print_sentences(found, captions, is_one=paths == photos and len(photos) == 1)
        for why in failures.values():
            typer.echo(f"seesay: {why}", err=True)
    if failures:
        raise typer.Exit(1)


def find_photos(things: list[Path]) -> tuple[list[Path], dict[Path, str]]:
    """The pictures that are meant, folders by the pictures below them, in order; and what cannot be looked into."""
    from seesay.errors import SeesayError
    from seesay.library.indexing.scan import scan
    from seesay.library.types import Folder, as_path

    paths: list[Path] = []
    failures: dict[Path, str] = {}
    for thing in things:
        if not os.path.isdir(thing):  # noqa: PTH112 - which takes a sentence that is too long for a name
            paths.append(thing)
            continue
        try:
            listing = scan(Folder(thing.resolve()))
        except SeesayError as error:
            failures[thing] = error.what
            continue
        below = sorted(as_path(path).relative_to(thing.resolve()) for path in listing.files)
        paths += [thing / path for path in below]
        for folder, why in listing.unreadable.items():
            failures[as_path(folder)] = f"cannot list {as_path(folder)}: {why}"
        if not below:
            failures[thing] = f"there are no pictures in {thing}"
    return list(dict.fromkeys(paths)), failures


def _read_sampling(
    sample: bool, beam: int | None, temperature: float | None, top_k: int | None, seed: int | None
) -> "Sampling | None":
    from seesay.errors import SeesayError

    if not sample:
        _refuse_alone({"--temperature": temperature, "--top-k": top_k, "--seed": seed}, "--sample")
        return None
    if beam is not None:
        raise SeesayError("--beam searches and --sample draws", allowed="one of them")

    from seesay.captioning.settings import Sampling

    given = {"temperature": temperature, "top_k": top_k, "seed": seed}
    return Sampling(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]


def _refuse_alone(options: dict[str, object], needed: str) -> None:
    """Refuse options that would say nothing without another one."""
    from seesay.errors import SeesayError

    for option, value in options.items():
        if value is not None:
            raise SeesayError(f"{option} needs {needed.split()[0]}", hint=f"{needed} {option} {value}")


def _read_references(captioner: "Captioner", source: str, settings: "Settings", *, quiet: bool) -> "Reranker":
    from seesay import data
    from seesay.captioning.reranking import Reranker
    from seesay.cli.progress import progress_bar

    collection = data.load(source)
    with progress_bar(f"features of {collection.name}", quiet=quiet) as on_progress:
        reranker = Reranker.of(captioner, collection, settings.metric, on_progress=on_progress)
    if reranker.n_failed:
        typer.echo(
            f"seesay: {reranker.n_failed} pictures of {collection.name} are missing or damaged and were left out\n"
            f"  try: seesay data check {source}",
            err=True,
        )
    return reranker


def _features_of(
    paths: list[Path], captioner: "Captioner", folder: Path, on_progress: "Progress"
) -> tuple["FeatureTable", list[Path], dict[Path, str]]:
    """The features of the pictures that can be used, which these are, and why the others cannot."""
    from seesay.images.extraction import FeatureStore, FeatureTable, extract

    # A vector a picture is worth keeping for the next time; the maps of somebody's photos would fill the disk.
    root = None if captioner.outputs == ("pooled",) else folder
    store = FeatureStore(captioner.feature_spec, root=root, outputs=captioner.outputs)
    done = extract(paths, store, on_progress=on_progress)
    usable = [(path, key) for path in paths if (key := done.keys[path])]
    return FeatureTable(store, [key for _, key in usable]), [path for path, _ in usable], done.failures


def _print_sentences(photos: list[Path], captions: list[list["Caption"]], *, is_one: bool) -> None:
    for photo, own in zip(photos, captions, strict=True):
        if len(own) == 1:
            typer.echo(own[0].text if is_one else f"{photo}: {own[0].text}")
            continue
        if not is_one:
            typer.echo(f"{photo}:")
        for each in own:
            agreement = "" if each.consensus is None else f"  {each.consensus:7.3f}"
            typer.echo(f"{each.log_prob:8.2f}{agreement}  {each.text}")


def _print_json(
    model: str, reranked: bool, photos: list[Path], captions: list[list["Caption"]], failures: dict[Path, str]
) -> None:
    rows = [
        {
            "photo": str(photo),
            "captions": [
                {
                    "caption": each.text,
                    "log_prob": round(each.log_prob, 4),
                    **({} if each.consensus is None else {"consensus": round(each.consensus, 4)}),
                    **({} if each.finished else {"cut": True}),
                }
                for each in own
            ],
        }
        for photo, own in zip(photos, captions, strict=True)
    ]
    report = {
        "model": model,
        "reranked": reranked,
        "photos": rows,
        "failures": {str(path): why for path, why in failures.items()},
    }
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _write_coco(path: Path, photos: list[Path], captions: list[list["Caption"]]) -> None:
    from seesay.system.files import replace_atomically

    rows = [{"image_id": coco_id(photo), "caption": own[0].text} for photo, own in zip(photos, captions, strict=True)]
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")


def coco_id(photo: Path) -> int | str:
    """The number that COCO gives a picture, by its file name; the whole name of a picture that is not named so.

    Example:
        >>> [coco_id(Path(name)) for name in ("COCO_val2014_000000391895.jpg", "000000391895.jpg", "dog_2.jpg")]
        [391895, 391895, 'dog_2.jpg']
    """
    named = re.fullmatch(r"(?:COCO_[a-z0-9]+_)?([0-9]+)", photo.stem)
    return int(named[1]) if named else photo.name


def _require_different_ids(photos: list[Path]) -> None:
    from seesay.errors import SeesayError

    twice = [name for name, count in Counter(map(coco_id, photos)).items() if count > 1]
    if twice:
        raise SeesayError(
            f"several pictures would be {twice[0]!r} in a COCO result file",
            allowed="pictures of different names",
            hint="one folder after the other, each with a file of its own",
        )
