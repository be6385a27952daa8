"""Remove the rarest words from trained weights, to make the file smaller; from then on they are unknown words."""

import shutil
from pathlib import Path
from typing import Any

from seesay.catalogue.weights import STEPS, Weights
from seesay.models import pretrained
from seesay.models.base import Matcher
from seesay.text.vocabulary import SPECIAL, UNKNOWN, Vocabulary

_WRITTEN_AGAIN = ("format", "family", "config", "features", "vocabulary", "search", "source_weights", "graphs")
_CHOSEN_FOR_OTHER_WORDS = ("figures", "tuned", *STEPS.values())
_FILES = ("model.safetensors", "config.json", "vocabulary.json", "tokenizer.json", "card.md")


def prune_words(vocabulary: Vocabulary, min_count: int) -> Vocabulary:
    """The words that were seen at least `min_count` times: the first ones, as a vocabulary is ordered by frequency.

    Example:
        >>> words = Vocabulary.build(["a dog", "a cat", "a dog"], min_count=1)
        >>> prune_words(words, 2).words[len(SPECIAL):]
        ('a', 'dog')
    """
    n = len(SPECIAL) + sum(count >= min_count for count in vocabulary.counts[len(SPECIAL) :])
    counts = list(vocabulary.counts[:n])
    counts[UNKNOWN] += sum(vocabulary.counts[n:])
    return Vocabulary(vocabulary.words[:n], tuple(counts), min_count)


def prune_model(model: Matcher, min_count: int) -> Matcher:
    """The same model without the rows of the rarest words."""
    vocabulary = prune_words(model.vocabulary, min_count)
    pruned = type(model)(model.config, vocabulary, model.feature_spec)
    wanted = pruned.state_dict()
    n = len(vocabulary)
    pruned.load_state_dict(
        {
            key: tensor[:n] if len(tensor.shape) and tensor.shape != wanted[key].shape else tensor
            for key, tensor in model.state_dict().items()
        }
    )
    return pruned


def save_pruned(model: Matcher, pruned: Matcher, min_count: int, folder: Path) -> Weights:
    """Write pruned weights, without the figures and tables of the original, which were made with more words.

    Files that the model needs besides its weights (phrases, n-grams, hubness) are copied.
    """
    assert model.weights is not None
    dropped = {*_WRITTEN_AGAIN, *_CHOSEN_FOR_OTHER_WORDS}
    about: dict[str, Any] = {key: value for key, value in model.weights.about.items() if key not in dropped}
    own = model.weights.folder
    weights = pretrained.save(folder, pruned, {**about, "pruned": {"min_count": min_count}})
    for path in own.iterdir():
        if path.is_file() and path.name not in _FILES and path.suffix != ".onnx" and folder.resolve() != own.resolve():
            shutil.copyfile(path, folder / path.name)
    return weights
