"""From a dependency parse to a constituency tree.

A phrase is a head with all that depends on it, so every token with dependents becomes a node, and a noun becomes a noun
phrase. Where constituents are finer than that, the Penn Treebank is followed:

- The noun and what precedes it are a phrase of their own: `(NP (NP a man) (PP in (NP a red shirt)))`.
- A clause is its subject and the rest: `(S (NP a dog) (VP runs))`.
- What "and" joins is side by side, however long the list: `(NP (NP a man) (NP a woman) and (NP a child))`.
- "of" binds closer than other prepositions, even where the parser hung the others below it:
  `(NP (NP (NP a group) (PP of (NP people))) (PP in (NP a park)))`.
- "in front of" and "on top of" are prepositions.

Any assignment of heads, tags and relations gives a tree, for nobody knows what a parser makes of emoji or Finnish.
"""

from collections.abc import Sequence

from seesay.text._dependencies import Dependencies
from seesay.text._tree import Tree

MAX_DEPTH = 40  # captions stay below 25; a run of "of of of" must not exhaust the stack of whoever walks the tree

_NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS", "PRP", "WP", "EX"})
_VERB_TAGS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"})
_ADJECTIVE_TAGS = frozenset({"JJ", "JJR", "JJS"})
_ADVERB_TAGS = frozenset({"RB", "RBR", "RBS", "WRB"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
# Whatever its tag, a word in one of these places stands for a thing: "in blue", "one jumps", "each other".
_NOMINAL_PLACES = frozenset({"nsubj", "nsubjpass", "dobj", "pobj", "dative"})
_NOMINAL_TAGS = _ADJECTIVE_TAGS | {"CD", "DT", "PDT", "WDT", "FW", "PRP$"}
_BEFORE_NOUN = frozenset(
    {"det", "predet", "amod", "compound", "nmod", "nummod", "quantmod", "poss", "advmod", "neg", "npadvmod"}
)
_AFTER_NOUN = frozenset({"case", "nummod", "compound", "cc", "conj"})
_MODIFIERS = frozenset({"compound", "nmod", "amod", "det", "predet", "nummod", "quantmod"})
_AUXILIARIES = frozenset({"aux", "auxpass"})
_JOINING = frozenset({"cc", "conj", "preconj"})
_RELATIONAL_NOUNS = frozenset({"front", "top", "back", "lieu", "spite", "case", "instead"})


def build_tree(words: Sequence[str], parse: Dependencies, first: int = 0) -> Tree:
    """The tree over one word or more, of which the first is token number `first` of the sentence.

    Its root is always an S; a sentence that is only a noun phrase is an S of one child.
    """
    heads = _projective(parse.heads)
    builder = _Builder(words, heads, parse, first)
    # Dependents before their heads, without recursion: a chain of heads can be as long as the sentence.
    for token in reversed(_from_the_roots(heads)):
        builder.build(token)
    roots = [builder.done[token] for token, head in enumerate(heads) if token == head]
    root = roots[0] if len(roots) == 1 and roots[0].label == "S" else Tree.join("S", roots)
    return _flatten_below(root, MAX_DEPTH)


class _Builder:
    """Holds the constituent of every token that is done, with the pieces a head may still rearrange."""

    def __init__(self, words: Sequence[str], heads: Sequence[int], parse: Dependencies, first: int) -> None:
        self.words = words
        self.first = first
        self.heads = heads
        self.tags = parse.tags
        self.relations = parse.relations
        self.left: list[list[int]] = [[] for _ in words]
        self.right: list[list[int]] = [[] for _ in words]
        for token, head in enumerate(heads):
            if token != head:
                (self.left if token < head else self.right)[head].append(token)
        self.done: dict[int, Tree] = {}
        self.core: dict[int, tuple[Tree, list[Tree]]] = {}  # a noun: its phrase up to "of ...", what else follows
        self.joined: dict[int, list[Tree]] = {}  # the parts of a coordination, for a longer one to take over

    def build(self, token: int) -> None:
        tag, relation = self.tags[token], self.relations[token]
        after = self.right[token]
        n_own = next((place for place, other in enumerate(after) if self.relations[other] in _JOINING), len(after))
        own, joining = after[:n_own], after[n_own:]
        if self._is_nominal(token):
            if tag in _ADJECTIVE_TAGS and all(self.done[other].is_leaf for other in joining):
                own, joining = after, []  # "in red and black" is one phrase
            self.done[token] = self._join("NP", token, self._noun_phrase(token, own, bool(joining)), joining)
        elif tag in _VERB_TAGS and relation not in _MODIFIERS and relation not in _AUXILIARIES:
            self.done[token] = self._clause(token, own, joining)
        else:
            self.done[token] = self._join(self._label(token), token, self._phrase(token, own), joining)

    def _is_nominal(self, token: int) -> bool:
        tag, relation = self.tags[token], self.relations[token]
        if tag in _NOMINAL_TAGS and self.heads[token] < token and self.tags[self.heads[token]] == "IN":
            return True  # "in red", whatever the parser calls it
        first = token
        while self.relations[first] == "conj" and self.heads[first] != first:
            first = self.heads[first]
        if self.relations[first] in _MODIFIERS:  # "wire" of "a wood and wire bridge" is no thing of its own
            return False
        if tag in _NOUN_TAGS or tag == "CD" or any(self.relations[other] == "det" for other in self.left[token]):
            return True
        return relation in _NOMINAL_PLACES and tag in _NOMINAL_TAGS

    def _label(self, token: int) -> str:
        tag, relation = self.tags[token], self.relations[token]
        if any(self.relations[other] in ("pobj", "pcomp") for other in self.right[token]):
            return "PP"
        if tag in _NOUN_TAGS:
            return "NML"
        if tag in _ADJECTIVE_TAGS or tag in _VERB_TAGS:
            return "ADJP"
        if tag in _ADVERB_TAGS:
            return "ADVP"
        if tag == "CD":
            return "QP"
        return "PP" if tag in ("IN", "TO") and relation in ("prep", "agent") else "X"

    def _leaf(self, token: int) -> Tree:
        return Tree.leaf(self.first + token, self.words[token])

    def _phrase(self, token: int, own: Sequence[int]) -> Tree:
        """A head of any other kind with its dependents; a word alone stays a leaf."""
        parts = [*(self.done[other] for other in self.left[token]), self._leaf(token)]
        for other in own:
            parts.extend(self._without_relational_noun(other))
        return Tree.join(self._label(token), parts) if len(parts) > 1 else parts[0]

    def _without_relational_noun(self, token: int) -> Sequence[Tree]:
        """Splits "front of the house" after "in", so that "in front of" is the preposition of "the house"."""
        is_bare = not self.left[token] and token in self.core
        if self.relations[token] == "pobj" and self.words[token] in _RELATIONAL_NOUNS and is_bare:
            core, rest = self.core[token]
            if core.children[-1].label == "PP":
                of, *governed = core.children[-1].children
                governed += rest
                return [self._leaf(token), of, Tree.join("NP", governed) if len(governed) > 1 else governed[0]]
        return [self.done[token]]

    def _noun_phrase(self, token: int, own: Sequence[int], is_joined: bool) -> Tree:
        before = self.left[token]
        n_outside = len(before)
        while n_outside and self.relations[before[n_outside - 1]] in _BEFORE_NOUN:
            n_outside -= 1
        inside = [*(self.done[other] for other in before[n_outside:]), self._leaf(token)]
        following = list(own)
        while following and self.relations[following[0]] in _AFTER_NOUN:
            inside.append(self.done[following.pop(0)])
        core = Tree.join("NP", inside)
        hoisted: list[Tree] = []
        while following and not hoisted and self._is_of(following[0]):
            phrase, hoisted = self._of_phrase(following.pop(0))
            core = Tree.join("NP", [core, phrase])
        rest = hoisted + [self.done[other] for other in following]
        outside = [self.done[other] for other in before[:n_outside]]
        if not outside and not is_joined:
            self.core[token] = core, rest
        return Tree.join("NP", [*outside, core, *rest]) if outside or rest else core

    def _is_of(self, token: int) -> bool:
        return self.words[token] == "of" and self.done[token].label == "PP"

    def _of_phrase(self, token: int) -> tuple[Tree, list[Tree]]:
        """The phrase of an "of" with the bare noun phrase it governs, and what has to move up from there."""
        phrase = self.done[token]
        if not self.left[token] and len(self.right[token]) == 1:
            core, rest = self.core.get(self.right[token][0], (phrase, []))
            if rest:
                return Tree.join("PP", [self._leaf(token), core]), rest
        return phrase, []

    def _clause(self, token: int, own: Sequence[int], joining: Sequence[int]) -> Tree:
        before = self.left[token]
        n_outside = max((place + 1 for place, other in enumerate(before) if self._opens_clause(other)), default=0)
        outside = [self.done[other] for other in before[:n_outside]]
        parts = [*(self.done[other] for other in before[n_outside:]), self._leaf(token)]
        parts += [self.done[other] for other in own]
        predicate = self._join("VP", token, Tree.join("VP", parts), joining)
        if not outside:
            return predicate
        has_subject = any(self.relations[other] in _SUBJECTS for other in before[:n_outside])
        label = "S" if has_subject else "SBAR"
        if predicate.label == "VP":
            self.joined.pop(token, None)  # they share this subject, so no longer coordination may take them over
            return self._with_mark(label, before, outside, predicate)
        # A conjunct has a subject of its own, so whole clauses are joined and this subject belongs to the first.
        first = self._with_mark(label, before, outside, predicate.children[0])
        self.joined[token] = [first, *predicate.children[1:]]
        return Tree.join(predicate.label, self.joined[token])

    def _opens_clause(self, token: int) -> bool:
        return self.relations[token] in _SUBJECTS or self.relations[token] == "mark"

    def _with_mark(self, label: str, before: Sequence[int], outside: list[Tree], predicate: Tree) -> Tree:
        """`(SBAR while (S (NP a dog) (VP runs)))`: the conjunction stands outside of the clause."""
        if label == "S" and self.relations[before[0]] == "mark" and len(outside) > 1:
            return Tree.join("SBAR", [outside[0], Tree.join("S", [*outside[1:], predicate])])
        return Tree.join(label, [*outside, predicate])

    def _join(self, label: str, token: int, first: Tree, joining: Sequence[int]) -> Tree:
        """The first of several phrases with those that "and", "or" or a comma join to it."""
        if not joining:
            return first
        parts = [first]
        members = [first]
        for other in joining:
            is_member = self.relations[other] == "conj"
            taken = self.joined.get(other, [self.done[other]]) if is_member else [self.done[other]]
            parts += taken
            members += [part for part in taken if is_member and not part.is_leaf]
        self.joined[token] = parts
        kinds = {member.label for member in members if not member.is_leaf} or {label}
        if len(kinds) > 1:
            label = "S" if kinds <= {"S", "VP", "SBAR"} else "UCP"
        elif kinds == {"S"}:
            label = "S"
        return Tree.join(label, parts)


def _projective(heads: Sequence[int]) -> list[int]:
    """Lift tokens to their head's head until every token and all below it are a run of words without a gap."""
    lifted = list(heads)
    while (token := _beyond_a_gap(lifted)) is not None:
        head = lifted[token]
        lifted[token] = token if lifted[head] == head else lifted[head]
    return lifted


def _beyond_a_gap(heads: Sequence[int]) -> int | None:
    """A token between which and its head stands a word that does not depend on that head."""
    n_tokens = len(heads)
    first, last, size = list(range(n_tokens)), list(range(n_tokens)), [1] * n_tokens
    for head in reversed(_from_the_roots(heads)):
        if last[head] - first[head] + 1 != size[head]:
            edge = head
            for token in (place for place in range(head + 1, n_tokens) if heads[place] == head):
                if first[token] != edge + 1:
                    return token
                edge = last[token]
            edge = head
            for token in (place for place in range(head - 1, -1, -1) if heads[place] == head):
                if last[token] != edge - 1:
                    return token
                edge = first[token]
        above = heads[head]
        if above != head:
            first[above] = min(first[above], first[head])
            last[above] = max(last[above], last[head])
            size[above] += size[head]
    return None


def _from_the_roots(heads: Sequence[int]) -> list[int]:
    """All tokens, each after its head."""
    below: list[list[int]] = [[] for _ in heads]
    order: list[int] = []
    for token, head in enumerate(heads):
        (order if token == head else below[head]).append(token)
    for token in order:  # grows while it is walked
        order.extend(below[token])
    return order


def _flatten_below(node: Tree, depth: int) -> Tree:
    if node.is_leaf:
        return node
    if depth == 1:
        leaves = (part for part in node.nodes() if part.is_leaf)
        return Tree(node.label, node.first, node.last, tuple(leaves))
    children = tuple(_flatten_below(child, depth - 1) for child in node.children)
    is_same = all(new is old for new, old in zip(children, node.children, strict=True))
    return node if is_same else Tree(node.label, node.first, node.last, children)
