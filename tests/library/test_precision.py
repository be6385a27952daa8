"""How photos go through the network: a library keeps the precision that it was made with."""

from pathlib import Path

import pytest
from PIL import Image

from seesay.catalogue.weights import PACKAGED
from seesay.errors import SeesayError
from seesay.library.library import Library
from seesay.library.types import Fingerprint
from seesay.library.weights import FLOAT, INT8, LibraryWeights, precision_of, to_type
from seesay.runtime import exact as processor

SAMPLES = sorted((PACKAGED.parent / "samples").glob("*.jpg"))[:3]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three samples, made small."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for path in SAMPLES:
        with Image.open(path) as image:
            image.convert("RGB").resize((320, 240)).save(folder / path.name)
    return folder


def test_a_library_goes_on_in_the_precision_it_was_made_with(photos: Path, tmp_path: Path) -> None:
    place = tmp_path / "library"
    with Library(place, precision=FLOAT) as library:
        library.index(photos)
        assert library.encoder.fingerprint.features.count(INT8) == 0
    with Image.open(photos / SAMPLES[0].name) as image:
        image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(photos / "mirrored.jpg")
    with Library(place) as library:  # as a later version opens it, whose own default is another
        assert precision_of(library.encoder.fingerprint) == FLOAT
        assert {precision_of(stage.fingerprint) for stage in library.stages} == {FLOAT}
        assert library.index(photos).n_added == 1
        assert library.status().agrees


def test_vectors_of_two_precisions_are_not_mixed(photos: Path, tmp_path: Path) -> None:
    place = tmp_path / "library"
    with Library(place, precision=INT8) as library:
        library.index(photos)
    with Library(place, precision=FLOAT) as library:
        with pytest.raises(SeesayError, match=r"-int8.*not with") as refused:
            library.index(photos)
        assert refused.value.hint == "seesay library rebuild --precision float"
        with pytest.raises(SeesayError, match="was made with"):
            library.search("a cat")


def test_a_rebuild_changes_the_precision_and_hardly_a_vector(photos: Path, tmp_path: Path) -> None:
    place = tmp_path / "library"
    with Library(place, precision=INT8) as library:
        library.index(photos)
        assert {precision_of(stage.fingerprint) for stage in library.cascade.held(library.store)} == {INT8}
        before = {result.path: result.score for result in library.search("a photo of something")}
    with Library(place, precision=FLOAT) as library:
        library.rebuild()
        after = {result.path: result.score for result in library.search("a photo of something")}
    with Library(place) as library:
        assert precision_of(library.encoder.fingerprint) == FLOAT
    assert before.keys() == after.keys()
    assert before != after
    assert [before[path] for path in before] == pytest.approx([after[path] for path in before], abs=0.05)


def test_by_default_it_is_what_the_processor_computes_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    for exact, expected in ((True, INT8), (False, FLOAT)):
        monkeypatch.setattr(processor, "is_exact", lambda exact=exact: exact)
        assert LibraryWeights("eye").precision == expected


def test_a_processor_that_is_not_exact_adds_nothing_to_a_library_in_8_bits_and_searches_it(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "library"
    with Library(place, precision=INT8) as library:
        library.index(photos)
    monkeypatch.setattr(processor, "is_exact", lambda: False)
    with Library(place) as library:
        assert len(library.search("a cat")) == len(SAMPLES)
        Image.new("RGB", (300, 300), "red").save(photos / "red.png")
        with pytest.raises(SeesayError, match="does not compute in 8 bits exactly") as refused:
            library.index(photos)
        assert refused.value.hint == "seesay library rebuild --precision float"


def test_an_unknown_precision_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match="there is no precision 'int4'") as refused:
        Library(tmp_path / "library", precision="int4")
    assert "int8" in str(refused.value.allowed)
    assert not (tmp_path / "library").exists()


def test_what_to_type_names_the_difference() -> None:
    held = Fingerprint("eye", "1", "network-12", 4)
    assert to_type(held, Fingerprint("eye", "1", "network-12-int8", 4)) == "--precision int8"
    assert to_type(held, Fingerprint("vse", "2", "network-12-int8", 4)) == "--model vse"
    assert precision_of(None) is None
