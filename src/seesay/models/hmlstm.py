"""HM-LSTM: sentences, phrases, images and regions in one dense space (Niu et al., ICCV 2017).

    v = L2(BN(W_m · CNN(I_b) + b_m))        an image or a region of it, Eq. 1 and section 3.2.2
    h = L2(BN(W_t · h_j + b_t))             a node of the sentence's tree: the root is the sentence, inner nodes phrases
    s(v, h) = v · h

where h_j is the node's state in a Tree-LSTM that keeps noun-phrase children apart from others (Eqs. 2-8,
`seesay.layers.tree_lstm`). How it is learned, first from sentences alone and then in turns from correspondences that it
finds itself, stands in `seesay.training.alternating`.

A sentence is also a bag of its noun phrases. Each takes the region of an image that suits it best, and the mean over
phrases says how well sentence and image fit, beside whole sentence and whole image:

    S(I, s) = v_0 · h_0  +  bag_score · mean_k max_i v_i · h_k

Choices of ours. The bag: the paper ranks by v_0 · h_0 alone (`bag_score = 0`). Regions are fixed windows of one feature
map, whose mean takes the place of R-CNN's 19 detections. A leaf is a child like any other that is no noun phrase. With
`sentence = "max"` a sentence is the largest value of each number over all nodes of its tree, not the root alone; a
phrase is then the same over the nodes below its own. Word vectors may be learned (`fixed_words = false`); the paper's
word2vec vectors of 300 numbers are GloVe's of 50.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seesay.errors import SeesayError
from seesay.images.features import Features, FeatureSpec
from seesay.images.regions import Boxes, fixed_regions
from seesay.layers.alignment_score import sum_of_max
from seesay.layers.branch import Branch
from seesay.layers.phrases import Phrases, merge_words
from seesay.layers.sequences import Sequences
from seesay.layers.tree_lstm import TreeLSTM
from seesay.layers.tree_plan import plan_readings
from seesay.models.aligner import Aligner
from seesay.models.registry import register_model
from seesay.system.tables import check_config
from seesay.text.readings import Indices, Reader, Reading, phrase_nodes
from seesay.text.tokens import LONGEST
from seesay.text.tree_places import node_runs, phrase_places, word_places
from seesay.text.trees import Tree
from seesay.text.vocabulary import PAD, Vocabulary

SENTENCES = ("root", "max")
MATCHES = ("cosine", "heat")


@dataclass(frozen=True)
class HMLSTMConfig:
    """The shape of the model, and how it takes turns in learning.

    Attributes:
        dim: Of the joint space.
        hidden: Of the states of nodes.
        word_dim: Of the word vectors.
        word_vectors: What word vectors start from: a name or file for `seesay.text.vectors`, or nothing for random.
        fixed_words: Leave them as they are, as the paper does.
        syntax: Keep noun-phrase children apart (H-LSTM); otherwise the child-sum Tree-LSTM.
        sentence: What stands for a phrase: its node's state, `root`, or the `max` over the nodes it consists of.
        regions: A scheme of `seesay.images.regions.fixed_regions`, from which correspondences are chosen.
        image_dim: Of the network's vector, which has to be the mean of its map: 1,280 for EfficientNet-Lite.
        batch_norm: Between the linear layer of each side and the scaling to unit length.
        dropout: On word vectors and states.
        image_dropout: On the features of images and regions.
        word_dropout: Share of words that training replaces by the unknown word.
        coarse_epochs: Epochs that learn from sentences and images alone; the others find correspondences in turns.
        round_epochs: Epochs between two searches for correspondences.
        match: How a phrase chooses its region: by the `cosine`, as the paper does, or by how well the region fits where
            the image is warm for the phrase (`heat`, see `seesay.grounding.heat.box_overlaps`).
        parts_only: Phrases choose among the regions other than the whole image, while the model learns.
        phrase_weight: Of the loss over phrases and regions, beside that over sentences and images.
        bag_score: What a sentence's phrases, each with its best region, count for beside the sentence as a whole.
        bag_weight: Of the loss over sentences and images that have these phrases and regions alone to tell them by.
        region_dropout: Share of the regions that training leaves out of a batch before phrases choose among them.
    """

    dim: int = 512
    hidden: int = 512
    word_dim: int = 50
    word_vectors: str = "glove-6b-50d"
    fixed_words: bool = True
    syntax: bool = True
    sentence: str = "root"
    regions: str = "windows-20"
    image_dim: int = 1280
    batch_norm: bool = True
    dropout: float = 0.0
    image_dropout: float = 0.0
    word_dropout: float = 0.0
    coarse_epochs: int = 6
    round_epochs: int = 2
    match: str = "cosine"
    parts_only: bool = False
    phrase_weight: float = 1.0
    bag_score: float = 0.0
    bag_weight: float = 0.0
    region_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_config(
            self,
            one_of={"sentence": SENTENCES, "match": MATCHES},
            counts=("dim", "hidden", "word_dim", "image_dim", "round_epochs"),
            shares=("dropout", "image_dropout", "word_dropout", "region_dropout"),
            amounts=("coarse_epochs", "phrase_weight", "bag_score", "bag_weight"),
        )
        if self.fixed_words and not self.word_vectors:
            raise SeesayError("config.fixed_words is true and there are no word_vectors", allowed="one or the other")
        if len(fixed_regions(self.regions)) == 1 and self.parts_only:
            raise SeesayError("config.parts_only is true, config.regions has no parts", allowed="windows-N, grid-RxC")


@register_model("hmlstm")
class HMLSTM(Aligner):
    """Images, regions, sentences and phrases as unit vectors of one space.

    Attributes:
        boxes: (N, 4) the regions that phrases choose from, the whole image first.
    """

    config_type = HMLSTMConfig
    learning_task = "alternating"
    tasks = ("retrieval", "grounding", "phrases", "correspondences")
    paper = "hmlstm"
    explainers = ("alignment",)
    stage = "regions"
    graph_kinds = ("regions", "trees")
    weak_points = (
        "It found the region of each phrase by itself, and was often wrong: read a box as a guess.",
        "A sentence is read as a tree. Where the parser stumbles, over a list or a line of verse, so does the model.",
        "Counting, left and right, and what is smaller than its windows.",
        "Words that captions of everyday photos do not use, text inside images, named people and places.",
    )
    config: HMLSTMConfig

    def __init__(self, config: HMLSTMConfig, vocabulary: Vocabulary, features: FeatureSpec) -> None:
        super().__init__(config, vocabulary, features)
        self.boxes = fixed_regions(config.regions)
        self.embedding = nn.Embedding(len(vocabulary), config.word_dim, padding_idx=PAD)
        self.embedding.weight.requires_grad_(not config.fixed_words)
        self.tree = TreeLSTM(config.word_dim, config.hidden, syntax=config.syntax)
        self.W_t = Branch(config.hidden, config.dim, batch_norm=config.batch_norm)
        self.W_m = Branch(config.image_dim, config.dim, batch_norm=config.batch_norm)
        self.dropout = nn.Dropout(config.dropout)
        self.image_dropout = nn.Dropout(config.image_dropout)
        self._reader = Reader(vocabulary, LONGEST)

    def initialise(self, seed: int) -> None:
        """Start the word vectors where the configuration says; the rest keeps its own initialisation."""
        self.start_words(self.embedding, self.config.word_vectors, seed)

    @classmethod
    def outputs_for(cls, config: HMLSTMConfig) -> tuple[str, ...]:
        return ("pooled", config.regions)

    def embed_images(self, features: Features) -> Tensor:
        """Whole images: (n, D)."""
        self.check_features("image_dim", features.pooled)
        vectors: Tensor = self.W_m(self.image_dropout(features.pooled))
        return vectors

    def encode_images(self, features: Features) -> Tensor:
        """The regions of each image, the whole first: (n, N, D)."""
        return self._project(self._parts(features))

    def encode_regions(self, features: Features, boxes: Boxes) -> Tensor:
        return self.encode_images(features) if boxes is self.boxes else self._project(features.regions(boxes))

    def _project(self, means: Tensor) -> Tensor:
        self.check_features("image_dim", means)
        vectors: Tensor = self.W_m(means.flatten(0, 1))
        return vectors.view(*means.shape[:2], -1)

    def _parts(self, features: Features) -> Tensor:
        return features.regions(self.boxes) if features.parts is None else features.parts  # (n, N, C)

    def encode_for_training(
        self, features: Features, owner: Tensor, region: Tensor, shown: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Images (n, D), the region of each phrase (P, D), and some regions of all (n, M, D), as training sees them.

        Args:
            owner: (P,) the image of each phrase.
            region: (P,) which of `boxes`.
            shown: (M,) those of `boxes` that all phrases choose from.
        """
        self.check_features("image_dim", features.pooled)
        kept = self.image_dropout(torch.ones_like(features.pooled))  # a feature is dropped from all parts of an image
        parts = self._parts(features)
        n, n_own = len(kept), len(kept) + len(owner)
        bags = (parts[:, shown] * kept.unsqueeze(1)).flatten(0, 1)
        vectors: Tensor = self.W_m(torch.cat([features.pooled * kept, parts[owner, region] * kept[owner], bags]))
        return vectors[:n], vectors[n:n_own], vectors[n_own:].view(n, len(shown), self.config.dim)

    def embed_texts(self, sentences: Sequence[str]) -> Tensor:
        """Whole sentences: (n, D)."""
        return self.encode_trees(sentences, nouns=False).sentences

    def encode_texts(self, sentences: Sequence[str]) -> Sequences:
        """A vector for every word, and for the sentence as a whole one more (`seesay.text.tree_places.word_places`)."""
        found, places = self.encode_trees(sentences), word_places(self.read(sentences))
        vectors = torch.cat([found.sentences, found.phrases])
        source, weights, words, lengths = (
            torch.from_numpy(part) for part in (places.source, places.weights, places.words, places.lengths)
        )
        states = vectors[source] * weights.unsqueeze(-1) if len(vectors) else vectors.new_zeros(0, 1, self.config.dim)
        return Sequences(states, words, lengths)

    def encode_phrases(self, phrases: Sequence[str]) -> Tensor:
        """Phrases that stand alone, as they would be within a sentence: (n, D).

        A noun phrase is a node below the root, and regions are assigned to nodes.
        """
        found = self.encode_trees(phrases)
        places = torch.from_numpy(phrase_places(self.read(phrases)))
        return torch.cat([found.sentences, found.phrases])[places]

    def encode_trees(self, sentences: Sequence[str], *, nouns: bool = True) -> Phrases:
        """Sentences and all noun phrases in them, from one pass over their trees."""
        readings = self.read(sentences)
        if not readings:  # a process whose share of a small batch is nothing
            nothing = self.W_t.linear.weight[:, :1].T[:0]
            none = torch.zeros(0, dtype=torch.int64)
            return Phrases(nothing, nothing, none, none, torch.zeros(0))
        hidden = None
        if self.training and self.config.word_dropout:
            n_words = sum(len(reading.words) for reading in readings)
            hidden = (torch.rand(n_words) < self.config.word_dropout).numpy()
        words, plan = plan_readings(readings, hidden)
        states = self.tree(self.dropout(self.embedding(torch.from_numpy(words))), plan)  # (n_rows, hidden)
        nodes, owner = phrase_nodes(readings) if nouns else (np.zeros(0, np.int64), np.zeros(0, np.int64))
        if self.config.sentence == "max":
            picked = self._largest(states, readings, plan.rows, nodes)
        else:
            picked = states[torch.cat([plan.roots, plan.rows[torch.from_numpy(nodes)]])]
        vectors: Tensor = self.W_t(self.dropout(picked))
        keys = np.concatenate([reading.keys for reading in readings]) if nouns else nodes
        shares = np.concatenate([reading.shares for reading in readings]) if nouns else nodes.astype(np.float32)
        n = len(readings)
        rest = (torch.from_numpy(part) for part in (owner, keys, shares))
        return Phrases(vectors[:n], vectors[n:], *rest)

    def _largest(self, states: Tensor, readings: list[Reading], rows: Tensor, nodes: Indices) -> Tensor:
        """The largest values over the nodes of each sentence, then of each phrase: (n + P, hidden)."""
        run, lengths = node_runs(readings, nodes, whole=True)
        offsets = torch.from_numpy(np.cumsum(lengths) - lengths)
        return F.embedding_bag(rows[torch.from_numpy(run)], states, offsets, mode="max")

    def read(self, sentences: Sequence[str]) -> list[Reading]:
        """Parse sentences; those that were read before are remembered."""
        return self._reader.read(sentences)

    def remember(self, sentence: str, tree: Tree) -> None:
        """Take the tree of a sentence as it is given, without the parser."""
        self._reader.remember(sentence, tree)

    def score(self, images: Tensor, texts: Sequences) -> Tensor:
        whole = images[:, 0] @ texts.states[torch.arange(len(texts)), texts.lengths - 1].T
        if not self.config.bag_score:
            return whole
        return whole + self.config.bag_score * sum_of_max(images, merge_words(texts))
