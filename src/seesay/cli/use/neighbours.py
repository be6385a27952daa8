"""`seesay neighbours`: the nearest photos by a captioner's feature and by its network's (m-RNN Figure 3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seesay.cli.options import AsJson, Images, Model, Output, Split, Within
from seesay.cli.pictures import find_pictures, require_drawable

if TYPE_CHECKING:
    from torch import Tensor

    from seesay.images.extraction import FeatureTable
    from seesay.models.base import Captioner


@dataclass(frozen=True, slots=True)
class _Near:
    """A picture that is near to another one."""

    path: Path
    name: str
    sentence: str
    cosine: float


def neighbours(
    photos: Annotated[list[Path], typer.Argument(metavar="PHOTO…", help="Photos to find neighbours of.")],
    within: Within,
    images: Images = None,
    split: Split = "all",
    model: Model = "mrnn",
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="Neighbours by each feature.")] = 5,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Find the nearest photos of a collection, by the captioner's feature and by its network's own.

    The captioner's feature (refined) was trained for sentences, the network's (original) for classifying objects. Both
    are compared by their cosine. The photo itself is left out.

    \b
    Examples:
        seesay neighbours photo.jpg --in flickr8k --split test
        seesay neighbours a.jpg b.jpg --in ~/Pictures -n 3 -o neighbours.png
    """
    from seesay.cli.progress import progress_bar
    from seesay.errors import SeesayError
    from seesay.images.extraction import FeatureStore, FeatureTable, extract
    from seesay.metrics.neighbours import cosines, nearest
    from seesay.models.pretrained import load_captioner

    if output is not None:
        require_drawable(output)
    bank = find_pictures(within, images, split)
    captioner = load_captioner(model)
    store = FeatureStore(captioner.feature_spec, outputs=captioner.outputs)
    with progress_bar(f"features of {within}", quiet=as_json) as on_progress:
        done = extract([*photos, *bank], store, on_progress=on_progress)
    by_key = {key: path for path in reversed(bank) if (key := done.keys[path])}  # of equal pictures the first
    asked = {photo: key for photo in photos if (key := done.keys[photo])}
    if not by_key or any(by_key.keys() == {key} for key in asked.values()):
        raise SeesayError(f"{within} has no pictures that could be neighbours", hint="seesay data check " + within)
    pictures = [by_key[key] for key in by_key]
    table = FeatureTable(store, [*by_key, *asked.values()])
    found: dict[Path, dict[str, list[_Near]]] = {photo: {} for photo in asked}
    for kind, vectors in zip(("refined", "original"), _see(captioner, table), strict=True):
        known, queries = vectors[: len(by_key)], vectors[len(by_key) :]
        if not known.shape[1]:
            raise SeesayError(f"{model} looks at no pictures", allowed="a captioner that does")
        for row, (photo, key) in enumerate(asked.items()):
            query = queries[row : row + 1]
            order = [int(place) for place in nearest(query, known, n + 1)[0] if pictures[place] != by_key.get(key)][:n]
            near = cosines(query, known[order])[0] if order else []
            found[photo][kind] = [
                _Near(pictures[place], *bank[pictures[place]], float(cosine))
                for place, cosine in zip(order, near, strict=True)
            ]
    if output is not None and found:
        _draw(output, captioner.weights.name if captioner.weights else model, found)
    if as_json:
        _print_json(model, within, found, done.failures, output)
    else:
        for photo, kinds in found.items():
            _print_table(photo, kinds)
        for why in done.failures.values():
            typer.echo(f"seesay: {why}", err=True)
        if output is not None and found:
            typer.echo(f"drawn in {output}", err=True)
    if done.failures:
        raise typer.Exit(1)


def _see(captioner: "Captioner", table: "FeatureTable") -> tuple["Tensor", "Tensor"]:
    """What a captioner makes of pictures, and what it is given: (n, D) each."""
    import torch

    refined, original = [], []
    with torch.inference_mode():
        for start in range(0, len(table), 512):
            features = table.rows(range(start, min(start + 512, len(table))))
            refined.append(captioner.refine(captioner.encode_images(features)))
            original.append(features.pooled)
    return torch.cat(refined), torch.cat(original)


def _draw(output: Path, model: str, found: dict[Path, dict[str, list[_Near]]]) -> None:
    """Two rows a photo: itself with its refined neighbours, and under them the original ones."""
    from seesay.drawing.sheets import Cell, draw_sheet, save_picture

    labels = {
        "refined": f"nearest by the refined feature of {model}",
        "original": "nearest by the network's own feature",
    }
    columns = 1 + max(len(near) for kinds in found.values() for near in kinds.values())
    cells: list[Cell] = []
    for photo, kinds in found.items():
        for kind in labels:
            own = Cell(photo, photo.name, accented=True) if kind == "refined" else Cell()
            row = [own, *(Cell(near.path, near.sentence, f"{near.cosine:.2f}") for near in kinds[kind])]
            cells += [*row, *([Cell()] * (columns - len(row)))]
    sheet = draw_sheet(
        cells, columns, row_labels=[*labels.values()] * len(found), width=200, shape=1.0, crop=True, n_lines=3
    )
    save_picture(sheet, output)


def _print_json(
    model: str,
    within: str,
    found: dict[Path, dict[str, list[_Near]]],
    failures: dict[Path, str],
    output: Path | None,
) -> None:
    rows = [
        {
            "photo": str(photo),
            **{
                kind: [{"photo": str(near.path), "cosine": round(near.cosine, 4)} for near in several]
                for kind, several in kinds.items()
            },
        }
        for photo, kinds in found.items()
    ]
    report: dict[str, Any] = {"model": model, "in": within, "neighbours": rows}
    report["failures"] = {str(path): why for path, why in failures.items()}
    if output is not None and found:
        report["picture"] = str(output)
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_table(photo: Path, kinds: dict[str, list[_Near]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def cells(near: Sequence[_Near], place: int) -> list[Text]:
        return [Text(f"{near[place].cosine:.3f}"), Text(near[place].name)]

    console = Console()
    console.print(Text(str(photo), style="bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("refined", "picture", "original", "picture"):
        table.add_column(column, overflow="fold", justify="left" if column == "picture" else "right")
    for place in range(len(kinds["refined"])):
        table.add_row(*cells(kinds["refined"], place), *cells(kinds["original"], place))
    console.print(table)
