"""Wrong sentences to learn by: captions of a batch with one word replaced (`seesay.data.replacing`).

Among the captions of other photos hardly any differs from the right one by its colour alone, so colours need not be
learned to tell them apart. A wrong sentence is one more that its photo has to refuse; whether it fits another photo
nobody knows.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from seesay.data.replacing import TAUGHT, Replacement, replace_word, replacements
from seesay.text.tokens import tokenize


class WrongSentences:
    """Draws wrong sentences, with words as frequent as in captions.

    Were all colours drawn alike, purple would stand in wrong sentences mostly, and to know that would be enough.

    Args:
        captions: By which words are counted.

    Example:
        >>> wrong = WrongSentences(["two dogs", "three dogs", "a cat"])
        >>> wrong.draw(["Two dogs run."], [0], 1, np.random.default_rng(0))
        ['three dogs run.']
    """

    def __init__(self, captions: Iterable[str]) -> None:
        counts = Counter(word for caption in captions for word in tokenize(caption))
        words = {word for groups in TAUGHT.values() for group in groups for word in group.split()}
        self._counts = {word: counts[word] for word in words}

    def draw(self, sentences: Sequence[str], chosen: Sequence[int], n: int, rng: np.random.Generator) -> list[str]:
        """Up to n wrong sentences of each chosen one, each with a word of another kind replaced.

        Args:
            sentences: All that was said of the photo.
            chosen: Those that are made wrong.
        """
        ways: dict[tuple[int, str], list[Replacement]] = {}
        for kind, groups in TAUGHT.items():
            for way in replacements(sentences, groups):
                ways.setdefault((way.sentence, kind), []).append(way)
        made: list[str] = []
        for sentence in chosen:
            own = [found for (of, _), found in ways.items() if of == sentence]
            for kind in rng.permutation(len(own))[:n]:
                way = own[kind][int(rng.integers(len(own[kind])))]
                made.append(replace_word(sentences[sentence], way.word, self._word(way.others, rng)))
        return made

    def _word(self, words: Sequence[str], rng: np.random.Generator) -> str:
        counts = np.array([self._counts[word] for word in words], float)
        return str(rng.choice(words, p=counts / counts.sum())) if counts.any() else str(rng.choice(words))
