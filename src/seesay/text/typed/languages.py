"""Whether a text is in another language than English, which no model here has learned: by script and function words.

A closed list of the most frequent function words of each language is enough: nothing is to be translated, a person is
only to be told why nothing was found.
"""

import unicodedata
from collections.abc import Sequence

from seesay.text.function_words import FUNCTION_WORDS

_FUNCTION_WORDS = {
    "German": "der die das den dem des ein eine einen einem einer und oder mit auf im am zum zur vom von für nicht ist "
    "sind zwei drei ohne über unter bei wie kein keine",
    "French": "le la les un une des du de et ou avec dans sur au aux sous chez deux trois sans est sont qui que pas il "
    "elle ses son sa",
    "Spanish": "el la los las un una unos unas de del y o con en sobre al por para dos tres sin es son que no está su",
    "Italian": "il lo la i gli le un una uno di del della nel nella sul sulla e o con su al alla per due tre senza è "
    "sono che non",
    "Portuguese": "o os as um uma de do da dos das no na nos nas e ou com em ao por para dois duas três sem é são que "
    "não",
    "Dutch": "de het een en of met op aan van voor bij in naar twee drie zonder is zijn niet geen door",
    "Swedish": "en ett den det och eller med på av för till från två tre utan är inte som under över",
    "Danish": "en et den det og eller med på af for til fra to tre uden er ikke som under over",
    "Polish": "i w na z ze do od dla o bez jest są nie się dwa dwie trzy pod nad przy",
    "Turkish": "bir ve ile için iki üç de da üzerinde altında olan bu şu",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_SCRIPTS = {
    "CYRILLIC": "the Cyrillic script",
    "GREEK": "Greek",
    "ARABIC": "the Arabic script",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "the Devanagari script",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese characters",
    "HANGUL": "Korean",
    "THAI": "Thai",
}


def foreign_language(tokens: Sequence[str], unknown: Sequence[str]) -> str | None:
    """The language or the script of a text, most words of which a model does not know; None where it may be English.

    Args:
        tokens: Its words, in lower case.
        unknown: Those that the model has never learned.

    Example:
        >>> foreign_language("un chien dans la neige".split(), ["chien", "dans", "neige"])
        'French'
        >>> foreign_language("собака".split(), ["собака"])
        'the Cyrillic script'
        >>> foreign_language("a zeppelin in the sky".split(), ["zeppelin"])
    """
    if not unknown or 2 * len(unknown) < len(tokens):
        return None
    scripts = [_script(word) for word in unknown]
    if known := [script for script in scripts if script is not None]:
        return known[0]
    telling = [token for token in tokens if token not in FUNCTION_WORDS]  # "in" is English as well as Dutch
    votes = {language: sum(token in words for token in telling) for language, words in _WORDS.items()}
    best = max(votes, key=lambda language: votes[language])
    return best if votes[best] else None


def _script(word: str) -> str | None:
    names = (unicodedata.name(letter, "") for letter in word if letter.isalpha())
    return next((script for name in names for start, script in _SCRIPTS.items() if name.startswith(start)), None)
