"""The bounds between stages: what fits, what waits, how everything is ended."""

import threading
from collections.abc import Callable

import pytest

from ragkit_ingest.executor.channel import Broken, Channel, Room


def started(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Run something in a thread; what it returns or raises comes into the list."""
    ended: list[object] = []

    def run() -> None:
        try:
            ended.append(work())
        except Broken as broken:
            ended.append(broken)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


def test_things_come_in_order_up_to_a_size() -> None:
    channel = Channel[str](room=10)
    for name, size in (("a", 2), ("b", 2), ("c", 5)):
        channel.put(name, size)
    assert channel.take(4) == ["a", "b"]
    assert channel.take(4) == ["c"], "one thing at least"
    channel.close()
    assert channel.take(4) == []


def test_who_puts_waits_for_room_and_what_is_too_large_goes_alone() -> None:
    channel = Channel[str](room=3)
    channel.put("a", 2)
    putting, ended = started(lambda: channel.put("b", 9))
    putting.join(0.05)
    assert putting.is_alive()
    assert channel.take() == ["a"]
    putting.join()
    assert ended == [None]
    assert channel.take() == ["b"]


def test_who_takes_waits_for_the_first_thing() -> None:
    channel = Channel[str](room=3)
    taking, ended = started(channel.take)
    taking.join(0.05)
    assert taking.is_alive()
    channel.put("a")
    taking.join()
    assert ended == [["a"]]


def test_who_takes_waits_for_others_that_are_on_their_way() -> None:
    channel = Channel[str](room=9)
    channel.put("a")
    coming = 3
    taking, ended = started(
        lambda: channel.take(9, expects=lambda waiting: waiting < coming, patience_s=60)
    )
    channel.put("b")
    taking.join(0.05)
    assert taking.is_alive()
    channel.put("c")
    taking.join()
    assert ended == [["a", "b", "c"]]


def test_nobody_waits_for_others_when_there_is_enough_or_the_end_or_patience_is_over() -> None:
    channel = Channel[str](room=9)
    channel.put("a", 4)
    assert channel.take(4, expects=lambda waiting: True, patience_s=60) == ["a"]
    channel.put("b")
    assert channel.take(4, expects=lambda waiting: True, patience_s=0.01) == ["b"]
    channel.put("c")
    channel.close()
    assert channel.take(4, expects=lambda waiting: True, patience_s=60) == ["c"]


def test_an_abort_ends_whoever_waits_and_whoever_comes_later() -> None:
    full, empty, room = Channel[str](room=1), Channel[str](room=1), Room(1)
    full.put("a")
    room.enter(1)
    waiting = [
        started(lambda: full.put("b")),
        started(empty.take),
        started(lambda: room.enter(1)),
        started(room.empty),
    ]
    for bound in (full, empty, room):
        bound.abort()
    for thread, ended in waiting:
        thread.join()
        assert [type(end) for end in ended] == [Broken]
    with pytest.raises(Broken):
        full.put("c")
    with pytest.raises(Broken):
        room.enter(1)


def test_a_room_holds_so_much_or_one_larger_thing() -> None:
    room = Room(10)
    room.enter(6)
    room.enter(4)
    more, _ = started(lambda: room.enter(1))
    more.join(0.05)
    assert more.is_alive()
    room.leave(6)
    more.join()
    room.leave(4)
    room.leave(1)
    room.empty()
    room.enter(99)
    room.leave(99)
    room.empty()
