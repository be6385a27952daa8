"""The tokens of a published tower: any tokenizer of the `tokenizers` package, with the tower's rule for rows."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seesay.errors import SeesayError
from seesay.system.reading import parse_json
from seesay.system.tables import read_table
from seesay.text.subwords import Subwords
from seesay.towers.opening import named_by, open_tokenizer
from seesay.towers.reading import RowRule

_ENDING, _BEGINNING = "</w>", "▁"
"""How a token says that it ends a word (CLIP), or begins one (SentencePiece)."""


MARKS = ("<|startoftext|>", "<|endoftext|>")
"""What CLIP puts before and behind a sentence."""


class Pieces(Subwords):
    """A tower's tokenizer.

    Its file has the rule in the first line and, after that, a `tokenizer.json` as it was published.
    """

    file_name: ClassVar[str] = "pieces.json"

    def __init__(self, text: str, rule: RowRule, origin: str = "the tokenizer") -> None:
        self.text, self.rule, self.origin = text, rule, origin
        self._tokenizer = open_tokenizer(text, origin)
        if rule.lower:
            from tokenizers import normalizers

            own = self._tokenizer.normalizer
            self._tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *([own] if own else [])])
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(rule.longest)
        self.pad = rule.pad
        self.unknown = -1  # tokens of letters and bytes spell everything

    @cached_property
    def tokens(self) -> list[str]:
        """All tokens by their number."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        return sorted(vocabulary, key=lambda token: vocabulary[token])

    def common_words(self, n: int) -> list[str]:
        """Whole words among the tokens, in the order of their numbers: frequent ones were made first."""
        found: list[str] = []
        for token in self.tokens:
            word = token.removesuffix(_ENDING).removeprefix(_BEGINNING)
            if word != token and len(word) > 1 and word.isascii() and word.isalpha() and word.islower():
                found.append(word)
                if len(found) == n:
                    break
        return found

    def rows(self, sentences: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        with named_by(self.origin):
            found = [encoding.ids for encoding in self._tokenizer.encode_batch(list(sentences))]
        lengths = np.array([len(row) for row in found], np.int64)
        width = self.rule.longest if self.rule.fixed else max(1, int(lengths.max(initial=0)))
        places = np.arange(width)
        mask = places >= width - lengths[:, None] if self.rule.left else places < lengths[:, None]
        padded = np.full(mask.shape, self.pad, np.int64)
        padded[mask] = [number for row in found for number in row]
        return padded, mask

    def fingerprint(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        return f"{json.dumps(asdict(self.rule))}\n{self.text}"

    @classmethod
    def from_json(cls, text: str, name: str = file_name, fingerprint: str | None = None) -> "Pieces":
        rule, _, tokenizer = text.partition("\n")
        try:
            table = parse_json(rule)
        except ValueError as error:
            raise SeesayError(f"{name} is no tokenizer of a tower: {error}") from error
        return cls(tokenizer, read_table(RowRule, table, name), name)


def learn_pieces(sentences: Sequence[str], n: int, longest: int) -> Pieces:
    """Learn a tokenizer of CLIP's kind: byte-level BPE whose tokens say where a word ends, between two marks.

    Args:
        n: Tokens, at most.
        longest: Tokens of a sentence that are read.

    Example:
        >>> pieces = learn_pieces(["a dog runs", "two dogs run"], 600, 16)
        >>> [pieces.tokens[number] for number in pieces.encode("A dog!")]
        ['<|startoftext|>', 'a</w>', 'dog</w>', '!</w>', '<|endoftext|>']
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    letters = [*alphabet, *(f"{letter}{_ENDING}" for letter in alphabet)]
    learner = Tokenizer(models.BPE(end_of_word_suffix=_ENDING))
    blanks = normalizers.Replace(Regex(r"\s+"), " ")
    learner.normalizer = normalizers.Sequence([normalizers.NFC(), blanks, normalizers.Lowercase()])
    words = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(words, "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=max(1, n - len(alphabet) - len(MARKS)), end_of_word_suffix=_ENDING, initial_alphabet=alphabet,
        show_progress=False,
    )  # fmt: skip
    learner.train_from_iterator(sentences, trainer)
    found = json.loads(learner.to_str())["model"]
    known = set(letters)
    tokens = [*letters, *(token for token in found["vocab"] if token not in known), *MARKS]
    numbers = {token: number for number, token in enumerate(tokens)}
    made = Tokenizer(
        models.BPE(numbers, [tuple(pair) for pair in found["merges"]], end_of_word_suffix=_ENDING, unk_token=MARKS[1])
    )
    made.normalizer, made.pre_tokenizer = learner.normalizer, learner.pre_tokenizer
    made.add_special_tokens(list(MARKS))
    start, end = ((mark, numbers[mark]) for mark in MARKS)
    made.post_processor = processors.RobertaProcessing(end, start, trim_offsets=False, add_prefix_space=False)
    return Pieces(made.to_str(), RowRule(longest, numbers[MARKS[1]]))
