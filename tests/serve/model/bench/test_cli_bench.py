"""`ragkit model bench` as a user runs it."""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from ragkit.cli import app
from ragkit.errors import ModelServerError, RagkitError, UsageError
from ragkit_serve.stub import Fault, Reply, StubServer

SMALL = "--requests 6 --prompt-tokens 200 --concurrency 1,3".split()


@pytest.fixture(autouse=True)
def _plain_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"RAGKIT_LLM_{name}", raising=False)


def bench(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["model", "bench", *map(str, arguments)])
    if isinstance(done.exception, RagkitError):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.stdout


def bench_json(*arguments: object, code: int = 0) -> Any:
    return json.loads(bench(*arguments, "--json", code=code))


def test_it_measures_draws_keeps_and_compares() -> None:
    with StubServer(lambda messages: Reply("a short answer", delay_s=0.001)) as server:
        said = bench_json("--url", server.url, *SMALL, "--output", "a.json", "--plot", "a.png")
        table = bench("--url", server.url, *SMALL, "--output", "b.json", "--plot", "b.svg")
    assert [run["level"]["concurrency"] for run in said["runs"]] == [1, 3]
    assert {run["summary"]["completed"] for run in said["runs"]} == {6}
    assert said["runs"][0]["model"] == "stub"  # the server was asked
    assert said["output"] == "a.json"
    assert len(json.loads(Path("a.json").read_text())["runs"][1]["rows"]) == 6
    assert "first token" in table
    assert "between tokens" in table
    assert Path("a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", Path("a.png").read_bytes()[16:24]) == (900, 700)
    assert ElementTree.parse("b.svg").getroot().tag.endswith("svg")
    found = bench_json("--diff", "a.json", "b.json")
    assert {one["level"] for one in found["differences"]} == {"1", "3"}
    for one in found["differences"]:
        assert one["low"] <= one["ratio"] <= one["high"] or one["metric"].endswith("p95")
        assert one["verdict"] in {"better", "worse", "no clear difference"}
    shown = bench("--diff", "a.json", "b.json")
    assert "3     requests/s" in shown
    assert "better" not in bench("--diff", "a.json", "a.json")


def test_failed_requests_end_it_with_three_and_are_told() -> None:
    answers: Iterator[str | Fault] = iter(
        [*["warm"] * 2, Fault(status=503, message="the queue is full"), *["fine"] * 9]
    )
    with StubServer(lambda messages: next(answers)) as server:
        small = [*SMALL[:-1], "1"]
        said = bench("--url", server.url, *small, "--output", "a.json", code=3)
    assert "1: 1 of 6 failed: HTTP 503 (the queue is full)" in said


def test_without_matplotlib_the_figures_are_still_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    with StubServer(lambda messages: "fine") as server:
        bench("--url", server.url, *SMALL, "--output", "a.json", "--plot", "a.png", code=3)
    assert Path("a.json").exists()
    assert not Path("a.png").exists()


def test_the_baseline_stands_beside_the_server(tmp_path: Path) -> None:
    from tests.core.model.conftest import write_tiny_llama

    model = write_tiny_llama(tmp_path / "tiny", context=4096)
    asked = ["--language", "en", "--answer-tokens", "4", "--baseline", f"local:{model}"]
    with StubServer(lambda messages: "a b c d e f") as server:
        said = bench_json(
            "--url", server.url, *SMALL, *asked, "--output", "a.json", "--plot", "p.svg"
        )
    assert [run["engine"] for run in said["runs"]] == ["server", "server", "transformers"]
    ratios = {(one["level"], one["metric"]): one["ratio"] for one in said["against_transformers"]}
    assert {level for level, _ in ratios} == {"1", "3"}
    assert all(ratio > 0 for ratio in ratios.values())
    assert "tokens/s, transformers" in Path("p.svg").read_text()  # a comment beside its outline
    alone = bench_json(*SMALL, *asked, "--output", "b.json")
    assert [run["engine"] for run in alone["runs"]] == ["transformers"]
    assert alone["runs"][0]["summary"]["completed"] == 6
    assert bench_json("--diff", "a.json", "b.json")["differences"][0]["engine"] == "transformers"


def test_prompts_of_ones_own_are_asked() -> None:
    Path("own.jsonl").write_text('{"prompt": "Who?"}\n{"prompt": "Why?"}\n')
    with StubServer(lambda messages: "Me.") as server:
        said = bench_json(
            "--url", server.url, "--prompts", "own.jsonl", "--concurrency", 1, "--output", "a.json"
        )
        asked = [chat.body["messages"][0]["content"].partition("]\n")[2] for chat in server.chats]
    assert asked[-2:] == ["Who?", "Why?"]
    assert said["workload"]["source"] == "own.jsonl"
    assert said["workload"]["requests"] == 2


def test_the_key_is_sent_and_stays_out_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGKIT_LLM_API_KEY", "sk-secret-one")
    with StubServer(lambda messages: "Me.", api_key="sk-secret-one") as server:
        bench("--url", server.url, *SMALL, "--output", "a.json")
    assert "sk-secret" not in Path("a.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--output bench.json"),
        (["--output", "a.json"], "name the server to measure"),
        (["--output", "none/a.json"], "cannot be written"),
        (["--output", "a.json", "--plot", "none/p.png"], "cannot be written"),
        (["--output", "a.json", "--concurrency", "1,x"], "--concurrency '1,x' is not understood"),
        (["--output", "a.json", "--concurrency", "0"], "must be 1 to 1024"),
        (["--output", "a.json", "--concurrency", "9" * 5000], "is not understood"),
        (["--output", "a.json", "--plot", "p.jpg"], "name a .png or .svg file"),
        (["--output", "a.json", "--baseline", "local:./none"], "is no model's folder"),
        (["--output", "a.json", "--url", "ftp://a"], "is no server's address"),
        (["--output", "a.json", "--rate", "0"], "--rate '0' is not understood"),
        (["--output", "a.json", "--rate", "nan"], "--rate 'nan' is not understood"),
        (["--output", "a.json", "--prompts", "none.jsonl"], "none.jsonl cannot be read"),
        (["--diff", "a", "b", "--output", "c"], "leave --output and --plot out"),
        (["--diff", "a", "b"], "a cannot be read"),
    ],
)
def test_nonsense_is_one_line(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        bench(*arguments)


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelServerError, match="refuses connections"):
        bench("--url", "http://127.0.0.1:1/v1", "--output", "a.json")
    with pytest.raises(ModelServerError, match=r"no connection\): start it, or correct --url"):
        bench("--url", "http://127.0.0.1:1/v1", "--model", "m", "--output", "a.json")
    monkeypatch.setenv("RAGKIT_LLM_URL", "http://a/v1 http://b/v1")
    monkeypatch.setenv("RAGKIT_LLM_MODEL", "m")
    with pytest.raises(UsageError, match="choose one with --url"):
        bench("--output", "a.json")
    assert not Path("a.json").exists()
