"""How long `import ragkit` and `ragkit --help` take, beside a bare interpreter."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
COMMANDS = {
    "a bare interpreter": [sys.executable, "-c", "pass"],
    "`import ragkit`": [sys.executable, "-c", "import ragkit"],
    "`ragkit --help`": [str(Path(sys.executable).with_name("ragkit")), "--help"],
}


def run() -> str:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - started)
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
