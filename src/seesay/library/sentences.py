"""The sentence side of a joint embedding in NumPy, for queries.

Importing torch takes longer than everything else that a search does. A query is one short sentence, and its encoder a
few matrix products: this reads the same weights and gives the same vector as `seesay.models.vse.VSE.encode_texts`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from seesay.errors import SeesayError
from seesay.library.store import Vector
from seesay.text.vocabulary import UNKNOWN, Vocabulary

LONGEST = 100
"""Words of a query that are read, as many as the model itself reads."""

_SUPPORTED = {"encoder": ("gru", "lstm", "mean"), "text_pooling": ("max", "mean", "last")}
Weights = Mapping[str, Vector]


class SentenceEncoder:
    """Encodes queries with the weights in a folder.

    Args:
        folder: Of trained weights.
        about: What its config.json says.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any], vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.config = about["config"]
        path = folder / "model.safetensors"
        try:
            file: Any = safe_open(path, framework="np")
            names = [name for name in file.keys() if name.startswith("encoder.")]  # noqa: SIM118 - it is no mapping
            self._weights = {name: file.get_tensor(name).astype(np.float32) for name in names}
            self._embedding = file.get_slice("embedding.weight")  # of thousands of words a query needs a few
        except (OSError, SafetensorError) as error:
            raise SeesayError(f"cannot read the weights {path}: {error}") from error

    @staticmethod
    def knows(about: Mapping[str, Any]) -> bool:
        """Whether weights are of a model that is written out here."""
        config = about["config"]
        return about["family"] == "vse" and all(config.get(key) in allowed for key, allowed in _SUPPORTED.items())

    def __call__(self, sentence: str) -> Vector:
        """The unit vector (D,) of a sentence; an empty one counts as one unknown word."""
        rows = self.vocabulary.encode(sentence)[:LONGEST] or [UNKNOWN]
        words = np.concatenate([self._embedding[row : row + 1] for row in rows]).astype(np.float32)  # (T, word_dim)
        if self.config["encoder"] == "mean":
            pooled = self._weights["encoder.weight"] @ words.mean(0) + self._weights["encoder.bias"]
        else:
            pooled = self._recurrent(words)
        return np.asarray(pooled / max(float(np.linalg.norm(pooled)), 1e-12), np.float32)

    def _recurrent(self, words: Vector) -> Vector:
        run = _gru if self.config["encoder"] == "gru" else _lstm
        states = [run(words, self._direction("rightward"))]  # (T, hidden) each
        if self.config["bidirectional"]:
            states.append(run(words[::-1], self._direction("leftward"))[::-1])
        if self.config["text_pooling"] == "last":
            last: Vector = np.concatenate([states[0][-1], *(state[0] for state in states[1:])])
            return last
        pool: Callable[..., Vector] = np.max if self.config["text_pooling"] == "max" else np.mean
        return pool(np.concatenate(states, 1), axis=0)

    def _direction(self, name: str) -> Weights:
        start = f"encoder.directions.{name}."
        return {key.removeprefix(start): value for key, value in self._weights.items() if key.startswith(start)}


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
