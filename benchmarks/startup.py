"""How long `import ragkit`, `ragkit --help` and `ragkit ask` take, beside a bare interpreter."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.homes import home

ROUNDS = 15
ASKED = 11  # of each question
RAGKIT = str(Path(sys.executable).with_name("ragkit"))
HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
COMMANDS = {
    "a bare interpreter": [sys.executable, "-c", "pass"],
    "`import ragkit`": [sys.executable, "-c", "import ragkit"],
    "`ragkit --help`": [RAGKIT, "--help"],
}
QUESTIONS = (
    "How far from a wall must the RL-400 hang?",
    "机房温度应该保持在多少度？",
    "Who is the chief executive?",
)
# A setting that the server does not have makes the command answer by itself. This one is of
# language models alone, so that a quoted answer stays the same.
WAYS: Mapping[str, Mapping[str, str]] = {
    "a running `ragkit serve`": {},
    "itself": {"RAGKIT_LLM_SEED": "1"},
}


def run() -> str:
    return f"{_started()}\n{_asked()}"


def _started() -> str:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            seconds[name].append(_took(command, os.environ)[0])
    bare = statistics.median(seconds["a bare interpreter"])
    lines = [
        "## Start-up\n",
        f"Whole processes, medians of {ROUNDS} interleaved runs.\n",
        "| what | seconds | over the interpreter |",
        "|---|---|---|",
    ]
    for name, runs in seconds.items():
        median = statistics.median(runs)
        lines.append(f"| {name} | {median:.3f} | {median - bare:+.3f} |")
    return "\n".join(lines) + "\n"


def _asked() -> str:
    """Ask each question both ways in turn, of the example handbook, while a server runs."""
    lines = [
        f"`ragkit ask` on the example handbook, medians of {ASKED} interleaved runs of each:"
        " seconds and processor time of the command.\n",
        "| question | answered by | seconds | processor time |",
        "|---|---|---|---|",
    ]
    with home("startup") as folder, _served(folder) as environment:
        for question in QUESTIONS:
            runs: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
            for _ in range(ASKED):
                for way, settings in WAYS.items():
                    runs[way].append(_took([RAGKIT, "ask", question], {**environment, **settings}))
            for way, taken in runs.items():
                wall, processor = (statistics.median(times) for times in zip(*taken, strict=True))
                lines.append(f"| {question} | {way} | {wall:.2f} | {processor:.2f} |")
    return "\n".join(lines) + "\n"


@contextmanager
def _served(folder: Path) -> Iterator[Mapping[str, str]]:
    """Take the handbook in and serve it; give the environment once a question was answered."""
    inherited = {name: value for name, value in os.environ.items() if "RAGKIT_" not in name}
    environment = inherited | {"RAGKIT_HOME": str(folder)}
    _took([RAGKIT, "ingest", str(HANDBOOK)], environment)
    command = [RAGKIT, "serve", "--port", "0", "--no-page", "--no-worker"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        try:
            server.stdout.readline()
            _took([RAGKIT, "ask", QUESTIONS[0]], environment)  # which waits for the models
            yield environment
        finally:
            server.terminate()


def _took(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Run a command; return the seconds that passed and those that it was computing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
