"""A database in which there is nothing yet: every command that reads says what to do first."""

from pathlib import Path

import pytest

from tests.commands import Commands

LINE = "ragkit: Nothing is ingested yet: ragkit ingest FOLDER"


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path) -> Commands:
    (tmp_path / "questions.jsonl").write_text(
        '{"id": "1", "question": "What is it?", "answers": ["A pump."], "source": "a.md"}\n'
    )
    return Commands(fresh_database, tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "What is it?"),
        ("search", "pump"),
        ("ask", "What is it?", "--why", "a.md"),
        ("documents", "list"),
        ("documents", "show", "a.md"),
        ("documents", "delete", "a.md"),
        ("index", "show"),
        ("index", "recall"),
        ("jobs", "report"),
        ("eval", "testset", "--out", "out.jsonl"),
    ],
    ids=" ".join,
)
def test_a_command_that_reads_says_what_to_do_first(
    ragkit: Commands, arguments: tuple[str, ...]
) -> None:
    assert ragkit.error(*arguments, code=2) == LINE


def test_the_list_of_collections_says_so_too(ragkit: Commands) -> None:
    assert ragkit("collections", "list").stdout == "Nothing is ingested yet: ragkit ingest FOLDER\n"
    assert ragkit.json("collections", "list") == {"collections": []}


def test_where_there_are_other_collections_they_are_named(ragkit: Commands) -> None:
    for name in "abcdefg":
        ragkit("collections", "create", name)
    assert ragkit.error("documents", "list", code=2) == (
        "ragkit: There is no collection 'default', only 'a', 'b', 'c', 'd', 'e' and 2 more:"
        " choose one with --collection NAME."
    )
    assert ragkit.error("ask", "-c", "nosuch", "hello", code=2) == (
        "ragkit: There is no collection 'nosuch', only 'a', 'b', 'c', 'd', 'e' and 2 more:"
        " choose one with --collection NAME."
    )


def test_an_ingestion_that_fails_leaves_no_collection(ragkit: Commands) -> None:
    (ragkit.folder / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    ragkit("ingest", "broken.pdf", code=3)
    ragkit("ingest", "nowhere", code=2)
    ragkit("ingest", "nowhere", "broken.pdf", "--queue", code=2)
    (ragkit.folder / "void").mkdir()
    ragkit("ingest", "void")
    ragkit("ingest", "questions.jsonl", code=1, RAGKIT_EMBED_MODEL="nobody/no-such-model")
    assert ragkit.json("collections", "list") == {"collections": []}
    assert ragkit.error("ask", "What is it?", code=2) == LINE


def test_a_collection_that_was_there_stays(ragkit: Commands) -> None:
    (ragkit.folder / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    ragkit("collections", "create", "default")
    ragkit("ingest", "broken.pdf", code=3)
    (kept,) = ragkit.json("collections", "list")["collections"]
    assert (kept["name"], kept["documents"]) == ("default", 0)
    assert "broken.pdf" in ragkit("jobs", "list", "--state", "failed").stdout
