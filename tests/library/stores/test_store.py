"""What every store has to keep, whatever it is made of."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seesay.errors import SeesayError
from seesay.library.indexing.places import open_store
from seesay.library.stores.store import Store
from seesay.library.types import Batch, Content, Counts, Failure, File, Filter, Fingerprint, Folder, Hit
from seesay.system.locks import LockHeldError

Put = Callable[..., None]
X, Y, Z = ([1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0])
EVERYTHING = Filter()


def unit(*numbers: float) -> np.ndarray:
    row = np.array(numbers, np.float32)
    return row / np.linalg.norm(row)


def names(hits: list[Hit]) -> list[list[str]]:
    return [[photo.path.name for photo in hit.photos] for hit in hits]


def test_a_fresh_start_keeps_the_folders_and_forgets_the_photos(store: Store, put: Put) -> None:
    folder = Folder(Path("/photos"), ("*.tif",))
    store.set_folders([folder])
    put({"/photos/a.jpg": X})
    store.write(Batch(failures=[Failure(File(b"/photos/b.jpg", 1, 1), "damaged")]))
    other = Fingerprint("toy", "2", "none", 3)
    store.start(other)
    assert store.fingerprint() == other
    assert store.folders() == [folder]
    assert store.counts() == Counts(0, 0, 0)
    assert store.nearest(unit(*X), 5, EVERYTHING) == []


def test_the_nearest_come_first_with_their_cosines(store: Store, put: Put) -> None:
    put({"/a.jpg": X, "/b.jpg": Y, "/c.jpg": unit(1, 1, 0).tolist()})
    hits = store.nearest(unit(1, 0.5, 0), 2, EVERYTHING)
    assert names(hits) == [["c.jpg"], ["a.jpg"]]
    np.testing.assert_allclose([hit.cosine for hit in hits], [1.5 / (1.25 * 2) ** 0.5, 1 / 1.25**0.5], atol=1e-3)
    np.testing.assert_allclose(hits[1].vector, X)


def test_a_bonus_counts_before_the_best_are_taken(store: Store, put: Put) -> None:
    put({"/a.jpg": X, "/b.jpg": Y, "/c.jpg": Z})
    (last,) = store.nearest(unit(*Z), 1, EVERYTHING)
    hits = store.nearest(unit(1, 0.5, 0), 1, EVERYTHING, bonus={last.photos[0].content: 2.0, 10**9: 5.0})
    assert names(hits) == [["c.jpg"]]
    assert hits[0].cosine == pytest.approx(0)


def test_copies_share_a_content(store: Store, put: Put) -> None:
    put({"/a.jpg": X}, digest="same")
    put({"/b.jpg": Y}, digest="same")  # whoever wrote first has said what is in it
    assert store.counts() == Counts(2, 1, 0)
    (hit,) = store.nearest(unit(*X), 5, EVERYTHING)
    assert [photo.path for photo in hit.photos] == [Path("/a.jpg"), Path("/b.jpg")]
    assert len({photo.content for photo in hit.photos}) == 1


def test_what_was_written_later_is_found_and_what_is_gone_is_not(store: Store, put: Put) -> None:
    put({"/a.jpg": X, "/b.jpg": Y})
    assert len(store.nearest(unit(*X), 5, EVERYTHING)) == 2
    put({"/c.jpg": unit(3, 1, 0).tolist()})
    assert names(store.nearest(unit(*X), 5, EVERYTHING)) == [["a.jpg"], ["c.jpg"], ["b.jpg"]]
    store.forget([b"/a.jpg", b"/nothing.jpg"])
    assert names(store.nearest(unit(*X), 5, EVERYTHING)) == [["c.jpg"], ["b.jpg"]]
    assert store.drop_unused() == 1
    assert store.drop_unused() == 0
    assert names(store.nearest(unit(*X), 1, EVERYTHING)) == [["c.jpg"]]


def test_an_edited_photo_keeps_its_id_and_gets_another_content(store: Store, put: Put) -> None:
    put({"/a.jpg": X})
    (before,) = store.nearest(unit(*X), 1, EVERYTHING)[0].photos
    put({"/a.jpg": Y}, digest="edited")
    store.drop_unused()
    (hit,) = store.nearest(unit(*Y), 5, EVERYTHING)
    assert hit.cosine == pytest.approx(1, abs=1e-3)
    assert hit.photos[0].id == before.id
    assert hit.photos[0].content != before.content


def test_ids_are_never_given_again(store: Store, put: Put) -> None:
    put({"/a.jpg": X})
    first = store.latest(1, EVERYTHING)[0]
    store.forget([b"/a.jpg"])
    store.drop_unused()
    put({"/b.jpg": Y})
    second = store.latest(1, EVERYTHING)[0]
    assert second.id != first.id
    assert second.content != first.content
    assert store.photo(first.id) is None
    assert store.thumbnail(first.id) is None
    assert store.photo(second.id) == second
    assert store.thumbnail(second.id) == b"jpeg"


def test_a_photo_without_content_is_handed_back(store: Store, put: Put) -> None:
    file = File(b"/late.jpg", 1, 1)
    assert store.write(Batch(photos=[(file, "content that somebody dropped")])) == [
        (file, "content that somebody dropped")
    ]
    assert store.counts() == Counts(0, 0, 0)


def test_a_path_is_a_photo_or_a_failure_and_never_both(store: Store, put: Put) -> None:
    failure = Failure(File(b"/a.jpg", 5, 6), "damaged", "save it again")
    put({"/a.jpg": X})
    store.write(Batch(failures=[failure]))
    assert store.counts() == Counts(0, 0, 1)
    assert store.failures() == [failure]
    assert store.files(Path("/")) == {b"/a.jpg": failure.file}
    put({"/a.jpg": X})
    assert store.counts() == Counts(1, 1, 0)
    assert store.failures() == []


def test_a_batch_is_written_whole_or_not_at_all(store: Store, put: Put) -> None:
    put({"/a.jpg": X})
    broken = Batch(
        photos=[(File(b"/b.jpg", 1, 1), "digest of /a.jpg"), (File(b"/c.jpg", object(), 1), "digest of /a.jpg")]
    )  # type: ignore[arg-type]
    with pytest.raises(SeesayError):
        store.write(broken)
    assert store.counts() == Counts(1, 1, 0)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Filter(folders=(Path("/photos"),)), ["canon.jpg", "phone.jpg"]),
        (Filter(folders=(Path("/photos/2019"), Path("/photos0"))), ["other.jpg", "phone.jpg"]),
        (Filter(folders=(Path("/photos/201"),)), []),
        (Filter(folders=(Path("/"),)), ["canon.jpg", "other.jpg", "phone.jpg"]),
        (Filter(within="2019"), ["phone.jpg"]),
        (Filter(within="photos/2019/"), ["phone.jpg"]),
        (Filter(within="phone.jpg"), []),
        (Filter(during="2019"), ["phone.jpg"]),
        (Filter(during="2019-07-04"), ["phone.jpg"]),
        (Filter(during="2019-08"), []),
        (Filter(after="2019"), ["other.jpg", "phone.jpg"]),
        (Filter(after="2019-07-04T12:30:00"), ["other.jpg", "phone.jpg"]),
        (Filter(after="2019-07-05", before="2030"), ["other.jpg"]),
        (Filter(before="2019"), ["canon.jpg"]),
        (Filter(camera="EOS"), ["canon.jpg"]),
        (Filter(camera="eos", after="2019"), []),
        (Filter(camera="%"), []),
    ],
)  # fmt: skip
def test_filters(store: Store, put: Put, where: Filter, found: list[str]) -> None:
    put({"/photos/canon.jpg": X}, taken="2012-01-01T00:00:00", camera="Canon EOS 5D")
    put({"/photos/2019/phone.jpg": Y}, taken="2019-07-04T12:30:00", camera="Pixel 3")
    put({"/photos0/other.jpg": Z}, mtime_ns=1_600_000_000 * 10**9)  # changed in September 2020
    assert sorted(name for (name,) in names(store.nearest(unit(1, 1, 1), 9, where))) == found
    assert sorted(photo.path.name for photo in store.latest(9, where)) == found


def test_a_filter_that_few_pass_still_finds_the_best_of_them(store: Store, put: Put) -> None:
    put({f"/a/{number}.jpg": unit(100, number, 0).tolist() for number in range(200)})
    put({f"/b/{number}.jpg": unit(0, 1, number / 100).tolist() for number in range(5)})
    hits = store.nearest(unit(1, 0.1, 0), 3, Filter(folders=(Path("/b"),)))
    assert names(hits) == [["0.jpg"], ["1.jpg"], ["2.jpg"]]


def test_the_latest_are_those_of_the_latest_date(store: Store, put: Put) -> None:
    put({"/old.jpg": X}, taken="1999-12-31T23:59:59")
    put({"/scan.jpg": Y}, mtime_ns=1_600_000_000 * 10**9)
    put({"/new.jpg": Z}, taken="2024-01-01T00:00:00")
    assert [photo.path.name for photo in store.latest(2, EVERYTHING)] == ["new.jpg", "scan.jpg"]
    assert store.latest(2, EVERYTHING, skip=1)[0].path.name == "scan.jpg"
    scan = store.latest(2, EVERYTHING)[1]
    assert scan.taken is None
    assert scan.date.startswith("2020-09-1")


@pytest.mark.parametrize("mtime_ns", [-(10**18), 0, 2**63 - 1])
def test_any_time_of_a_file_is_a_date(store: Store, put: Put, mtime_ns: int) -> None:
    put({"/a.jpg": X}, mtime_ns=mtime_ns)
    assert store.files(Path("/")) == {b"/a.jpg": File(b"/a.jpg", 10, mtime_ns)}
    assert store.latest(1, EVERYTHING)[0].date[4] == "-"


def test_tags_by_content_and_contents_by_tag(store: Store, put: Put) -> None:
    put({"/a.jpg": X}, tags=((7, 0.5), (3, 0.25)))
    put({"/b.jpg": Y}, tags=((3, 0.75),))
    a, b = (store.nearest(unit(*row), 1, EVERYTHING)[0].photos[0].content for row in (X, Y))
    assert store.tags([a, b, 99]) == {a: ((7, 0.5), (3, 0.25)), b: ((3, 0.75),)}
    assert tagged(store, 3) == {(a, 3, 0.25), (b, 3, 0.75)}
    store.forget([b"/a.jpg"])
    store.drop_unused()
    assert tagged(store, 3, 7) == {(b, 3, 0.75)}
    assert tagged(store, 9) == set()


def tagged(store: Store, *classes: int) -> set[tuple[int, int, float]]:
    return set(zip(*(column.tolist() for column in store.tagged(classes)), strict=True))


def test_counts_and_failures_below_folders(store: Store, put: Put) -> None:
    put({"/a/1.jpg": X, "/b/1.jpg": Y})
    failure = Failure(File(b"/a/2.jpg", 1, 1), "damaged")
    store.write(Batch(failures=[failure]))
    assert store.counts([Path("/a")]) == Counts(1, 1, 1)
    assert store.counts([Path("/b")]) == Counts(1, 1, 0)
    assert store.failures([Path("/b")]) == []
    assert store.failures([Path("/a"), Path("/b")]) == [failure]


def test_odd_paths_are_kept_as_they_are(store: Store) -> None:
    paths = [
        b"/100%_a/x.jpg",
        b"/new\nline.jpg",
        b"/caf\xe9.jpg",
        b"/'; DROP TABLE photos; --.jpg",
        "/ünï/日本.jpg".encode(),
    ]
    failures = [Failure(File(path, 1, 2), "reason") for path in sorted(paths)]
    store.write(Batch(failures=failures))
    assert store.failures() == failures
    assert store.files(Path("/100%_a")) == {paths[0]: File(paths[0], 1, 2)}


def test_one_writer_at_a_time(store: Store) -> None:
    refused = pytest.raises(LockHeldError, match=r"being written by another seesay \(process \d+.*\)")
    with store.writing(), refused, store.writing():
        pass
    with store.writing():
        pass


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])  # it starts afresh itself
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["write", "forget", "drop", "reopen"]), st.integers(0, 7), st.integers(0, 2)),
        max_size=15,
    )
)
def test_search_agrees_with_a_dictionary_through_any_history(
    place: Path | str, steps: list[tuple[str, int, int]]
) -> None:
    store = open_store(place)
    store.start(Fingerprint("toy", "1", "none", 3))
    expected: dict[str, int] = {}
    for action, number, axis in steps:
        name = f"{number}.jpg"
        if action == "write":
            vector = np.eye(3, dtype=np.float16)[axis]
            content = Content(str(axis), 4, 3, None, None, vector, b"")
            store.write(Batch([content], [(File(f"/{name}".encode(), 1, 1), str(axis))]))
            expected[name] = axis
        elif action == "forget":
            store.forget([f"/{name}".encode()])
            expected.pop(name, None)
        elif action == "drop":
            store.drop_unused()
        else:
            store.close()
            store = open_store(place)
        hits = store.nearest(unit(3, 2, 1), 9, EVERYTHING)
        assert [sorted(group) for group in names(hits)] == [
            sorted(name for name, held in expected.items() if held == axis)
            for axis in range(3)
            if axis in expected.values()
        ]
    store.close()
