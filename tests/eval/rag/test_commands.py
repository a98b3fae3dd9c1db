"""`ragkit eval rag` and `ragkit eval retrieval` as a user types them, on a real database."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ragkit.embed.find import default_model
from ragkit.errors import UsageError
from ragkit_eval.cli.main import app
from ragkit_eval.run.record import read_run
from tests.commands import Commands

BEE = "Bees make honey. A hive of the valley yields 18 kilograms of honey a year.\n"
MILL = "The mill was built in 1748. Its wheel is made of oak.\n"
CHINESE = "灯塔建于1903年。灯塔高三十二米。\n"
QUESTIONS: tuple[Mapping[str, Any], ...] = (
    {
        "id": "honey",
        "question": "How much honey does a hive yield?",
        "answers": ["18 kilograms"],
        "relevant": {"bee": 1},
        "spans": [{"document": "bee.txt", "start": 17, "end": 74, "text": BEE[17:74]}],
    },
    {"id": "灯塔", "question": "灯塔建于哪一年？", "answers": ["1903年"], "relevant": {"灯塔": 1}},
    {"id": "none", "question": "Who sells the cheapest bananas in Lisbon?", "answers": []},
)


@pytest.fixture
def ragkit(fresh_database: str, tmp_path: Path) -> Commands:
    (tmp_path / "documents").mkdir()
    for name, text in (("bee", BEE), ("mill", MILL), ("灯塔", CHINESE)):
        (tmp_path / "documents" / f"{name}.txt").write_text(text, encoding="utf-8")
    write(tmp_path / "set.jsonl", *QUESTIONS)
    return Commands(fresh_database, tmp_path)


def write(path: Path, *lines: Mapping[str, Any]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("english", [True, False])
def test_a_set_in_another_language_than_the_documents_is_told(
    ragkit: Commands, english: bool
) -> None:
    kept, names = (CHINESE, ("English", "Chinese")) if english else (BEE, ("Chinese", "English"))
    for file in (ragkit.folder / "documents").iterdir():
        if file.read_text(encoding="utf-8") != kept:
            file.unlink()
    asked = "How high is the lighthouse of the harbour?" if english else "蜂箱每年产多少蜂蜜？"
    name = "灯塔" if english else "bee"
    write(
        ragkit.folder / "other.jsonl", {"question": asked, "answers": ["x"], "relevant": {name: 1}}
    )
    ragkit.environment["RAGKIT_EMBED_MODEL"] = "minilm"
    ragkit("ingest", "documents")
    said = "1 of 1 questions are asked in another language than that of the documents: 1 in"
    said += f" {names[0]}"
    for command in ("rag", "retrieval"):
        run = f"{command}.jsonl"
        done = ragkit("eval", command, "other.jsonl", "--out", run, "--json")
        assert done.stderr.startswith(f"ragkit: note: {said} of documents in {names[1]} (")
        assert "was not trained for all of these languages" in done.stderr
        assert json.loads(done.stdout)["notes"][0].startswith(said)
        assert f"**note**: {said}" in ragkit("eval", "report", run).stdout
        ragkit("eval", "report", run, "--out", f"{command}.html")
        assert said in (ragkit.folder / f"{command}.html").read_text(encoding="utf-8")
    ragkit("eval", "rag", "other.jsonl", "--out", "words.jsonl", "--mode", "lexical")
    assert f": {said}" in ragkit("eval", "compare", "rag.jsonl", "words.jsonl").stdout


def test_the_worst_answers_are_shown_beside_what_was_expected(ragkit: Commands) -> None:
    ragkit("ingest", "documents")
    write(
        ragkit.folder / "wrong.jsonl",
        {"question": "How much honey does a hive yield?", "answers": ["forty tons"]},
        {"question": "灯塔高多少米？", "answerable": False},
    )
    told = ragkit("eval", "rag", "wrong.jsonl").stdout
    assert "       expected: forty tons\n       got: " in told
    assert "       expected: a refusal, for no document answers this\n       got: 灯塔" in told
    assert "Refused: 0 of 1 unanswerable questions, 0 of 1 answerable ones" in told


def test_a_missing_entailment_model_is_one_line_before_any_question(ragkit: Commands) -> None:
    ragkit("ingest", "documents")
    asked = ("eval", "rag", "set.jsonl", "--out", "run.jsonl")
    line = ragkit.error(*asked, code=1, RAGKIT_NLI_MODEL="nobody/nothing")
    assert "RAGKIT_NLI_MODEL names cannot be loaded: it is not on this machine: fetch it" in line
    assert not (ragkit.folder / "run.jsonl").exists()
    for question in ("How much honey does a hive yield?", "灯塔建于哪一年？"):
        assert "RAGKIT_NLI_MODEL" in ragkit.error(
            "ask", question, code=1, RAGKIT_NLI_MODEL="nobody/nothing"
        )
    ragkit("eval", "retrieval", "set.jsonl", RAGKIT_NLI_MODEL="nobody/nothing")


def test_a_set_of_ones_own_over_a_collection_of_ones_own(ragkit: Commands) -> None:
    ragkit("ingest", "documents")
    done = ragkit("eval", "rag", "set.jsonl", "--out", "run.jsonl", "--metric", "rouge-l")
    assert "rag:set: 3 of 3 items answered (100%), 0 errors" in done.stdout
    assert "Refused: 1 of 1 unanswerable questions, 0 of 2 answerable ones" in done.stdout
    assert "Refusals: precision 1.000, recall 1.000" in done.stdout
    assert "right: the expected words are there; refused where no document answers" in done.stdout
    assert "Intervals take questions about one document together" in done.stdout
    assert "rouge-l" in done.stdout
    run = read_run(ragkit.folder / "run.jsonl")
    scores = {record.id: record.scores for record in run.records}
    assert scores["honey"]["reference_recall"] == scores["灯塔"]["contains"] == 1.0
    assert scores["honey"]["span_recall"] == scores["none"]["answer_score"] == 1.0
    assert "reference_recall" not in scores["none"]
    assert run.header.model["embedding"] == default_model()

    found = ragkit("eval", "retrieval", "set.jsonl", "--mode", "lexical", "--json").stdout
    summary = json.loads(found)
    assert summary["notes"] == [
        "1 question left out: unanswerable, or without a label that ndcg@10 needs"
    ]
    assert summary["scores"]["mrr"]["mean"] == 1.0
    assert summary["scores"]["span_recall@5"]["items"] == 1

    # What is wrong is one line, and nothing is written.
    moved = [{**QUESTIONS[0], "relevant": {"bees": 1}, "spans": []}]
    write(ragkit.folder / "moved.jsonl", *moved)
    line = ragkit.error("eval", "rag", "moved.jsonl", "--out", "moved.run", code=2)
    assert line.startswith("ragkit: moved.jsonl:1: there is no document 'bees' in collection")
    assert line.endswith("/documents/bee.txt'")
    span = {"document": "bee.txt", "start": 70, "end": 900}
    write(ragkit.folder / "outside.jsonl", {**QUESTIONS[0], "spans": [span]})
    line = ragkit.error("eval", "retrieval", "outside.jsonl", "--out", "moved.run", code=2)
    assert "outside.jsonl:1: the span 70-900 of 'bee.txt' ends outside of the document" in line
    assert not (ragkit.folder / "moved.run").exists()
    line = ragkit.error("eval", "rag", "set.jsonl", "-c", "nowhere", "--out", "moved.run", code=2)
    assert "There is no collection 'nowhere'" in line
    line = ragkit.error("eval", "rag", "set.jsonl", "--out", "run.jsonl", "--mode", "dense", code=2)
    assert "run.jsonl holds another run" in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rag", "none.jsonl"), "there is no labelled set 'none.jsonl': check the path"),
        (("rag", "empty.jsonl"), "empty.jsonl: the set is empty: it needs a question at least"),
        (("rag", "own.jsonl", "--documents"), "the set own has no documents of its own"),
        (("retrieval", "own.jsonl", "--documents"), "the set own has no documents of its own"),
        (("retrieval", "own.jsonl", "--measure", "ndgc@10"), "did you mean ndcg@10?"),
        (("rag", "own.jsonl", "--metric", "rouge-ll"), "rouge-l"),
        (("rag", "own.jsonl", "--out", "no/run.jsonl"), "no/run.jsonl cannot be written"),
        (("rag", "own.jsonl", "--judge", "lm"), "there is no judge 'lm': did you mean 'llm'?"),
    ],
)
def test_mistakes_are_told_before_a_database_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    write(tmp_path / "own.jsonl", *QUESTIONS)
    write(tmp_path / "empty.jsonl")
    done = CliRunner().invoke(app, [arguments[0], "--out", "run.jsonl", *arguments[1:]])
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.long
def test_a_published_set_brings_its_documents(ragkit: Commands, data: Path, tmp_path: Path) -> None:
    for name, out in (("answerable", "a.jsonl"), ("unanswerable", "u.jsonl")):
        source = data / "retrieval" / f"clapnq_dev_{name}.jsonl"
        lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / out).write_text("".join(lines[:5]), encoding="utf-8")
    command = ("eval", "rag", "a.jsonl", "u.jsonl", "--documents", "--json", "--out", "run.jsonl")
    first = ragkit(*command)
    assert "10 of 10 documents ingested into collection 'eval-a+u-" in first.stderr
    summary = json.loads(first.stdout)
    assert (summary["task"], summary["items"], summary["errors"]) == ("rag:a+u", 10, 0)
    assert summary["scores"]["reference_recall"]["items"] == 5
    assert summary["scores"]["reference_recall"]["mean"] > 0.3
    assert summary["scores"]["recall@10"]["mean"] > 0.9
    assert summary["groups"].keys() == {"answerable", "unanswerable"}
    assert len(summary["worst"]) == 5
    again = ragkit(*command)
    assert "10 documents, all unchanged, in collection 'eval-a+u-" in again.stderr
    assert json.loads(again.stdout)["scores"] == summary["scores"]
