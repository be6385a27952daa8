"""What the shipped models make of the sample photos."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

import seesay
from seesay.catalogue.weights import PACKAGED
from seesay.library.library import Library
from seesay.library.ranking.likeness import ChangedError
from seesay.library.types import Photo
from seesay.verbs import photos
from seesay.verbs.photos import PhotoModels

SAMPLES = Path(seesay.__file__).parent / "samples"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PhotoModels]:
    with Library(tmp_path_factory.mktemp("library"), model="vse") as library:
        yield PhotoModels(library)


def photo_of(path: Path, content: int) -> Photo:
    width, height = seesay.open_image(path).size
    return Photo(
        content, path, content, path.stat().st_size, path.stat().st_mtime_ns, "2020-01-01", width, height, None, None
    )


@pytest.fixture(scope="module")
def photographer() -> Photo:
    return photo_of(SAMPLES / "photographer.jpg", 1)


def test_words_are_seen_where_they_are(models: PhotoModels, photographer: Photo) -> None:
    words = {word.text: word for word in models.explain(photographer, "a man beside a tripod")}
    man, tripod = words["man"].heat, words["tripod"].heat
    assert man is not None
    assert tripod is not None
    assert man[3:7, 1:4].mean() > 2 * man[3:7, 7:].mean()  # of ten rows and columns; he stands at the left
    row, column = np.unravel_index(tripod.argmax(), tripod.shape)
    assert row >= 4
    assert column >= 4
    assert words["a"].heat is None
    assert not words["a"].content


def test_every_word_of_the_sentence_comes_back_in_order(models: PhotoModels, photographer: Photo) -> None:
    words = models.explain(photographer, "A zorblax,  near the MAN's camera!")
    assert [word.text for word in words] == ["A", "zorblax,", "near", "the", "MAN's", "camera!"]
    assert [word.known for word in words if word.content] == [False, True, True]
    assert [word.heat is not None for word in words] == [False, False, False, False, True, True]


def test_heat_and_boxes_lie_within_the_photo(models: PhotoModels, photographer: Photo) -> None:
    for word in models.explain(photographer, "camera building sky"):
        assert word.heat is not None
        assert word.box is not None
        assert word.heat.min() >= 0
        assert word.heat.max() <= 1
        left, top, right, bottom = word.box
        assert 0 <= left < right <= 1
        assert 0 <= top < bottom <= 1
        assert word.place


def test_a_sentence_without_anything_to_see_needs_no_model(tmp_path: Path, photographer: Photo) -> None:
    with Library(tmp_path, model="vse") as library:
        untouched = PhotoModels(library)
        assert [word.content for word in untouched.explain(photographer, "of the with")] == [False] * 3
        assert untouched.explain(photographer, "") == []
        assert "matcher" not in vars(untouched.library.encoder)


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_turned_file_is_explained_as_it_is_shown(
    models: PhotoModels, photographer: Photo, tmp_path: Path, orientation: int
) -> None:
    undo = Image.Transpose({2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}[orientation])
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    path = tmp_path / "turned.jpg"
    Image.open(photographer.path).transpose(undo).save(path, exif=exif, quality=95)
    turned = photo_of(path, 10 + orientation)
    (upright,), (other,) = models.explain(photographer, "tripod"), models.explain(turned, "tripod")
    assert upright.heat is not None
    assert other.heat is not None
    assert abs(upright.heat - other.heat).max() < 0.2
    assert np.corrcoef(upright.heat.ravel(), other.heat.ravel())[0, 1] > 0.97
    assert other.box == pytest.approx(upright.box, abs=0.2)


def test_a_photo_goes_through_the_network_once(
    models: PhotoModels, photographer: Photo, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.explain(photographer, "man")
    monkeypatch.setattr(models.model, "features", lambda _: pytest.fail("it was seen before"))
    models.explain(photographer, "camera")


def test_only_so_many_photos_are_kept(
    models: PhotoModels, photographer: Photo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(photos, "N_KEPT", 2)
    monkeypatch.setattr(models, "_features", type(models._features)())
    monkeypatch.setattr(models.model, "features", lambda images: object())
    for number in (1, 2, 1, 3):
        models._see(photo_of(photographer.path, number), models.model)
    assert [content for content, _ in models._features] == [1, 3]


def test_a_file_that_has_changed_is_not_explained(models: PhotoModels, photographer: Photo, tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(photographer.path.read_bytes())
    photo = photo_of(path, 77)
    path.write_bytes(b"something else")
    with pytest.raises(ChangedError):
        models.explain(photo, "a man")


def test_captions_are_sentences_by_the_installed_captioner(models: PhotoModels, photographer: Photo) -> None:
    model, captions = models.captions(photographer, 3)
    if model is None:
        pytest.skip("no weights that write captions are installed")
    assert len(captions) == 3
    assert all(len(caption.words) > 2 for caption in captions)
    assert "man" in captions[0].words


def test_without_a_captioner_nothing_is_written(
    tmp_path: Path, photographer: Photo, monkeypatch: pytest.MonkeyPatch
) -> None:
    vse = PACKAGED / "vse"
    monkeypatch.setattr("seesay.catalogue.weights.PACKAGED", tmp_path)
    with Library(tmp_path / "library", model=vse) as library:
        assert PhotoModels(library).captions(photographer, 3) == (None, [])


def test_the_captioner_can_be_chosen(models: PhotoModels, photographer: Photo) -> None:
    with pytest.raises(seesay.SeesayError, match="writes no captions"):
        PhotoModels(models.library, "vse").captions(photographer, 1)
