"""Every command of docs/law.md and docs/upgrading.md runs, on a person's data made for it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.cli.main import COMMANDS
from ragkit.store.open import open_database
from ragkit.store.people.feedback import Feedback
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.types import Answer
from tests.commands import Commands
from tests.places import ROOT

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("law", "upgrading")}
PERSON = "# Staff\n\nMaria Lopez has been head of the laboratory since March 2021.\n"


def commands(page: str) -> list[str]:
    """List the lines of a page's blocks that call ragkit, without comments."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", PAGES[page], re.DOTALL | re.MULTILINE)
    return [
        line
        for block in blocks
        for line in re.findall(r"^ *(ragkit .*?)(?:\s+#.*)?$", block, re.MULTILINE)
    ]


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path) -> Commands:
    """A folder of documents that is taken in, one of them about a person."""
    shutil.copytree(ROOT / "examples" / "handbook" / "en", tmp_path / "people")
    (tmp_path / "people" / "staff.md").write_text(PERSON, encoding="utf-8")
    ragkit = Commands(fresh_database, tmp_path)
    ragkit("ingest", "people")
    return ragkit


@pytest.mark.long
def test_the_commands_of_the_page_on_law_run(ragkit: Commands, fresh_database: str) -> None:
    for question in ("Who is Maria Lopez?", "How many days of leave are there?"):
        ragkit("chat", stdin=f"{question}\n")
    talks = [item["id"] for item in ragkit.json("conversations", "list")["conversations"]]
    listed = ragkit.json("documents", "list")["documents"]
    (document,) = [item["id"] for item in listed if item["uri"].endswith("staff.md")]
    rating = rate(fresh_database, "Who is Maria Lopez?")
    ids = {"6f1c2a9b": talks[1], "9b2e4c77": talks[0], "7": str(document), "3": str(rating)}
    used = commands("law")
    assert len(used) >= 20
    printed: dict[str, list[str]] = {}
    for line in used:
        if line.startswith("ragkit eval gate"):
            shutil.copy(ragkit.folder / "run.jsonl", ragkit.folder / "accepted.jsonl")
        words = [ids.get(word, word) for word in shlex.split(line)[1:]]
        if line == "ragkit ingest people --sync":
            (ragkit.folder / "people" / "staff.md").unlink()
        if "delete" in words:
            words.append("--yes")  # there is no terminal to ask at
        printed.setdefault(line, []).append(ragkit(*words).stdout)
    first, last = printed[used[0]]
    assert "Maria Lopez" in first
    assert "Maria Lopez" not in last
    assert len(ragkit.json("documents", "list")["documents"]) == len(listed) - 1
    (left,) = ragkit.json("conversations", "list")["conversations"]
    assert left["id"] == talks[0]
    assert ragkit.json("conversations", "feedback") == {"feedback": []}


def rate(database: str, question: str) -> int:
    """Have somebody rate an answer, and give the rating's number."""
    settings = Settings(database_url=SecretStr(database))
    with open_database(settings) as opened:
        tables = (opened.pool, "default", "default")
        KeptAnswers(*tables, keep_days=30).keep(
            "a",
            collection="default",
            question=question,
            answer=Answer("The head of the laboratory.", False, "", ()),
            completion={},
        )
        return Feedback(*tables, keep_days=30).rate("a", "down", "").id


@pytest.mark.long
def test_the_commands_of_the_page_on_upgrading_run(ragkit: Commands) -> None:
    backup = ragkit.folder / "saved"
    used = commands("upgrading")
    used.remove(
        "ragkit db prepare"
    )  # needs a second role: tests/core/store/connection/test_roles.py runs it
    for line in used:
        ragkit(*shlex.split(line.replace("/backup/before-upgrade", str(backup)))[1:])
    assert (backup / "check.json").exists()


def test_commands_that_the_text_names_are_there() -> None:
    text = {
        name: re.sub(r"^ *```.*?^ *```", "", page, flags=re.S | re.M)
        for name, page in PAGES.items()
    }
    named = set(re.findall(r"`(ragkit [a-z]+(?: [a-z]+)?)", text["law"]))
    assert [name for name in named if not any(map(re.compile(name).match, commands("law")))] == []
    assert set(re.findall(r"`ragkit ([a-z]+)", text["upgrading"])) <= set(COMMANDS)
