"""What a model answers in NumPy, whichever engine computes: its graphs, or torch.

Captions, groundings and explanations are written against this and know no engine. `seesay.runtime.matching.Model`
answers from graphs, `seesay.engines.TorchModel` from a model in torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seesay.images.arrays import Boxes, Floats, ImageFeatures, Looked, Saliency

if TYPE_CHECKING:
    from seesay.catalogue.weights import Weights
    from seesay.images.feature_store import FeatureSource
    from seesay.text.tokenizer import Tokenizer
    from seesay.text.trees import Tree
    from seesay.text.vocabulary import Vocabulary

State = tuple[NDArray[Any], ...]
"""What a captioner remembers between words: every array has one row for each sentence that is being written."""


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

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which places hold a word: (n, T)."""
        found: NDArray[np.bool_] = np.arange(self.words.shape[1]) < self.lengths[:, None]
        return found

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> "Texts":
        """Some of the rows, without the padding that none of them needs."""
        lengths = self.lengths[rows]
        longest = int(lengths.max(initial=1))
        return Texts(self.states[rows, :longest], self.words[rows, :longest], lengths)


class Answering(Protocol):
    """The verbs of models. One that a model does not have is refused by name; `can` tells before."""

    @property
    def name(self) -> str:
        """Of the weights, or of the family where there are none yet."""

    @property
    def family(self) -> str: ...

    @property
    def weights(self) -> "Weights | None":
        """Where it came from; None before it is trained."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The shape of the model."""

    @property
    def tokenizer(self) -> "Tokenizer": ...

    @property
    def caption_words(self) -> "Tokenizer":
        """The words that captions taught, with how often they have each."""

    @property
    def vocabulary(self) -> "Vocabulary":
        """The words of a model that reads whole words."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features it needs of an image: `pooled`, `map`, or the name of a region scheme."""

    @property
    def feature_spec(self) -> "FeatureSource":
        """The network that its features come from."""

    @property
    def explainers(self) -> tuple[str, ...]:
        """The names of its explainers; the first is the default."""

    @property
    def is_embedding(self) -> bool:
        """Whether images and sentences are single vectors, and a score is their inner product."""

    @property
    def weighs_regions(self) -> bool:
        """Whether the length of a region's vector says how much there is to say about it."""

    @property
    def temperature(self) -> float:
        """What scores are divided by before a softmax over them says anything."""

    @property
    def calibration(self) -> tuple[float, float, float]:
        """Of an identifier: temperature and offset of P(match), temperature of the choice among images."""

    def can(self, verb: str) -> bool:
        """Whether it answers `step` (writes captions), `regions`, `phrases`, `embed`, `look` or `saliency`."""

    def features(self, images: Sequence[Any]) -> ImageFeatures:
        """Open images and run the network on them."""

    def encode_images(self, features: ImageFeatures) -> Floats:
        """What the model keeps of each image: (n, …)."""

    def encode_texts(self, sentences: Sequence[str]) -> Any:
        """What the model keeps of each sentence: an array of n rows, or `Texts`."""

    def encode_phrases(self, phrases: Sequence[str]) -> Floats:
        """One vector for each phrase, read alone: (n, D)."""

    def remember(self, sentence: str, tree: "Tree") -> None:
        """Take the tree of a sentence as it is given, without the parser; of a model that reads trees."""

    def encode_regions(self, features: ImageFeatures, boxes: Boxes) -> Floats:
        """The vectors of any regions of images whose maps are given: (n, N, D)."""

    def score(self, images: Floats, texts: Any, *, normalise: str = "marginal") -> Floats:
        """How well each sentence fits each image, from what the two encoders gave: (n_images, n_texts)."""

    def score_as_stage(self, images: Floats, texts: Any) -> Floats:
        """As `score`, in the way of a stage of search and of a member of an ensemble: a captioner's takes less time."""

    def embed(self, features: ImageFeatures, sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """One vector for each image and one for each sentence, the more alike the better they fit: (n, D), (m, D)."""

    def look(self, images: Floats, texts: Texts) -> Looked[Floats]:
        """What is looked at in every pair of a few images and a few sentences."""

    def saliency(self, features: ImageFeatures, sentences: Sequence[str], *, contrastive: bool) -> Saliency[Floats]:
        """What the match of every image with the sentence in the same place rests on (excitation backprop)."""

    def start(self, images: Floats) -> State:
        """The state of a captioner before any word was read, one row for each encoded image."""

    def step(self, state: State, words: NDArray[np.int64]) -> tuple[Floats, State]:
        """Read one word for each row, START first: log-probabilities (n, V) of the next word, and the state."""

    def refine(self, images: Floats) -> Floats:
        """What a captioner sees in encoded images, as vectors whose neighbours look alike to it: (n, D)."""
