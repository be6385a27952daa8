"""`seesay caption`: write captions for photos."""

import json
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seesay.cli import light
from seesay.cli.messages import warn
from seesay.cli.options import AsJson, Model, Overwrite, PathOrAddress
from seesay.cli.pictures import read_stdin, require_free
from seesay.system import ranges
from seesay.system.names import printable
from seesay.system.remote import as_path

if TYPE_CHECKING:
    from seesay.captioning.settings import Sampling
    from seesay.verbs.captions import Captions


def caption(
    photos: Annotated[
        list[PathOrAddress],
        light.Argument(parser=as_path, metavar="PHOTO…", help="Photos, and folders of photos; - reads one from stdin."),
    ],
    model: Model = "mrnn",
    n_best: Annotated[
        int, light.Option("--n-best", "-n", min=1, max=ranges.BEAM, metavar="N", help="Captions for each photo.")
    ] = 1,
    start: Annotated[str, light.Option(metavar="WORDS", help='First words of the captions, such as "a man in".')] = "",
    max_length: Annotated[
        int | None,
        light.Option(
            min=1, max=ranges.LENGTH, metavar="N", help="Words at which a caption is cut.", show_default=False
        ),
    ] = None,
    beam: Annotated[
        int | None, light.Option(min=1, max=ranges.BEAM, metavar="N", help="Width of the beam search; 1 is greedy.")
    ] = None,
    sample: Annotated[
        bool, light.Option("--sample", help="Sample the words instead of searching for the best caption.")
    ] = False,
    temperature: Annotated[
        float | None,
        light.Option(
            min=ranges.TEMPERATURE[0],
            max=ranges.TEMPERATURE[1],
            callback=ranges.require_finite,
            metavar="T",
            help="With --sample: below 1 likely words come more often.",
        ),
    ] = None,
    top_k: Annotated[
        int | None,
        light.Option(min=0, max=ranges.COUNT, metavar="N", help="With --sample: only among the N most likely words."),
    ] = None,
    seed: Annotated[
        int | None,
        light.Option(min=0, max=ranges.SEED, metavar="N", help="With --sample: the same seed gives the same captions."),
    ] = None,
    references: Annotated[
        str | None,
        light.Option(metavar="DATA", help="A captioned collection to rerank by: a path, or a name in SEESAY_DATA."),
    ] = None,
    rerank: Annotated[
        bool,
        light.Option("--rerank/--no-rerank", help="Prefer what people wrote about similar photos."),
    ] = True,
    k: Annotated[
        int | None,
        light.Option("--k", min=1, max=ranges.COUNT, metavar="N", help="Reranking: how many similar photos count."),
    ] = None,
    m: Annotated[
        int | None,
        light.Option("--m", min=1, max=ranges.COUNT, metavar="N", help="Reranking: how many of their captions count."),
    ] = None,
    metric: Annotated[
        str | None, light.Option(metavar="NAME", help="Reranking: similarity of captions, cider or bleu.")
    ] = None,
    coco: Annotated[
        Path | None, light.Option("--coco", metavar="FILE", help="Write the best captions as a COCO result file.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write captions for photos.

    A captioned collection (--references) makes captions better: those that agree with what people wrote about similar
    photos come first. The features of the collection are computed once and kept.

    Several captions (--n-best) are printed with their log-probability and, if they were reranked, their consensus
    score. Settings that you do not give are those chosen for the weights on dev data. A caption is marked (unsure) if
    more of its words are expected to be wrong than right; weights that were not tuned for this mark none.

    \b
    Examples:
        seesay caption photo.jpg
        seesay caption ~/Pictures --json
        seesay caption photo.jpg -n 5 --references flickr8k
        seesay caption photo.jpg --sample --temperature 0.7 --seed 1
    """
    from seesay.errors import SeesayError

    if beam is not None and beam < n_best:
        raise SeesayError(f"a beam of {beam} has no {n_best} captions", hint=f"--beam {n_best}")
    if references is None:
        _refuse_alone({"--k": k, "--m": m, "--metric": metric}, "--references DATA")
    sampling = _read_sampling(sample, beam, temperature, top_k, seed)

    from seesay.cli.progress import progress_bar
    from seesay.verbs.captions import Captions
    from seesay.verbs.captions import caption as write
    from seesay.verbs.inputs import find_photos

    if coco is not None:
        require_free(coco, *photos, references, overwrite=overwrite)
    paths, failures = find_photos(photos)
    if coco is not None:
        _require_different_ids(paths)
    found = Captions(model, False, ()) if not paths else write(
        [read_stdin(path) for path in paths], model=model, n_best=n_best, start=start, beam=beam,
        max_length=max_length, sampling=sampling, references=references if rerank else None, metric=metric, k=k, m=m,
        skip_unusable=True, bars=partial(progress_bar, quiet=as_json),
    )  # fmt: skip
    found = replace(found, failures={**{str(path): why for path, why in failures.items()}, **found.failures})
    warn(found.warnings)
    if coco is not None:
        _write_coco(coco, found)
    if as_json:
        light.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        _print_sentences(found, is_one=paths == photos and len(photos) == 1)
        warn(map(printable, found.failures.values()))
    if found.failures:
        raise light.Exit(1)


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


def _print_sentences(found: "Captions", *, is_one: bool) -> None:
    from seesay.verbs.captions import say_caption

    for image in found:
        if len(image.captions) == 1:
            said = say_caption(image.captions[0])
            light.echo(said if is_one else f"{printable(image.name)}: {said}")
            continue
        if not is_one:
            light.echo(f"{printable(image.name)}:")
        for each in image.captions:
            agreement = "" if each.consensus is None else f"  {each.consensus:7.3f}"
            light.echo(f"{each.log_prob:8.2f}{agreement}  {say_caption(each)}")


def _write_coco(path: Path, found: "Captions") -> None:
    from seesay.system.files import replace_atomically

    rows = [{"image_id": coco_id(Path(image.name)), "caption": image.text} for image in found]
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(rows, ensure_ascii=False) + "\n", encoding="utf-8")


def coco_id(photo: Path) -> int | str:
    """The number that COCO gives a photo, by its file name; the whole name of a photo that is not named so.

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
            f"several photos would be {twice[0]!r} in a COCO result file",
            allowed="photos of different names",
            hint="one folder after the other, each with a file of its own",
        )
