"""The verbs of a model, answered by its graphs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seesay.errors import SeesayError
from seesay.images.io import open_image
from seesay.images.regions import Boxes, fixed_regions, whole_and_grid
from seesay.runtime.folder import GraphFolder
from seesay.runtime.network import Floats, ImageFeatures, Network
from seesay.text.vocabulary import PAD, UNKNOWN

Picture = Path | str | bytes | Image.Image
State = tuple[Floats, ...]
"""What a captioner remembers between words: every array has one row for each sentence that is being written."""
LONGEST = 100
"""Words of a sentence that are read."""
GRAPH_OF = {"marginal": "score", "mean-image": "score-mean-image", "none": "likelihood"}
"""How a captioner's scores are normalised → the graph that does."""
_OUTPUTS = ("pooled", "map")
_N_IMAGES, _N_TEXTS = 64, 32  # of a block of pairs
_MEMORY = 64 << 20  # bytes of the logits of a block, where a word's score is a sum over the vocabulary


@dataclass(frozen=True)
class Texts:
    """Encoded sentences as rows of vectors, padded at the end.

    Attributes:
        states: (n, T, D) what is kept of each word.
        words: (n, T) the words' numbers.
        lengths: (n,) how many of the T count.
    """

    states: Floats
    words: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> "Texts":
        """Some of the rows, without the padding that none of them needs."""
        lengths = self.lengths[rows]
        longest = int(lengths.max(initial=1))
        return Texts(self.states[rows, :longest], self.words[rows, :longest], lengths)


class Model:
    """Exported weights. A graph is opened with the first question that needs it: a sentence never opens the network.

    Args:
        name: Weights that came with the package, or a folder.
        threads: That the network may use; 0 for as many as there are cores. The other graphs take one.
    """

    def __init__(self, name: str | Path, *, threads: int = 0) -> None:
        self.graphs = GraphFolder(name)
        self.about = self.graphs.weights.about
        self.name = self.graphs.weights.name
        self.threads = threads

    @property
    def vocabulary(self) -> Any:
        return self.graphs.vocabulary

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features it needs of an image: `pooled`, `map`, or the name of a region scheme."""
        return tuple(self.graphs.table.get("outputs", ("pooled",)))

    @cached_property
    def network(self) -> Network:
        """The network whose features the model takes, exported beside the weights."""
        name = str(self.graphs.table.get("network", ""))
        if not name or Path(name).name != name:
            raise SeesayError(f"{self.graphs.origin} names the network {name!r}", allowed="a folder beside its own")
        digest = str(self.about["features"].get("digest", ""))
        return Network(self.graphs.folder.parent / name, digest=digest, threads=self.threads)

    def features(self, images: Sequence[Picture]) -> ImageFeatures:
        """Open images and run the network on them, one after the other."""
        schemes = [output for output in self.outputs if output not in _OUTPUTS]
        rows = [self.network.features([open_image(image, at_least=self.network.pixels)], schemes) for image in images]

        def join(name: str) -> Floats | None:
            own = [getattr(row, name) for row in rows]
            return None if not own or own[0] is None else np.concatenate(own)

        pooled = join("pooled")
        if pooled is None:
            raise SeesayError("there are no images", allowed="one or more")
        return ImageFeatures(pooled, join("map"), join("parts"), join("classes"))

    def encode_images(self, features: ImageFeatures) -> Floats:
        """What the model keeps of each image: (n, …)."""
        given = {"pooled": features.pooled, "map": features.map, "parts": self._parts(features)}
        arrays = {name: array for name, array in given.items() if array is not None}
        found: Floats = self.graphs.open("images")(arrays)[0]
        return found

    def _parts(self, features: ImageFeatures) -> Floats | None:
        schemes = [output for output in self.outputs if output not in _OUTPUTS]
        if features.parts is None and schemes and features.map is not None:
            return features.regions(fixed_regions(schemes[0]))
        return features.parts

    def word_rows(self, sentences: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """The numbers of words, padded (n, T), and the lengths (n,); an empty sentence is one unknown word."""
        rows = [self.vocabulary.encode(sentence)[:LONGEST] or [UNKNOWN] for sentence in sentences]
        words = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
        for place, row in enumerate(rows):
            words[place, : len(row)] = row
        return {"words": words, "lengths": np.array([len(row) for row in rows], np.int64)}

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        """What the model keeps of each sentence: an array of n rows, or `Texts`."""
        found = self.graphs.open("texts")(self.word_rows(sentences or [""]))
        encoded = found[0] if len(found) == 1 else Texts(*found)
        return encoded if sentences else encoded[:0]

    def encode_phrases(self, phrases: Sequence[str]) -> Floats:
        """One vector for each phrase, read alone: (n, D)."""
        found: Floats = self.graphs.open("phrases")(self.word_rows(phrases or [""]))[0]
        return found[: len(phrases)]

    def encode_regions(self, features: ImageFeatures, boxes: Boxes) -> Floats:
        """The vectors of any regions of images whose maps are given: (n, N, D)."""
        parts = self._parts(features)
        if parts is None:
            raise SeesayError(f"{self.name} does not look at regions", hint="seesay models")
        found: Floats = self.graphs.open("regions")({"parts": parts, "means": features.regions(boxes)})[0]
        return found

    def score(self, images: Floats, texts: Any, *, normalise: str = "marginal") -> Floats:
        """How well each sentence fits each image, from what the two encoders gave: (n_images, n_texts).

        Args:
            normalise: As for `seesay.models.base.Captioner.score`; other models have no choice.
        """
        if normalise not in GRAPH_OF:
            raise SeesayError(f"there is no normalisation {normalise!r}", allowed=GRAPH_OF)
        names = self.graphs.names
        session = self.graphs.open("look" if "look" in names else GRAPH_OF[normalise])
        scores = np.zeros((len(images), len(texts)), np.float32)
        n_images, n_texts = self._block() if isinstance(texts, Texts) else (max(1, len(images)), max(1, len(texts)))
        order: Any = np.argsort(texts.lengths, kind="stable") if isinstance(texts, Texts) else np.arange(len(texts))
        for first in range(0, len(texts), n_texts):
            rows = order[first : first + n_texts]
            some = texts[rows]
            given = vars(some) if isinstance(some, Texts) else {"texts": some}
            for start in range(0, len(images), n_images):
                block = images[start : start + n_images]
                scores[start : start + n_images, rows] = session({"images": block, **given})[0]
        return scores

    def _block(self) -> tuple[int, int]:
        """Pictures and sentences that are compared at once."""
        config = self.about["config"]
        if "step" not in self.graphs.names or config.get("self_normalise"):
            return _N_IMAGES, _N_TEXTS
        return max(1, _MEMORY // (4 * len(self.vocabulary))), 1

    def match(self, images: Picture | Sequence[Picture], sentences: str | Sequence[str]) -> Floats:
        """Score every sentence against every image: (n_images, n_texts)."""
        pictures = [images] if isinstance(images, Path | str | bytes | Image.Image) else list(images)
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        if not pictures or not texts:
            raise SeesayError("there is nothing to match", allowed="one or more images and sentences")
        return self.score(self.encode_images(self.features(pictures)), self.encode_texts(texts))

    def heat_maps(self, features: ImageFeatures, phrases: Sequence[str]) -> NDArray[np.float64]:
        """How well each cell of one image's map suits each phrase: (n, h, w)."""
        if len(features) != 1 or features.map is None:
            raise ValueError(f"heat maps are of one image with its map, not of {len(features)}")
        _, height, width, _ = features.map.shape
        cells = self.encode_regions(features, whole_and_grid(height, width)[1:])[0]  # (h · w, D)
        heat: NDArray[np.float64] = (self.encode_phrases(phrases) @ cells.T).astype(np.float64)
        return heat.reshape(len(phrases), height, width)

    def start(self, images: Floats) -> State:
        """The state of a captioner before any word was read, one row for each encoded image."""
        return tuple(self.graphs.open("start")({"images": images}))

    def step(self, state: State, words: NDArray[np.int64]) -> tuple[Floats, State]:
        """Read one word for each row, START first: log-probabilities (n, V) of the next word, and the state."""
        arrays = {f"state_{place}": part for place, part in enumerate(state)}
        log_probs, *after = self._step({"words": words, **arrays})
        return log_probs, tuple(after)

    @cached_property
    def _step(self) -> Callable[[Any], list[Floats]]:
        return self.graphs.open("step")

    def refine(self, images: Floats) -> Floats:
        """What a captioner sees in encoded images, as vectors whose neighbours look alike to it: (n, D)."""
        found: Floats = self.graphs.open("refine")({"images": images})[0]
        return found
