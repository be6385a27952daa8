"""`seesay export`: the graphs of trained weights, written beside a copy of them, or beside themselves."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.export.checking import compare
from seesay.export.graphs import graphs_of
from seesay.export.network import export_network, network_name
from seesay.export.sharing import find_sources, share_weights, shorten_names
from seesay.export.simplifying import simplify
from seesay.export.tracing import OPSET, trace
from seesay.images.features import LOWER, OUTPUTS, Features, compute
from seesay.images.io import open_image
from seesay.models.base import Matcher
from seesay.models.pretrained import find, load, read_about, write_about
from seesay.models.registry import search_role
from seesay.runtime.folder import file_digest, sizes_of, source_weights
from seesay.runtime.matching import Model
from seesay.system.files import replace_atomically

PRECISIONS = ("fp16", "fp32", "int8")
"""Of the network's weights; the graphs behind it take a hundredth of its time, and use the folder's own weights."""
SAMPLES = Path(__file__).parents[1] / "samples"


def export_weights(
    name: str | Path,
    out: Path | None = None,
    *,
    precision: str = "fp16",
    photos: Sequence[Path] = (),
    model: Matcher | None = None,
) -> dict[str, Any]:
    """Write the graphs of weights.

    Args:
        name: Trained weights by name, or a folder.
        out: The folder in which a copy of the weights' folder gets the graphs; None adds them to that folder itself.
        precision: One of `PRECISIONS`.
        photos: Images to compare both engines on; the samples where none are given.
        model: The model of these weights, where it is loaded already.

    Returns:
        The table `graphs` of the written config.json.

    Raises:
        SeesayError: A graph differs from torch by more than it may.
    """
    if precision not in PRECISIONS:
        raise SeesayError(f"there is no precision {precision!r}", allowed=PRECISIONS)
    weights = find(name)
    model = model or load(name)
    images = list(photos) or sorted(SAMPLES.glob("*.jpg"))
    folder = weights.folder if out is None else out / weights.name
    _copy(weights.folder, folder)
    spec = model.feature_spec
    backbone = spec.load_backbone()
    features = _features(model, images, backbone)
    about = {**read_about(folder).about, "search": search_role(weights)}
    sources = find_sources(model, folder, {source: find(source).folder for source in source_weights(about)})
    table: dict[str, Any] = {
        "opset": OPSET,
        "precision": precision,
        "sizes": sizes_of(about["config"]),
        "network": own.name if (own := spec.graph_folder) else network_name(spec, precision),
        "outputs": list(model.outputs),
        "is_embedding": model.is_embedding,
        "weighs_regions": model.weighs_regions,
        "explainers": list(model.explainers),
        "files": {},
        "missing": model.without_graphs,
    }
    for graph in graphs_of(model, features):
        written = trace(model, graph)
        shared = share_weights(written, sources)
        simplify(written)
        shorten_names(written)
        path = folder / f"{graph.name}.onnx"
        with replace_atomically(path) as temporary:
            temporary.write_bytes(written.SerializeToString())
        entry = {"file": path.name, "digest": file_digest(path)}
        table["files"][graph.name] = entry | ({"shared": shared} if shared else {})
    write_about(folder, {**about, "graphs": table})
    for graph_name, difference in compare(model, Model(folder), features).items():
        table["files"][graph_name]["difference"] = float(f"{difference:.1e}")
    is_shared = out is not None or folder.parent.resolve() == PACKAGED.resolve()  # by all that lie there
    place = folder.parent if is_shared else folder
    if not any((each / table["network"] / "network.json").is_file() for each in (place, PACKAGED)):
        if graph_folder := spec.graph_folder:
            shutil.copytree(graph_folder, place / table["network"])
        else:
            export_network(spec, backbone, place, images, precision)
    write_about(folder, {**about, "graphs": table})
    return table


def _features(model: Matcher, images: Sequence[Path], backbone: Any) -> Features:
    """The features of images with their maps, and with the regions that the model looks at."""
    if LOWER in model.outputs:
        return model.features(images)
    schemes = [output for output in model.outputs if output not in OUTPUTS]
    opened = [open_image(image) for image in images]
    rows = compute(opened, backbone, model.feature_spec.crop, schemes)
    return Features.of(rows)


def _copy(source: Path, target: Path) -> None:
    if target.exists() and target.resolve() == source.resolve():
        return
    target.mkdir(parents=True, exist_ok=True)
    # By config.json a folder is known as a result: with it first, an export that was killed can be run again.
    for path in sorted(source.iterdir(), key=lambda path: (path.name != "config.json", path.name)):
        if path.is_file() and path.suffix != ".onnx":
            with replace_atomically(target / path.name) as temporary:
                shutil.copyfile(path, temporary)
