"""So many things at a time and no more."""

import asyncio
import threading

import pytest

from seesay.web.lanes import BusyError, Lane


def test_a_lane_that_is_held_up_does_not_hold_up_another() -> None:
    slow, quick = Lane("explanations", workers=1, waiting=0), Lane("searches", workers=1, waiting=0)
    let_go = threading.Event()

    async def both() -> str:
        held_up = asyncio.ensure_future(slow.run(let_go.wait, 60))
        found = await quick.run(lambda: "found")
        assert not held_up.done()
        let_go.set()
        assert await held_up
        return found

    assert asyncio.run(both()) == "found"


def test_what_would_wait_behind_too_many_is_refused() -> None:
    lane = Lane("explanations", workers=1, waiting=1)
    let_go = threading.Event()

    async def three() -> None:
        first, second = (asyncio.ensure_future(lane.run(let_go.wait, 60)) for _ in range(2))
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="too many requests for explanations"):
            await lane.run(let_go.wait, 60)
        let_go.set()
        assert await first
        assert await second
        assert await lane.run(lambda: "again") == "again"

    asyncio.run(three())


def test_a_visitor_who_leaves_keeps_the_place_until_the_work_is_done() -> None:
    lane = Lane("explanations", workers=1, waiting=0)
    let_go, began = threading.Event(), threading.Event()

    def work() -> bool:
        began.set()
        return let_go.wait(60)

    async def leave() -> None:
        asked = asyncio.ensure_future(lane.run(work))
        await asyncio.to_thread(began.wait, 60)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        with pytest.raises(BusyError):
            await lane.run(lambda: None)
        let_go.set()

    asyncio.run(leave())


def test_what_goes_wrong_in_a_thread_is_told_to_who_asked() -> None:
    lane = Lane("sums", workers=1, waiting=0)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(lane.run(lambda: 1 / 0))
    assert lane.n_inside == 0


def test_threads_stay_so_that_each_keeps_its_connection() -> None:
    lane = Lane("searches", workers=1, waiting=0)

    async def twice() -> set[int]:
        return {await lane.run(threading.get_ident) for _ in range(5)}

    assert len(asyncio.run(twice())) == 1


def test_a_lane_gives_free_memory_back_after_so_many_things(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back = threading.Semaphore(0)
    monkeypatch.setattr("seesay.web.lanes.give_back_memory", given_back.release)
    tidy, other = Lane("images", workers=1, waiting=8, tidies_after=3), Lane("searches", workers=1, waiting=8)

    async def seven_of_each() -> None:
        for _ in range(7):
            await tidy.run(sum, [1, 2])
            await other.run(sum, [1, 2])
        await asyncio.sleep(0)

    asyncio.run(seven_of_each())
    assert given_back.acquire(timeout=60)
    assert given_back.acquire(timeout=60)
    assert not given_back.acquire(timeout=0.05)


def test_a_lane_that_is_closed_tidies_no_more() -> None:
    lane, let_go = Lane("images", workers=1, waiting=0, tidies_after=1), threading.Event()
    problems: list[dict[str, object]] = []

    async def close_meanwhile() -> bool:
        asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))
        asked = asyncio.ensure_future(lane.run(let_go.wait, 60))
        await asyncio.sleep(0)
        lane.close()
        let_go.set()
        done = await asked
        await asyncio.sleep(0)
        return done

    assert asyncio.run(close_meanwhile())
    assert problems == []
