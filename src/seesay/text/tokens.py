"""Sentences to tokens: the one tokeniser that vocabularies, trees, word vectors and models share.

The papers lower-case their sentences and drop what is not a letter or a digit (DVSA). The rest follows the Penn
Treebank, because the collections and the GloVe vectors do: "man's" is `man 's`, "isn't" is `is n't`.

- Hyphens separate: "snow-covered" is `snow covered`. Rare compounds are then made of known words, and a noun phrase
  keeps its head ("t-shirt" is `t shirt`).
- An apostrophe inside a word stays ("o'clock"); at its edge it is a quotation mark and goes.
- Digits stay, with the point or comma between them ("3.5", "1,000"). "&" is `and`.
- Text is NFKC-normalised: full-width letters, ligatures and typographic apostrophes equal the plain ones. Letters of
  every script stay; a language written without spaces gives one token per run of letters.
- Emoji and other symbols are dropped like punctuation: a sentence of nothing else has no tokens, like the empty one.
- No length limit here: models read the first `LONGEST` words.
"""

import re
import unicodedata
from collections.abc import Sequence

LONGEST = 100
"""Words of a sentence that are read; nobody's caption is longer, and a pasted book does not exhaust the memory."""

_CLITICS = frozenset({"'s", "'re", "'ve", "'ll", "'d", "'m", "n't"})

_SEPARATOR = re.compile(r"(?<![0-9])[.,]|[.,](?![0-9])|[\x00-&(-+\-/:-`{-\x7f]|''+")
_PLAIN_WORDS = re.compile(r"[a-z ]*")
_APOSTROPHES = str.maketrans("‘’‛ʼ′", "'''''")


def tokenize(sentence: str) -> list[str]:
    """Split a sentence into lower-case words without punctuation.

    Tokens never depend on what stands beyond a space, so the tokens of a sentence are those of its words one after
    another, and tokenising `" ".join(tokens)` gives the same tokens again.

    Example:
        >>> tokenize("A man's dog isn't in the snow-covered yard .")
        ['a', 'man', "'s", 'dog', 'is', "n't", 'in', 'the', 'snow', 'covered', 'yard']
        >>> tokenize("Ｔｗｏ cafés, 3.5 km away 🐶!")
        ['two', 'cafés', '3.5', 'km', 'away']
        >>> tokenize("🐶 ?")
        []
    """
    text = sentence.lower() if sentence.isascii() else _plain(sentence)
    if _PLAIN_WORDS.fullmatch(text):
        return text.split()
    tokens: list[str] = []
    for word in _SEPARATOR.sub(" ", text.replace("&", " and ")).split():
        if "'" in word:
            tokens += _split_clitics(word)
        else:
            tokens.append(word)
    return tokens


def token_spans(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where each whitespace-separated word of a sentence lies among the sentence's tokens.

    Collections mark phrases by words, models by tokens. Punctuation has an empty span, a hyphenated word a longer one.

    Returns:
        A half-open span `(first, last)` of `tokenize(" ".join(words))` for each word.

    Example:
        >>> token_spans(["a", "t-shirt", ",", "torn"])
        [(0, 1), (1, 3), (3, 3), (3, 4)]
    """
    spans = []
    first = 0
    for word in words:
        last = first + len(tokenize(word))
        spans.append((first, last))
        first = last
    return spans


def _plain(sentence: str) -> str:
    """Lower-case NFKC text in which everything beyond ASCII belongs to a word."""
    category = unicodedata.category
    # Soft hyphens and zero-width characters are invisible: the word around them is one word.
    visible = "".join(char for char in sentence.replace("´", "'") if category(char) != "Cf")
    # Lower-casing can leave a letter and a mark that have a common form, so the form is taken again.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).lower()).translate(_APOSTROPHES)
    kept = []
    in_word = False
    for char in text:
        if char.isascii():
            in_word = char.isalnum()
        else:
            kind = category(char)[0]
            in_word = kind in "LN" or (kind == "M" and in_word)
            char = char if in_word else " "
        kept.append(char)
    return "".join(kept)


def _split_clitics(word: str) -> list[str]:
    word = word.rstrip("'")
    if word in _CLITICS:
        return [word]
    word = word.lstrip("'")
    for clitic in (word[-3:], word[-2:]):
        if clitic in _CLITICS and len(word) > len(clitic):
            return [*_split_clitics(word[: -len(clitic)]), clitic]
    return [word] if word else []
