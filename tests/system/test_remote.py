"""Photos and features in object storage, against a server that speaks S3."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seesay import data
from seesay.errors import SeesayError
from seesay.images.extraction import FeatureStore, extract
from seesay.images.features import FeatureSpec
from seesay.images.io import open_image
from seesay.images.store import RowStore
from seesay.library.indexing.places import resolve_folder
from seesay.library.indexing.scan import scan
from seesay.library.types import Folder
from seesay.system import remote
from seesay.system.remote import UnreachableError
from seesay.verbs.inputs import find_photos


def test_a_file_is_listed_and_read_as_it_was_written(bucket: SimpleNamespace) -> None:
    folder = remote.as_path(f"{bucket.url}/photos")
    remote.write(folder / "2019" / "a ü.jpg", b"first")
    remote.write(folder / "b.jpg", b"second one")
    assert remote.read(folder / "2019" / "a ü.jpg") == b"first"
    assert sorted((entry.path, entry.size, entry.is_folder) for entry in remote.list_folder(folder)) == [
        (folder / "2019", 0, True),
        (folder / "b.jpg", 10, False),
    ]
    found = list(remote.list_folder(folder, recursive=True))
    assert sorted(entry.path for entry in found) == [folder / "2019" / "a ü.jpg", folder / "b.jpg"]
    assert all(entry.mtime_ns > 10**18 for entry in found)
    assert remote.exists(folder)
    assert not remote.exists(folder / "c.jpg")


def test_what_is_not_there_is_said(bucket: SimpleNamespace) -> None:
    with pytest.raises(SeesayError, match=rf"cannot open {bucket.url}/none.jpg: no such file"):
        remote.read(remote.as_path(f"{bucket.url}/none.jpg"))
    with pytest.raises(SeesayError, match="no such file or folder"):
        list(remote.list_folder(remote.as_path(f"{bucket.url}/none"), recursive=True))


def test_a_bucket_that_cannot_be_reached_is_said_with_what_to_check(
    bucket: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    options = {"endpoint_url": "http://127.0.0.1:9", "config_kwargs": {"retries": {"max_attempts": 0}}}
    monkeypatch.setitem(fsspec.config.conf, "s3", options)
    with pytest.raises(
        UnreachableError, match=r"cannot reach s3://photos/a.jpg: .*\n  try: check the address, the net"
    ):
        remote.read(remote.as_path("s3://photos/a.jpg"))


def test_an_unknown_kind_of_storage_is_said() -> None:
    with pytest.raises(SeesayError, match=r"s3://, gs:// or file://") as refused:
        remote.as_path("tape://ada:s3cret@vault/a.jpg")
    assert "tape://ada:***@vault/a.jpg" in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_pictures_of_a_bucket_have_the_features_of_the_same_pictures_on_disk(
    bucket: SimpleNamespace, colours: Path, tmp_path: Path, in_colours_cache: Path
) -> None:
    for path in sorted((colours / "images").iterdir())[:3]:
        remote.write(remote.as_path(f"{bucket.url}/images") / path.name, path.read_bytes())
    there = data.load(colours / "captions.csv", images=remote.as_path(f"{bucket.url}/images"))
    assert len(there.images) == 3
    np.testing.assert_array_equal(
        np.asarray(open_image(there.images[0])), np.asarray(open_image(colours / "images" / there.images[0].name))
    )
    store = FeatureStore(FeatureSpec("efficientnet-lite0", 64), root=tmp_path)
    here = FeatureStore(FeatureSpec("efficientnet-lite0", 64), root=tmp_path / "here")
    keys = extract(there.images, store, workers=1).keys
    again = extract([colours / "images" / path.name for path in there.images], here, workers=1).keys
    assert list(keys.values()) == list(again.values())
    wanted = [key for key in keys.values() if key]
    np.testing.assert_array_equal(store.read("pooled", wanted), here.read("pooled", wanted))


def test_features_that_one_machine_has_stored_another_does_not_compute(
    bucket: SimpleNamespace, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = sorted((colours / "images").iterdir())[:2]
    monkeypatch.setenv("SEESAY_FEATURES", f"{bucket.url}/features")
    n_computed, rows = [], []
    for machine in ("first", "second"):
        monkeypatch.setenv("SEESAY_CACHE", str(tmp_path / machine))
        store = FeatureStore(FeatureSpec("efficientnet-lite0", 64))
        done = extract(paths, store, workers=1)
        n_computed.append(done.n_computed)
        rows.append(store.read("pooled", [key for key in done.keys.values() if key]))
    assert n_computed == [2, 0]
    np.testing.assert_array_equal(rows[0], rows[1])


def test_a_shard_whose_index_is_not_there_yet_does_not_count(bucket: SimpleNamespace, tmp_path: Path) -> None:
    shared = remote.as_path(f"{bucket.url}/rows")
    RowStore(tmp_path / "one", shared=shared).write(["a"], np.ones((1, 2), np.float16))
    index: Any = next(entry.path for entry in remote.list_folder(shared) if entry.path.suffix == ".json")
    text = remote.read(index)
    bucket.files.rm(remote.as_url(index))
    assert RowStore(tmp_path / "two", shared=shared).missing(["a"]) == ["a"]
    remote.write(index, text)
    assert RowStore(tmp_path / "two", shared=shared).missing(["a"]) == []


@pytest.mark.parametrize("scheme", ["ftp", "http", "s3", "gs"])
def test_a_folder_that_is_named_like_an_address_is_a_folder(
    scheme: str, colours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("seesay.system.remote._open", lambda path: pytest.fail(f"{path} was taken for an address"))
    folder = tmp_path / f"{scheme}:" / "127.0.0.1:2121"
    folder.mkdir(parents=True)
    shutil.copy(colours / "images/red_5.png", folder / "red.png")
    photos, failures = find_photos([Path()])
    assert [str(photo) for photo in photos] == [f"{scheme}:/127.0.0.1:2121/red.png"]
    assert not failures
    for name in (photos[0], str(photos[0])):
        assert open_image(name).size == (40, 48)
    assert resolve_folder(f"{scheme}:/127.0.0.1:2121") == folder
    assert list(scan(Folder(folder)).files) == [bytes(folder / "red.png")]
