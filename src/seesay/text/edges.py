"""Sentences to dependency edges: for every token its head and how the two are related.

The parses are those that `seesay.text.trees` makes and keeps, and the tokens those of `tokenize`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seesay.system.files import cache_dir
from seesay.text.trees import _MARKS, _parse_all, _split

RELATIONS = (
    "dep", "ROOT", "acl", "acomp", "advcl", "advmod", "agent", "amod", "appos", "attr", "aux", "auxpass", "case", "cc",
    "ccomp", "compound", "conj", "csubj", "csubjpass", "dative", "det", "dobj", "expl", "intj", "mark", "meta", "neg",
    "nmod", "npadvmod", "nsubj", "nsubjpass", "nummod", "oprd", "parataxis", "pcomp", "pobj", "poss", "preconj",
    "predet", "prep", "prt", "punct", "quantmod", "relcl", "xcomp",
)  # fmt: skip
"""What spaCy's English pipelines call relations; the first stands for any other."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A token's way up: the positions of its head and of itself, and its relation; a root is its own head."""

    head: int
    token: int
    relation: str


def parse_edges(sentences: Sequence[str], cache: Path | None = None) -> list[list[Edge]]:
    """The dependency edges of sentences: one for each token, in the order of the tokens.

    Args:
        sentences: Any text; one without tokens has no edges.
        cache: The folder of the parse cache; `parses` in seesay's cache folder where it is not given.

    Raises:
        SeesayError: No parser is installed, or the cache cannot be written.

    Example:
        >>> for edge in parse_edges(["A brown dog runs."])[0]:
        ...     print(edge.head, edge.token, edge.relation)
        2 0 det
        2 1 amod
        3 2 nsubj
        3 3 ROOT
    """
    split = [_split(sentence) for sentence in sentences]
    distinct = list(dict.fromkeys(pieces for parts in split for pieces in parts))
    parses = _parse_all(distinct, cache or cache_dir() / "parses", None) if distinct else {}
    found: list[list[Edge]] = []
    for parts in split:
        edges: list[Edge] = []
        for pieces in parts:
            first = len(edges)
            parse = parses[pieces].keep([place for place, piece in enumerate(pieces) if piece not in _MARKS])
            for token, (head, relation) in enumerate(zip(parse.heads, parse.relations, strict=True)):
                relation = relation if relation in RELATIONS else RELATIONS[0]
                edges.append(Edge(first + head, first + token, relation))
        found.append(edges)
    return found
