"""`seesay export`: the graphs of trained weights, written beside a copy of them, or beside themselves."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seesay.errors import SeesayError
from seesay.export.checking import compare
from seesay.export.graphs import graphs_of, missing
from seesay.export.network import export_network, network_name
from seesay.export.sharing import find_sources, share_weights, shorten_names
from seesay.export.tracing import OPSET, trace
from seesay.images.features import OUTPUTS, Features, compute
from seesay.images.io import open_image
from seesay.models.base import Matcher
from seesay.models.pretrained import find, load, read_about
from seesay.runtime.folder import WEIGHTS, file_digest, source_weights
from seesay.runtime.matching import Model
from seesay.system.files import replace_atomically

PRECISIONS = ("fp32", "int8")
"""Of the network; what comes after it takes a hundredth of its time and stays in single precision."""
SAMPLES = Path(__file__).parents[1] / "samples"
_HEADING = "\n## Graphs\n"


def export_weights(
    name: str | Path, out: Path, *, precision: str = "fp32", photos: Sequence[Path] = ()
) -> dict[str, Any]:
    """Write the graphs of weights.

    Args:
        name: Trained weights by name, or a folder.
        out: The folder in which a folder of the weights' name is made. Where that is the weights' own folder, graphs
            are added to it; otherwise it becomes a copy of it.
        precision: One of `PRECISIONS`.
        photos: Pictures to compare both engines on; the samples where none are given.

    Returns:
        The table `graphs` of the written config.json.

    Raises:
        SeesayError: A graph differs from torch by more than it may.
    """
    if precision not in PRECISIONS:
        raise SeesayError(f"there is no precision {precision!r}", allowed=PRECISIONS)
    weights, model = find(name), load(name)
    pictures = list(photos) or sorted(SAMPLES.glob("*.jpg"))
    folder = out / weights.name
    _copy(weights.folder, folder)
    spec = model.feature_spec
    backbone = spec.load_backbone()
    features = _features(model, pictures, backbone)
    about = read_about(folder).about
    sources = find_sources(model, folder, {source: find(source).folder for source in source_weights(about)})
    table: dict[str, Any] = {
        "opset": OPSET,
        "precision": precision,
        "network": network_name(spec, precision),
        "outputs": list(model.outputs),
        "files": {},
        "missing": missing(model),
    }
    for graph in graphs_of(model, features):
        written = trace(model, graph)
        shared = share_weights(written, sources)
        shorten_names(written)
        path = folder / f"{graph.name}.onnx"
        with replace_atomically(path) as temporary:
            temporary.write_bytes(written.SerializeToString())
        entry = {"file": path.name, "digest": file_digest(path)}
        table["files"][graph.name] = entry | ({"shared": shared} if shared else {})
    _write_about(folder, {**about, "graphs": table})
    for graph_name, difference in compare(model, Model(folder), features).items():
        table["files"][graph_name]["difference"] = float(f"{difference:.1e}")
    if not (out / table["network"] / "network.json").is_file():
        export_network(spec, backbone, out, pictures, precision)
    _write_about(folder, {**about, "graphs": table})
    return table


def _features(model: Matcher, pictures: Sequence[Path], backbone: Any) -> Features:
    """The features of images with their maps, and with the regions that the model looks at."""
    schemes = [output for output in model.outputs if output not in OUTPUTS]
    opened = [open_image(image) for image in pictures]
    rows = compute(opened, backbone, model.feature_spec.crop, schemes)
    return Features.of(rows)


def _copy(source: Path, target: Path) -> None:
    if target.exists() and target.resolve() == source.resolve():
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.is_file() and path.suffix != ".onnx":
            with replace_atomically(target / path.name) as temporary:
                shutil.copyfile(path, temporary)


def _write_about(folder: Path, about: dict[str, Any]) -> None:
    with replace_atomically(folder / "config.json") as temporary:
        temporary.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    card = folder / "card.md"
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {about['name']}\n"
    with replace_atomically(card) as temporary:
        temporary.write_text(text.partition(_HEADING)[0] + _HEADING + _describe(about["graphs"]), encoding="utf-8")


def _describe(table: dict[str, Any]) -> str:
    """The graphs in plain words, for the card."""
    rows = [f"| {name} | {entry.get('difference', 0.0):.0e} |" for name, entry in table["files"].items()]
    absent = [f"- no graph `{name}`: {why}" for name, why in table["missing"].items()]
    lines = [
        f"\nThey run without torch, in ONNX Runtime: operator set {table['opset']}, precision {table['precision']}.",
        f"Their weights are those of {WEIGHTS}. The largest difference to torch, as a share of the largest number:\n",
        "| graph | difference |",
        "| --- | --- |",
        *rows,
        *(["", *absent] if absent else []),
    ]
    return "\n".join(lines) + "\n"
