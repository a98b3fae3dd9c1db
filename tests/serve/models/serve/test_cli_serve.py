"""`ragkit model serve` as a user runs it, a stand-in's interpreter in the place of vLLM's."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ragkit.prompts.trained import current_versions
from tests import commands
from tests.commands import Result
from tests.places import ROOT
from tests.serve.models.serve.conftest import FAKE, is_running, wait_until


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter that says it has vLLM, and runs the fake server."""
    file = tmp_path / "python"
    file.write_text(
        f"""#!/bin/sh
if [ "$1" = -I ]; then echo '["vllm", "'${{VERSION:-0.32.0}}'"]'; exit; fi
exec {sys.executable} {FAKE} "$@"
"""
    )
    file.chmod(0o755)
    return file


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return folder


def environment(python: Path, **more: str) -> dict[str, str]:
    runs = str(python.parent / "runs")
    return {"RAGKIT_VLLM_PYTHON": str(python), "RUNS": runs, **more}


def run(python: Path, *arguments: object, **more: str) -> Result:
    words = ["model", "serve", *map(str, arguments)]
    return commands.run(*words, folder=ROOT, environment=environment(python, **more))


def start(python: Path, *arguments: object, **more: str) -> "subprocess.Popen[str]":
    """Start the command as a process of its own, which gets signals."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("RAGKIT_")}
    return subprocess.Popen(
        [sys.executable, "-m", "ragkit.cli.main", "model", "serve", *map(str, arguments)],
        cwd=ROOT,
        env=plain | environment(python, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_dry_run_prints_a_command_without_the_key(python: Path, model: Path) -> None:
    done = run(python, model, "--dry-run", RAGKIT_LLM_API_KEY="sk-own")
    assert done.returncode == 0
    assert f" VLLM_API_KEY=*** VLLM_NO_USAGE_STATS=1 {python} -m vllm.entry" in done.stdout
    assert f" --model {model} --served-model-name tiny --host 127.0.0.1 --port 8000" in done.stdout
    said = json.loads(run(python, model, "--dry-run", "--json", "--", "--seed", "7").stdout)
    assert said["argv"][-2:] == ["--seed", "7"]
    assert said["environment"]["VLLM_API_KEY"] == "***"
    assert said["url"] == "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name a model"),
        (["./nowhere"], 2, "there is no folder ./nowhere"),
        (["MODEL", "--host", "0.0.0.0"], 2, "put nginx in front"),
        (["MODEL", "--", "--api-key", "x"], 2, "--api-key cannot stand after --"),
        (["MODEL", "--lora", "x"], 2, "write it as NAME=FOLDER"),
        (["MODEL", "--image", "vllm/vllm-openai:v0.9.0"], 1, "too old to be safe"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    python: Path, model: Path, arguments: list[str], code: int, said: str
) -> None:
    named = [str(model) if part == "MODEL" else part for part in arguments]
    done = run(python, *named[:1], "--dry-run", *named[1:])
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.startswith("ragkit: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("place", ["current", "changed", "unknown"])
def test_an_adapter_of_other_prompts_is_named(
    python: Path, model: Path, tmp_path: Path, place: str
) -> None:
    adapter = tmp_path / "voice"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"r": 8}')
    (adapter / "adapter_model.safetensors").write_text("")
    current = sorted(current_versions(None, "c"))
    prompts = {"current": current, "changed": [current[0], "0123456789ab-1"], "unknown": None}
    card = {"collection": "c", "prompts": prompts[place]}
    (adapter / "card.json").write_text(json.dumps(card))
    done = run(python, model, "--dry-run", "--lora", f"voice={adapter}", "--lora", "hub=org/name")
    assert done.returncode == 0
    notes = [line for line in done.stderr.splitlines() if "prompts" in line]
    expected = (
        "ragkit: adapter voice was trained with prompts of version 0123456789ab-1, and they are"
        f" {', '.join(current)} now: its answers may be worse"
    )
    assert notes == ([expected] if place == "changed" else [])


def test_a_socket_that_cannot_be_is_found_before_anything_starts(python: Path, model: Path) -> None:
    done = run(python, model, "--unix-socket", "/nowhere/v.sock")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("ragkit: there is no folder /nowhere for the socket: make it first\n")
    assert not (python.parent / "runs").exists()


def test_old_versions_are_refused_or_doubted(python: Path, model: Path) -> None:
    old = run(python, model, "--dry-run", VERSION="0.21.0")
    assert (old.returncode, old.stdout) == (1, "")
    assert "CVE-2026-48746" in old.stderr
    older = run(python, model, "--dry-run", VERSION="0.28.0")
    assert "--max-num-queued-reqs" not in older.stdout
    assert "this vLLM's queue has no end" in older.stderr


def test_advice_needs_no_model(python: Path) -> None:
    done = run(python, "--advice")
    assert done.returncode == 0
    assert "--speculative-ngram-tokens\n    pays where answers repeat" in done.stdout


def test_it_serves_until_it_is_told_to_end(python: Path, model: Path) -> None:
    key_file = python.parent / "key"
    arguments = (model, "--port", 0, "--json", "--api-key-file", key_file)
    with start(python, *arguments, FAKE="talk drain") as ragkit:
        assert ragkit.stdout is not None
        lines = iter(ragkit.stdout.readline, "")
        ready = json.loads("".join([next(lines) for _ in range(10)]))
        server = int((python.parent / "runs").read_text())
        assert is_running(server)
        ragkit.send_signal(signal.SIGTERM)
        rest, log = ragkit.communicate(timeout=60)
    assert (ragkit.returncode, rest) == (143, "")
    assert not is_running(server)
    assert ready["model"] == "tiny"
    assert (ready["api_key"], ready["api_key_file"]) == (None, str(key_file))
    assert key_file.read_text().strip() not in log
    assert "vllm | args: *** " in log
    assert "ragkit: loading weights (" in log
    assert "vllm | drained" in log


def test_a_new_key_is_told_once_it_is_ready(python: Path, model: Path) -> None:
    with start(python, model, "--port", 0, "--quiet") as ragkit:
        assert ragkit.stdout is not None
        said = [ragkit.stdout.readline() for _ in range(4)]
        ragkit.send_signal(signal.SIGINT)
        ragkit.communicate(timeout=60)
    assert said[0].startswith("Ready after ")
    assert said[1].startswith("  export RAGKIT_LLM_URL=http://127.0.0.1:")
    assert said[2] == "  export RAGKIT_LLM_MODEL=tiny\n"
    name, key = said[3].strip().split("=", 1)
    assert (name, len(key)) == ("export RAGKIT_LLM_API_KEY", 43)


def test_a_failed_start_is_one_line_with_the_remedy(python: Path, model: Path) -> None:
    done = run(python, model, "--port", "0", "--quiet", FAKE="fail")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ragkit: the model server did not start: vllm ended with code 1: there")
    server = int((python.parent / "runs").read_text())
    wait_until(lambda: not is_running(server))
