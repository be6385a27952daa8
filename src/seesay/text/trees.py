"""Sentences to constituency trees.

spaCy's small English pipeline parses the tokens of `tokenize`, as they are, so that tree and vocabulary always agree;
commas and full stops are shown to the parser and then left out. `_repairs` corrects what it gets wrong in captions,
`_constituents` turns heads and relations into phrases.

Every sentence has a tree, and every token of it is one leaf, in order:

- a sentence without tokens (empty, only emoji) is an S without children;
- one word is an S over it, or over a noun phrase of it;
- unknown words and other languages get the phrases that the parser guesses;
- a sentence of more than `MAX_PIECES` tokens is parsed in pieces, which are the children of its root;
- no tree is deeper than `MAX_DEPTH`: below that, words hang side by side.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from seesay.system.files import cache_dir
from seesay.text._constituents import MAX_DEPTH, build_tree
from seesay.text._dependencies import Dependencies, parse_dependencies, parser_version
from seesay.text._parse_cache import ParseCache, Pieces
from seesay.text._repairs import free_verbs
from seesay.text._tree import LABELS, LEAF, Tree, noun_phrases
from seesay.text.function_words import name_things
from seesay.text.tokens import tokenize

__all__ = ["LABELS", "LEAF", "MAX_DEPTH", "MAX_PIECES", "Tree", "noun_phrases", "noun_snippets", "parse"]

MAX_PIECES = 200  # four times the length of a long caption; bounds what a hostile sentence can cost

_LONGEST_SNIPPET = 8  # words; what is longer tells a story
_CLAUSES = ("S", "SBAR", "VP")
_SAVE_EVERY = 1024
_BREAK = re.compile(r"([,.;:!?)…]+)(?=\s|$)")
_MARKS = frozenset({",", "."})  # no token looks like these


def parse(
    sentences: Iterable[str], cache: Path | None = None, *, on_progress: Callable[[int, int], None] | None = None
) -> list[Tree]:
    """Parse sentences into trees, in their order.

    Parses are kept on disk as they are made: an interrupted call goes on where it was, and a second one with the same
    sentences never starts the parser.

    Args:
        sentences: Any text; see the head of this file for what becomes of odd ones.
        cache: The folder of the parse cache; `parses` in seesay's cache folder where it is not given.
        on_progress: Called with the number of distinct sentences that are parsed, and of all of them.

    Raises:
        SeesayError: No parser is installed, or the cache cannot be written.

    Example:
        >>> tree, = parse(["A man in a red shirt walks two dogs."])
        >>> print(tree)
        (S (NP (NP a man) (PP in (NP a red shirt))) (VP walks (NP two dogs)))
        >>> [tree.words[first:last] for first, last in noun_phrases(tree)]
        [['a', 'man'], ['a', 'red', 'shirt'], ['two', 'dogs']]
    """
    split = [_split(sentence) for sentence in sentences]
    distinct = list(dict.fromkeys(pieces for parts in split for pieces in parts))
    parses = _parse_all(distinct, cache or cache_dir() / "parses", on_progress) if distinct else {}
    trees: dict[tuple[Pieces, ...], Tree] = {}
    for parts in split:
        if parts not in trees:
            trees[parts] = _tree(parts, parses)
    return [trees[parts] for parts in split]


def noun_snippets(tree: Tree) -> list[tuple[int, int]]:
    """The spans of noun phrases that could stand under a region: none tells what somebody does, all name something.

    Example:
        >>> (tree,) = parse(["A man in a red shirt walks his two dogs."])
        >>> [" ".join(tree.words[first:last]) for first, last in noun_snippets(tree)]
        ['a man in a red shirt', 'a man', 'a red shirt', 'his two dogs']
    """
    words = tree.words
    return [
        node.span
        for node in tree.nodes()
        if node.is_noun_phrase
        and node.last - node.first <= _LONGEST_SNIPPET
        and any(name_things(words[node.first : node.last]))
        and not any(below.label in _CLAUSES for below in node.nodes())
    ]


def _split(sentence: str) -> tuple[Pieces, ...]:
    """The tokens with the marks between them, in runs short enough for the parser."""
    pieces: list[str] = []
    for part in _BREAK.split(sentence):
        if tokens := tokenize(part):
            pieces += tokens
        elif pieces and pieces[-1] not in _MARKS and part.strip():
            pieces.append("." if set(part) & set(".;!?…") else ",")
    if pieces and pieces[-1] in _MARKS:
        pieces.pop()
    return tuple(tuple(pieces[start : start + MAX_PIECES]) for start in range(0, len(pieces), MAX_PIECES))


def _parse_all(
    sentences: Sequence[Pieces], folder: Path, on_progress: Callable[[int, int], None] | None
) -> dict[Pieces, Dependencies]:
    with ParseCache(folder, parser_version()) as cache:
        parses = cache.get(sentences)
        missing = [pieces for pieces in sentences if pieces not in parses]
        if on_progress:
            on_progress(len(parses), len(sentences))
        arriving = zip(missing, parse_dependencies(missing), strict=True) if missing else iter(())
        while block := dict(islice(arriving, _SAVE_EVERY)):
            cache.put(block)
            parses |= block
            if on_progress:
                on_progress(len(parses), len(sentences))
    return parses


def _tree(parts: tuple[Pieces, ...], parses: dict[Pieces, Dependencies]) -> Tree:
    trees: list[Tree] = []
    for pieces in parts:
        kept = [place for place, piece in enumerate(pieces) if piece not in _MARKS]
        if kept:
            words = [pieces[place] for place in kept]
            parse = free_verbs(words, parses[pieces].keep(kept))
            trees.append(build_tree(words, parse, first=trees[-1].last if trees else 0))
    if not trees:
        return Tree("S", 0, 0)
    return trees[0] if len(trees) == 1 else Tree.join("S", trees)
