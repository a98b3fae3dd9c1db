"""The demo: ingest the example handbook, ask three questions, check the answers.

It types the real `ragkit` commands into processes of their own, with a database of its own in
.demo, and leaves nothing running. It knows nothing of ragkit's inside.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent  # the commands run here: no ragkit.toml lies here
HOME = EXAMPLES.parent / ".demo"

# A question, and what the printed answer has to contain.
QUESTIONS = (
    ("How far from a wall must the RL-400 hang?", "at least 0.6 m from any wall"),
    ("机房温度应该保持在多少度？", "22℃至24℃"),
    ("How much does the company pay for dental treatment?", "Reason:"),
)


def main() -> int:
    """Run the demo; return 0 when every command succeeded and every expected fact was there."""
    environment = clean_environment(os.environ)
    print("Each command below runs in examples/, with RAGKIT_HOME=../.demo\n")
    try:
        failed = run_and_check(["ingest", "handbook"], "", environment)
        for question, expected in QUESTIONS:
            failed += run_and_check(["ask", question], expected, environment)
    finally:
        stopped = run_and_check(["db", "stop"], "", environment)
    failed += stopped
    print("The demo did not go as it should." if failed else "All three came out as expected.")
    return 1 if failed else 0


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave the user's own ragkit settings out, so that the demo never touches their database."""
    kept = {
        name: value for name, value in environment.items() if not name.upper().startswith("RAGKIT_")
    }
    return kept | {"RAGKIT_HOME": str(HOME), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}


def run_and_check(arguments: Sequence[str], expected: str, environment: Mapping[str, str]) -> int:
    """Run one command and show it with its output; count what is wrong with it: 0, 1 or 2."""
    typed = " ".join(f'"{a}"' if " " in a or not a.isascii() else a for a in arguments)
    print(f"$ ragkit {typed}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "ragkit", *arguments],
        cwd=EXAMPLES,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    print(done.stdout.rstrip() + "\n", flush=True)
    wrong = 0
    if done.returncode != 0:
        print(f"-> exit code {done.returncode}, expected 0\n", file=sys.stderr)
        wrong += 1
    if _squeeze(expected) not in _squeeze(done.stdout):
        print(f"-> expected to read: {expected}\n", file=sys.stderr)
        wrong += 1
    return wrong


def _squeeze(text: str) -> str:
    """Drop white space: the terminal's line breaks fall anywhere, in Chinese within words."""
    return "".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
