"""The sentence side of trained weights in NumPy, for queries.

Importing torch takes longer than everything else that a search does. A query is one short sentence, and its encoder a
few matrix products: this reads the same weights and gives what `seesay.models.vse.VSE.encode_texts`,
`seesay.models.dvsa.DVSA.score` and `seesay.models.mrnn.MRNN.score` give.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from seesay.errors import SeesayError
from seesay.library.types import Vector
from seesay.text.vocabulary import END, START, UNKNOWN, Vocabulary

LONGEST = 100
"""Words of a query that are read, as many as the model itself reads."""

_RECURRENT = ("gru", "lstm")
_SUPPORTED: dict[str, dict[str, tuple[str | bool, ...]]] = {
    "vse": {"encoder": (*_RECURRENT, "mean"), "text_pooling": ("max", "mean", "last")},
    "dvsa": {"fragments": ("words",), "cell": _RECURRENT},
    "mrnn": {"wiring": ("m-rnn",), "cell": ("relu",), "shared": (True,)},
}
_TINY = 1e-12

Weights = Mapping[str, Vector]


class _Reader:
    """Reads sentences with the weights in a folder.

    Args:
        folder: Of trained weights.
        about: What its config.json says.
    """

    family: str
    parts: tuple[str, ...] = ("encoder.", "W_d.")
    """How the names begin of the tensors that it needs, beside the word vectors."""

    def __init__(self, folder: Path, about: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.config = about["config"]
        path = folder / "model.safetensors"
        try:
            file: Any = safe_open(path, framework="np")
            names = [name for name in file.keys() if name.startswith(self.parts)]  # noqa: SIM118 - no mapping
            self._weights = {name: file.get_tensor(name).astype(np.float32) for name in names}
            self._embedding = file.get_slice("embedding.weight")  # of thousands of words a query needs a few
        except (OSError, SafetensorError) as error:
            raise SeesayError(f"cannot read the weights {path}: {error}") from error

    @classmethod
    def knows(cls, about: Mapping[str, Any]) -> bool:
        """Whether weights are of a model that is written out here."""
        config, supported = about["config"], _SUPPORTED[cls.family]
        return about["family"] == cls.family and all(config.get(key) in allowed for key, allowed in supported.items())

    def _rows(self, sentence: str) -> list[int]:
        """The numbers of its words; an empty sentence counts as one unknown word."""
        return self.vocabulary.encode(sentence)[:LONGEST] or [UNKNOWN]

    def _vectors(self, rows: list[int]) -> Vector:
        """The vectors of words, (T, word_dim)."""
        return np.concatenate([self._embedding[row : row + 1] for row in rows]).astype(np.float32)

    def _read(self, sentence: str) -> Vector:
        return self._vectors(self._rows(sentence))

    def _states(self, words: Vector, cell: str, *, bidirectional: bool) -> list[Vector]:
        """The states of the recurrent encoder in each direction: (T, hidden) each."""
        run = _gru if cell == "gru" else _lstm
        states = [run(words, self._directions["rightward"])]
        if bidirectional:
            states.append(run(words[::-1], self._directions["leftward"])[::-1])
        return states

    @cached_property
    def _directions(self) -> dict[str, Weights]:
        found: dict[str, dict[str, Vector]] = {}
        for name, value in self._weights.items():
            if name.startswith("encoder.directions."):
                _, _, direction, key = name.split(".")
                found.setdefault(direction, {})[key] = value
        return dict(found)


class SentenceEncoder(_Reader):
    """Encodes queries as a joint embedding does."""

    family = "vse"

    def __call__(self, sentence: str) -> Vector:
        """The unit vector (D,) of a sentence."""
        words = self._read(sentence)
        if self.config["encoder"] == "mean":
            return _unit(self._weights["encoder.weight"] @ words.mean(0) + self._weights["encoder.bias"])
        states = self._states(words, self.config["encoder"], bidirectional=self.config["bidirectional"])
        if self.config["text_pooling"] == "last":
            return _unit(np.concatenate([states[0][-1], *(state[0] for state in states[1:])]))
        pool: Callable[..., Vector] = np.max if self.config["text_pooling"] == "max" else np.mean
        return _unit(pool(np.concatenate(states, 1), axis=0))


class WordScorer(_Reader):
    """Scores photos by what their regions have to do with the words of a query, as DVSA does."""

    family = "dvsa"

    def __call__(self, regions: Vector, sentence: str) -> Vector:
        """The scores (n,) of photos whose regions are given, (n, N, D), the whole picture first."""
        words, whole = self._fragments(sentence)
        scores: Vector = _products(regions, words).max(1).sum(1)
        if whole is not None:
            scores = self.config["word_weight"] * scores + _unit(regions[:, 0].astype(np.float32)) @ whole
        return scores

    def point(self, regions: Vector, sentence: str) -> tuple[Vector, NDArray[np.intp]]:
        """The region of each photo that a phrase as a whole fits best: its score (n,), and which it is (n,)."""
        words, whole = self._fragments(sentence)
        phrase = _unit(words.sum(0, keepdims=True) + (0 if whole is None else whole))
        scores = _products(regions, phrase)[..., 0]  # (n, N)
        return scores.max(1), scores.argmax(1)

    def _fragments(self, sentence: str) -> tuple[Vector, Vector | None]:
        """The vectors of its words (T, D), and the unit vector (D,) of it all, where the model has one."""
        states = np.concatenate(self._states(self._read(sentence), self.config["cell"], bidirectional=True), 1)
        words = self._balance(states @ self._weights["W_d.weight"].T + self._weights["W_d.bias"])
        return words, _unit(states.max(0)) if self.config["sentence"] else None

    def _balance(self, words: Vector) -> Vector:
        """Let the words share what the score is made of."""
        share = len(words) ** -self.config["length_power"]
        if self.config["magnitudes"] != "free":
            share /= np.sqrt(np.square(words).sum(-1) + _TINY).sum()
        return np.asarray(share * words, np.float32)


class LikelihoodScorer(_Reader):
    """Scores photos by how much likelier a captioner says a sentence of them than of the mean picture, as m-RNN does.

    The weights have to be self-normalised: then a word's score needs no sum over all words.
    """

    family = "mrnn"
    parts = ("second.", "recurrence.", "V_w.", "V_r.", "to_embedding.", "mean_image")

    @classmethod
    def knows(cls, about: Mapping[str, Any]) -> bool:
        return super().knows(about) and about["config"].get("self_normalise", 0) > 0

    def __call__(self, images: Vector, sentence: str) -> Vector:
        """The scores (n,) of photos as the model keeps them, (n, M)."""
        rows = self._rows(sentence)
        language = self._language(self._vectors([START, *rows]))  # (T, M)
        wanted = self._vectors([*rows, END]) @ self._weights["to_embedding.weight"]  # (T, M)
        seen = np.concatenate([images.astype(np.float32), self._weights["mean_image"]])
        scores = np.zeros(len(seen), np.float32)
        for said, word in zip(language, wanted, strict=True):
            scores += (1.7159 * np.tanh((2 / 3) * (said + seen))) @ word  # Eq. 4; what a word is worth by itself goes
        return np.asarray(scores[:-1] - scores[-1], np.float32)

    def _language(self, words: Vector) -> Vector:
        """What each word adds to the multimodal layer: (T, embedding) → (T, M)."""
        w = words @ self._weights["second.weight"].T + self._weights["second.bias"]
        recurrent, r = self._weights["recurrence.weight"], np.zeros(w.shape[1], np.float32)
        states = []
        for step in w:
            r = np.maximum(recurrent @ r + step, 0)  # Eq. 2
            states.append(r)
        from_states = np.stack(states) @ self._weights["V_r.weight"].T + self._weights["V_r.bias"]
        return np.asarray(from_states + w @ self._weights["V_w.weight"].T, np.float32)


def _products(regions: Vector, words: Vector) -> Vector:
    """Inner products of all regions with all words: (n, N, D), (T, D) → (n, N, T)."""
    n, n_regions, dim = regions.shape
    flat = regions.reshape(n * n_regions, dim).astype(np.float32)
    return np.asarray((flat @ words.T).reshape(n, n_regions, len(words)), np.float32)


def _unit(vectors: Vector) -> Vector:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), np.float32)


def _gru(x: Vector, weights: Weights) -> Vector:
    """The states of a gated recurrent unit over x: (T, D) → (T, H)."""
    from_input = x @ weights["weight_ih_l0"].T + weights["bias_ih_l0"]  # (T, 3H)
    recurrent, bias = weights["weight_hh_l0"], weights["bias_hh_l0"]
    h = np.zeros(len(bias) // 3, np.float32)
    states = []
    for step in from_input:
        from_state = recurrent @ h + bias
        (reset_x, update_x, new_x), (reset_h, update_h, new_h) = np.split(step, 3), np.split(from_state, 3)
        update = _sigmoid(update_x + update_h)
        h = (1 - update) * np.tanh(new_x + _sigmoid(reset_x + reset_h) * new_h) + update * h
        states.append(h)
    return np.stack(states)


def _lstm(x: Vector, weights: Weights) -> Vector:
    """The states of a long short-term memory over x: (T, D) → (T, H)."""
    from_input = x @ weights["weight_ih_l0"].T + weights["bias_ih_l0"]  # (T, 4H)
    recurrent, bias = weights["weight_hh_l0"], weights["bias_hh_l0"]
    h = c = np.zeros(len(bias) // 4, np.float32)
    states = []
    for step in from_input:
        enter, keep, content, leave = np.split(step + recurrent @ h + bias, 4)
        c = _sigmoid(keep) * c + _sigmoid(enter) * np.tanh(content)
        h = _sigmoid(leave) * np.tanh(c)
        states.append(h)
    return np.stack(states)


def _sigmoid(x: Vector) -> Vector:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)), np.float32)  # this form cannot overflow
