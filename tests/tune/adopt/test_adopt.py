"""Adopting rerankers and adapters by the command; embedders are adopted in the tests of proofs."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragkit.settings.settings import Settings
from ragkit_tune.data.data_set import write_data_set
from ragkit_tune.proof.candidate import find_candidate, write_verdict
from ragkit_tune.proof.verdict import Difference, Outcome, decide
from ragkit_tune.run.folder import RunFolder, create_run
from tests.commands import Commands

GAIN = Difference("hybrid", "ndcg@10", 90, 30, 0.5, 0.6, 0.1, 0.05, 0.15, p=0.001)
NOTHING = Difference("hybrid", "ndcg@10", 90, 30, 0.5, 0.5, 0.0, -0.05, 0.05, p=0.9)


@pytest.fixture
def ragkit(tmp_path: Path) -> Commands:
    commands = Commands("postgresql://nobody@localhost:1/none", tmp_path)
    commands.environment["RAGKIT_HOME"] = str(tmp_path / "home")
    return commands


def make_run(home: Path, name: str, kind: str, outcome: Outcome | None = "better") -> Path:
    base = {"name": "base", "revision": "1", "folder": "/models/base"}
    recipe: dict[str, Any] = {"kind": kind, "base": "base", "data": str(home / "data")}
    run = create_run(
        home, name, {"kind": kind, "state": "finished", "recipe": recipe, "base": base}
    )
    run.model.mkdir()
    (run.model / "model.safetensors").write_bytes(b"weights")
    if outcome is not None:
        candidate = find_candidate(name, Settings(home=home))
        facts = {"model": candidate.hash(), "collection": "c", "trial": "t"}
        write_verdict(candidate, decide(GAIN if outcome == "better" else NOTHING, facts=facts))
    return run.path


def test_a_reranker_is_written_into_ragkit_toml_and_put_back(ragkit: Commands) -> None:
    run = make_run(ragkit.folder / "home", "rr", "reranker")
    file = ragkit.folder / "ragkit.toml"
    file.write_text('[search]\nreranker = "cosine"  # quick\n', "utf-8")
    printed = ragkit("tune", "adopt", "rr").stdout
    assert f"names {run / 'model'} as the reranker" in printed
    assert "Undo it: ragkit tune adopt rr --undo" in printed
    assert ragkit.json("config")["settings"]["reranker"]["value"] == str(run / "model")
    notice, twice = ragkit("tune", "adopt", "rr", code=2).stderr.splitlines()
    assert notice.startswith(f"ragkit: {file} sets [search] reranker = ")
    assert twice.startswith("ragkit: rr is adopted since ")
    undone = ragkit("tune", "adopt", "rr", "--undo").stdout
    assert undone == f"{file} has its former reranker again: cosine.\n"
    assert file.read_text("utf-8") == '[search]\nreranker = "cosine"  # quick\n'
    again = ragkit("tune", "adopt", "rr", "--undo", code=2).stderr.splitlines()[-1]
    assert again == "ragkit: rr is not adopted: there is nothing to undo"
    assert json.loads((run / "run.json").read_text("utf-8"))["adopted"] is None


def test_what_is_not_proven_better_is_refused_with_exit_code_1(ragkit: Commands) -> None:
    home = ragkit.folder / "home"
    make_run(home, "new", "reranker", outcome=None)
    make_run(home, "same", "reranker", outcome="no difference")
    line = ragkit.error("tune", "adopt", "new", code=1)
    assert line.startswith("ragkit: new is unproven: run `ragkit tune prove new`, or use it all")
    line = ragkit.error("tune", "adopt", "same", code=1)
    assert "the verdict is no difference: 0.000 (95% -0.050 to 0.050), p = 0.9: keep" in line
    assert not (ragkit.folder / "ragkit.toml").exists()
    adopted = ragkit.json("tune", "adopt", "same", "--unproven")
    assert (adopted["adopted"], adopted["unproven"], adopted["kind"]) == (True, True, "reranker")
    ragkit("tune", "adopt", "same", "--undo")
    assert not (ragkit.folder / "ragkit.toml").exists()


def test_a_reranker_is_not_written_where_a_variable_wins(ragkit: Commands) -> None:
    make_run(ragkit.folder / "home", "rr", "reranker")
    line = ragkit.error("tune", "adopt", "rr", code=2, RAGKIT_RERANKER="cosine")
    assert line.startswith("ragkit: RAGKIT_RERANKER is set and wins over ragkit.toml: unset it")
    assert not (ragkit.folder / "ragkit.toml").exists()


def test_a_model_that_changed_since_its_proof_is_refused(ragkit: Commands) -> None:
    run = make_run(ragkit.folder / "home", "rr", "reranker")
    (run / "model" / "model.safetensors").write_bytes(b"others")
    assert "model changed since its proof" in ragkit.error("tune", "adopt", "rr", code=1)


def test_an_adapter_is_served_by_a_command_and_its_prompts_are_compared(ragkit: Commands) -> None:
    home = ragkit.folder / "home"
    run = make_run(home, "voice", "adapter")
    data = write_data_set(home / "data", "chat", {}, {"prompts": ["0123456789ab-1"]})
    RunFolder(run).update(data_hash=data.hash)
    lines = ragkit("tune", "adopt", "voice").stdout.splitlines()
    assert lines[:2] == [
        f"Serve it: ragkit model serve /models/base --lora voice={run / 'model'}.",
        "Note: then set RAGKIT_LLM_MODEL=voice.",
    ]
    assert lines[2].startswith(
        "Note: it was trained with prompts of version 0123456789ab-1, and they are "
    )
    assert len(lines) == 3
