"""Adopting rerankers and adapters by the command; embedders are adopted in the tests of proofs."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragkit.prompts.messages import PACKING
from ragkit.prompts.templates import Templates
from ragkit.prompts.trained import current_versions
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


def test_an_adapter_is_named_in_ragkit_toml_and_served_by_a_command(ragkit: Commands) -> None:
    home = ragkit.folder / "home"
    run = make_run(home, "voice", "adapter")
    data = write_data_set(home / "data", "chat", {}, {"prompts": current_prompts()})
    RunFolder(run).update(data_hash=data.hash)
    file = ragkit.folder / "ragkit.toml"
    text = '[llm]\nurl = "http://localhost:9/v1"\nmodel = "base"  # plain\n'
    file.write_text(text, "utf-8")
    assert ragkit("tune", "adopt", "voice").stdout.splitlines() == [
        f"Serve it: ragkit model serve /models/base --lora voice={run / 'model'}.",
        f"Note: {file} names voice as the model that answers.",
        "Undo it: ragkit tune adopt voice --undo",
    ]
    assert ragkit.json("config")["settings"]["llm_model"]["value"] == "voice"
    assert file.read_text("utf-8") == text.replace('"base"  # plain', '"voice"')
    undone = ragkit("tune", "adopt", "voice", "--undo").stdout
    assert undone == f"{file} has its former language model again: base.\n"
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("variables", "note", "undone"),
    [
        ({}, "set RAGKIT_LLM_URL to its address and RAGKIT_LLM_MODEL=voice", "Unset"),
        ({"URL": "http://localhost:9/v1"}, "set RAGKIT_LLM_MODEL=voice", "Unset"),
        ({"URL": "http://localhost:9/v1", "MODEL": "base"}, "set RAGKIT_LLM_MODEL=voice", "Set"),
    ],
)
def test_an_adapter_is_not_named_in_a_file_that_does_not_name_its_server(
    ragkit: Commands, variables: dict[str, str], note: str, undone: str
) -> None:
    """Its place has a space, and can be pasted all the same."""
    run = make_run(ragkit.folder / "home", "voice", "adapter")
    model = run / "model"
    (model / "card.json").write_text(json.dumps({"prompts": current_prompts()}), "utf-8")
    RunFolder(run).update(base={"name": "base", "revision": "1", "folder": "/my models/base"})
    ragkit.environment |= {f"RAGKIT_LLM_{name}": value for name, value in variables.items()}
    assert ragkit("tune", "adopt", "voice").stdout.splitlines() == [
        f"Serve it: ragkit model serve '/my models/base' --lora voice={model}.",
        f"Note: then {note}.",
        "Undo it: ragkit tune adopt voice --undo",
    ]
    assert not (ragkit.folder / "ragkit.toml").exists()
    again = ragkit.error("tune", "adopt", "voice", code=2)
    assert again.startswith("ragkit: voice is adopted since ")
    expected = {"Set": "Set RAGKIT_LLM_MODEL=base again.\n", "Unset": "Unset RAGKIT_LLM_MODEL.\n"}
    assert ragkit("tune", "adopt", "voice", "--undo").stdout == expected[undone]
    assert ragkit.error("tune", "adopt", "voice", "--undo", code=2).endswith("nothing to undo")


def test_a_worse_adapter_is_refused(ragkit: Commands) -> None:
    make_run(ragkit.folder / "home", "voice", "adapter", outcome="no difference")
    assert "voice is not proven better" in ragkit.error("tune", "adopt", "voice", code=1)
    assert not (ragkit.folder / "ragkit.toml").exists()


@pytest.mark.parametrize("place", ["model", "rows"])
def test_prompts_that_changed_since_an_adapter_was_trained_are_named(
    ragkit: Commands, place: str
) -> None:
    home = ragkit.folder / "home"
    run = make_run(home, "voice", "adapter")
    card = {"prompts": ["0123456789ab-1", current_prompts()[0]]}
    if place == "model":
        (run / "model" / "card.json").write_text(json.dumps(card), "utf-8")
    else:  # of a run whose model has no card
        data = write_data_set(home / "data", "chat", {}, card)
        RunFolder(run).update(data_hash=data.hash)
    notes = ragkit.json("tune", "adopt", "voice")["notes"]
    assert notes[-1] == (
        "it was trained with prompts of version 0123456789ab-1, and they are"
        f" {', '.join(current_prompts())} now: answers may be worse"
    )


def test_a_users_own_prompts_are_what_an_adapter_is_compared_with(ragkit: Commands) -> None:
    run = make_run(ragkit.folder / "home", "voice", "adapter")
    card = {"prompts": current_prompts(), "collection": "c"}
    (run / "model" / "card.json").write_text(json.dumps(card), "utf-8")
    own = ragkit.folder / "prompts" / "c"
    own.mkdir(parents=True)
    (own / "user.en.jinja").write_text("{{ question }}", "utf-8")
    ragkit.environment["RAGKIT_PROMPTS"] = str(own.parent)
    (note,) = (n for n in ragkit.json("tune", "adopt", "voice")["notes"] if "prompts" in n)
    english = Templates().version("system", "user", language="en")
    assert note.startswith(f"it was trained with prompts of version {english}-{PACKING}, and they")


def current_prompts() -> list[str]:
    """List the versions of ragkit's own prompts."""
    return sorted(current_versions(None, "c"))
