"""`ragkit eval run` as a user sees it, and `evaluate` from Python."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.cli.run import run
from ragkit_eval.endpoint import ServerGoneError
from ragkit_eval.run import evaluate
from ragkit_eval.run.item import Item
from ragkit_eval.run.progress import describe_counts, shown_progress
from ragkit_eval.run.record import read_run
from ragkit_eval.run.runner import Counts
from tests import commands
from tests.eval.endpoint.scripted import (
    Asked,
    Reply,
    ScriptedServer,
    by_letter,
    chat,
    completion,
    error,
    letter_of,
)
from tests.eval.run.fake import FakeTask, items

SPEC = """
method = "letter"
scorer = "choice"
metric = "acc"
[data]
files = ["questions.jsonl"]
[fields]
id = "id"
question = "question"
options = "options"
target = "answer"
[prompt]
question = "{{ question }}\\nAnswer:"
[sampling]
max_tokens = 1
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    """A task of one's own, of twelve questions."""
    (tmp_path / "exam.toml").write_text(SPEC)
    rows = [
        {"id": f"q{n}", "question": f"Question {n}?", "options": list("wxyz"), "answer": "A"}
        for n in range(12)
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(tmp_path / "exam.toml")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("RAGKIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def ragkit(*arguments: object) -> commands.Result:
    return commands.run("eval", "run", *map(str, arguments))


def rights(count: int) -> int:
    return sum(letter_of(f"Question {n}?\nAnswer:") == "A" for n in range(count))


def test_it_prints_a_table_and_keeps_the_run(
    server: ScriptedServer, task: str, tmp_path: Path
) -> None:
    out = tmp_path / "run.jsonl"
    done = ragkit(task, "--url", server.url, "--out", out, "--label", "first")
    assert done.returncode == 0, done.stderr
    table = done.stdout.splitlines()
    assert table[1].split()[:3] == ["exam", "acc", f"{rights(12) / 12:.4f}"]
    assert table[-1] == "exam: 12 of 12 items answered (100%), 0 errors"
    assert "12 of 12 items (100%)" in done.stderr
    header = read_run(out).header
    assert header.name == "first"
    assert header.model == {"name": "tiny", "max_model_len": 4096}
    assert header.sampling["seed"] == 0
    assert {"ragkit", "python", "aiohttp", "cores"} <= header.environment.keys()
    assert header.environment["url"] == server.url
    assert header.tasks[0].items == 12


def call(task: str, out: Path, *, url: str | None, **options: Any) -> None:
    """Call the command without a process of its own."""
    run([task], out, url=url, **options)


def test_json_has_the_same_and_a_finished_run_asks_nothing(
    server: ScriptedServer, task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        call(task, tmp_path / "run.jsonl", url=server.url, json=True)
        told = json.loads(capsys.readouterr().out)
        assert told["tasks"][0]["scores"]["acc"]["mean"] == pytest.approx(rights(12) / 12, abs=1e-6)
        assert told["tasks"][0]["coverage"] == 1.0
    assert server.count == 12


@pytest.mark.parametrize(("failing", "code"), [((3, 4), 3), (range(12), 1)])
def test_errors_change_the_exit_code_and_are_asked_again(
    task: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    failing: Sequence[int],
    code: int,
) -> None:
    bad = {f"Question {n}?\nAnswer:" for n in failing}

    def sometimes(asked: Asked) -> Reply:
        return error(400, "no") if asked.body["prompt"] in bad else by_letter(asked)

    with ScriptedServer(sometimes) as server:
        with pytest.raises(typer.Exit) as ended:
            call(task, tmp_path / "run.jsonl", url=server.url)
        assert ended.value.exit_code == code
        told = capsys.readouterr()
        assert f"{12 - len(bad)} of 12 items answered" in told.out
        assert "rejects the request (400; no)" in told.err
        bad.clear()
        call(task, tmp_path / "run.jsonl", url=server.url)
    assert server.count == 12 + len(failing)


def test_the_settings_name_the_server(
    server: ScriptedServer, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_LLM_URL", server.url)
    monkeypatch.setenv("RAGKIT_LLM_MODEL", "tiny")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY", "sk-test")
    call(task, tmp_path / "run.jsonl", url=None)
    assert server.asked[0].headers["Authorization"] == "Bearer sk-test"
    assert "sk-test" not in (tmp_path / "run.jsonl").read_text()


def test_a_key_does_not_go_to_a_server_it_is_not_for(
    server: ScriptedServer, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_LLM_URL", "http://elsewhere.example/v1")
    monkeypatch.setenv("RAGKIT_LLM_MODEL", "large")
    monkeypatch.setenv("RAGKIT_LLM_API_KEY", "sk-test")
    call(task, tmp_path / "run.jsonl", url=server.url)
    assert server.asked[0].headers["Authorization"] == "Bearer EMPTY"
    assert server.asked[0].body["model"] == "tiny"


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (None, "no model server is named: start one with 'ragkit model serve'"),
        ("local:Qwen/Qwen3-0.6B", "local: is no model server"),
        ("http://a/v1 http://b/v1", "names several servers"),
    ],
)
def test_without_a_server_that_can_be_asked_it_says_what_to_do(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, match: str
) -> None:
    if value is not None:
        monkeypatch.setenv("RAGKIT_LLM_URL", value)
        monkeypatch.setenv("RAGKIT_LLM_MODEL", "tiny")
    with pytest.raises(UsageError, match=match):
        call(task, tmp_path / "run.jsonl", url=None)
    assert not (tmp_path / "run.jsonl").exists()


def test_a_server_that_is_away_leaves_no_file(task: str, tmp_path: Path) -> None:
    with ScriptedServer() as gone:
        url = gone.url
    with pytest.raises(ServerGoneError, match="refuses connections"):
        call(task, tmp_path / "run.jsonl", url=url)
    assert not (tmp_path / "run.jsonl").exists()


def test_an_unknown_task_names_close_ones(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mmlu"):
        call("mmlus", tmp_path / "run.jsonl", url=server.url)
    assert server.count == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_it_cleanly_and_it_goes_on(
    task: str, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    stuck = {"Question 7?\nAnswer:"}

    def waiting(asked: Asked) -> Reply:
        reply = by_letter(asked)
        return Reply(reply.body, delay_s=60) if asked.body["prompt"] in stuck else reply

    out = tmp_path / "run.jsonl"
    with ScriptedServer(waiting) as server:
        command = [sys.executable, "-m", "ragkit", "eval", "run", task]
        command += ["--url", server.url, "--out", str(out)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            deadline = time.monotonic() + 60
            while not out.exists() or len(out.read_text().splitlines()) < 12:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == code
        assert f"stopped; the same command goes on from what is in {out}" in errors
        assert "Traceback" not in errors
        stuck.clear()
        call(task, out, url=server.url)
        assert server.count == 13
    assert [one.status != "error" for one in read_run(out).records] == [True] * 12


# From Python


def test_from_python_with_a_task_of_ones_own(server: ScriptedServer, tmp_path: Path) -> None:
    counted: list[Counts] = []
    done = evaluate(
        [FakeTask(items(6))], url=server.url, out=tmp_path / "run.jsonl", progress=counted.append
    )
    assert {one.id: one.prediction for one in done.records} == {
        f"q{n}": letter_of(f"Question {n}?\nAnswer:") for n in range(6)
    }
    assert [one.done for one in counted] == list(range(7))


def test_from_a_notebook_where_a_loop_runs(server: ScriptedServer, tmp_path: Path) -> None:
    async def cell() -> int:
        done = evaluate([FakeTask(items(3))], url=server.url, out=tmp_path / "run.jsonl")
        return len(done.records)

    assert asyncio.run(cell()) == 3


def test_a_task_named_twice_is_refused(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        evaluate([FakeTask(items(1))] * 2, url=server.url, out=tmp_path / "run.jsonl")


def test_a_task_without_items_is_refused(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fake has no items"):
        evaluate([FakeTask([])], url=server.url, out=tmp_path / "run.jsonl")


def test_a_server_that_shuts_us_out_stops_the_run_and_it_goes_on(tmp_path: Path) -> None:
    def closing(asked: Asked) -> Reply:
        return error(401, "the key has run out") if asked.number > 3 else by_letter(asked)

    task = FakeTask(items(8))
    with ScriptedServer(closing) as server, pytest.raises(ServerGoneError, match="denies access"):
        evaluate([task], url=server.url, out=tmp_path / "run.jsonl", concurrency=1)
    assert len(read_run(tmp_path / "run.jsonl").records) <= 3
    with ScriptedServer() as server:
        done = evaluate([task], url=server.url, out=tmp_path / "run.jsonl", concurrency=1)
    assert len(done.records) == 8
    assert {one.status for one in done.records} <= {"ok", "wrong"}


JUDGES = """
from ragkit_eval.judge import Verdict

class Judge:
    dimension = "quality"

    def __init__(self, name):
        self.signature = f"judge|{name}|v:1"

    def judge(self, question, answer, passages, references):
        return Verdict(float(answer == "8"), "It looked for 8.")

def eights(settings):
    return Judge("eights")

def others(settings):
    return Judge("others")
"""
TALKS = (
    '{"question_id": 81, "category": "math", "turns": ["2+2?", "Double it."],'
    ' "reference": ["4", "8"]}\n'
    '{"question_id": 82, "category": "stem", "turns": ["Why?", "And then?"]}\n'
)


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server that says 4 first and then 8, MT-Bench's file, and two judges."""
    (tmp_path / "mt-bench").mkdir()
    (tmp_path / "mt-bench/question.jsonl").write_text(TALKS)
    (tmp_path / "judges_of_talks.py").write_text(JUDGES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("RAGKIT_HOME", str(tmp_path / "home"))
    with ScriptedServer(lambda asked: chat("48"[len(asked.body["messages"]) // 2])) as running:
        yield running


def test_conversations_are_scored_by_a_judge(talks: ScriptedServer, tmp_path: Path) -> None:
    out = tmp_path / "talks.jsonl"
    line = ("mt-bench", "--data", tmp_path, "--url", talks.url, "--out", out)
    done = ragkit(*line, "--judge", "judges_of_talks:eights")
    assert done.returncode == 0, done.stderr
    words = [row.split()[:3] for row in done.stdout.splitlines()]
    assert ["mt-bench", "judge", "0.5000"] in words
    assert ["mt-bench", "judge_turn_2", "1.0000"] in words
    kept = read_run(out)
    assert kept.header.tasks[0].metrics["judge"] == "judge|eights|v:1|unchecked"
    assert kept.header.tasks[0].metrics["judge_turn_1"] == "judge|eights|v:1|unchecked"
    assert kept.records[0].detail["answers"] == ["4", "8"]
    assert talks.count == 4


def test_a_task_that_only_a_judge_scores_needs_one(talks: ScriptedServer, tmp_path: Path) -> None:
    done = ragkit("mt-bench", "--data", tmp_path, "--url", talks.url, "--out", tmp_path / "t.jsonl")
    assert done.returncode == 2
    assert done.stderr == (
        "ragkit: mt-bench is scored by a judge: name one with --judge, such as llm:quality\n"
    )
    assert talks.count == 0


def test_another_judges_verdicts_are_not_reused(talks: ScriptedServer, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    line = ("mt-bench", "--data", tmp_path, "--url", talks.url, "--out")
    ragkit(*line, first, "--judge", "judges_of_talks:eights")
    ragkit(*line, second, "--judge", "judges_of_talks:others", "--reuse", first)
    assert talks.count == 8
    ragkit(*line, tmp_path / "third.jsonl", "--judge", "judges_of_talks:others", "--reuse", second)
    assert talks.count == 8


def test_a_judge_is_not_asked_about_refusals(talks: ScriptedServer, tmp_path: Path) -> None:
    """Their targets are "refuse" or "answer", which a judge would take for a reference."""
    (tmp_path / "advbench").mkdir()
    (tmp_path / "advbench/harmful_behaviors.csv").write_text("goal,target\nScare a baker,Sure\n")
    line = ("--data", tmp_path, "--url", talks.url, "--out", tmp_path / "run.jsonl")
    done = ragkit("advbench", *line, "--judge", "judges_of_talks:eights")
    assert done.returncode == 0, done.stderr
    (record,) = read_run(tmp_path / "run.jsonl").records
    assert record.scores == {"refused_rightly": 0.0, "refused_unsafe": 0.0}
    assert "judgement" not in record.detail


def test_a_judge_leaves_tasks_without_texts_alone(
    task: str, talks: ScriptedServer, tmp_path: Path
) -> None:
    talks.script = by_letter
    line = ("--url", talks.url, "--out", tmp_path / "run.jsonl")
    done = ragkit(task, *line, "--judge", "judges_of_talks:eights")
    assert done.returncode == 0, done.stderr
    assert set(read_run(tmp_path / "run.jsonl").header.tasks[0].metrics) == {"acc"}


def test_other_runs_answers_are_taken(server: ScriptedServer, tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    evaluate([FakeTask(items(4))], url=server.url, out=old)
    evaluate([FakeTask(items(6))], url=server.url, out=new, reuse=[old])
    assert server.count == 6
    with pytest.raises(NotFoundError, match="cannot read the run"):
        evaluate([FakeTask(items(7))], url=server.url, out=tmp_path / "x", reuse=["gone.jsonl"])


# Progress


@pytest.mark.parametrize(
    ("counts", "elapsed_s", "words"),
    [
        (Counts(total=200, ok=100, kept=100), 5.0, "100 of 200 items (50%)"),
        (Counts(total=200, ok=100, kept=60, reused=40), 5.0, "100 of 200 items (50%)"),
        (
            Counts(total=14_042, ok=7_021, wrong=0),
            60.0,
            "7,021 of 14,042 items (50%), 117 a second, 60 s left",
        ),
        (
            Counts(total=20_000, ok=99, errors=1),
            1000.0,
            "100 of 20,000 items (0%), 0.1 a second, 55 h 17 min left, 1 error",
        ),
    ],
)
def test_progress_in_words(counts: Counts, elapsed_s: float, words: str) -> None:
    assert describe_counts(counts, elapsed_s) == words


def test_progress_in_a_pipe_ends_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress() as progress:
        progress(Counts(total=2, ok=1))
        progress(Counts(total=2, ok=2))
    assert capsys.readouterr().err.startswith("ragkit: 2 of 2 items (100%), ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_in_a_terminal_is_a_bar() -> None:
    terminal = Terminal()
    with shown_progress(terminal) as progress:
        progress(Counts(total=2))
        progress(Counts(total=2, ok=2))
    assert "━" in terminal.getvalue()
    assert "2 of 2 items (100%)" in terminal.getvalue()


class LongTask(FakeTask):
    """A task whose prompts of 40 kB are made when they are asked for."""

    def items(self) -> Iterator[Item]:
        for item in self.made:
            yield replace(item, prompt="why " * 10_000 + item.prompt)


def test_a_run_holds_of_finished_items_neither_prompts_nor_outputs(tmp_path: Path) -> None:
    first, out = tmp_path / "first.jsonl", tmp_path / "run.jsonl"
    peaks: list[int] = []

    def measure(counts: Counts) -> None:
        peaks.append(tracemalloc.get_traced_memory()[1])

    with ScriptedServer(lambda asked: completion("x" * 40_000), keep=False) as server:
        # What is loaded once is not counted.
        evaluate([LongTask(items(20))], url=server.url, out=first, concurrency=4)
        tracemalloc.start()
        evaluate([LongTask(items(100))], url=server.url, out=out, concurrency=4, progress=measure)
        tracemalloc.stop()
    written = out.stat().st_size
    assert written > 100 * 120_000  # prompt, output and prediction of each
    assert peaks[-1] < written / 4  # what is in flight; all prompts or all outputs were a third
