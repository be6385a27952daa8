"""The verbs, with the weights that ship, on the sample photos."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import seesay
from seesay.verbs.results import no_bars


def is_plain(table: Any) -> bool:
    return bool(json.loads(json.dumps(table)) == table)


@pytest.fixture(scope="session")
def vse() -> Any:
    return seesay.load("vse")


def test_every_kind_of_image_gives_the_same_scores(cat: Path, vse: Any) -> None:
    kinds = [cat, str(cat), cat.read_bytes(), io.BytesIO(cat.read_bytes()), Image.open(cat)]
    found = seesay.match(kinds, ["a cat", "a red bus"], model=vse)
    assert found.scores.shape == (5, 2)
    assert np.allclose(found.scores, found.scores[0], atol=0.02)  # an opened image is not decoded at a smaller size
    assert np.allclose(found.shares.sum(axis=1), 1, atol=1e-5)
    assert found.ranked(0)[0][0] == "a cat"


def test_a_match_says_what_it_is(cat: Path, vse: Any) -> None:
    found = seesay.match(cat, ["a red bus", "a cat", "zzyzx"], model=vse)
    assert found.model == "vse"
    assert found.warnings == ("the model has never learned 'zzyzx': the score means nothing",)
    assert repr(found).splitlines()[0] == "Matches by vse"
    assert "a cat" in repr(found).splitlines()[1]
    assert found._repr_html_().count("<img") == 1
    assert is_plain(found.to_dict())
    assert [row["sentence"] for row in found.to_dict()["matches"]] == ["a red bus", "a cat", "zzyzx"]


def test_captions_of_files_and_of_arrays_agree(cat: Path) -> None:
    of_file = seesay.caption(cat, n_best=2)
    of_array = seesay.caption(np.asarray(seesay.open_image(cat)), n_best=2)
    assert of_file.text == of_array.text
    assert "cat" in of_file.text
    assert [len(image.captions) for image in of_file] == [2]
    assert of_file[0].name == str(cat)
    assert of_array[0].name == "image 1"
    assert str(of_array) == f"image 1: {of_array.text}"
    assert repr(of_array).splitlines()[0] == "Captions by mrnn"
    assert "<img" in of_array._repr_html_()
    assert is_plain(of_file.to_dict())
    assert of_file.to_dict()["reranked"] is False


def test_an_image_that_cannot_be_used_is_an_error_or_left_out(cat: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(cat.read_bytes()[:900])
    for images in ([cat, "nowhere.jpg"], [cat, broken], [cat, b"no picture"]):
        with pytest.raises(seesay.SeesayError, match=r"cannot (read|open)"):
            seesay.caption(images)
        found = seesay.caption(images, skip_unusable=True)
        assert [image.name for image in found] == [str(cat)] if isinstance(images[1], str | Path) else ["image 1"]
        assert len(found.failures) == 1
    assert len(seesay.caption("nowhere.jpg", skip_unusable=True)) == 0


def test_a_loaded_model_of_another_kind_is_refused(cat: Path, vse: Any) -> None:
    with pytest.raises(seesay.SeesayError, match="vse matches images and sentences and writes no captions"):
        seesay.caption(cat, model=vse)
    with pytest.raises(seesay.SeesayError, match="dvsa gives no probability of a match"):
        seesay.identify("a cat", cat, model="dvsa")


def test_phrases_have_boxes_inside_the_image(man: Path) -> None:
    found = seesay.ground(man, ["a man", "a zzyzx camera"])
    assert [row.phrase for row in found] == ["a man", "a zzyzx camera"]
    for row in found:
        left, top, right, bottom = row.box
        assert 0 <= left < right <= 1
        assert 0 <= top < bottom <= 1
    assert found[1].unknown == ("zzyzx",)
    assert found.warnings == ("the model has never learned 'zzyzx': only the rest was looked for",)
    assert found.size == Image.open(man).size
    assert found.draw().size != found.draw(heat=True).size or not np.array_equal(found.draw(), found.draw(heat=True))
    assert 0 <= found.heat.min() < found.heat.max() <= 1
    assert "<img" in found._repr_html_()
    assert is_plain(found.to_dict())


def test_a_sentence_and_phrases_exclude_each_other(man: Path) -> None:
    for asked in ({"phrases": "a man", "sentence": "a man"}, {}):
        with pytest.raises(seesay.SeesayError, match="there is"):
            seesay.ground(man, **asked)  # type: ignore[arg-type]


def test_a_region_of_ones_own_is_described(man: Path) -> None:
    found = seesay.describe(man, [(0.0, 0.0, 0.5, 1.0)])
    width, height = Image.open(man).size
    assert found.pixels(found[0]) == [0, 0, round(width / 2), height]
    assert found[0].text
    assert found[0].written
    assert is_plain(found.to_dict())
    assert max(found.draw().size) == 960
    with pytest.raises(seesay.SeesayError, match="the box is"):
        seesay.describe(man, [(0.5, 0.0, 0.5, 1.0)])


def test_the_image_that_was_described_is_identified(samples: Path, coffee: Path) -> None:
    found = seesay.identify("a cup of coffee on a table", samples, n=3)
    assert found.best.name == str(coffee)
    assert found.n_images == 8
    assert len(found) == 3
    assert 1 >= found[0].choice > found[1].choice > found[2].choice
    assert found.draw().width > 500
    assert found._repr_html_().count("<img") == 3
    assert is_plain(found.to_dict())


def test_an_explanation_weighs_the_words(cat: Path, vse: Any) -> None:
    found = seesay.explain(cat, "a close up of a cat", method="alignment", model=vse)
    assert list(found.words) == ["a", "close", "up", "of", "cat"]
    assert sum(found.explanation.weights) == pytest.approx(1)
    assert found.draw().width == 800
    assert "<img" in found._repr_html_()
    assert is_plain(found.to_dict())
    with pytest.raises(seesay.SeesayError, match="explainer 'magic'"):
        seesay.explain(cat, "a cat", method="magic")


def test_a_folder_is_searched(samples: Path, cat: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    titles: list[str] = []

    def bars(title: str) -> Any:
        titles.append(title)
        return no_bars(title)

    found = seesay.search("a close up of a cat zzyzx", samples, library=library, top=3, bars=bars)
    assert found.paths[0] == cat
    assert len(found) == 3
    assert titles == [f"indexing {samples}"]
    assert found.warnings == ("the model has never learned 'zzyzx': search does without",)
    assert "cat.jpg" in repr(found)
    assert found._repr_html_().count("<img") == 3  # though the library was closed in between
    assert found.draw().width > 300
    assert is_plain(found.to_dict())
    alike = seesay.search(library=library, like=[Image.open(cat)], top=1, index=False)
    assert alike.paths == [cat]
    with seesay.Library(library) as opened:
        assert seesay.search("a cat", library=opened, top=1).paths == [cat]
        assert opened.status().counts.photos == 8  # it is still open
    with pytest.raises(seesay.SeesayError, match="takes one query"):
        seesay.search("a cat", library=library, plus=["a dog"], regions=True, index=False)
    with pytest.raises(seesay.SeesayError, match="no photos yet"):
        seesay.search("a cat", library=tmp_path / "empty")


def test_regions_of_a_folder_fit_a_phrase(samples: Path, coffee: Path) -> None:
    found = seesay.find_regions(["a cup of coffee", "zzyzx"], samples, n=2)
    assert found["a cup of coffee"][0].image.path == coffee
    assert [len(rows) for rows in found.phrases.values()] == [2, 2]
    assert found.warnings == ("the model knows no word of 'zzyzx': its regions mean nothing",)
    assert "coffee.jpg" in repr(found)
    assert found.draw().width > 300
    assert is_plain(found.to_dict())
    with pytest.raises(seesay.SeesayError, match="a phrase has no words"):
        seesay.find_regions("", samples)


def test_neighbours_of_an_array_and_of_a_file(samples: Path, cat: Path) -> None:
    found = seesay.find_neighbours([cat, seesay.open_image(cat)], samples, n=3)
    of_file, of_image = found
    assert [len(near) for near in (of_file.refined, of_file.original)] == [3, 3]
    assert cat not in [near.image.path for near in of_file.refined]
    assert of_image.original[0].image.path == cat  # an image without a file is compared with all files
    assert of_image.original[0].cosine == pytest.approx(1, abs=0.01)
    assert found.draw().width > 400
    assert is_plain(found.to_dict())
    with pytest.raises(seesay.SeesayError, match=r"cannot read nowhere\.jpg"):
        seesay.find_neighbours("nowhere.jpg", samples)


def test_a_word_is_near_to_words_like_it() -> None:
    found = seesay.nearest_words(["dog", "dgo"], n=3)
    assert "puppy" in [word for word, _ in found[0].nearest]
    assert not found[1].known
    assert found.warnings == (f"mrnn does not know 'dgo'; close spellings: {', '.join(found[1].close_spellings)}",)
    assert repr(found).splitlines()[0] == "Nearest words by mrnn"
    assert is_plain(found.to_dict())


def test_explanations_without_steps_are_not_drawn_beside_each_other(cat: Path, vse: Any) -> None:
    found = seesay.explain(cat, "a cat", method="alignment", model=vse)
    with pytest.raises(seesay.SeesayError, match="draws the steps of two models"):
        found.draw(beside=found)
