"""DVSA: words and regions aligned (Karpathy & Fei-Fei, CVPR 2015, "Deep visual-semantic alignments", and supplement).

    v_i = W_m · CNN(I_b) + b_m                                     a region, section 3.1.1
    s_t = W_d · h_t + b_d,  h from a bidirectional RNN over words  a word in its sentence, section 3.1.2
    S_kl = Σ_{t ∈ g_l} max_{i ∈ g_k} v_i · s_t                     Eq. 1 of the supplement

It learns from whole images and whole sentences; where a word belongs in an image it finds out by itself. How long a
vector is says how much it counts: words that nobody can see become short.

Choices of ours. The regions are fixed windows of one feature map, of which v_i is a linear function; the paper ran its
network on 19 detections. The states of a GRU replace those of a ReLU RNN (`cell = "rnn"` has a plain one). With
`magnitudes = "balanced"` the words of a sentence share one unit of length and the regions of an image have unit length
on average: who counts how much within a sentence is still learned, but a long sentence gains nothing by its length and
scores have a fixed scale. `free` is as published. `sentence = true` adds one more fragment, the whole sentence, which
is compared with the whole image. Trained on their sum, words would learn only what the sentence leaves over; so a
batch is judged by one of the two, and the sum (words times `word_weight`) is for use. With `fragments = "edges"` a
fragment is an edge of the dependency tree (DeFrag, Karpathy et al. 2014): f(W · [x_head, x_word] + b_relation), with
one W for all relations. `objective = "defrag"` is DeFrag's own: every fragment meets every region
(`seesay.layers.fragment_alignment`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes, fixed_regions
from seesay.layers.alignment_score import sum_of_max
from seesay.layers.dropout import drop_words
from seesay.layers.fragment_alignment import fragment_cost, mean_of_positive
from seesay.layers.pooling import masked_max
from seesay.layers.recurrent import CELLS, Recurrent
from seesay.layers.sequences import Sequences
from seesay.models.aligner import Aligner
from seesay.models.registry import register_model
from seesay.models.starting import initialise_from_embedding
from seesay.system.tables import check_config, check_directions
from seesay.text.edges import RELATIONS, parse_edges
from seesay.text.vocabulary import END, PAD, Vocabulary

FRAGMENTS = ("words", "edges")
MAGNITUDES = ("balanced", "words", "free")
OBJECTIVES = ("best-region", "defrag", "defrag-all")


@dataclass(frozen=True)
class DVSAConfig:
    """The shape of the model.

    Attributes:
        dim: Of the joint space.
        word_dim: Of the word vectors, which are learned.
        fragments: What is aligned with regions: `words` in their context, or `edges` of the dependency tree.
        cell: Of the recurrent network that gives words their context: `rnn`, `gru` or `lstm`.
        regions: A scheme of `seesay.images.regions.fixed_regions`; `whole` is the full-frame baseline.
        magnitudes: `balanced` within a sentence and an image; of `words` only, where regions score by their direction
            and no gradient has reached their lengths; or `free`.
        objective: `best-region` is Eq. 1. `defrag` scores all pairs of a region and a fragment, and adds what DeFrag's
            labels of such pairs cost, chosen where they are not known; `defrag-all` chooses none: all regions of its
            image are a fragment's.
        fragment_weight: What that cost counts for beside the ranking loss.
        length_power: Scores are divided by the number of words to this power: 0 is the paper's sum, 1 the mean.
        sentence: Lay the sentence as a whole on the image as a whole, too.
        word_weight: What the words count for beside the sentence.
        word_batches: Share of the training batches that the words are judged by, where the sentence counts too.
        map_dim: Of the network's map: 1,280 for EfficientNet-Lite, 256 for AlexNet, 512 for VGG, 2,048 for ResNet-50.
        word_vectors: What word vectors start from: a name or file for `seesay.text.vectors`, or nothing for random.
        start_from: Weights of a joint embedding (`vse`) of the same shape that words, encoder and W_m start from.
        dropout: On word vectors and states.
        image_dropout: On the regions' features.
        region_dropout: Share of the regions that training leaves out of a batch; the whole image stays.
        word_dropout: Share of words that training replaces by the unknown word.
    """

    dim: int = 512
    word_dim: int = 300
    fragments: str = "words"
    cell: str = "gru"
    regions: str = "windows-20"
    magnitudes: str = "balanced"
    objective: str = "best-region"
    fragment_weight: float = 1.0
    length_power: float = 0.0
    sentence: bool = False
    word_weight: float = 1.0
    word_batches: float = 0.5
    map_dim: int = 1280
    word_vectors: str = ""
    start_from: str = ""
    dropout: float = 0.2
    image_dropout: float = 0.2
    region_dropout: float = 0.0
    word_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_config(
            self,
            one_of={
                "fragments": FRAGMENTS,
                "cell": tuple(CELLS),
                "magnitudes": MAGNITUDES,
                "objective": OBJECTIVES,
            },
            counts=("dim", "word_dim", "map_dim"),
            shares=("dropout", "image_dropout", "region_dropout", "word_dropout", "word_batches"),
        )
        check_directions(self.dim)
        if not 0 <= self.length_power <= 1:
            raise SeesayError(f"config.length_power is {self.length_power}", allowed="0 to 1")
        if self.sentence and self.fragments == "edges":
            raise SeesayError("config.sentence is true, and edges have no sentence", allowed='with fragments = "words"')
        if self.sentence and self.objective != "best-region":
            raise SeesayError(f"config.objective is {self.objective!r}", allowed="best-region where a sentence counts")
        fixed_regions(self.regions)


@register_model("dvsa")
class DVSA(Aligner):
    """Images as vectors of regions, sentences as vectors of words."""

    config_type = DVSAConfig
    tasks = ("retrieval", "grounding", "phrases")
    paper = "dvsa"
    explainers = ("alignment",)
    stage = "regions"
    starts_from: ClassVar[Mapping[str, str]] = {"start_from": "vse"}
    weak_points = (
        "It learned where things are from whole images and whole sentences: a box is often around the telling part "
        "of a thing, or around all of several.",
        "Counting, and what is small: the network's map has ten by ten cells.",
        "A phrase about something that is not there gets a box too.",
        "Words that captions of everyday photos do not use, text inside images, named people and places.",
    )
    config: DVSAConfig

    def __init__(self, config: DVSAConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        self.boxes = fixed_regions(config.regions)
        self.embedding = nn.Embedding(len(vocabulary), config.word_dim, padding_idx=PAD)
        self.W_m = nn.Linear(config.map_dim, config.dim)
        if config.fragments == "edges":
            self.W_edge = nn.Linear(2 * config.word_dim, config.dim, bias=False)
            self.b_relation = nn.Embedding(len(RELATIONS), config.dim)
        else:
            self.encoder = Recurrent(config.cell, config.word_dim, config.dim // 2, bidirectional=True)
            self.W_d = nn.Linear(config.dim, config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.image_dropout = nn.Dropout(config.image_dropout)
        self._edges: dict[str, tuple[list[int], list[int]]] = {}  # sentence → heads, relations

    def initialise(self, seed: int) -> None:
        """Start the word vectors where the configuration says; the rest keeps torch's own initialisation."""
        self.start_words(self.embedding, self.config.word_vectors, seed)
        if self.config.fragments == "edges":
            nn.init.zeros_(self.b_relation.weight)
        if self.config.start_from:
            # A word is a state of its encoder, a region is seen as it sees images.
            initialise_from_embedding(self, "start_from", projections=("W_m",), identity="W_d")

    @property
    def without_graphs(self) -> dict[str, str]:
        why = "sentences are read as trees: which rows are added up differs from sentence to sentence"
        return dict.fromkeys(("texts", "score", "phrases"), why) if self.config.fragments == "edges" else {}

    @classmethod
    def outputs_for(cls, config: DVSAConfig) -> tuple[str, ...]:
        return ("pooled", config.regions)

    def encode_images(self, features: Features) -> Tensor:
        parts = self._parts(features)
        self.check_features("map_dim", parts)
        if self.training and self.config.region_dropout:
            n_kept = round((parts.shape[1] - 1) * (1 - self.config.region_dropout))
            others = torch.randperm(parts.shape[1] - 1)[:n_kept] + 1
            parts = parts[:, torch.cat([torch.zeros(1, dtype=torch.int64), others])]
        # A feature is dropped from all regions of an image: one that lost less than others would win every maximum.
        kept = self.image_dropout(torch.ones_like(parts[:, :1]))  # (n, 1, C)
        vectors: Tensor = self.W_m(parts * kept)
        if self.config.magnitudes == "words":
            return F.normalize(vectors, dim=-1)
        return vectors / self._average_length(vectors)

    @property
    def weighs_regions(self) -> bool:
        return self.config.magnitudes != "words"

    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        own = self.W_m(self._parts(features))  # (n, N, D)
        vectors: Tensor = own if boxes is self.boxes else self.W_m(features.regions(boxes))
        return vectors / self._average_length(own)

    def _parts(self, features: Features) -> Tensor:
        return features.regions(self.boxes) if features.parts is None else features.parts  # (n, N, C)

    def _average_length(self, vectors: Tensor) -> Tensor | float:
        """How long the regions of an image are on average: (n, N, D) → (n, 1, 1)."""
        if self.config.magnitudes == "free":
            return 1.0
        return vectors.square().sum(-1).mean(1).clamp(min=_TINY).sqrt()[:, None, None]

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        if not sentences:
            return Sequences.none(self.embedding.weight, self.config.dim)
        words, lengths = self.word_rows(sentences)
        mask = torch.arange(words.shape[1]) < lengths.unsqueeze(1)  # (n, T)
        shown = drop_words(words, mask, self.config.word_dropout) if self.training else words
        x = self.dropout(self.embedding(shown))  # (n, T, word_dim)
        if self.config.fragments == "edges":
            return Sequences(self._balance(self._encode_edges(x, sentences, lengths), mask), words, lengths)
        h = self.encoder(x, lengths)  # (n, T, dim)
        states = self._balance(self.W_d(self.dropout(h)), mask)
        if not self.config.sentence:
            return Sequences(states, words, lengths)
        whole = F.normalize(self.dropout(masked_max(h, mask)), dim=1)  # (n, dim)
        rows = torch.arange(len(words))
        states, words = F.pad(states, (0, 0, 0, 1)), F.pad(words, (0, 1), value=PAD)
        states = states.index_put((rows, lengths), whole)
        words[rows, lengths] = END
        return Sequences(states, words, lengths + 1)

    def _balance(self, states: Tensor, mask: Tensor) -> Tensor:
        """Let the words of a sentence share what its score is made of: (n, T, D) → (n, T, D)."""
        n_words = mask.sum(1, dtype=states.dtype)  # (n,)
        shares = n_words.pow(-self.config.length_power)
        if self.config.magnitudes != "free":
            magnitudes = (states.square().sum(-1) + _TINY).sqrt().masked_fill(~mask, 0)  # (n, T)
            shares = shares / magnitudes.sum(1)
        return states * shares[:, None, None]

    def _encode_edges(self, x: Tensor, sentences: Sequence[str], lengths: Tensor) -> Tensor:
        """An edge for each word, to its head: f(W · [x_head, x_word] + b_relation)."""
        absent = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._edges]
        for sentence, edges in zip(absent, parse_edges(absent), strict=True):
            numbers = [RELATIONS.index(edge.relation) for edge in edges]
            self._edges[sentence] = [edge.head for edge in edges], numbers
        n, n_words, _ = x.shape
        heads = torch.arange(n_words).repeat(n, 1)  # (n, T): a word without an edge is its own head
        relations = torch.zeros(n, n_words, dtype=torch.int64)
        for row, (sentence, length) in enumerate(zip(sentences, lengths.tolist(), strict=True)):
            head, relation = (torch.tensor(part[:length], dtype=torch.int64) for part in self._edges[sentence])
            heads[row, : len(head)] = torch.where(head < length, head, heads[row, : len(head)])
            relations[row, : len(relation)] = relation
        of_heads = x.gather(1, heads.unsqueeze(-1).expand(x.shape))
        return F.relu(self.W_edge(torch.cat([of_heads, x], -1)) + self.b_relation(relations))

    def judge(self, images: Tensor, texts: Sequences, positives: Tensor) -> tuple[Tensor, Tensor | None]:
        scores = self.score(images, texts)
        if self.config.objective == "best-region":
            return scores, None
        cost = fragment_cost(images, texts, positives, choose=self.config.objective == "defrag")
        return scores, self.config.fragment_weight * cost

    def score(self, images: Tensor | Sequences, texts: Sequences) -> Tensor:
        """S_kl (Eq. 1): (n_images, n_texts). Sentences in place of images are matched by their words."""
        if not self.config.sentence:
            return self._score_words(images, texts)
        words, whole_sentences = _split(texts)
        if isinstance(images, Sequences):
            images, whole_images = _split(images)
        else:
            whole_images = F.normalize(images[:, 0], dim=1)  # region 0 is the whole image
        if self.training:
            # Drawn from the batch itself: every process of a run draws the same, and so does a resumed run.
            by_words = int(texts.words.sum()) * _GOLDEN % 1 < self.config.word_batches
            return self._score_words(images, words) if by_words else whole_images @ whole_sentences.T
        return self.config.word_weight * self._score_words(images, words) + whole_images @ whole_sentences.T

    def _score_words(self, images: Tensor | Sequences, texts: Sequences) -> Tensor:
        if not isinstance(images, Sequences):
            return (sum_of_max if self.config.objective == "best-region" else mean_of_positive)(images, texts)
        if self.config.objective != "best-region":
            raise SeesayError(
                "DeFrag's objective is of regions and fragments, not of two sentences",
                hint="leave sentences_only out of the data",
            )
        words = images.states if self.config.magnitudes == "free" else F.normalize(images.states, dim=-1)
        return sum_of_max(words, texts, mask=images.mask)


def _split(texts: Sequences) -> tuple[Sequences, Tensor]:
    """The words of sentences, and the last fragment of each, which is the sentence as a whole: (n, D)."""
    rows = torch.arange(len(texts))
    return Sequences(texts.states, texts.words, texts.lengths - 1), texts.states[rows, texts.lengths - 1]


_TINY = 1e-12
_GOLDEN = 0.6180339887498949  # whose multiples spread evenly between whole numbers
