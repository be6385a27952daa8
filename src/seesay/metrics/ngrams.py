"""The n-grams of packed sentences, numbered: each is kept at the place of the word where it begins.

An n-gram's key is the number of its first n-1 words beside the id of its last word, so that n-grams of any length are
found by sorting and searching plain integers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seesay.metrics._arrays import IntArray
from seesay.metrics.sentences import Packed, References

N = 4
"""The longest n-grams that BLEU and CIDEr count."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The n-grams of references, and what is known at each place where one begins; n from 1 to 4."""

    keys: tuple[IntArray, ...]  # 4 times (n_ngrams,) ascending
    n_images: tuple[IntArray, ...]  # 4 times (n_ngrams,) images that have it in any reference
    in_sentence: IntArray  # (4, n_ids) occurrences in the same sentence; 0 where no n-gram begins
    in_images: IntArray  # (4, n_ids) images that have it; 1 where no n-gram begins


def count_ngrams(references: References) -> Counts:
    """Number the n-grams of a collection and count in how many of its images each occurs."""
    sentences = references.sentences
    n_ids = len(sentences.ids)
    sentence_of = np.repeat(np.arange(len(sentences.lengths)), sentences.lengths + 1)
    image_of = references.image_of[sentence_of]
    shorter = np.zeros(n_ids, np.int64)
    all_keys, n_images = [], []
    in_sentence, in_images = np.zeros((N, n_ids), np.int64), np.ones((N, n_ids), np.int64)
    for n, (keys, places) in enumerate(ngram_keys(sentences, shorter, sentences.n_ids)):
        keys, places = _sort(keys, places)  # equal n-grams together, in the order of images and sentences
        is_new = np.diff(keys, prepend=-1) != 0
        is_new_image = is_new | (np.diff(image_of[places], prepend=-1) != 0)
        is_new_sentence = is_new | (np.diff(sentence_of[places], prepend=-1) != 0)
        number, sentence = np.cumsum(is_new) - 1, np.cumsum(is_new_sentence) - 1
        all_keys.append(keys[is_new])
        n_images.append(np.bincount(number[is_new_image]))
        in_sentence[n, places] = np.bincount(sentence)[sentence]
        in_images[n, places] = n_images[n][number]
        shorter[places] = number
    return Counts(tuple(all_keys), tuple(n_images), in_sentence, in_images)


def ngram_keys(sentences: Packed, shorter: IntArray, n_known: int) -> Iterator[tuple[IntArray, IntArray]]:
    """For n from 1 to 4, the key of every n-gram and the place where it begins.

    The caller writes into `shorter`, before asking for the next n, which number the n-gram at each place has. Words
    from the id `n_known` on are all the same unseen word.
    """
    ends = np.repeat(sentences.starts + sentences.lengths, sentences.lengths + 1)
    n_left = ends - np.arange(len(ends))  # words from here to the end of the sentence
    ids = np.minimum(sentences.ids, n_known)
    for n in range(1, N + 1):
        places = np.flatnonzero(n_left >= n)
        yield join_key(shorter[places], ids[places + n - 1], n_known), places


def join_key(shorter: IntArray, last: IntArray, n_known: int) -> IntArray:
    """The key of n-grams from the number of their first n-1 words and the id of their last one."""
    return (shorter << n_known.bit_length()) | last


def split_key(keys: IntArray, n_known: int) -> tuple[IntArray, IntArray]:
    """What `join_key` was given.

    Example:
        >>> split_key(join_key(np.array([0, 3]), np.array([5, 1]), 6), 6)
        (array([0, 3]), array([5, 1]))
    """
    n_bits = n_known.bit_length()
    return keys >> n_bits, keys & ((1 << n_bits) - 1)


def _sort(keys: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
    """Both, by key and then by place. Sorting one number made of both is many times faster than an argsort."""
    n_bits = int(places.max(initial=0)).bit_length()
    if int(keys.max(initial=0)).bit_length() + n_bits < 64:
        both = np.sort((keys << n_bits) | places)
        return both >> n_bits, both & ((1 << n_bits) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], places[order]
