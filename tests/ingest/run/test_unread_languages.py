"""An ingestion says once which of the documents that it wrote the model does not read."""

import json
from pathlib import Path

import pytest

from tests.commands import Commands

NOTICE = (
    "2 documents in Chinese are found by words only: the embedding model all-MiniLM-L6-v2 does not"
    " read Chinese. Remedy: unset RAGKIT_EMBED_MODEL, then `ragkit index reembed --to"
    " multilingual-e5-small --collection default`"
)


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path) -> Commands:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "leave.md").write_text("The leave of the year is twenty days.", "utf-8")
    for n in range(2):
        text = f"第{n}条：机房温度应该保持在二十二度。"
        (tmp_path / "rules" / f"{n}.md").write_text(text, "utf-8")
    return Commands(fresh_database, tmp_path)


def test_chinese_documents_beside_an_english_model_are_named_once(ragkit: Commands) -> None:
    first = ragkit("ingest", "rules", RAGKIT_EMBED_MODEL="minilm").stdout.splitlines()
    assert first[0].startswith("Added: 3 documents")
    assert first[1] == NOTICE
    again = ragkit("ingest", "rules", RAGKIT_EMBED_MODEL="minilm").stdout
    assert "words only" not in again
    (ragkit.folder / "rules" / "leave.md").write_text("The leave of the year is ten days.", "utf-8")
    assert "words only" not in ragkit("ingest", "rules", RAGKIT_EMBED_MODEL="minilm").stdout


def test_the_notice_is_in_the_json_as_well(ragkit: Commands) -> None:
    printed = ragkit("ingest", "rules", "--json", RAGKIT_EMBED_MODEL="minilm").stdout
    assert json.loads(printed)["notices"] == [NOTICE]


def test_nothing_is_said_of_a_model_that_reads_both_languages(ragkit: Commands) -> None:
    assert ragkit.json("ingest", "rules")["notices"] == []
