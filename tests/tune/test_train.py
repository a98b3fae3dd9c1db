"""From documents to a verdict with real training: a gain that must be there is found and adopted.

Questions use other words than documents, the same for all documents: what is learned from some is
right of the others. The base is a BERT with random weights.
"""

import io
import json
import random
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from safetensors.torch import load_file

from ragkit.embed.local import LocalEmbedder
from ragkit.knowledge.base import KnowledgeBase
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.corpus import fill, new_document
from ragkit_tune.adopt.adopt import adopt, undo
from ragkit_tune.data.data_set import read_data_set
from ragkit_tune.proof.candidate import find_candidate
from ragkit_tune.proof.measure import Proof
from ragkit_tune.proof.prove import prove
from ragkit_tune.recipe import make_recipe
from ragkit_tune.train import Listener, make_rows, train
from tests.core.embed.tiny_model import write_model
from tests.tune.proof.planted import in_process, words
from tests.tune.worker.here import script

DOCUMENTS = 40
PARAGRAPHS = 3
CONCEPTS = 24  # each has a word of documents and a word of questions
OF_A_PARAGRAPH = 3
FILLERS = 12


def plant(folder: Path, settings: Settings) -> tuple[Path, Path]:
    """Store the documents in collection "c"; return the base and the file of all questions."""
    base = write_model(folder / "base", seed=1, dimension=48)
    config = json.loads((base / "config.json").read_text("utf-8"))
    wide = load_file(base / "model.safetensors")["encoder.layer.0.intermediate.dense.weight"]
    config["intermediate_size"] = len(wide)  # which the trainer's library reads
    (base / "config.json").write_text(json.dumps(config), "utf-8")
    known = words(base)
    said, asked = known[:CONCEPTS], known[CONCEPTS : 2 * CONCEPTS]
    fillers = known[2 * CONCEPTS : 6 * CONCEPTS]
    draw = random.Random(0)
    documents, lines = [], []
    for number in range(DOCUMENTS):
        uri, texts, start = f"/d/{number}.md", [], 0
        for part in range(PARAGRAPHS):
            chosen = draw.sample(range(CONCEPTS), OF_A_PARAGRAPH)
            text = " ".join([*(said[n] for n in chosen), *draw.sample(fillers, FILLERS)]) + "."
            lines.append({
                "id": f"{number}-{part}", "question": " ".join(asked[n] for n in chosen) + "?",
                "relevant": {uri: 1}, "group": uri,
                "spans": [{"document": uri, "start": start, "end": start + len(text)}],
            })  # fmt: skip
            texts.append(text)
            start += len(text) + 2
        documents.append(new_document(uri, *texts))
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        store.create_collection("c")
        embedder = LocalEmbedder(str(base))
        embedder.load()
        store.spaces.adopt("c", embedder.space, source=str(base), first=None)
        fill(store, embedder, documents, "c")
    questions = folder / "questions.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return base, questions


def right(settings: Settings, questions: list[dict[str, Any]]) -> int:
    """Count the questions whose document a search finds first."""
    with KnowledgeBase.open(settings, collection="c") as kb:
        return sum(kb.search(row["question"])[0].uri in row["relevant"] for row in questions)


def work_here(
    python: Path, worker: Path, job: Path, on_line: Callable[[str], None], **rest: object
) -> str:
    """Run a worker in this process, and compare what it wrote with what it trained here, too.

    Each process of its own costs ten seconds of imports or more. That of the script is started in
    tests/tune/worker/test_processes.py, that of the comparison in test_embedder.py there.
    """
    writing, output = script("model_write"), io.StringIO()

    def compare(job: Any, written: Path, compared: dict[str, Any]) -> None:
        file = Path(job.log).with_name("compared.json")
        file.write_text(json.dumps(compared), "utf-8")
        with patch.object(sys, "argv", ["reload", str(written), str(file), str(writing.CLOSE)]):
            assert script("reload").main() == ""

    with (
        patch.object(sys, "argv", [worker.name, str(job)]),
        patch.object(writing, "_compare", compare),
        redirect_stdout(output),
    ):
        code = script("job").main(script(worker.stem).train)
    for line in output.getvalue().splitlines():
        on_line(line)
    return f"exit code {code}" if code else ""


@pytest.mark.long
def test_a_gain_that_training_makes_is_found_adopted_and_undone(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit_tune.run.start.run_worker", work_here)
    base, questions = plant(tmp_path, settings)
    stages: list[str] = []
    listener = Listener(on_stage=stages.append)
    rows = make_rows(settings, "c", listener, labelled=questions, max_tokens=64)
    data = read_data_set(rows)
    assert data.counts["train"] > 60
    recipe = make_recipe(
        {"kind": "embedder", "base": str(base), "data": str(rows), "max_tokens": 64,
         "batch": 16, "steps": 100, "learning_rate": 5e-3, "evaluate_every": 50}
    )  # fmt: skip
    outcome = train(recipe, settings, listener, name="first", prove_it=False)
    assert outcome.run.state == "finished"
    assert "writing the model" in stages
    candidate = find_candidate("first", settings)
    verdict = prove(Proof(candidate, settings, collection="c", handbook=False, program=in_process))
    assert verdict.outcome == "better"
    assert verdict.main.low > 0.1

    asked = [json.loads(line) for line in data.path("test").read_text("utf-8").splitlines()]
    before = right(settings, asked)
    adopt(candidate, settings)
    assert right(settings, asked) > before
    undo(candidate, settings)
    assert right(settings, asked) == before
