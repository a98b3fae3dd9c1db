"""Sharing and declaring as they are typed, and filters on the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner, Result

from ragkit import Settings
from ragkit.access import keys
from ragkit.adapters import mcp
from ragkit.cli.main import app
from ragkit.errors import RagkitError
from ragkit.store.open import Database, open_database
from ragkit.testing.corpus import fill, new_document
from ragkit.testing.embedder import FakeEmbedder
from tests.databases import Databases


@pytest.fixture(scope="module")
def database(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests here, none of which leaves anything that another would see."""
    with databases.take() as url, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if "RAGKIT_" in name]:
            patch.delenv(name)
        patch.setenv("RAGKIT_DATABASE_URL", url)
        patch.chdir(tmp_path_factory.mktemp("sharing"))
        with open_database(Settings(database_url=SecretStr(url))) as database:
            document = new_document("a.md", "The wombat digs.")
            fill(database.store("default"), FakeEmbedder(), [document])
            yield database


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def error(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, RagkitError), (done.output, done.exception)
    assert done.exception.exit_code == 2
    return str(done.exception)


def test_sharing_and_declaring(database: Database) -> None:
    shared = json.loads(run("share", "--collection", "default", "group:hr", "--json").stdout)
    assert shared == {"collection": "default", "owner": None, "readers": ["group:hr"]}
    assert "group:hr" in run("collections", "list").stdout
    run("share", "--collection", "default", "--owner", "user:ada")
    done = run("share", "--collection", "default", "group:hr", "--remove")
    assert done.stdout == "Collection 'default': only its owner may read it. Owner: user:ada.\n"
    listed = json.loads(run("collections", "list", "--json").stdout)["collections"]
    assert [(one["owner"], one["readers"]) for one in listed] == [("user:ada", [])]
    done = run("share", "--collection", "default", "--everybody")
    assert "everybody may read it" in done.stdout
    run("share", "--document", "a.md", "user:ada", "group:hr")
    run("share", "--document", "1", "user:ada", "--remove", "--owner", "user:bob")
    told = json.loads(run("share", "--document", "1", "--json").stdout)
    assert told == {"document": 1, "owner": "user:bob", "readers": ["group:hr"]}
    (one,) = json.loads(run("documents", "list", "--json").stdout)["documents"]
    assert (one["owner"], one["readers"]) == ("user:bob", ["group:hr"])
    assert "only its owner" in run("share", "--document", "1", "--private").stdout
    made = run("collections", "declare", "default", "year:number", "team", "--json").stdout
    assert [(one["key"], one["type"]) for one in json.loads(made)["keys"]] == [
        *(("team", "text"), ("year", "number")),
    ]
    forget = ("--forget", "year", "--forget", "team", "--forget", "tean")
    done = run("collections", "declare", "default", *forget)
    assert "has no declared keys" in done.stdout
    assert done.stderr == (
        "ragkit: 'tean' is no declared key of 'default': there was nothing to forget\n"
    )


def test_a_question_opens_its_language_model_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Settings] = []

    def opening(settings: Settings) -> object:
        opened.append(settings)
        return object()

    monkeypatch.setattr("ragkit.model.open.open_model", opening)
    assert "no collection 'nowhere'" in error("ask", "wombat?", "--collection", "nowhere")
    assert len(opened) == 1


@pytest.mark.parametrize("name", ["a\0b", "a\udcff"])  # a byte of the command line, no UTF-8
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "wombat", "--mode", "lexical", "--collection"),
        ("documents", "list", "--collection"),
        ("collections", "delete"),
        ("share", "--collection", "{}", "user:a"),
        ("collections", "declare", "default", "--forget"),
        ("index", "show", "--collection"),
        ("conversations", "feedback", "--collection"),
    ],
)
def test_names_that_no_database_keeps_are_one_line(
    database: Database, arguments: tuple[str, ...], name: str
) -> None:
    given = [one.format(name) for one in arguments]
    assert "holds a NUL" in error(*given, *([] if name in given else [name]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("share", "user:ada"), "--collection NAME or --document NAME"),
        (("share", "-c", "default", "-d", "1"), "--collection NAME or --document NAME"),
        (("share", "-c", "default", "user:a", "--everybody"), "give one of"),
        (("share", "-c", "default", "--private", "--everybody"), "give one of"),
        (("share", "-c", "default", "--remove"), "--remove needs the users and groups"),
        (("share", "-c", "default", "ada"), "'ada' is no principal"),
        (("share", "-c", "nowhere", "user:ada"), "no collection 'nowhere'"),
        (("share", "-c", "default", "user:ada", "--remove"), "nobody can be taken out"),
        (("share", "-d", "99", "user:ada"), "no document '99'"),
        (("share", "-d", "1", "--owner", "ada"), "'ada' is no principal"),
        (("collections", "declare", "default", "year:int"), "'int' of 'year:int' is no type"),
        (("collections", "declare", "default", "uri"), "own field"),
        (("search", "wombat", "--mode", "lexical", "--where", "uri ="), "character 6, at its end"),
        (("search", "wombat", "--mode", "lexical", "--where", "x = 1"), "the field 'x'"),
        (("ask", "wombat?", "--where", "(uri exists"), "expected 'and', 'or' or ')'"),
        (("chat", "--where", ""), "the filter is empty"),
        (("chat", "--where", "x = 1"), "the field 'x'"),
    ],
)
def test_nonsense_is_one_line(database: Database, arguments: tuple[str, ...], said: str) -> None:
    told = error(*arguments)
    assert said in told
    assert "\n" not in told


def test_a_filter_narrows_a_search(database: Database) -> None:
    def found(where: str) -> int:
        done = run("search", "wombat", "--mode", "lexical", "--json", "--where", where)
        return len(json.loads(done.stdout)["hits"])

    assert (found("uri = 'a.md'"), found("uri != 'a.md'")) == (1, 0)


def test_a_program_reads_as_its_key_does(database: Database) -> None:
    made = keys.create(database, name="k", principal="ada", groups=("hr", "it"))
    caller = mcp.caller_of(Settings(key=SecretStr(made.secret)), database)
    assert caller.readers == ("user:ada", "group:hr", "group:it")
    assert mcp.caller_of(Settings(), database).readers is None
