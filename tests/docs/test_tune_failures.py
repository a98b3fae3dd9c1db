"""The messages that the page of failures quotes are those of the code."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.places import ROOT

PAGE = ROOT / "docs/howto/tune-failures.md"
CODE = [
    *sorted((ROOT / "tune/ragkit_tune").rglob("*.py")),
    ROOT / "ragkit/system/worker_process.py",
]
# Every refusal of these modules stands on the page.
WHOLE = ("worker/guard", "worker/row_checks", "plan/fit", "plan/probe", "adopt/proven")


def quoted() -> list[str]:
    """Return the messages of the page: the first cells of its tables that are code."""
    rows = re.findall(r"^\| `(.+?)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return [row.replace("``", "`") for row in rows]


def texts(files: Sequence[Path]) -> Iterator[str]:
    """Yield the texts in the code, with `…` for each value that is put in, and for `{name}`."""
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield joined(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def joined(node: ast.JoinedStr) -> str:
    """Return a formatted text as it stands in the code, a value as `…`."""
    parts = (v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
    return "".join(map(str, parts))


def holds(text: str, message: str) -> bool:
    """Tell whether a text has the fixed words of a message, in their order."""
    place = 0
    for words in filter(None, (part.strip() for part in message.split("…"))):
        place = text.find(words, place)
        if place < 0:
            return False
        place += len(words)
    return True


def test_each_quoted_message_is_one_of_the_code() -> None:
    messages = quoted()
    assert len(messages) > 75
    written = list(dict.fromkeys(texts(CODE)))
    assert [message for message in messages if not any(holds(t, message) for t in written)] == []


def test_a_message_that_is_not_there_is_noticed() -> None:
    assert holds("run … failed: … (log: …", "run … failed:")
    assert not holds("run … failed: …", "run … has failed:")
    assert not holds("b then a", "a … b")


def test_each_refusal_of_the_guard_rows_plan_and_adoption_is_on_the_page() -> None:
    messages = quoted()
    missing = [
        text
        for name in WHOLE
        for text in refusals(ROOT / f"tune/ragkit_tune/{name}.py")
        if not any(holds(text, message) for message in messages)
    ]
    assert missing == []


def refusals(file: Path) -> Iterator[str]:
    """Yield the messages of the errors that a module raises."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            argument = node.exc.args[0]
            if isinstance(argument, ast.JoinedStr):
                yield joined(argument)
            elif isinstance(argument, ast.Constant):
                yield str(argument.value)
