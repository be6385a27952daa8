"""Features are computed once, whatever happens in between."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seesay.errors import SeesayError
from seesay.images import extraction
from seesay.images.backbones import Backbone
from seesay.images.extraction import FeatureStore, content_key, extract, features_of
from seesay.images.features import Features, FeatureSpec, compute
from seesay.images.io import open_image
from seesay.images.regions import fixed_regions

SMALL = FeatureSpec("efficientnet-lite0", 64)
HALF = {"atol": 2e-3, "rtol": 2e-3}  # what half precision leaves of a number


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return SMALL.load_backbone()


@pytest.fixture(autouse=True)
def load_once(backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the network takes longer than running it on these pictures."""
    monkeypatch.setattr(FeatureSpec, "load_backbone", lambda spec: backbone)


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    """Ten small pictures: more than two batches, and a last one that is not full."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(10):
        pixels = np.random.default_rng(number).integers(0, 256, (40, 60, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return sorted(folder.iterdir())


@pytest.fixture
def open_store(tmp_path: Path) -> Callable[..., FeatureStore]:
    """A store in the test's folder, opened anew as another process would."""

    def open_anew(*outputs: str, root: str = "store") -> FeatureStore:
        return FeatureStore(SMALL, root=tmp_path / root, outputs=outputs or ("pooled",))

    return open_anew


OpenStore = Callable[..., FeatureStore]


def test_every_picture_is_computed_once(photos: list[Path], open_store: OpenStore) -> None:
    first = extract(photos, open_store(), workers=2)
    assert (first.n_computed, first.failures) == (10, {})
    again = extract(photos, open_store(), workers=2)
    assert (again.n_computed, again.keys) == (0, first.keys)


def test_the_rows_are_those_of_the_pictures(photos: list[Path], open_store: OpenStore, backbone: Backbone) -> None:
    store = open_store("pooled", "map")
    done = extract(photos, store, workers=2)
    expected = compute([open_image(photos[7])], backbone)
    for output in ("pooled", "map"):
        found = store.read(output, [done.keys[photos[7]]])  # type: ignore[list-item]
        np.testing.assert_allclose(found, expected[output], **HALF)


def test_results_do_not_depend_on_the_number_of_workers(photos: list[Path], open_store: OpenStore) -> None:
    keys = [content_key(path) for path in photos]
    rows = []
    for workers in (1, 3):
        store = open_store(root=f"workers{workers}")
        extract(photos, store, workers=workers)
        rows.append(store.read("pooled", keys))
    assert (rows[0] == rows[1]).all()


def test_progress_counts_what_was_there_and_goes_to_the_end(photos: list[Path], open_store: OpenStore) -> None:
    extract(photos[:4], open_store())
    seen: list[tuple[int, int]] = []
    extract(photos, open_store(), on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 10) for done in range(4, 11)]


def test_an_unusable_picture_is_reported_and_the_others_are_computed(photos: list[Path], open_store: OpenStore) -> None:
    photos[2].write_bytes(photos[2].read_bytes()[:200])
    photos[5].write_bytes(b"")
    photos[6].write_bytes(b"")  # the same content as the one before it
    absent = photos[0].with_name("absent.png")
    seen: list[int] = []
    done = extract([*photos, absent], open_store(), workers=2, on_progress=lambda n, total: seen.append(n))
    assert set(done.failures) == {photos[2], photos[5], photos[6], absent}
    assert str(photos[2]) in done.failures[photos[2]]
    assert "damaged or cut off" in done.failures[photos[2]]
    assert "0 bytes" in done.failures[photos[5]]
    assert "absent.png" in done.failures[absent]
    assert [path for path, key in done.keys.items() if key is None] == [photos[2], photos[5], photos[6], absent]
    assert done.n_computed == 7
    assert seen[-1] == 9  # contents that could be read: of the two empty files one stands for both
    assert extract(photos, open_store()).n_computed == 0


def test_the_same_picture_under_another_name_is_not_computed_again(photos: list[Path], open_store: OpenStore) -> None:
    first = extract(photos, open_store())
    copy = photos[3].with_name("renamed.jpeg")
    shutil.copy(photos[3], copy)
    again = extract([copy], open_store())
    assert (again.n_computed, again.keys[copy]) == (0, first.keys[photos[3]])


def test_two_names_of_one_picture_are_computed_once(photos: list[Path], open_store: OpenStore) -> None:
    copy = photos[3].with_name("copy.png")
    shutil.copy(photos[3], copy)
    done = extract([photos[3], copy, photos[3]], open_store())
    assert done.n_computed == 1
    assert done.keys == {photos[3]: content_key(copy), copy: content_key(copy)}


def test_a_changed_picture_is_computed_again(photos: list[Path], open_store: OpenStore) -> None:
    extract(photos, open_store())
    Image.new("RGB", (30, 30), "red").save(photos[0])
    assert extract(photos, open_store()).n_computed == 1


def test_damaged_rows_are_computed_again(photos: list[Path], open_store: OpenStore) -> None:
    store = open_store()
    done = extract(photos, store)
    keys = [key for key in done.keys.values() if key]
    before = store.read("pooled", keys)
    shard = next((store.folder / "pooled").glob("*.npy"))
    content = bytearray(shard.read_bytes())
    content[-1] ^= 0xFF  # in the last row
    shard.write_bytes(content)
    repaired = open_store()
    assert extract(photos, repaired).n_computed == 1
    np.testing.assert_allclose(repaired.read("pooled", keys), before, **HALF)


def test_an_interruption_keeps_what_was_finished_and_the_next_call_goes_on(
    photos: list[Path], open_store: OpenStore
) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(photos, open_store(), workers=1, on_progress=interrupt)
    keys = [content_key(path) for path in photos]
    assert len(open_store().missing(keys)) == 4
    assert extract(photos, open_store(), workers=1).n_computed == 4
    assert open_store().missing(keys) == []


def test_rows_are_written_as_shards_fill_up(
    photos: list[Path], open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "SHARD", 4)
    held: list[int] = []
    keys = [content_key(path) for path in photos]

    def look(done: int, total: int) -> None:
        held.append(total - len(open_store().missing(keys)))

    extract(photos, open_store(), workers=1, on_progress=look)
    assert held == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8]
    assert open_store().missing(keys) == []


def test_an_output_that_is_missing_is_computed_beside_the_one_that_is_there(
    photos: list[Path], open_store: OpenStore
) -> None:
    extract(photos[:3], open_store())
    both = open_store("pooled", "map")
    done = extract(photos[:3], both)
    assert done.n_computed == 3
    keys = [key for key in done.keys.values() if key]
    assert both.read("map", keys).shape == (3, 2, 2, 1280)


def test_specifications_do_not_share_rows(photos: list[Path], tmp_path: Path) -> None:
    extract(photos[:1], FeatureStore(SMALL, root=tmp_path))
    other = FeatureStore(replace(SMALL, crop="mirror"), root=tmp_path)
    assert extract(photos[:1], other).n_computed == 1


def test_a_picture_is_decoded_as_large_as_its_crops_need(
    photos: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def record(path: Path, at_least: int) -> Image.Image:
        asked.append(at_least)
        return open_image(path, at_least=at_least)

    monkeypatch.setattr(extraction, "open_image", record)
    extract(photos[:1], FeatureStore(replace(SMALL, crop="ten-crop"), root=tmp_path))
    assert asked == [73]  # 64 · 256 / 224


def test_unknown_and_impossible_outputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeesayError, match=r"there is no output 'regions'\n  allowed: pooled, map"):
        FeatureStore(SMALL, root=tmp_path, outputs=("pooled", "regions"))
    with pytest.raises(SeesayError, match="ten crops have no common map"):
        FeatureStore(replace(SMALL, crop="ten-crop"), root=tmp_path, outputs=("pooled", "map"))


def test_a_table_gives_rows_in_the_order_asked_for(photos: list[Path], tmp_path: Path) -> None:
    paths = [photos[4], photos[0], photos[4]]
    table = features_of(paths, SMALL, ("pooled", "map"), root=tmp_path)
    assert len(table) == 3
    rows = table.rows([1, 2, 1])
    assert rows.map is not None
    assert rows.map.shape == (3, 2, 2, 1280)
    everything = table.rows([0, 1, 2])
    assert (rows.pooled == everything.pooled[[1, 2, 1]]).all()
    assert (everything.pooled[0] == everything.pooled[2]).all()
    np.testing.assert_allclose(rows.map.mean((1, 2)), rows.pooled, **HALF)
    assert features_of(paths, SMALL, root=tmp_path).rows([0]).map is None


def test_a_table_of_unusable_pictures_is_refused_with_the_first_few_named(photos: list[Path], tmp_path: Path) -> None:
    for photo in photos[:4]:
        photo.write_bytes(b"GIF89a" + photo.name.encode())
    with pytest.raises(SeesayError, match=r"4 of 10 photos cannot be used: .*0\.png.*1\.png.*2\.png") as caught:
        features_of(photos, SMALL, root=tmp_path)
    assert "3.png" not in str(caught.value)


class TestRegions:
    """The means over the regions of a fixed scheme, an output of its own."""

    def test_they_are_the_means_of_the_map(self, photos: list[Path], open_store: OpenStore) -> None:
        store = open_store("pooled", "map", "grid-2x2")
        keys = list(extract(photos, store).keys.values())
        maps = Features.of({name: store.read(name, keys) for name in ("pooled", "map")})
        expected = maps.regions(fixed_regions("grid-2x2"))
        np.testing.assert_allclose(store.read("grid-2x2", keys), expected, **HALF)

    def test_they_need_no_map_on_disk(self, photos: list[Path], open_store: OpenStore) -> None:
        done = extract(photos, open_store("pooled", "windows-3"))
        assert (done.n_computed, open_store("map").missing(list(done.keys.values()))) == (10, list(done.keys.values()))
        assert extract(photos, open_store("pooled", "windows-3")).n_computed == 0

    def test_stored_maps_give_them_without_the_network(
        self, photos: list[Path], open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        extract(photos, open_store("pooled", "map"))
        monkeypatch.setattr(extraction, "SHARD", 3)
        done = extract(photos, open_store("pooled", "grid-2x2"))
        assert done.n_computed == 0
        whole = open_store("pooled", "map", "grid-2x2", root="whole")
        extract(photos, whole)
        for path, key in done.keys.items():
            found, expected = (store.read("grid-2x2", [key]) for store in (open_store("grid-2x2"), whole))
            np.testing.assert_allclose(found, expected, **HALF, err_msg=str(path))

    def test_a_picture_without_a_stored_map_goes_through_the_network(
        self, photos: list[Path], open_store: OpenStore
    ) -> None:
        extract(photos[:4], open_store("pooled", "map"))
        assert extract(photos, open_store("pooled", "grid-2x2")).n_computed == 6

    def test_a_table_hands_them_out_as_parts(self, photos: list[Path], tmp_path: Path) -> None:
        table = features_of(photos, SMALL, ("pooled", "grid-2x2"), root=tmp_path / "store")
        rows = table.rows([7, 0])
        assert rows.parts is not None
        assert (rows.map, rows.parts.shape) == (None, (2, 5, 1280))
        torch.testing.assert_close(rows.parts[:, 0], rows.pooled, **HALF)

    def test_unknown_outputs_are_answered_with_the_known_ones(self, open_store: OpenStore) -> None:
        with pytest.raises(
            SeesayError, match=r"no output 'corners'\n  allowed: pooled, map, or a region scheme: whole"
        ):
            open_store("corners")
