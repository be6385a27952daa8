"""Words in their plain form."""

from seesay.text.lemmas import lemmatize
from seesay.text.tokens import tokenize


def test_forms_of_a_word_become_one() -> None:
    first, second = lemmatize(["A man climbs the rocks", "Men climbing a rock"])
    assert first[1:] == ["man", "climb", "the", "rock"]
    assert second == ["man", "climb", "a", "rock"]


def test_there_is_one_lemma_for_each_token() -> None:
    sentences = ["", "the man's dog's ball!", "xqzt 42 café", "a dog"]
    assert [len(words) for words in lemmatize(sentences)] == [len(tokenize(sentence)) for sentence in sentences]
