"""No English on the Chinese command line: every text of the commands has its Chinese.

Left out are `ragkit eval` and `ragkit model`, which stay English.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ragkit.cli.help import translated
from ragkit.cli.main import COMMANDS, app
from ragkit.cli.words import sentence
from ragkit.cli.words_zh import TEXTS
from tests.commands import Commands
from tests.places import ROOT

CHINESE = "zh_CN.UTF-8"
ENGLISH_ONLY = {"eval", "model", "tune"}
# Read by operators alone, or no text of a command: the translations themselves.
LEFT_OUT = {"agent", "calibrate", "recall", "reembed", "reembed_text", "why"}
FILES = [
    path
    for folder in ("ragkit/cli", "ingest/ragkit_ingest/cli")
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.stem not in LEFT_OUT and not path.stem.startswith(("__", "words"))
]
FILES.append(ROOT / "serve/ragkit_serve/web/cli_serve.py")
PROSE = re.compile(r"(?<![\w/.`'-])[A-Za-z]?[a-z']+(?: [a-z']+){2,}")  # three words in a row


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def literal(node: ast.expr) -> str:
    """Return a string, or an f-string with X for each value; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
        )
    return ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_text_of_a_command_has_its_chinese(path: Path) -> None:
    source = ast.parse(path.read_text("utf-8"))
    texts = {text for node in ast.walk(source) if (text := _text(node))}
    constants = {
        ast.unparse(target): literal(node.value)
        for node in source.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    missing = [
        text
        for name, call in calls(path)
        if name == "say"
        and call.args
        and (text := literal(call.args[0]) or constants.get(ast.unparse(call.args[0]), ""))
        and text not in TEXTS
    ]
    missing += [
        text
        for name, call in calls(path)
        if name == "counted"
        for text in (f"{{number}} {literal(call.args[1])}{end}" for end in ("", "s"))
        if text not in TEXTS
    ]
    assert missing == []
    assert texts - TEXTS.keys() == set()


def _text(node: ast.AST) -> str:
    """Return the text with places for values that a node is, which `say` fills; else ""."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return ""
    return node.value if re.search(r"{\w+(!r)?}", node.value) else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_printed_but_by_words(path: Path) -> None:
    printing = ("typer.echo", "typer.confirm", "printable_line", "printable_line")
    bare = [
        literal(call.args[0])
        for name, call in calls(path)
        if name in printing and call.args and PROSE.search(literal(call.args[0]))
    ]
    assert bare == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_mistake_is_told_in_chinese(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    messages = [
        literal(call.args[0])
        for name, call in calls(path)
        if name.endswith(("Error", "BadParameter")) and call.args
    ]
    assert [text for text in messages if text and sentence(text) == text] == []


def test_every_help_is_in_chinese() -> None:
    group: Any = typer.main.get_command(app)
    context = group.context_class(group, info_name="ragkit")
    names = [name for name in group.list_commands(context) if name not in ENGLISH_ONLY]
    texts = {COMMANDS[name].help for name in names}
    for name in names:
        texts |= set(_helps(group.get_command(context, name), context))
    assert sorted(text for text in texts if translated(text) == text) == []


def _helps(command: Any, context: Any) -> Iterator[str]:
    if command.help:
        yield command.help
    yield from (
        parameter.help
        for parameter in command.params
        if getattr(parameter, "help", None) and not parameter.hidden
    )
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from _helps(command.get_command(context, name), context)


EMPTY = """
documents list
collections list
ask 年假？
search 年假
chat
jobs report
"""
RUN = """
collections list
collections create laws
collections create laws
collections rename laws law
collections declare default year:number
collections declare default
collections options law
collections options law chunk_tokens=100
documents list
documents versions leave.md
documents list --collection law
search 年假
search 年假 --trace
ask 年假有多少天？
share -c default
share -c default user:ada
share -c default --private
share -c default --owner user:ada
share -d leave.md --everybody
conversations list
conversations feedback
jobs list
jobs show 1
jobs report
jobs list --state failed
jobs retry --all
keys list
keys create 手机
keys list
keys revoke 1
config
config --all
db status
index show
worker --until-empty
ingest leave.md --dry-run
ingest leave.md --queue
ingest leave.md
documents delete leave.md --yes
collections delete law --yes
doctor
"""
MISTAKES = """
ask
ask 年假？ --collection nowhere
ask 年假？ -k 0
ask 年假？ -k x
ask 年假？ --mode magic
ask 年假？ --where x=
ask 年假？ --as-of then
ask 年假？ --agent --why leave.md
ask 年假？ -o a=1
search
search 年假 --collection nowhere
search 年假 -k 9999
search 年假 --rerank
search ！
ingest
ingest nowhere
ingest leave.md --title-field a
ingest leave.md --queue --watch
chat --continue --conversation a
chat --continue --collection default
chat --conversation ffff
documents
documents show nothing
documents show
documents delete leave.md
documents lst
documents restore leave.md --version 9
documents list --collection nowhere
collections
collections create
collections rename nowhere other
collections delete nowhere
collections rename default law
collections options default a
collections options default a=b
collections declare default a:b
share
share -c nowhere
share -c default ada
share -c default --remove
conversations show ffff
conversations rename ffff x
conversations delete
conversations feedback --rating x
conversations feedback --delete 9
jobs
jobs show 99
jobs retry
jobs retry 99
jobs cancel 99
jobs cancel
jobs list --state x
jobs report --run 99
keys
keys create
keys create a --scope all
keys create a --expires soon
keys revoke 99
db stop
db start
db backup .
db restore nowhere
index show -c nowhere
serve --port x
serve --port 99999
config --al
doctr
worker --untl
"""


def commands(lines: str) -> list[list[str]]:
    return [line.split() for line in lines.strip().splitlines()]


def prose(text: str) -> list[str]:
    """Return the English in lines that a Chinese user reads; commands in backticks are none."""
    shown = re.sub(r"`[^`]*`|\(Ctrl-C\)", "", text)
    return PROSE.findall(shown)


@pytest.mark.long
def test_no_ordinary_use_and_no_ordinary_mistake_prints_english(
    fresh_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os._exit", sys.exit)  # which `ragkit worker` ends by
    (tmp_path / "leave.md").write_text("# 年假\n\n员工每年有二十五天年假。\n", "utf-8")
    ragkit = Commands(fresh_database, tmp_path)
    english = _english(ragkit, commands(EMPTY))
    ragkit("ingest", "leave.md", LC_ALL=CHINESE)
    english += _english(ragkit, commands(MISTAKES) + commands(RUN))
    assert not english, "\n".join(english)


def _english(ragkit: Commands, lines: list[list[str]]) -> list[str]:
    """Run commands, and return what each prints in English."""
    from tests.commands import run

    english: list[str] = []
    for arguments in lines:
        environment = ragkit.environment | {"LC_ALL": CHINESE}
        done = run(*arguments, folder=ragkit.folder, environment=environment, stdin="年假？\n")
        # The log of a worker is for operators.
        shown = done.stdout + done.stderr * (arguments[0] != "worker")
        english += (f"{' '.join(arguments)}: {text}" for text in prose(shown))
    return english
