"""Photos to features: the network's graph, and what is made of its map."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seesay.catalogue.weights import PACKAGED, UPPER, weights_digest
from seesay.errors import SeesayError
from seesay.images.arrays import Floats, ImageFeatures, Rows, pool_map
from seesay.images.views import needed_side, preprocess
from seesay.runtime.folder import GraphFolder, check_opset, inside, read_object
from seesay.runtime.graph_file import read_graph_file
from seesay.runtime.rounded import HINT, open_rounded, open_upper, release
from seesay.runtime.session import Session, open_session
from seesay.towers.pair import VisionGraph, run_vision


class Network:
    """An exported network, whose graph is opened with the first photo, and once in a process.

    Args:
        folder: That holds network.onnx and network.json.
        digest: Of the network's weights that features have to come from.
        threads: As for `seesay.runtime.folder.GraphFolder`.
    """

    def __init__(self, folder: Path, *, digest: str = "", threads: int = 0) -> None:
        self.folder, self.threads = folder, threads
        if not (folder / "network.json").is_file():
            raise SeesayError(f"there is no exported network {folder}", hint="seesay export WEIGHTS")
        self.about = read_object(folder / "network.json")
        if digest and self.about.get("digest") != digest:
            raise SeesayError(
                f"{folder} is the network {str(self.about.get('digest'))[:12]}, wanted is {digest[:12]}",
                hint="seesay export WEIGHTS",
            )
        self.size, self.crop = int(self.about["size"]), str(self.about["crop"])

    @property
    def name(self) -> str:
        """A folder name that differs wherever features would, the same as torch's network has for the same ones."""
        name = f"{self.about['backbone']}-{self.size}-{self.crop}-{str(self.about['digest'])[:12]}"
        return name if self.about.get("precision", "fp32") == "fp32" else f"{name}-{self.about['precision']}"

    @property
    def pixels(self) -> int:
        """The shorter side below which photos must not be decoded."""
        return needed_side(self.size, self.crop)

    @cached_property
    def session(self) -> Session:
        path = inside(self.folder, "network.onnx", self.folder / "network.json")
        found = read_graph_file(path)
        if "published" not in self.about:  # whose operators are ONNX Runtime's to judge
            check_opset(path, found.opset)
        if path.stat().st_size != self.about.get("bytes"):
            raise SeesayError(
                f"the graph {path} has {path.stat().st_size} bytes, network.json was written for "
                f"{self.about.get('bytes')}",
                hint="seesay export WEIGHTS",
            )
        for stored in found.stored.values():
            if stored.location:
                raise SeesayError(f"the graph {path} has numbers in {stored.location!r}", allowed="none elsewhere")
        status = path.stat()
        return _open_once(path.resolve(), status.st_mtime_ns, status.st_size, self.threads)

    def with_threads(self, threads: int) -> "Network":
        """The same with another number of threads."""
        return self if threads == self.threads else type(self)(self.folder, threads=threads)

    def in_precision(self, precision: str) -> "Network | None":
        """The same network with its numbers in another precision; None where it is not installed."""
        own = self.about.get("precision", "fp32")
        if precision == own:
            return self
        folder = find_network(f"{self.name.removesuffix(f'-{own}')}-{precision}", (self.folder.parent,))
        is_there = (folder / "network.json").is_file()
        return open_network(folder, digest=str(self.about["digest"]), threads=self.threads) if is_there else None

    def run(self, pixels: NDArray[np.uint8]) -> dict[str, Floats]:
        """`map` (n, h, w, C), `pooled` (n, D), and where the network has them `classes` and `lower`, of views."""
        session = self.session
        if "published" in self.about:
            graph = VisionGraph.from_table(self.about["published"], str(self.folder / "network.json"))
            return dict(zip(("map", "pooled"), run_vision(session.session, graph, pixels), strict=True))
        if absent := {"map", "pooled"} - {*session.outputs}:
            raise SeesayError(
                f"the network {self.folder} has no {', '.join(sorted(absent))}", hint="seesay export WEIGHTS"
            )
        # One view after the other: its activations stay in the processor's cache, and take a fourth of the memory.
        each = [session({"pixels": pixels[place : place + 1]}) for place in range(len(pixels))]
        return {name: np.concatenate(rows) for name, rows in zip(session.outputs, zip(*each, strict=True), strict=True)}

    def compute(self, images: Sequence[Image.Image], schemes: Sequence[str] = ()) -> Rows:
        """Features of opened photos in half precision, as they are stored, by the name of their output.

        Args:
            schemes: Regions whose means are wanted.

        Returns:
            `pooled` (n, D) and, but for `ten-crop`, `map` (n, h, w, C) and the regions (n, N, C) of each scheme.
        """
        return self._compute(images, schemes)[0]

    def features(
        self, images: Sequence[Image.Image], schemes: Sequence[str] = (), *, maps: bool = True
    ) -> ImageFeatures:
        """Features of opened photos, rounded to half precision as they are in stores; one scheme at most.

        Args:
            maps: Without them nothing but vectors and regions is kept.
        """
        rows, beside = self._compute(images, schemes)
        if not maps:
            rows.pop("map", None)
        return replace(ImageFeatures.of(rows), classes=beside.get("classes"), lower=beside.get("lower"))

    def _compute(self, images: Sequence[Image.Image], schemes: Sequence[str]) -> tuple[Rows, dict[str, Floats | None]]:
        """What is stored of photos, and what is not: ImageNet's logits and the lower half's activations."""
        views = [preprocess(image, self.size, self.crop) for image in images]
        n, n_views = len(views), len(views[0])
        given = self.run(np.concatenate(views))
        maps, classes = given["map"], given.get("classes")
        rows = {"pooled": _mean(given["pooled"], n).astype(np.float16)}
        logits = None if classes is None else _mean(classes, n)
        if self.crop == "ten-crop":
            return rows, {"classes": logits}
        if self.crop == "mirror":
            maps = np.stack([maps[::2], maps[1::2, :, ::-1]], 1).reshape(maps.shape)
        rows["map"] = _mean(maps, n).astype(np.float16)
        rows |= {scheme: pool_map(rows["map"], scheme) for scheme in schemes}
        return rows, {"classes": logits, "lower": given.get("lower") if n_views == 1 else None}

    def ready(self, schemes: Sequence[str] = (), *, alone: bool = False) -> Callable[[Sequence[Image.Image]], Rows]:
        """Open the graph for one thread, and give what computes the features of a few images."""
        single = self.with_threads(1)
        _ = single.session
        return partial(single.compute, schemes=tuple(schemes))

    def one_thread_each(self) -> AbstractContextManager[Callable[[], None]]:
        """Gives what each of several threads has to call before it computes: nothing."""
        return nullcontext(lambda: None)


class HalvedNetwork(Network):
    """A network whose upper half is that of trained weights: two graphs, one after the other.

    network.json names the network that gives the lower half (`lower`), and the weights whose graph is the rest
    (`upper`); with `both`, what the former makes of a photo stands behind it. ImageNet's classes are the former's.
    """

    @cached_property
    def session(self) -> Session:
        """The graph behind the lower half; both are open then."""
        _ = self._lower.session
        weights = str(self.about["upper"])
        beside = self.folder.parent / Path(weights).name
        graphs = GraphFolder(beside if (beside / "config.json").is_file() else weights, threads=self.threads)
        if (found := weights_digest(graphs.folder, UPPER)) != self.about.get("digest"):
            raise SeesayError(
                f"{self.folder} was written for {weights} {str(self.about.get('digest'))[:12]}, there is {found[:12]}",
                hint="seesay export WEIGHTS",
            )
        return self.open_upper(graphs)

    def open_upper(self, graphs: GraphFolder) -> Session:
        """The graph of the upper half, of weights whose digest fits."""
        opened = graphs.open("upper")
        assert isinstance(opened, Session)
        return opened

    @cached_property
    def _lower(self) -> Network:
        name = str(self.about["lower"])
        inside(self.folder.parent, name, self.folder / "network.json")
        return open_network(find_network(name, (self.folder.parent,)), threads=self.threads)

    def run(self, pixels: NDArray[np.uint8]) -> dict[str, Floats]:
        session = self.session
        given = self._lower.run(pixels)
        seen = dict(zip(session.outputs, session(given), strict=True))
        if self.about.get("both"):
            seen = {name: np.concatenate([part, given[name]], -1) for name, part in seen.items()}
        return {**given, **seen}


class RoundedNetwork(Network):
    """A network in 8 bits, of the weights of another: network.json names it (`rounds`)."""

    @cached_property
    def session(self) -> Session:
        name = str(self.about.get("rounds"))
        inside(self.folder.parent, name, self.folder / "network.json")
        source = find_network(name, (self.folder.parent,))
        if read_object(source / "network.json").get("digest") != self.about.get("digest"):
            raise SeesayError(f"{self.folder} was written for another network than {source}", hint=HINT)
        return open_rounded(self.folder.resolve(), source.resolve(), self.threads)


class RoundedHalves(HalvedNetwork):
    """Two graphs one after the other, both in 8 bits."""

    def open_upper(self, graphs: GraphFolder) -> Session:
        return open_upper(self.folder.resolve(), graphs.folder.resolve(), self.threads)


def _mean(rows: Floats, n: int) -> Floats:
    """Of what was made of all views, the mean over the views of each of n images."""
    if len(rows) == n:
        return rows
    found: Floats = rows.reshape(n, -1, *rows.shape[1:]).mean(1)
    return found


def find_network(name: str, places: Sequence[Path]) -> Path:
    """The folder of an exported network: in one of `places`, or the package's."""
    found = (place / name for place in (*places, PACKAGED) if (place / name / "network.json").is_file())
    return next(found, places[0] / name)


def open_network(folder: Path, *, digest: str = "", threads: int = 0) -> Network:
    """An exported network, of one graph or of two, whose weights are stored in it or rounded from another's."""
    path = folder / "network.json"
    about = read_object(path) if path.is_file() else {}
    kind = HalvedNetwork if "upper" in about else Network
    if "ranges" in about:
        kind = RoundedHalves if "upper" in about else RoundedNetwork
    return kind(folder, digest=digest, threads=threads)


@lru_cache(maxsize=4)
def _open_once(path: Path, changed: int, size: int, threads: int) -> Session:
    """Several weights share a network, which takes a hundred times the memory of what each makes of it."""
    return open_session(path, threads)


def release_graphs() -> None:
    """Let go of graphs that no network holds open: after many photos they keep the memory of as many threads."""
    _open_once.cache_clear()
    release()
