"""A run as it goes: in flight, written, stopped, gone on with."""

import asyncio
import json
import math
import resource
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import BusyError, DatabaseError, ModelServerError, RagkitError, UsageError
from ragkit.types import Usage
from ragkit_eval.run.item import Ask, Item, Likelihood, Response, Scored, Task
from ragkit_eval.run.keys import key_maker
from ragkit_eval.run.record import Header, TaskHeader, read_run
from ragkit_eval.run.runfile import RunFile
from ragkit_eval.run.runner import Counts, run_items
from tests.eval.run.fake import FakeTask, items

TASK = FakeTask(items(5))


def header(*tasks: Task, **more: Any) -> Header:
    counted = tuple(
        TaskHeader(one.name, one.version, one.method, one.metric, len(list(one.items())), "d", "p")
        for one in tasks or (TASK,)
    )
    return Header(counted, {"name": "tiny"}, {"seed": 0}, **more)


def run(ask: Ask, out: Path, *tasks: Task, **options: Any) -> Counts:
    chosen = tasks or (TASK,)
    first = options.pop("header", header(*chosen))
    return asyncio.run(run_items(chosen, lambda task: ask, first, out, **options))


async def right(item: Item) -> Response:
    return Response(top=((" A", -0.5), (" B", -2.0)), latency_s=0.25, usage=Usage(7, 1))


class Counting:
    """Answers rightly, counts how often each item is asked, and fails where told."""

    def __init__(self, fails: Callable[[Item], Exception | None] = lambda item: None) -> None:
        self.asked: dict[str, int] = {}
        self.fails = fails

    async def __call__(self, item: Item) -> Response:
        self.asked[item.id] = self.asked.get(item.id, 0) + 1
        failure = self.fails(item)
        if failure is not None:
            raise failure
        return await right(item)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_item_is_a_line(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    one = replace(TASK.made[0], group="sums", cluster="page 1", question="Question 0?")
    counts = run(right, out, FakeTask([one]))
    assert counts == Counts(total=1, ok=1)
    told = lines(out)
    assert told[0]["type"] == "header"
    assert told[1] == {
        "type": "item",
        "task": "fake",
        "id": "q0",
        "key": told[1]["key"],
        "status": "ok",
        "prediction": "A",
        "targets": ["A"],
        "scores": {"acc": 1.0},
        "group": "sums",
        "cluster": "page 1",
        "question": "Question 0?",
        "prompt": "Question 0?\nAnswer:",
        "fallback": False,
        "latency_s": 0.25,
        "usage": {"prompt_tokens": 7, "completion_tokens": 1},
        "detail": {"top": [[" A", -0.5], [" B", -2.0]]},
    }


def test_an_item_ends_ok_wrong_or_in_an_error(tmp_path: Path) -> None:
    async def mixed(item: Item) -> Response:
        if item.id == "q1":
            raise ModelServerError("server x failed:\nsee its log")
        return Response(top=(((" A" if item.id == "q0" else " B"), -0.1),))

    counts = run(mixed, tmp_path / "run.jsonl", FakeTask(items(3)))
    assert (counts.ok, counts.wrong, counts.errors) == (1, 1, 1)
    told = {one.id: one for one in read_run(tmp_path / "run.jsonl").records}
    assert {id: one.status for id, one in told.items()} == {
        "q0": "ok",
        "q1": "error",
        "q2": "wrong",
    }
    assert told["q1"].error == "server x failed: see its log"
    assert told["q1"].value("acc") == 0.0


@pytest.mark.parametrize(("score", "status"), [(0.5, "ok"), (0.49, "wrong")])
def test_a_graded_score_is_ok_from_a_half(tmp_path: Path, score: float, status: str) -> None:
    task = FakeTask(items(1), scorer=lambda item, response: Scored("x", {"acc": score}))
    run(right, tmp_path / "run.jsonl", task)
    assert read_run(tmp_path / "run.jsonl").records[0].status == status


def test_likelihoods_are_kept(tmp_path: Path) -> None:
    async def likely(item: Item) -> Response:
        return Response(likelihoods=(Likelihood(-1.5, 2, True),))

    run(likely, tmp_path / "run.jsonl", FakeTask(items(1)))
    detail = read_run(tmp_path / "run.jsonl").records[0].detail
    assert detail == {"likelihoods": [{"logprob": -1.5, "tokens": 2, "greedy": True}]}


def raising(item: Item, response: Response) -> Scored:
    raise UsageError("no verdict in this output")


@pytest.mark.parametrize(
    ("scorer", "error"),
    [
        (lambda item, response: Scored("A", {"acc": math.nan}), "acc is nan, not a number"),
        (raising, "no verdict in this output"),
    ],
)
def test_what_cannot_be_scored_is_an_error_with_its_output(
    tmp_path: Path, scorer: Callable[[Item, Response], Scored], error: str
) -> None:
    async def spoken(item: Item) -> Response:
        return Response(text="something")

    run(spoken, tmp_path / "run.jsonl", FakeTask(items(1), scorer=scorer))
    (record,) = read_run(tmp_path / "run.jsonl").records
    assert record.status == "error"
    assert record.error == f"could not be scored: {error}"
    assert record.output == "something"


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    async def odd(item: Item) -> Response:
        return Response(text="\ud83d!")

    run(odd, tmp_path / "run.jsonl", FakeTask(items(1)))
    assert read_run(tmp_path / "run.jsonl").records[0].output == "?!"


def test_so_many_are_in_flight_and_no_more(tmp_path: Path) -> None:
    running = most = 0

    async def slow(item: Item) -> Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        return Response(text="A")

    run(slow, tmp_path / "run.jsonl", FakeTask(items(60)), concurrency=7)
    assert most == 7


def test_scoring_holds_no_question_up(tmp_path: Path) -> None:
    """One item's scoring ends only when all others have been asked."""
    asked = 0
    all_asked = threading.Event()

    async def counted(item: Item) -> Response:
        nonlocal asked
        asked += 1
        if asked == 5:
            all_asked.set()
        return Response(text="A")

    def patient(item: Item, response: Response) -> Scored:
        return Scored("A", {"acc": float(item.id != "q0" or all_asked.wait(20))})

    counts = run(counted, tmp_path / "run.jsonl", FakeTask(items(5), scorer=patient), concurrency=1)
    assert counts.ok == 5


# Stopped, and gone on with


def test_an_error_that_no_item_would_escape_ends_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    ask = Counting(lambda item: DatabaseError("it is gone") if item.id == "q3" else None)
    with pytest.raises(DatabaseError, match="it is gone"):
        run(ask, out, concurrency=1)
    assert {one.id for one in read_run(out).records} <= {"q0", "q1", "q2"}
    again = Counting()
    counts = run(again, out, concurrency=1)
    assert (counts.ok, counts.total) == (5, 5)
    assert {"q3", "q4"} <= again.asked.keys()
    assert sorted(one["id"] for one in lines(out)[1:]) == ["q0", "q1", "q2", "q3", "q4"]


def test_a_run_that_is_done_asks_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out)
    before = out.read_bytes()
    ask = Counting()
    assert run(ask, out) == Counts(total=5, ok=5, kept=5)
    assert ask.asked == {}
    assert out.read_bytes() == before


def test_errors_are_asked_again_and_the_last_outcome_counts(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(Counting(lambda item: ModelServerError("no") if item.id == "q2" else None), out)
    again = Counting()
    assert run(again, out) == Counts(total=5, ok=5, kept=4)
    assert again.asked == {"q2": 1}
    assert [one.status for one in read_run(out).records] == ["ok"] * 5


def test_errors_stay_when_told_so(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(Counting(lambda item: ModelServerError("no") if item.id == "q2" else None), out)
    again = Counting()
    assert run(again, out, retry_errors=False) == Counts(total=5, ok=4, errors=1, kept=5)
    assert again.asked == {}


def test_without_another_try_for_errors_what_is_left_is_asked_all_the_same(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out)
    out.write_text("".join(out.read_text().splitlines(keepends=True)[:3]))
    again = Counting()
    assert run(again, out, retry_errors=False) == Counts(total=5, ok=5, kept=2)
    assert len(again.asked) == 3


def test_an_item_that_has_changed_is_asked_again(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out)
    first, *others = items(5)
    again = Counting()
    run(again, out, FakeTask([replace(first, prompt="Which?"), *others]), header=header())
    assert again.asked == {first.id: 1}


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_torn_line_is_cut_off_and_asked_again(tmp_path: Path, kept: int) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out, concurrency=1)
    whole = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(whole[:-1]) + whole[-1][:kept])
    again = Counting()
    run(again, out)
    assert len(again.asked) == 1
    assert sorted(one["id"] for one in lines(out)[1:]) == ["q0", "q1", "q2", "q3", "q4"]


@pytest.mark.parametrize("kept", [0, 5, 30])
def test_a_torn_header_is_begun_again(tmp_path: Path, kept: int) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out)
    out.write_bytes(out.read_bytes()[:kept])
    assert run(right, out) == Counts(total=5, ok=5)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            replace(header(), model={"name": "tiny", "revision": "2"}),
            'model revision was nothing and is "2"',
        ),
        (replace(header(), sampling={"seed": 1}), "sampling seed was 0 and is 1"),
        (header(replace(TASK, version="2")), 'fake\'s version was "1" and is "2"'),
        (header(TASK, FakeTask(items(1), name="b")), 'tasks was ["fake"] and is ["fake", "b"]'),
    ],
)
def test_another_run_is_refused_with_what_differs(
    tmp_path: Path, other: Header, message: str
) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out)
    before = out.read_bytes()
    with pytest.raises(UsageError) as caught:
        run(right, out, header=other)
    assert message in str(caught.value)
    assert "--overwrite" in str(caught.value)
    assert out.read_bytes() == before
    counts = run(right, out, header=other, overwrite=True)
    assert counts.kept == 0


def test_another_day_or_label_is_the_same_run(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    run(right, out)
    later = header(environment={"git": "abc"}, created="2030-01-01", label="x")
    assert run(right, out, header=later).kept == 5


@pytest.mark.parametrize("content", ["my notes", "my notes\n", '{"a": 1}\n', "\n"])
def test_a_file_that_is_no_run_is_left_alone(tmp_path: Path, content: str) -> None:
    out = tmp_path / "notes.txt"
    out.write_text(content)
    with pytest.raises(UsageError, match=r"notes\.txt exists and is not a run"):
        run(right, out)
    assert out.read_text() == content


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write the run .*: No such file or directory"):
        run(right, tmp_path / "no" / "run.jsonl")


def test_two_programs_do_not_write_one_run(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    with RunFile.open(out, header()), pytest.raises(BusyError, match="by another program"):
        run(right, out)


def test_two_items_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fake has two items of the id 'q0'"):
        run(right, tmp_path / "run.jsonl", FakeTask(items(1) * 2))


def test_a_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is not a regular file"):
        run(right, Path("/dev/full"))


def test_a_full_disk_is_said_and_the_run_goes_on_later(tmp_path: Path) -> None:
    out, before = tmp_path / "run.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    run(right, out, FakeTask(items(5)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (out.stat().st_size - 20, before[1]))
    out.unlink()
    try:
        with pytest.raises(RagkitError, match=r"File too large.*run the same command again"):
            run(right, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not out.read_bytes().endswith(b"\n")
    assert run(right, out) == Counts(total=5, ok=5, kept=4)


def test_cancelling_leaves_what_is_finished(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"

    async def stuck(item: Item) -> Response:
        if item.id == "q2":
            await asyncio.sleep(60)
        return await right(item)

    async def stopped() -> None:
        running = asyncio.create_task(
            run_items([TASK], lambda task: stuck, header(), out, concurrency=1)
        )
        async with asyncio.timeout(30):
            while not out.exists() or len(out.read_text().splitlines()) < 3:
                await asyncio.sleep(0.005)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())
    assert [one["id"] for one in lines(out)[1:]] == ["q0", "q1"]
    assert run(right, out).ok == 5


# Other runs' outcomes


def test_other_runs_answers_are_taken_for_equal_items(tmp_path: Path) -> None:
    old, out = tmp_path / "old.jsonl", tmp_path / "run.jsonl"
    run(Counting(lambda item: ModelServerError("no") if item.id == "q4" else None), old)
    more = [replace(one, id=f"new {one.id}", group="g") for one in items(6)]
    ask = Counting()
    counts = run(ask, out, FakeTask(more), reuse=[old])
    assert counts == Counts(total=6, ok=6, reused=4)
    assert ask.asked == {"new q4": 1, "new q5": 1}
    first = next(one for one in read_run(out).records if one.id == "new q0")
    assert (first.group, first.prompt, first.prediction) == ("g", "Question 0?\nAnswer:", "A")


def test_what_other_runs_answered_is_never_counted_as_asked(tmp_path: Path) -> None:
    old, out = tmp_path / "old.jsonl", tmp_path / "run.jsonl"
    run(Counting(), old)
    seen: list[Counts] = []
    run(Counting(), out, progress=seen.append, reuse=[old])
    assert [(one.done, one.reused) for one in seen] == [(n, n) for n in range(6)]


def test_a_key_holds_all_that_may_change_an_outcome() -> None:
    item = replace(TASK.made[0], choices=("a", "b"), extra={"tests": "assert"})
    base = key_maker(header())(TASK, item)
    assert len(base) == 32
    same = replace(item, id="other", group="g", cluster="c", question="?")
    assert key_maker(header())(TASK, same) == base
    others = [
        key_maker(replace(header(), model={"name": "tiny", "revision": "2"}))(TASK, item),
        key_maker(replace(header(), model={"name": "tiny", "server_args": "-q"}))(TASK, item),
        key_maker(replace(header(), sampling={"seed": 1}))(TASK, item),
        key_maker(header())(replace(TASK, sampling={"max_tokens": 2}), item),
        key_maker(header())(replace(TASK, version="2"), item),
        key_maker(header())(TASK, replace(item, prompt="Question 0? Answer:")),
        key_maker(header())(TASK, replace(item, choices=("a", "c"))),
        key_maker(header())(TASK, replace(item, targets=("B",))),
        key_maker(header())(TASK, replace(item, extra={"tests": "pass"})),
        key_maker(header())(TASK, replace(item, turns=("And then?",))),
    ]
    assert len({base, *others}) == 11


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_run_is_never_written_over(tmp_path: Path, overwrite: bool) -> None:
    mine = tmp_path / "exam.toml"
    mine.write_text("title = 'mine'")
    with pytest.raises(UsageError, match=r"exists and is not a run: name another file$"):
        RunFile.open(mine, Header((), {"name": "m"}), overwrite=overwrite)
    assert mine.read_text() == "title = 'mine'"
