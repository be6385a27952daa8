"""In how many images of a collection people use an n-gram: the weights of CIDEr, without the collection.

CIDEr counts what few images share, so it needs a collection to know what is rare. A table of these counts stands in for
the collection where its sentences cannot be at hand, and holds none of them.

A table may leave out the n-grams of few images, which are most of them. Whatever it does not hold counts as `unseen`
images: 1, `pycocoevalcap`'s rule for what no reference has, which is also what most of the left-out n-grams have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from seesay.errors import SeesayError
from seesay.metrics._arrays import FloatArray, IntArray
from seesay.metrics.ngrams import N, count_ngrams, join_key, ngram_keys, split_key
from seesay.metrics.sentences import END, END_MARK, Packed, References, Sentence, as_references
from seesay.system.files import replace_atomically
from seesay.system.reading import require_regular

_FORMAT = "seesay-document-frequencies-1"
_UNSEEN = (1 << 31) - 1  # stands for all n-grams that are not in the table; no table is as long


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """How many images have each n-gram in their sentences. `DocumentFrequencies.build` counts them.

    Attributes:
        words: The id of every word, END's mark among them: sentences have to be packed over these ids.
        n_documents: Images counted.
        min_documents: In how many of them an n-gram had to be to get into the table.
        keys: For n from 1 to 4, the n-grams (n_ngrams,), ascending; see `seesay.metrics.ngrams`.
        counts: For n from 1 to 4, their images (n_ngrams,).
    """

    words: Mapping[str, int]
    n_documents: int
    min_documents: int
    keys: tuple[IntArray, ...]
    counts: tuple[IntArray, ...]

    @classmethod
    def build(
        cls, references: References | Sequence[Sequence[Sentence]], min_documents: int = 1
    ) -> "DocumentFrequencies":
        """Count the n-grams of a collection.

        Args:
            references: For each image, one sentence or more.
            min_documents: Leave out the n-grams of fewer images.

        Example:
            >>> table = DocumentFrequencies.build([["a dog runs", "one dog"], ["a cat"]])
            >>> table.count("dog"), table.count("a"), table.count("a dog"), table.count("zebra")
            (1, 2, 1, 0)
        """
        references = as_references(references)
        counts = count_ngrams(references)
        table = cls(references.words, references.n_images, 1, counts.keys, counts.n_images)
        return table if min_documents == 1 else table.prune(min_documents)

    def __len__(self) -> int:
        """How many n-grams are in the table."""
        return sum(map(len, self.keys))

    def count(self, ngram: Sentence) -> int:
        """Images that have these one to four words, in this order; 0 where the table does not hold them."""
        packed = References([[ngram]], self.words).sentences
        n = int(packed.lengths[0])
        if not 1 <= n <= N:
            raise SeesayError(f"{ngram!r} has {n} words", allowed=f"1 to {N}")
        return int(self._lookup(packed)[n - 1, 0])

    def square_weights(self, sentences: Packed) -> FloatArray:
        """Squared inverse document frequency of the n-grams of sentences packed over `words`.

        Returns:
            (4, n_ids) for each place and n, of the n-gram that begins there; any number where none begins.
        """
        return square_weights(np.maximum(self._lookup(sentences), 1), self.n_documents)

    def _lookup(self, sentences: Packed) -> IntArray:
        """(4, n_ids) images of the n-gram that begins at each place; 0 where it is not in the table."""
        found = np.zeros((N, len(sentences.ids)), np.int64)
        shorter = np.zeros(len(sentences.ids), np.int64)
        for n, (keys, places) in enumerate(ngram_keys(sentences, shorter, len(self.words))):
            known = self.keys[n]
            number = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            is_known = known[number] == keys if len(known) else np.zeros(len(keys), bool)
            shorter[places] = np.where(is_known, number, _UNSEEN)
            found[n, places[is_known]] = self.counts[n][number[is_known]]
        return found

    def prune(self, min_documents: int) -> "DocumentFrequencies":
        """The same table without the n-grams of fewer images.

        Example:
            >>> table = DocumentFrequencies.build([["a dog runs"], ["a dog sits"], ["a cat"]])
            >>> len(table), len(table.prune(2))
            (11, 3)
        """
        if min_documents < self.min_documents:
            raise SeesayError(
                f"min_documents is {min_documents}, and what is in fewer than {self.min_documents} is gone",
                allowed=f"a whole number from {self.min_documents} upwards",
            )
        # An n-gram's own words and beginnings are in at least as many images as it is: nothing kept loses its parts.
        _, ids = split_key(self.keys[0], len(self.words))
        spelling = {number: word for word, number in self.words.items()}
        kept = [END_MARK, *(spelling[int(number)] for number in ids[self.counts[0] >= min_documents])]
        words = {word: number for number, word in enumerate(kept)}
        renumber = np.zeros(len(self.words), np.int64)
        renumber[[self.words[word] for word in kept]] = np.arange(len(kept))
        all_keys, all_counts = [], []
        place = np.zeros(1, np.int64)  # of each (n-1)-gram among those that stay; the one 0-gram is number 0
        for keys, counts in zip(self.keys, self.counts, strict=True):
            stays = counts >= min_documents
            shorter, last = split_key(keys[stays], len(self.words))
            all_keys.append(join_key(place[shorter], renumber[last], len(words)))
            all_counts.append(counts[stays])
            place = np.cumsum(stays) - 1
        return DocumentFrequencies(words, self.n_documents, min_documents, tuple(all_keys), tuple(all_counts))

    def save(self, path: Path) -> None:
        """Write the table as safetensors: for each n-gram its last word and its count, for each beginning how many."""
        plain = self.prune(self.min_documents)  # numbers the words as they come, so that the ids need no place
        tensors: dict[str, NDArray[np.unsignedinteger]] = {"documents1": _compact(plain.counts[0])}
        for n in range(2, N + 1):
            shorter, last = split_key(plain.keys[n - 1], len(plain.words))
            tensors[f"longer{n}"] = _compact(np.bincount(shorter, minlength=len(plain.keys[n - 2])))
            tensors[f"last{n}"] = _compact(last)
            tensors[f"documents{n}"] = _compact(plain.counts[n - 1])
        about = {
            "format": _FORMAT,
            "n_documents": str(self.n_documents),
            "min_documents": str(self.min_documents),
            "words": " ".join(list(plain.words)[1:]),
        }
        with replace_atomically(path) as temporary:
            temporary.write_bytes(to_bytes(tensors, about))

    @classmethod
    def load(cls, path: Path) -> "DocumentFrequencies":
        """Read what `save` wrote.

        Raises:
            SeesayError: The file cannot be read, or is no such table.
        """
        try:
            require_regular(path)
            with safe_open(path, framework="numpy") as file:
                about = file.metadata() or {}
                tensors = {name: file.get_tensor(name).astype(np.int64) for name in file.keys()}  # noqa: SIM118
            return cls._of(about, tensors)
        except OSError as error:
            raise SeesayError(f"cannot read {path}: {error.strerror or error}") from error
        except (SafetensorError, KeyError, ValueError, TypeError) as error:
            raise SeesayError(f"{path} is not a table of document frequencies: {error}") from error

    @classmethod
    def _of(cls, about: Mapping[str, str], tensors: Mapping[str, IntArray]) -> "DocumentFrequencies":
        if about.get("format") != _FORMAT:
            raise ValueError(f"its format is {about.get('format')!r}, not {_FORMAT!r}")
        spelled = about["words"].split()
        words = {END_MARK: END, **{word: number for number, word in enumerate(spelled, 1)}}
        if len(words) != len(spelled) + 1:
            raise ValueError("a word stands there twice")
        keys, counts = [np.arange(1, len(words))], [tensors["documents1"]]
        for n in range(2, N + 1):
            longer, last = tensors[f"longer{n}"], tensors[f"last{n}"]
            if len(longer) != len(keys[-1]) or last.min(initial=1) < 1 or last.max(initial=1) >= len(words):
                raise ValueError(f"its {n}-grams do not belong to its {n - 1}-grams and words")
            keys.append(join_key(np.repeat(np.arange(len(longer)), longer), last, len(words)))
            counts.append(tensors[f"documents{n}"])
        for n, (known, documents) in enumerate(zip(keys, counts, strict=True), 1):
            if known.shape != documents.shape or (np.diff(known) <= 0).any():
                raise ValueError(f"its {n}-grams are not in order")
        return cls(words, int(about["n_documents"]), int(about["min_documents"]), tuple(keys), tuple(counts))


def square_weights(n_images: IntArray, n_documents: int) -> FloatArray:
    """Squared inverse document frequency.

    Example:
        >>> square_weights(np.array([1, 8]), 8).round(3)
        array([4.324, 0.   ])
    """
    weights: FloatArray = (np.log(n_documents) - np.log(n_images)) ** 2
    return weights


def _compact(numbers: IntArray) -> NDArray[np.unsignedinteger]:
    """In the smallest unsigned type that holds them all."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
