"""The verbs that models answer, and what a model says about itself.

The command line, the evaluation and the web page know these only and never ask for a model's name. A model family is a
class that `seesay.models.registry` has registered.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from seesay.catalogue.weights import Weights as Weights
from seesay.errors import SeesayError
from seesay.images.backbones import Backbone
from seesay.images.features import Features, FeatureSpec, compute
from seesay.images.io import open_image
from seesay.images.regions import Boxes
from seesay.models.declared import Declared
from seesay.models.hubness import Hubness, find_hubness, read_hubness
from seesay.system.progress import Progress
from seesay.text.tokenizer import Tokenizer, pad_rows
from seesay.text.tokens import LONGEST
from seesay.text.vocabulary import END, PAD, START, Vocabulary

ImageLike = Path | str | bytes | Image.Image
State = tuple[Tensor, ...]
"""What a captioner remembers between words: every tensor has one row for each sentence that is being written."""
NORMALISATIONS = ("marginal", "mean-image", "none")
"""By what the likelihood of a sentence is divided before sentences are compared (m-RNN Eq. 7)."""


class Matcher(nn.Module, Declared, ABC):
    """A model that says how well a sentence fits an image.

    Attributes:
        config: Its own frozen dataclass.
        weights: Where its weights came from; None before it is trained.
    """

    weights: Weights | None = None

    def __init__(self, config: Any, tokenizer: Tokenizer, features: FeatureSpec) -> None:
        super().__init__()
        self.config = config
        self.tokenizer = tokenizer
        self.feature_spec = features
        self._backbone: list[Backbone] = []  # in a list, so that it is no submodule and not part of the weights

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of a model that reads whole words."""
        if not isinstance(self.tokenizer, Vocabulary):
            raise SeesayError(f"{self.family} reads subwords and has no vocabulary of whole words")
        return self.tokenizer

    @property
    def caption_words(self) -> Tokenizer:
        """The words that captions taught, with how often they have each."""
        return self.tokenizer

    def initialise(self, seed: int) -> None:
        """Give the weights their values before training; torch's own are a good default."""

    @property
    def temperature(self) -> float:
        """What scores are divided by before a softmax over them says anything: the loss's own, as trained."""
        recipe = self.weights.about.get("recipe", {}) if self.weights else {}
        return float(recipe.get("loss", {}).get("temperature", 1.0))

    @cached_property
    def hubness(self) -> Hubness | None:
        """The hubness of images and sentences, where the folder of an embedding's weights has a file of it."""
        path = find_hubness(self.weights.folder) if self.weights and self.is_embedding else None
        return read_hubness(path, self.config.dim) if path else None

    @property
    def shared_parts(self) -> dict[str, tuple[str, ...]]:
        """Names of other weights → the parts of this model that are, and stay, those of theirs.

        Where those weights are installed, a folder of this model's weights does not hold such parts a second time.
        """
        return {}

    def share_from(self, source: str) -> None:
        """Fill the parts that are shared with the weights `source`."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which features it needs of an image (see `seesay.images.features.OUTPUTS`)."""
        return self.outputs_for(self.config)

    @abstractmethod
    def encode_images(self, features: Features) -> Tensor:
        """What the model keeps of each image: (n_images, …)."""

    @abstractmethod
    def encode_texts(self, sentences: Sequence[str]) -> Any:
        """What the model keeps of each sentence: n_texts rows, a tensor or `seesay.layers.sequences.Sequences`.

        An empty sentence counts as one unknown word.
        """

    @abstractmethod
    def score(self, images: Tensor, texts: Any) -> Tensor:
        """How well each sentence fits each image, from what the two encoders gave: (n_images, n_texts)."""

    def judge(self, images: Tensor, texts: Any, positives: Tensor) -> tuple[Tensor, Tensor | None]:
        """Scores to learn from, and what the model itself adds to the loss, given which pairs match: mostly nothing."""
        return self.score(images, texts), None

    @property
    def view_dim(self) -> int:
        """D of its views."""
        return self.view_dim_for(self.config)

    def view(self, features: Features) -> Tensor:
        """What search keeps of images for the stage that this model can be: (n, N, D)."""
        encoded = self.encode_images(features)
        return encoded.unsqueeze(1) if encoded.ndim == 2 else encoded

    def score_views(self, views: Tensor, sentences: Sequence[str]) -> Tensor:
        """How well each sentence fits each image whose view is given: (n_images, n_texts)."""
        return self.score(views[:, 0] if self.is_embedding else views, self.encode_texts(sentences))

    def region_vectors(self, features: Features, boxes: Boxes) -> Tensor:
        """The vectors by which regions of one image are ranked for a phrase: (N, D).

        To a model that sees whole images, a region is an image: its features are the mean of the map within the box.
        """
        means = features.regions(boxes)[0]  # (N, C)
        vectors = self.encode_images(Features(means, means[:, None, None]))
        if vectors.ndim != 2:
            raise SeesayError(f"{self.family} has no vector for a region", allowed="a joint embedding, or an aligner")
        return vectors

    def phrase_vectors(self, phrases: Sequence[str]) -> Any:
        """One vector for each phrase, read alone: (n, D)."""
        return self.encode_texts(phrases)

    def check_features(self, key: str, features: Tensor) -> None:
        """Refuse features whose last dimension is not what `config.key` says."""
        found, wanted = features.shape[-1], getattr(self.config, key)
        if found != wanted:
            raise SeesayError(
                f"the features of {self.feature_spec.backbone} have {found} numbers, config.{key} is {wanted}",
                hint=f"--set config.{key}={found}",
            )

    def word_rows(self, sentences: Sequence[str], longest: int = LONGEST) -> tuple[Tensor, Tensor]:
        """The numbers of sentences, padded (n, T), and their lengths (n,); an empty one is one unknown word."""
        words, lengths = pad_rows(self.tokenizer, sentences, longest)
        return torch.from_numpy(words), torch.from_numpy(lengths)

    def start_words(self, embedding: nn.Embedding, vectors: str, seed: int) -> None:
        """Start word vectors from known ones (`seesay.text.vectors`), or at random where none are named."""
        nn.init.uniform_(embedding.weight, -0.1, 0.1)
        if vectors:
            from seesay.text.vectors import load_vectors

            matrix = load_vectors(vectors).matrix_for(self.vocabulary.words, embedding.embedding_dim, seed)
            embedding.weight.data.copy_(torch.from_numpy(matrix))
        embedding.weight.data[PAD] = 0

    @property
    def backbone(self) -> Backbone:
        """The image network, loaded when it is first needed."""
        if not self._backbone:
            self._backbone.append(self.feature_spec.load_backbone())
        return self._backbone[0]

    def features(self, images: Sequence[ImageLike]) -> Features:
        """Open images and run the backbone on them, one after the other, without any store."""
        backbone, spec = self.backbone, self.feature_spec
        rows = [compute([open_image(image, at_least=spec.pixels)], backbone, spec.crop) for image in images]
        return Features(*(torch.cat([torch.from_numpy(row[name]).float() for row in rows]) for name in rows[0]))

    @torch.inference_mode()
    def match(self, images: ImageLike | Sequence[ImageLike], sentences: str | Sequence[str]) -> Tensor:
        """Score every sentence against every image.

        Args:
            images: Paths, file contents or opened images; one or several.
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
    def encode(self, images: ImageLike | Sequence[ImageLike], sentences: str | Sequence[str]) -> tuple[Tensor, Any]:
        """What the two encoders give for images and sentences, one or several: what `score` takes."""
        given = [images] if isinstance(images, Path | str | bytes | Image.Image) else list(images)
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        if not given or not texts:
            missing = "images" if not given else "sentences"
            raise SeesayError(f"there are no {missing} to match", allowed="one or more images and sentences")
        return self.encode_images(self.features(given)), self.encode_texts(texts)


class Captioner(Matcher):
    """A model that gives every next word of a sentence about an image a probability.

    It writes no sentence itself: `seesay.captioning` does, with `start` and `step`. It can match too: a sentence fits
    an image as well as the image makes it likely.
    """

    learning_task = "captioning"
    tuning = ("captions", "matching", "confidence")
    tasks: ClassVar[tuple[str, ...]] = ("captions",)
    normalisations = NORMALISATIONS
    graph_kinds: ClassVar[tuple[str, ...]] = ("captions", "texts", "score")

    @abstractmethod
    def start(self, images: Tensor) -> State:
        """The state before any word was read, one row for each encoded image (n, D)."""

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
        """log P(sentence | image) − log P(sentence), of every image and sentence: (n_images, n_texts).

        Args:
            normalise: How P(sentence) is found: over sampled training images (`marginal`), by the mean training
                image (`mean-image`), or not at all (`none`).
            on_progress: Called with how much is done, and how much there is; a captioner's scores take their time.
        """

    @abstractmethod
    def refine(self, images: Tensor) -> Tensor:
        """What the model sees in encoded images, as vectors whose neighbours look alike to it: (n, D)."""

    @abstractmethod
    def word_vectors(self) -> Tensor:
        """The vector of every word, near each other where words are used alike: (V, D)."""

    @property
    def self_normalise(self) -> float:
        """Weight of (log Z)² in training; 0 where probabilities are always divided by their sum Z."""
        return 0.0

    def finalize(self, features: Features) -> None:
        """Keep what the model needs of training images once it is trained; most need nothing."""

    def score_views(self, views: Tensor, sentences: Sequence[str]) -> Tensor:
        """How much likelier each sentence is for an image than for the mean training image: (n_images, n_texts)."""
        return self.score(views[:, 0], self.encode_texts(sentences), **self.stage_options)

    @property
    def stage_options(self) -> dict[str, Any]:
        """How it scores as a stage of search, which does not wait for sums over all words."""
        return {"normalise": "mean-image", **({"softmax": "logits"} if self.self_normalise else {})}

    def predicted_rows(self, sentences: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """What is read, what is to be predicted after each of it, both padded (n, T), and the lengths (n,)."""
        words, lengths = self.word_rows(sentences)
        read = torch.cat([words.new_full((len(words), 1), START), words], 1)
        wanted = torch.cat([words, words.new_full((len(words), 1), PAD)], 1)
        wanted[torch.arange(len(words)), lengths] = END
        return read, wanted, lengths + 1

    def word_logits(self, images: Tensor, sentences: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """The logits (N, V) at every word and end of sentences, the words (N,), and the sentence of each (N,)."""
        read, wanted, lengths = self.predicted_rows(sentences)
        mask = torch.arange(read.shape[1]) < lengths.unsqueeze(1)  # (n, T)
        hidden = self.read(images, read)[mask]  # (N, H)
        return self.predict(hidden), wanted[mask], torch.arange(len(read)).repeat_interleave(lengths)

    def log_prob(self, images: Tensor, sentences: Sequence[str]) -> Tensor:
        """Natural log P(sentence and its end | image), sentence i with encoded image i: (n,)."""
        logits, wanted, owner = self.word_logits(images, sentences)
        costs = F.cross_entropy(logits, wanted, reduction="none")  # (N,)
        return torch.zeros(len(images)).index_add(0, owner, -costs)
