"""The verbs of a model, answered by its graphs."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.images.arrays import LOWER, OUTPUTS, Boxes, Floats, ImageFeatures, Looked, Saliency
from seesay.runtime.blocks import block_size, score_in_blocks
from seesay.runtime.folder import GraphFolder
from seesay.runtime.protocol import State, Texts
from seesay.runtime.sentences import RowReader
from seesay.text.tokenizer import Tokenizer

if TYPE_CHECKING:  # opening images needs packages that a query does without
    from seesay.runtime.network import Network
    from seesay.runtime.trees import TreeReader
    from seesay.text.trees import Tree
    from seesay.text.vocabulary import Vocabulary

GRAPH_OF = {"marginal": "score", "mean-image": "score-mean-image", "none": "likelihood"}
"""How a captioner's scores are normalised → the graph that does."""


class Model:
    """Exported weights. A graph is opened with the first question that needs it: a sentence never opens the network.

    Args:
        name: Weights that came with the package, or a folder.
        threads: That the network may use; 0 for as many as there are cores. The other graphs take one.
    """

    def __init__(self, name: str | Path, *, threads: int = 0) -> None:
        self.graphs = GraphFolder(name)
        self.weights = self.graphs.weights
        self.about = self.weights.about
        self.name = self.weights.name
        self.threads = threads

    @property
    def family(self) -> str:
        return str(self.about["family"])

    @property
    def config(self) -> Mapping[str, Any]:
        """The shape of the model."""
        found: Mapping[str, Any] = self.about["config"]
        return found

    @property
    def vocabulary(self) -> "Vocabulary":
        """The words of a model that reads whole words."""
        return cast("Vocabulary", self.graphs.vocabulary)

    @property
    def tokenizer(self) -> Tokenizer:
        """The words or subwords that it reads."""
        return self.graphs.vocabulary

    @property
    def temperature(self) -> float:
        """What scores are divided by before a softmax over them says anything: the loss's own, as trained."""
        if "temperature" in self.about:
            return float(self.about["temperature"])
        return float(self.about.get("recipe", {}).get("loss", {}).get("temperature", 1.0))

    @property
    def explainers(self) -> tuple[str, ...]:
        """The names of its explainers; the first is the default."""
        return tuple(self.graphs.table.get("explainers", ()))

    @property
    def is_embedding(self) -> bool:
        """Whether images and sentences are single vectors, and a score is their inner product."""
        return bool(self.graphs.table.get("is_embedding", False))

    @property
    def feature_spec(self) -> "Network":
        """The network that its features come from."""
        return self.network

    @property
    def weighs_regions(self) -> bool:
        """Whether the length of a region's vector says how much there is to say about it."""
        return bool(self.graphs.table.get("weighs_regions", False))

    @property
    def calibration(self) -> tuple[float, float, float]:
        """Of an identifier: temperature and offset of P(match), temperature of the choice among images."""
        temperature, offset, choice = self.graphs.tensor("calibration").tolist()
        return temperature, offset, choice

    def can(self, verb: str) -> bool:
        """Whether it answers `step` (writes captions), `regions`, `phrases`, `embed`, `look`, `pooled`, `saliency`."""
        if verb in ("texts", "phrases") and self._reads_trees:
            return True
        return self.is_embedding if verb == "embed" else verb in self.graphs.names

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features it needs of an image: `pooled`, `map`, or the name of a region scheme."""
        return tuple(self.graphs.table.get("outputs", ("pooled",)))

    @cached_property
    def network(self) -> "Network":
        """The network whose features the model takes: in the weights' own folder, or the package's."""
        from seesay.runtime.network import find_network, open_network

        name = str(self.graphs.table.get("network", ""))
        if not name or Path(name).name != name:
            raise SeesayError(f"{self.graphs.origin} names the network {name!r}", allowed="the name of a folder")
        digest = str(self.about["features"].get("digest", ""))
        folder = find_network(name, (self.graphs.folder, self.graphs.folder.parent))
        return open_network(folder, digest=digest, threads=self.threads)

    @property
    def schemes(self) -> tuple[str, ...]:
        """The regions whose means it looks at; one scheme at most."""
        return tuple(output for output in self.outputs if output not in (*OUTPUTS, LOWER))

    def features(self, images: Sequence[Any]) -> ImageFeatures:
        """Open images and run the network on them, one after the other."""
        from seesay.images.io import open_image

        network = self.network
        rows = [network.features([open_image(image, at_least=network.pixels)], self.schemes) for image in images]
        if not rows:
            raise SeesayError("there are no images", allowed="one or more")
        return ImageFeatures.join(rows)

    def encode_images(self, features: ImageFeatures) -> Floats:
        """What the model keeps of each image: (n, …)."""
        given = {
            "pooled": features.pooled,
            "map": features.map,
            "lower": features.lower,
            "parts": self._parts(features),
        }
        arrays = {name: array for name, array in given.items() if array is not None}
        found: Floats = self.graphs.open("images")(arrays)[0]
        return found

    def encode_pooled(self, pooled: Floats) -> Floats:
        """What `encode_images` gives, from the vectors of a model that sees through this one: (n, …)."""
        found: Floats = self.graphs.open("pooled")({"pooled": pooled})[0]
        return found

    def _parts(self, features: ImageFeatures) -> Floats | None:
        if features.parts is None and self.schemes and features.map is not None:
            from seesay.images.regions import fixed_regions

            return features.regions(fixed_regions(self.schemes[0]))
        return features.parts

    def view(self, features: ImageFeatures) -> Floats:
        """What search keeps of images for the stage that this model can be: (n, N, D)."""
        encoded = self.encode_images(features)
        return encoded[:, None] if encoded.ndim == 2 else encoded

    @property
    def _reads_trees(self) -> bool:
        return "level" in self.graphs.names

    @cached_property
    def _rows(self) -> RowReader:
        """What reads sentences as rows; of a model that reads trees, its words."""
        return RowReader(self.graphs)

    @cached_property
    def _reader(self) -> "RowReader | TreeReader":
        """What reads its sentences."""
        if not self._reads_trees:
            return self._rows
        from seesay.runtime.trees import TreeReader

        return TreeReader(self.graphs)

    @property
    def caption_words(self) -> Tokenizer:
        """The words that captions taught, with how often they have each."""
        return self._rows.caption_words

    def text_inputs(self, sentences: Sequence[str]) -> dict[str, NDArray[Any]]:
        """What the graph `texts` reads of sentences."""
        return self._rows.text_inputs(sentences)

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        """What the model keeps of each sentence: an array of n rows, or `Texts`."""
        encoded = self._reader.encode_texts(sentences or [""])
        return encoded if sentences else encoded[:0]

    def encode_phrases(self, phrases: Sequence[str]) -> Floats:
        """One vector for each phrase, read alone: (n, D)."""
        return self._reader.encode_phrases(phrases or [""])[: len(phrases)]

    def remember(self, sentence: str, tree: "Tree") -> None:
        """Take the tree of a sentence as it is given, without the parser; of a model that reads trees."""
        self._reader.remember(sentence, tree)

    def encode_regions(self, features: ImageFeatures, boxes: Boxes) -> Floats:
        """The vectors of any regions of images whose maps are given: (n, N, D)."""
        session = self.graphs.open("regions")
        given = {"pooled": features.pooled, "parts": self._parts(features), "means": features.regions(boxes)}
        found: Floats = session({name: array for name, array in given.items() if array is not None})[0]
        return found

    def score(self, images: Floats, texts: Any, *, normalise: str = "marginal") -> Floats:
        """How well each sentence fits each image, from what the two encoders gave: (n_images, n_texts).

        Args:
            normalise: As for `seesay.models.base.Captioner.score`; other models have no choice.
        """
        if normalise not in GRAPH_OF:
            raise SeesayError(f"there is no normalisation {normalise!r}", allowed=GRAPH_OF)
        return self._score(images, texts, "look" if self.can("look") else GRAPH_OF[normalise])

    def _score(self, images: Floats, texts: Any, graph: str) -> Floats:
        words = len(self.vocabulary) if self.can("step") else 0
        return score_in_blocks(self.graphs.open(graph), images, texts, *block_size(images, texts, words))

    def score_views(self, views: Floats, sentences: Sequence[str]) -> Floats:
        """How well each sentence fits each image whose view (n, N, D) is given: (n_images, n_texts).

        For a captioner: how much likelier it finds the sentence for an image than for the mean training image, by
        logits alone where its weights were trained for that: a search does not wait for sums over all words.
        """
        texts = self.encode_texts(sentences)
        images = views[:, 0] if self.can("step") or not isinstance(texts, Texts) else views
        return self.score_as_stage(np.ascontiguousarray(images, np.float32), texts)

    def score_as_stage(self, images: Floats, texts: Any) -> Floats:
        """What `score_views` gives, from what the two encoders gave: (n_images, n_texts)."""
        graphs = ("score-views", "score-mean-image", "look", "score")
        return self._score(images, texts, next(filter(self.can, graphs), "score"))

    def embed(self, features: ImageFeatures, sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """One vector for each image and one for each sentence, the more alike the better they fit: (n, D), (m, D)."""
        if not self.is_embedding:
            raise SeesayError(f"{self.name} has no one vector for an image and a sentence", hint="seesay models")
        return self.encode_images(features), self.encode_texts(sentences)

    def look(self, images: Floats, texts: Texts) -> Looked[Floats]:
        """What a model that attends looks at in every pair of a few images and a few sentences."""
        return Looked(*self.graphs.open("look")({"images": images, **vars(texts)}))

    def saliency(self, features: ImageFeatures, sentences: Sequence[str], *, contrastive: bool) -> Saliency[Floats]:
        """What the match of every image with the sentence in the same place rests on (excitation backprop)."""
        if features.map is None:
            raise ValueError("an explanation needs the features' map")
        given: dict[str, NDArray[Any]] = {"map": features.map, **self._rows.word_rows(sentences)}
        return Saliency(*self.graphs.open("saliency-contrastive" if contrastive else "saliency")(given))

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

    def word_vectors(self) -> Floats:
        """The vector of every word, near each other where a captioner uses words alike: (V, D)."""
        found: Floats = self.graphs.open("words")({"words": np.arange(len(self.tokenizer))})[0]
        return found
