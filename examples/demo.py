"""The demo: ingest the example handbook, ask in English and Chinese, check the answers.

It types the real `ragkit` commands into processes of their own, with a database of its own in
.demo, and leaves nothing running. `--write` puts what they print into the READMEs, in each one's
language.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent  # the commands run here: no ragkit.toml lies here
HOME = EXAMPLES.parent / ".demo"
READMES = {  # by the locale that the commands run in
    "C.UTF-8": EXAMPLES.parent / "README.md",
    "zh_CN.UTF-8": EXAMPLES.parent / "README.zh-CN.md",
}
TRANSCRIPT = re.compile(r"(?<=<!-- transcript -->\n\n```text\n).*?(?=```)", re.DOTALL)
PROGRESS = re.compile(r"^\d+ of \d+ files.*\n", re.MULTILINE)  # only slow machines print it


@dataclass(frozen=True)
class Command:
    """What is typed after `ragkit`, and what it has to print."""

    arguments: Sequence[str]
    expected: str = ""
    in_readmes: bool = False


COMMANDS = (
    Command(["ingest", "handbook"], in_readmes=True),
    Command(
        ["ask", "How far from a wall must the RL-400 hang?"],
        "at least 0.6 m from any wall",
        in_readmes=True,
    ),
    Command(["ask", "机房温度应该保持在多少度？"], "22℃至24℃", in_readmes=True),
    Command(["ask", "机房里要多热？"], "22℃至24℃"),  # in other words than the document's
    # Of documents in the other language alone: both sites have rules of their own.
    Command(
        ["ask", "骑自行车出差每公里补多少钱？", "--where", 'language = "en"'], "€0.14 a kilometre"
    ),
    Command(
        ["ask", "When does the dormitory lock its doors?", "--where", 'language = "zh"'],
        "宿舍23:30锁门",
    ),
    Command(["ask", "Who is the chief executive?"], "executive", in_readmes=True),
)
STOP = Command(["db", "stop"])


def main(arguments: Sequence[str]) -> int:
    """Run the demo; return 0 when every command succeeded and every expected fact was there."""
    if list(arguments) == ["--write"]:
        return max(write(readme, locale) for locale, readme in READMES.items())
    print("Each command below runs in examples/, with RAGKIT_HOME=../.demo\n")
    outputs, failed = run_demo(HOME)
    if failed:
        print(f"{failed} of the {len(outputs)} commands did not print what they should.")
        return 1
    questions = sum(command.arguments[0] == "ask" for command in COMMANDS)
    print(f"All {questions} questions were answered as expected.")
    return 0


def write(readme: Path, locale: str) -> int:
    """Put what the commands print in a locale into a README; return 1 where one of them failed."""
    shutil.rmtree(HOME, ignore_errors=True)  # the READMEs show a first run
    outputs, failed = run_demo(HOME, locale)
    if failed:
        return 1
    text = TRANSCRIPT.sub(lambda _: transcript(outputs), readme.read_text("utf-8"))
    readme.write_text(text, "utf-8")
    print(f"written: {readme.name}\n")
    return 0


def run_demo(home: Path, locale: str = "") -> tuple[dict[str, str], int]:
    """Run every command with a database in `home`; give what each printed, and how many failed.

    Without a locale it is the user's own.
    """
    environment = clean_environment(os.environ, home)
    if locale:
        environment |= {"LC_ALL": locale, "LANGUAGE": ""}
    outputs: dict[str, str] = {}
    failed = 0
    for command in (*COMMANDS, STOP):
        line = " ".join(["ragkit", *map(typed, command.arguments)])
        print(f"$ {line}", flush=True)
        outputs[line], correct = run(command, environment)
        print(f"{outputs[line]}\n", flush=True)
        failed += not correct
    return outputs, failed


def run(command: Command, environment: Mapping[str, str]) -> tuple[str, bool]:
    """Run one command; give its output, and whether it is as expected."""
    done = subprocess.run(
        [sys.executable, "-m", "ragkit", *command.arguments],
        cwd=EXAMPLES,
        env=dict(environment),
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    correct = done.returncode == 0 and _squeeze(command.expected) in _squeeze(done.stdout)
    if not correct:
        what = f"to read: {command.expected}" if done.returncode == 0 else "exit code 0"
        print(f"-> exit code {done.returncode}, expected {what}\n", file=sys.stderr)
    return done.stdout.rstrip(), correct


def transcript(outputs: Mapping[str, str]) -> str:
    """Give what the READMEs show of the commands' output."""
    shown = [command for command in COMMANDS if command.in_readmes]
    lines = [" ".join(["ragkit", *map(typed, command.arguments)]) for command in shown]
    return "\n".join(f"$ {line}\n{PROGRESS.sub('', outputs[line])}\n" for line in lines)


def clean_environment(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Leave the user's own ragkit settings out, so that the demo never touches their database."""
    others = {
        name: value for name, value in environment.items() if not name.upper().startswith("RAGKIT_")
    }
    return others | {"RAGKIT_HOME": str(home), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}


def typed(word: str) -> str:
    """Quote a word as people do in a shell."""
    if '"' in word:
        return f"'{word}'"
    return f'"{word}"' if " " in word or not word.isascii() else word


def _squeeze(text: str) -> str:
    """Drop white space: the terminal's line breaks fall anywhere, in Chinese within words."""
    return "".join(text.split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
