"""The demo: ingest the example handbook, ask in English and Chinese, check the answers.

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

# What is typed after `ragkit ask`, and what the printed answer has to contain.
QUESTIONS = (
    (["How far from a wall must the RL-400 hang?"], "at least 0.6 m from any wall"),
    (["Who is the chief executive?"], "Reason:"),
    (["机房温度应该保持在多少度？"], "22℃至24℃"),
    (["机房里要多热？"], "22℃至24℃"),  # in other words than the document's
    # Of documents in the other language alone: both sites have rules of their own.
    (["骑自行车出差每公里补多少钱？", "--where", 'language = "en"'], "€0.14 a kilometre"),
    (["When does the dormitory lock its doors?", "--where", 'language = "zh"'], "宿舍23:30锁门"),
)


def main() -> int:
    """Run the demo; return 0 when every command succeeded and every expected fact was there."""
    environment = clean_environment(os.environ)
    print("Each command below runs in examples/, with RAGKIT_HOME=../.demo\n")
    try:
        failed = run_and_check(["ingest", "handbook"], "", environment)
        for arguments, expected in QUESTIONS:
            failed += run_and_check(["ask", *arguments], expected, environment)
    finally:
        failed += run_and_check(["db", "stop"], "", environment)
    print(
        f"{failed} of the {len(QUESTIONS) + 2} commands did not print what they should."
        if failed
        else f"All {len(QUESTIONS)} questions were answered as expected."
    )
    return 1 if failed else 0


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave the user's own ragkit settings out, so that the demo never touches their database."""
    kept = {
        name: value for name, value in environment.items() if not name.upper().startswith("RAGKIT_")
    }
    return kept | {"RAGKIT_HOME": str(HOME), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}


def run_and_check(arguments: Sequence[str], expected: str, environment: Mapping[str, str]) -> int:
    """Run one command and show it with its output; return 1 if it is not as expected, else 0."""
    print(f"$ ragkit {' '.join(typed(word) for word in arguments)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "ragkit", *arguments],
        cwd=EXAMPLES,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    print(done.stdout.rstrip() + "\n", flush=True)
    if done.returncode != 0:
        print(f"-> exit code {done.returncode}, expected 0\n", file=sys.stderr)
        return 1
    if _squeeze(expected) not in _squeeze(done.stdout):
        print(f"-> expected to read: {expected}\n", file=sys.stderr)
        return 1
    return 0


def typed(word: str) -> str:
    """Quote a word as people do in a shell."""
    if '"' in word:
        return f"'{word}'"
    return f'"{word}"' if " " in word or not word.isascii() else word


def _squeeze(text: str) -> str:
    """Drop white space: the terminal's line breaks fall anywhere, in Chinese within words."""
    return "".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
