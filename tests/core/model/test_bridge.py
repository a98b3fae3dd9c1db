"""The bridge between threads and the event loop lets nobody wait in vain."""

import asyncio
import gc
import os
import threading
from collections.abc import AsyncGenerator

import pytest

from ragkit.model.bridge import Pieces, event_loop, run


async def count(log: list[str], *, fail: bool = False) -> AsyncGenerator[int, None]:
    try:
        yield 1
        yield 2
        if fail:
            raise KeyError("lost")
        await asyncio.sleep(3600)
    finally:
        log.append("closed")


def test_errors_arrive_once_and_then_it_has_ended() -> None:
    log: list[str] = []
    pieces = Pieces(count(log, fail=True))
    assert [next(pieces), next(pieces)] == [1, 2]
    with pytest.raises(KeyError, match="lost"):
        next(pieces)
    assert list(pieces) == []
    assert log == ["closed"]


def test_a_waiting_thread_is_let_go() -> None:
    log: list[str] = []
    pieces, seen, two = Pieces(count(log)), [], threading.Event()

    def read() -> None:
        for number in pieces:
            seen.append(number)
            if number == 2:
                two.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert two.wait(60)
    pieces.close()
    assert log == ["closed"]
    reader.join(timeout=60)
    assert (reader.is_alive(), seen) == (False, [1, 2])


def test_nothing_runs_before_the_first_piece_is_asked_for() -> None:
    log: list[str] = []
    pieces = Pieces(count(log))
    pieces.close()
    assert list(pieces) == []
    assert log == []


def test_a_forgotten_one_is_closed() -> None:
    log: list[str] = []
    pieces = Pieces(count(log))
    next(pieces)
    done = pieces._pump.done
    del pieces
    gc.collect()
    assert done.wait(60)
    assert log == ["closed"]


def test_run_gives_the_result_or_the_error() -> None:
    async def answer(value: object) -> object:
        if isinstance(value, Exception):
            raise value
        return value

    assert run(answer(4)) == 4
    with pytest.raises(LookupError):
        run(answer(LookupError()))


def test_a_forked_child_has_a_loop_of_its_own() -> None:
    parents = event_loop()
    child = os.fork()
    if child == 0:
        os._exit(0 if event_loop() is not parents and run(asyncio.sleep(0, 7)) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_comes_together_is_handed_over_together() -> None:
    pieces = Pieces(count([], fail=True))
    assert next(pieces) == 1
    assert pieces._pump.done.wait(60)
    assert pieces._pump.queue.qsize() == 1  # the end: 2 came with 1
    assert next(pieces) == 2
    with pytest.raises(KeyError, match="lost"):
        next(pieces)
