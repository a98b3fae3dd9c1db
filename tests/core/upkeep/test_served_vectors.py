"""A collection of a server's model, from its ingestion to the day the server has another one."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ragkit.testing.stub_server.script import hash_terms
from ragkit.testing.stub_server.server import Fault, StubServer
from tests.commands import Commands


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer(models=["m"]) as server:
        yield server


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path, stub: StubServer) -> Commands:
    commands = Commands(fresh_database, tmp_path)
    commands.environment |= {"RAGKIT_EMBED_URL": stub.url, "RAGKIT_JOBS": "1"}
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(
        "# Wings\n\nA wing lifts the plane. A tail steers it.\n"
    )
    return commands


def checks(ragkit: Commands, code: int = 0) -> dict[str, str]:
    return {row["name"]: row["found"] for row in ragkit.json("doctor", code=code)["checks"]}


def test_documents_are_embedded_and_found_by_a_server(ragkit: Commands, stub: StubServer) -> None:
    assert ragkit.json("ingest", "docs")["documents"]["added"] == 1
    assert ragkit.json("ingest", "docs")["documents"]["unchanged"] == 1
    answer = ragkit.json("ask", "What lifts the plane?")
    assert "A wing lifts the plane." in answer["answer"]
    (space,) = ragkit.json("index", "reembed", "--status")["spaces"]
    assert (space["model"], space["revision"], space["source"]) == ("m", "served", "served:m")
    found = checks(ragkit)
    assert found["embedding model"].startswith("m, 256 dimensions, reads 8184 tokens of text")
    assert found["server's vectors"] == "equal to those of the collection"

    def other(texts: list[str]) -> list[list[float]]:
        return [list(row[::-1]) for row in np.array(hash_terms(texts))]

    stub.embed = other  # type: ignore[assignment]
    assert checks(ragkit, code=1)["server's vectors"].startswith("unlike those of the collection")
    (ragkit.folder / "docs" / "b.md").write_text("The rudder turns the plane.\n")
    line = ragkit.error("ingest", "docs", code=2)
    assert line.startswith(
        "ragkit: the embedding server has another model by now under the name m (its vectors of the"
        " same passages have a cosine of "
    )
    assert line.endswith("with `ragkit index reembed --to served:NAME`")
    stub.embed = lambda texts: np.array(hash_terms(texts))[:, :100]
    line = ragkit.error("ingest", "docs", code=2)
    assert "under the name m (100 dimensions where the collection has 256)" in line
    line = ragkit.error("ask", "What lifts the plane?", code=2)
    assert "has 256 dimensions of m, which now gives 100: it is another model under that" in line
    stub.embed = lambda texts: np.tile(np.array(hash_terms(texts)), 2)
    assert "which now gives 512" in ragkit.error("ask", "What lifts the plane?", code=2)
    stub.embed = hash_terms
    assert ragkit.json("ingest", "docs")["documents"]["added"] == 1
    assert "wing" in ragkit.json("ask", "What lifts the plane?")["answer"]


def test_a_collection_moves_to_a_server_and_back(ragkit: Commands, stub: StubServer) -> None:
    ragkit("ingest", "docs", RAGKIT_EMBED_URL="")
    line = ragkit.error("ingest", "docs", code=2)
    assert "move the collection with `ragkit index reembed --to served:MODEL`" in line
    moved = ragkit("index", "reembed", "--to", "served:m", "--switch").stdout
    assert "is searched with m from now on, 256 dimensions" in moved
    assert "is still" not in moved
    assert ragkit.json("ingest", "docs")["documents"]["unchanged"] == 1
    assert "wing" in ragkit.json("ask", "What lifts the plane?")["answer"]
    line = ragkit.error("ask", "What lifts the plane?", code=1, RAGKIT_EMBED_URL="")
    assert "is embedded with m of a server: set RAGKIT_EMBED_URL to its address" in line
    assert "RAGKIT_EMBED_URL is still set" in ragkit("index", "reembed", "--rollback").stdout
    assert "wing" in ragkit("ask", "What lifts the plane?", RAGKIT_EMBED_URL="").stdout


def test_a_server_that_fails_is_named(ragkit: Commands, stub: StubServer) -> None:
    stub.embed = lambda texts: Fault(status=400, message="no memory")
    line = ragkit.error("ask", "What lifts the plane?", code=1)
    assert "embedding server http://127.0.0.1:" in line
    assert "rejects the request (400; " in line
