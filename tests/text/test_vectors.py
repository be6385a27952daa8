"""Word vectors from the package and from files."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from seesay.errors import SeesayError
from seesay.text.vectors import PACKAGED, WordVectors, load_vectors
from seesay.text.vocabulary import Vocabulary

WORDS = ["dog", "cat", "café"]
NUMBERS = np.array([[1, 0, 0.5], [0, -2, 1e-3], [0.25, 3, 7]], dtype=np.float32)
TEXT = "dog 1 0 0.5\ncat 0 -2 1e-3\ncafé 0.25 3 7\n".encode()
BINARY = b"3 3\n" + b"\n".join(
    word.encode() + b" " + row.astype("<f4").tobytes() for word, row in zip(WORDS, NUMBERS, strict=True)
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vectors"


@pytest.fixture
def small() -> WordVectors:
    return WordVectors("small", {"dog": 0, "cat": 1, "café": 2}, NUMBERS)


def write(folder: Path, data: bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(TEXT, id="GloVe text"),
        pytest.param(TEXT.replace(b"\n", b"\r\n"), id="GloVe text with Windows line ends"),
        pytest.param(TEXT.strip() + b"\n\n", id="GloVe text with a blank line at the end"),
        pytest.param(b"3 3\n" + TEXT, id="word2vec text"),
        pytest.param(b"3 3\n" + TEXT.replace(b"\n", b" \n"), id="word2vec text with spaces at line ends"),
        pytest.param(BINARY, id="word2vec binary"),
        pytest.param(BINARY.replace(b"\ncat", b"cat").replace(b"\ncaf", b"caf"), id="word2vec binary without breaks"),
        pytest.param(gzip.compress(TEXT), id="gzipped text"),
        pytest.param(gzip.compress(BINARY), id="gzipped binary"),
    ],
)
def test_every_published_layout_gives_the_same_vectors(tmp_path: Path, data: bytes) -> None:
    vectors = load_vectors(write(tmp_path, data))
    assert list(vectors.rows) == WORDS
    assert (len(vectors), vectors.dim) == (3, 3)
    np.testing.assert_array_equal(vectors.matrix_for(WORDS), NUMBERS)


def test_a_word_may_hold_spaces_and_a_second_vector_of_a_word_is_ignored(tmp_path: Path) -> None:
    vectors = load_vectors(write(tmp_path, b"dog 1 2\n. . . 3 4\ndog 5 6\n"))
    np.testing.assert_array_equal(vectors.matrix_for(["dog", ". . ."]), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"dog 1 2\ncat 1\n", "line 2: it has 1 numbers\n  allowed: a word and 2 numbers", id="short"),
        pytest.param(b"dog 1 2\ncat 1 x\n", "line 2: not everything", id="not a number"),
        pytest.param(b"dog 1 2\n\ncat 1 nan\n", "line 3: a number is infinite or not a number", id="nan"),
        pytest.param(b"dog\n", "line 1: it holds no numbers", id="no numbers"),
        pytest.param(b"2 3\ndog 1 2 3\ncat 1 2\n", "line 3: it has 2 numbers", id="word2vec text"),
        pytest.param(b"4 3\n" + TEXT, "announces 4 words and has 3", id="fewer words than announced"),
        pytest.param(BINARY[:-5], "word 3: the file ends after 1 of its floats", id="cut within a vector"),
        pytest.param(BINARY[:30], "word 2: the file ends after", id="cut earlier"),
        pytest.param(BINARY[:23], "word 2: the file ends within it", id="cut within a word"),
        pytest.param(BINARY.replace(b"3 3", b"4 3"), "announces 4 words and has 3", id="binary cut between words"),
        pytest.param(b"1 1\n" + b"\xff" * 9999, "word 1: it does not end", id="binary rubbish"),
        pytest.param(b"1 1\ndog " + b"\xff" * 4, "word 1: a number is infinite", id="binary nan"),
        pytest.param(b"1 1\na\nb " + b"\xff" * 4, "word 1: it holds a line break", id="a word with a line break"),
        pytest.param(b"", "holds no word vectors", id="empty"),
        pytest.param(b"0 5\n", "holds no word vectors", id="no words"),
        pytest.param(gzip.compress(TEXT)[:-12], "cannot read word vectors", id="gzip cut off"),
        pytest.param(gzip.compress(TEXT)[:10] + b"\xff" * 9, "cannot read word vectors", id="gzip of rubbish"),
        pytest.param(gzip.compress(b"dog" + bytes(1 << 22)), "line 1: it does not end", id="gzip of an endless line"),
        pytest.param(b"9" * 5000 + b" 5\n" + TEXT, "line 1: it announces what no file holds", id="too many digits"),
        pytest.param(b"1 999999999999\ndog 1", "line 1: it announces what no file holds", id="endless vectors"),
        pytest.param(b"1 0\ndog\n", "line 1: it announces what no file holds", id="vectors of nothing"),
    ],
)
def test_a_malformed_file_is_refused_with_the_place(tmp_path: Path, cache: Path, data: bytes, message: str) -> None:
    path = write(tmp_path, data)
    with pytest.raises(SeesayError, match=message) as caught:
        load_vectors(path)
    assert str(path) in str(caught.value)
    assert not list(cache.glob("*.partial"))


@pytest.mark.parametrize("source", ["glove", "no/such/file.txt", "."])
def test_an_unknown_source_is_answered_with_the_known_ones(source: str) -> None:
    with pytest.raises(SeesayError, match="glove-6b-50d, or the path"):
        load_vectors(source)


def test_a_file_is_converted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, TEXT)
    load_vectors(path)
    monkeypatch.setattr("seesay.text.vectors.read_rows", lambda path: pytest.fail("read again"))
    np.testing.assert_array_equal(load_vectors(path).matrix_for(WORDS), NUMBERS)


def test_a_file_that_has_changed_is_converted_again(tmp_path: Path) -> None:
    load_vectors(write(tmp_path, TEXT))
    assert load_vectors(write(tmp_path, b"zebra 1 2\n")).dim == 2


@pytest.mark.parametrize("suffix", ["words", "f32"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-3], lambda data: b"\xff" + data])
def test_a_damaged_conversion_is_made_again(tmp_path: Path, cache: Path, suffix: str, damage: object) -> None:
    path = write(tmp_path, TEXT)
    load_vectors(path)
    (kept,) = cache.glob(f"*.{suffix}")
    kept.write_bytes(damage(kept.read_bytes()))  # type: ignore[operator]
    np.testing.assert_array_equal(load_vectors(path).matrix_for(WORDS), NUMBERS)


def test_unknown_words_get_vectors_of_their_own_that_depend_on_the_seed_only(small: WordVectors) -> None:
    both = small.matrix_for(["zebra", "dog", "größe"], seed=3)
    alone = small.matrix_for(["größe"], seed=3)
    np.testing.assert_array_equal(both[2], alone[0])
    assert not np.allclose(both[0], both[2])
    assert not np.allclose(alone, small.matrix_for(["größe"], seed=4))


def test_unknown_words_are_as_large_as_known_ones() -> None:
    generator = np.random.default_rng(0)
    known = (0.3 * generator.standard_normal((100, 50))).astype(np.float32)
    vectors = WordVectors("random", {str(row): row for row in range(100)}, known)
    unknown = vectors.matrix_for([f"unknown{number}" for number in range(200)])
    assert unknown.std() == pytest.approx(0.3, rel=0.05)


def test_longer_vectors_keep_every_distance(small: WordVectors) -> None:
    words = [*WORDS, "zebra"]
    own, longer = small.matrix_for(words), small.matrix_for(words, dim=8)
    assert longer.shape == (4, 8)
    assert longer.dtype == np.float32
    np.testing.assert_allclose(longer @ longer.T, own @ own.T, atol=1e-4)


def test_shorter_vectors_keep_lengths_on_average() -> None:
    generator = np.random.default_rng(0)
    known = generator.standard_normal((500, 60)).astype(np.float32)
    vectors = WordVectors("random", {str(row): row for row in range(500)}, known)
    shorter = vectors.matrix_for(list(vectors.rows), dim=20)
    assert (shorter**2).sum(1).mean() == pytest.approx((known**2).sum(1).mean(), rel=0.05)


def test_the_map_to_another_length_depends_on_the_seed_only(small: WordVectors) -> None:
    np.testing.assert_array_equal(small.matrix_for(WORDS, 5, seed=1)[1:2], small.matrix_for(["cat"], 5, seed=1))
    assert not np.allclose(small.matrix_for(WORDS, 5, seed=1), small.matrix_for(WORDS, 5, seed=2))


@pytest.mark.parametrize(("dim", "expected"), [(None, 3), (3, 3), (7, 7)])
def test_no_words_give_a_matrix_of_no_rows(small: WordVectors, dim: int | None, expected: int) -> None:
    assert small.matrix_for([], dim).shape == (0, expected)


def test_a_length_below_one_is_refused(small: WordVectors) -> None:
    with pytest.raises(SeesayError, match=r"length 0 .*\n.*from 1 upwards"):
        small.matrix_for(["dog"], dim=0)


def test_a_vocabulary_can_be_looked_up_whole(small: WordVectors) -> None:
    vocabulary = Vocabulary.build(["a dog", "🐶", ""], min_count=1)
    matrix = small.matrix_for(vocabulary.words)
    assert matrix.shape == (len(vocabulary), 3)
    np.testing.assert_array_equal(matrix[vocabulary.encode("dog")], NUMBERS[:1])


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGED, "glove-6b-50d", "no_such_package_of_vectors")
    with pytest.raises(SeesayError, match="pip install no-such-package-of-vectors"):
        load_vectors()


def test_packaged_glove_opens_again_from_the_kept_words(monkeypatch: pytest.MonkeyPatch) -> None:
    glove = load_vectors()
    monkeypatch.setattr("seesay.text.vectors._read_column", lambda path: pytest.fail("read again"))
    again = load_vectors("glove-6b-50d")
    assert again.rows == glove.rows
    assert (len(glove), glove.dim) == (400_000, 50)
    # The first line of glove.6B.50d.txt as Stanford publishes it begins so.
    np.testing.assert_allclose(glove.matrix_for(["the"])[0, :4], [0.418, 0.24968, -0.41242, 0.1217], rtol=1e-6)
    dog, cat, tax = glove.matrix_for(["dog", "cat", "tax"])
    assert dog @ cat > 2 * (dog @ tax)
    assert "'s" in glove
    assert "n't" in glove
