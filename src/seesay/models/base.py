"""The verbs that models answer, and the registry of model families.

The command line, the evaluation and the web page know these verbs only and never ask for a model's name.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.backbones import Backbone
from seesay.images.features import Features, FeatureSpec, compute
from seesay.images.io import open_image
from seesay.models.popularity import POPULARITY, Popularity, read_popularity
from seesay.models.weights import Weights as Weights
from seesay.system.progress import Progress
from seesay.text.vocabulary import END, PAD, START, UNKNOWN, Vocabulary

FAMILIES = {
    "vse": "seesay.models.vse:VSE",
    "mrnn": "seesay.models.mrnn:MRNN",
    "dvsa": "seesay.models.dvsa:DVSA",
    "hmlstm": "seesay.models.hmlstm:HMLSTM",
    "identifier": "seesay.models.identifier:Identifier",
    "nic": "seesay.models.nic:NIC",
    "dvsa-captions": "seesay.models.dvsa_captions:DVSACaptions",
    "smlstm": "seesay.models.smlstm:SMLSTM",
    "eye-ear": "seesay.models.eye_ear:EyeEar",
}
"""Model family → where its class lies; a family is imported when it is asked for."""

Picture = Path | str | bytes | Image.Image
State = tuple[Tensor, ...]
"""What a captioner remembers between words: every tensor has one row for each sentence that is being written."""
NORMALISATIONS = ("marginal", "mean-image", "none")
"""By what the likelihood of a sentence is divided before sentences are compared (m-RNN Eq. 7)."""
LONGEST = 100
"""Words of a sentence that are read; nobody's caption is longer, and a pasted book does not exhaust the memory."""


class Matcher(nn.Module, ABC):
    """A model that says how well a sentence fits a picture.

    Attributes:
        family: Its name in the registry.
        config: Its own frozen dataclass.
        weights: Where its weights came from; None before it is trained.
        n_glanced: Dev images by which it is judged while it learns; 0 for all. For models that take minutes for all.
        is_embedding: Whether pictures and sentences are single vectors, and a score is their inner product.
    """

    family: ClassVar[str]
    config_type: ClassVar[type[Any]]
    n_glanced: ClassVar[int] = 0
    is_embedding: ClassVar[bool] = False
    weights: Weights | None = None

    def __init__(self, config: Any, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.feature_spec = features
        self._backbone: list[Backbone] = []  # in a list, so that it is no submodule and not part of the weights

    def initialise(self, seed: int) -> None:
        """Give the weights their values before training; torch's own are a good default."""

    @property
    def temperature(self) -> float:
        """What scores are divided by before a softmax over them says anything: the loss's own, as trained."""
        recipe = self.weights.about.get("recipe", {}) if self.weights else {}
        return float(recipe.get("loss", {}).get("temperature", 1.0))

    @cached_property
    def popularity(self) -> Popularity | None:
        """How near to everything pictures and sentences are, where that lies beside the weights of an embedding."""
        path = self.weights.folder / POPULARITY if self.weights else None
        if not self.is_embedding or path is None or not path.is_file():
            return None
        return read_popularity(path, self.config.dim)

    @property
    def borrowed(self) -> dict[str, tuple[str, ...]]:
        """Names of other weights → the parts of this model that are, and stay, theirs.

        Where those weights are installed, a folder of this model's weights does not hold such parts a second time.
        """
        return {}

    def borrow(self, lender: str) -> None:
        """Fill the parts that are those of `lender`."""

    @property
    def can_score(self) -> bool:
        """Whether `score` has an answer, which a language model without pictures has not."""
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features it needs of a picture (see `seesay.images.features.OUTPUTS`)."""
        return self.outputs_for(self.config)

    @classmethod
    def outputs_for(cls, config: Any) -> tuple[str, ...]:
        """Which features a model of this configuration needs of a picture."""
        return ("pooled",)

    @classmethod
    def vocabulary_for(cls, config: Any) -> Vocabulary | None:
        """The words of a model of this configuration where it does not learn them itself."""
        return None

    @abstractmethod
    def encode_images(self, features: Features) -> Tensor:
        """What the model keeps of each picture: (n_images, …)."""

    @abstractmethod
    def encode_texts(self, sentences: Sequence[str]) -> Any:
        """What the model keeps of each sentence: n_texts rows, a tensor or `seesay.layers.sequences.Sequences`.

        An empty sentence counts as one unknown word.
        """

    @abstractmethod
    def score(self, images: Tensor, texts: Any) -> Tensor:
        """How well each sentence fits each picture, from what the two encoders gave: (n_images, n_texts)."""

    def judge(self, images: Tensor, texts: Any) -> tuple[Tensor, Tensor | None]:
        """Scores to learn from, and what the model itself adds to the loss: for most, nothing."""
        return self.score(images, texts), None

    def check_features(self, key: str, features: Tensor) -> None:
        """Refuse features whose last dimension is not what `config.key` says."""
        found, wanted = features.shape[-1], getattr(self.config, key)
        if found != wanted:
            raise SeesayError(
                f"the features of {self.feature_spec.backbone} have {found} numbers, config.{key} is {wanted}",
                hint=f"--set config.{key}={found}",
            )

    def word_rows(self, sentences: Sequence[str], longest: int = LONGEST) -> tuple[Tensor, Tensor]:
        """The word numbers of sentences, padded (n, T), and their lengths (n,); an empty one is one unknown word."""
        rows = [self.vocabulary.encode(sentence)[:longest] or [UNKNOWN] for sentence in sentences]
        if not rows:  # of a process whose share of a small batch is nothing
            return torch.zeros(0, 0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
        words = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
        return words, torch.tensor([len(row) for row in rows])

    def start_words(self, embedding: nn.Embedding, vectors: str, seed: int) -> None:
        """Let word vectors begin as known ones (`seesay.text.vectors`), or at random where none are named."""
        nn.init.uniform_(embedding.weight, -0.1, 0.1)
        if vectors:
            from seesay.text.vectors import load_vectors

            matrix = load_vectors(vectors).matrix_for(self.vocabulary.words, embedding.embedding_dim, seed)
            embedding.weight.data.copy_(torch.from_numpy(matrix))
        embedding.weight.data[PAD] = 0

    def features(self, images: Sequence[Picture]) -> Features:
        """Open pictures and run the backbone on them, one after the other, without any store."""
        if not self._backbone:
            self._backbone.append(self.feature_spec.load_backbone())
        backbone, spec = self._backbone[0], self.feature_spec
        rows = [compute([open_image(image, at_least=spec.pixels)], backbone, spec.crop) for image in images]
        return Features(*(torch.cat([torch.from_numpy(row[name]).float() for row in rows]) for name in rows[0]))

    @torch.inference_mode()
    def match(self, images: Picture | Sequence[Picture], sentences: str | Sequence[str]) -> Tensor:
        """Score every sentence against every picture.

        Args:
            images: Paths, file contents or opened pictures; one or several.
            sentences: One or several.

        Returns:
            (n_images, n_texts); for a joint embedding the cosine, in [-1, 1].

        Example:
            >>> from seesay.models.pretrained import load
            >>> meadow = Image.new("RGB", (64, 64), "green")
            >>> load("vse").match(meadow, ["a green meadow", "a red bus"]).shape
            torch.Size([1, 2])
        """
        return self.score(*self.encode(images, sentences))

    @torch.inference_mode()
    def encode(self, images: Picture | Sequence[Picture], sentences: str | Sequence[str]) -> tuple[Tensor, Any]:
        """What the two encoders give for pictures and sentences, one or several: what `score` takes."""
        pictures = [images] if isinstance(images, Path | str | bytes | Image.Image) else list(images)
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        if not pictures or not texts:
            missing = "pictures" if not pictures else "sentences"
            raise SeesayError(f"there are no {missing} to match", allowed="one or more pictures and sentences")
        return self.encode_images(self.features(pictures)), self.encode_texts(texts)


class Captioner(Matcher):
    """A model that gives every next word of a sentence about a picture a probability.

    It writes no sentence itself: `seesay.captioning` does, with `start` and `step`. It can match too: a sentence fits a
    picture as well as the picture makes it likely.
    """

    @abstractmethod
    def start(self, images: Tensor) -> State:
        """The state before any word was read, one row for each encoded picture (n, D)."""

    @abstractmethod
    def step(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Read one word for each row, START first: natural log-probabilities (n, V) of the next word, and the state."""

    @abstractmethod
    def read(self, images: Tensor, words: Tensor) -> Tensor:
        """Read whole rows of words (n, T), START first: (n, T, H), from which `predict` tells the word after each."""

    @abstractmethod
    def predict(self, hidden: Tensor) -> Tensor:
        """The logits of the next word: (…, H) → (…, V)."""

    @abstractmethod
    def score(
        self, images: Tensor, texts: Any, *, normalise: str = NORMALISATIONS[0], on_progress: Progress | None = None
    ) -> Tensor:
        """log P(sentence | picture) − log P(sentence), of every picture and sentence: (n_images, n_texts).

        Args:
            normalise: How P(sentence) is found: over sampled training pictures (`marginal`), by the mean training
                picture (`mean-image`), or not at all (`none`).
            on_progress: Called with how much is done, and how much there is; a captioner's scores take their time.
        """

    @abstractmethod
    def refine(self, images: Tensor) -> Tensor:
        """What the model sees in encoded pictures, as vectors whose neighbours look alike to it: (n, D)."""

    @abstractmethod
    def word_vectors(self) -> Tensor:
        """The vector of every word, near each other where words are used alike: (V, D)."""

    @property
    def self_normalise(self) -> float:
        """Weight of (log Z)² in training; 0 where probabilities are always divided by their sum Z."""
        return 0.0

    def settle(self, features: Features) -> None:
        """Keep what the model needs of training pictures once it is trained; most need nothing."""

    def predicted_rows(self, sentences: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """What is read, what is to be predicted after each of it, both padded (n, T), and the lengths (n,)."""
        words, lengths = self.word_rows(sentences)
        read = torch.cat([torch.full((len(words), 1), START), words], 1)
        wanted = torch.cat([words, torch.full((len(words), 1), PAD)], 1)
        wanted[torch.arange(len(words)), lengths] = END
        return read, wanted, lengths + 1

    def word_logits(self, images: Tensor, sentences: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """The logits (N, V) at every word and end of sentences, the words (N,), and the sentence of each (N,)."""
        read, wanted, lengths = self.predicted_rows(sentences)
        mask = torch.arange(read.shape[1]) < lengths.unsqueeze(1)  # (n, T)
        hidden = self.read(images, read)[mask]  # (N, H)
        return self.predict(hidden), wanted[mask], torch.arange(len(read)).repeat_interleave(lengths)

    def log_prob(self, images: Tensor, sentences: Sequence[str]) -> Tensor:
        """Natural log P(sentence and its end | picture), sentence i with encoded picture i: (n,)."""
        logits, wanted, owner = self.word_logits(images, sentences)
        costs = F.cross_entropy(logits, wanted, reduction="none")  # (N,)
        return torch.zeros(len(images)).index_add(0, owner, -costs)


def family_class(family: str) -> type[Matcher]:
    """The class of a model family; an unknown name is answered with the list."""
    if family not in FAMILIES:
        raise SeesayError(f"there is no model family {family!r}", allowed=FAMILIES)
    module, _, name = FAMILIES[family].partition(":")
    return cast(type[Matcher], getattr(import_module(module), name))


@contextmanager
def without_dropout(model: nn.Module) -> Iterator[None]:
    """Let a model work as it does after training, and leave it as it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def config_table(model: Matcher) -> dict[str, Any]:
    """A model's configuration as a plain table."""
    return asdict(model.config)
