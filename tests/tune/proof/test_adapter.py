"""An adapter is proven by the answers of a live server that has it and its base, by their names.

The server is a stand-in that speaks as vLLM does: a good model quotes the source that a question is
about, a poor one writes nothing that answers.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import ModelError, RagkitError, UsageError
from ragkit.settings.settings import Settings
from ragkit.testing.stub_server.script import Script
from ragkit.testing.stub_server.server import StubServer
from ragkit_tune.adopt.proven import check_proven
from ragkit_tune.data.data_set import write_data_set
from ragkit_tune.proof.candidate import find_candidate
from ragkit_tune.proof.measure import Proof
from ragkit_tune.proof.programs import Evaluations, Program
from ragkit_tune.proof.prove import prove
from ragkit_tune.proof.verdict import Verdict
from ragkit_tune.run.folder import create_run
from tests.commands import Commands
from tests.tune.proof.planted import Planted, in_process, paragraphs, words

PROMPTS = "0123456789ab-1"  # a version that no prompts have now
VAGUE = "Somebody may know that, and somebody else may not."
EXAM = """
method = "generate"
scorer = "text"
metric = "contains"
[data]
files = ["capitals.jsonl"]
[fields]
question = "question"
target = "answers"
[prompt]
question = "Answer in a word: {{ question }}"
[sampling]
chat = true
"""
_SOURCE = re.compile(r'<source id="(\d+)"[^>]*>\n([^<]*)\n</source>')
SEEN = 20  # documents that rows are about; the questions are about the others


def vague(messages: Sequence[Mapping[str, Any]]) -> str:
    return VAGUE


def quote(messages: Sequence[Mapping[str, Any]]) -> str:
    """Quote the source with the question's first word, and cite it."""
    text = messages[-1]["content"]
    word = text.rpartition("Question: ")[2].split()[0]
    for number, source in _SOURCE.findall(text):
        if word in source:
            return f"{source.strip().removesuffix('.')} [{number}]."
    return VAGUE


@pytest.fixture
def server() -> Iterator[StubServer]:
    """Serve a poor base, a good adapter, and one that is as poor as the base."""
    scripts: dict[str, Script] = {"base": vague, "voice": quote, "same": vague}
    with StubServer(models=list(scripts), by_model=scripts) as running:
        yield running


def questions_of(planted: Planted) -> list[dict[str, Any]]:
    """Ask for each paragraph of the unseen documents in its own words."""
    known = paragraphs(words(planted.base))
    return [
        {
            "id": f"{uri}-{n}", "question": f"{' '.join(row)}?", "answers": [row[0]],
            "relevant": {uri: 1}, "group": uri, "answerable": True,
        }
        for uri, rows in list(known.items())[SEEN:]
        for n, row in enumerate(rows)
    ]  # fmt: skip


def make_run(planted: Planted, home: Path, name: str) -> Path:
    """Make a finished run of an adapter of this name."""
    row = {"id": "r0", "messages": [], "sources": [{"document": "/d/0.md"}], "group": "g"}
    rows: Any = {"train": [row], "dev": [row], "test": questions_of(planted)}
    card = {"collection": "c", "prompts": [PROMPTS]}
    data = write_data_set(planted.folder / f"rows-{name}", "chat", rows, card)
    recipe = {"kind": "adapter", "base": "base", "data": str(data.folder)}
    base = {"name": "base", "revision": "", "folder": "/models/base"}
    run = create_run(
        home, name,
        {"kind": "adapter", "state": "finished", "recipe": recipe, "base": base,
         "data_hash": data.hash},
    )  # fmt: skip
    run.model.mkdir()
    (run.model / "adapter_config.json").write_text("{}", "utf-8")
    (run.model / "adapter_model.safetensors").write_bytes(name.encode())
    return run.path


def proof(
    settings: Settings,
    name: str,
    program: Program = in_process,
    guards: Sequence[str] = (),
    *,
    handbook: bool = False,
    url: str = "",
    model: str | None = "base",
) -> Verdict:
    asking = settings.model_copy(update={"llm_url": url or None, "llm_model": model})
    candidate = find_candidate(name, asking)
    return prove(Proof(candidate, asking, program=program, guards=guards, handbook=handbook))


@pytest.mark.long
def test_a_better_adapter_is_proven_adopted_and_undone_by_commands(
    settings: Settings, planted: Planted, server: StubServer
) -> None:
    run = make_run(planted, settings.home, "voice")
    assert settings.database_url is not None
    ragkit = Commands(settings.database_url.get_secret_value(), planted.folder)
    ragkit.environment |= {"RAGKIT_HOME": str(settings.home), "RAGKIT_COLLECTION": "c"}
    file = planted.folder / "ragkit.toml"
    file.write_text(f'[llm]\nurl = "{server.url}"\nmodel = "base"\n', "utf-8")
    verdict = ragkit.json("tune", "prove", "voice")
    assert verdict["outcome"] == "better"
    assert (verdict["facts"]["baseline"], verdict["facts"]["collection"]) == ("base", "c")
    main = verdict["main"]
    assert (main["measure"], main["a"], main["items"]) == ("answer_score", 0.0, 60)
    assert main["b"] > 0.8
    guards = {row["name"]: row["mean"] for row in verdict["guards"]}
    assert guards.keys() == {"refused_rightly", "citation_recall", "handbook-en", "handbook-zh"}
    assert guards["refused_rightly"] == 0
    assert guards["citation_recall"] > 0.8
    assert {row["measure"] for row in verdict["guards"][-2:]} == {"refused_rightly"}
    assert verdict["notes"] == [
        "not guarded by what the model knew before: name a task with --guard mmlu, and the folder"
        " with its data as RAGKIT_EVAL_DATA",
        "citation_validity guards nothing: the answers of one model, or of both, have no value of"
        " it",
    ]
    asked = [request.body["model"] for request in server.chats]
    assert (asked.count("base"), asked.count("voice")) == (180, 180)  # 120 about the handbook
    card = (run / "card.md").read_text("utf-8")
    assert f"**{verdict['sentence']}.**" in card
    assert f"- Prompts: version {PROMPTS}; it answers best to the same." in card

    (question, *_) = (row["question"] for row in questions_of(planted))
    assert ragkit.json("ask", question)["answer"] == VAGUE
    printed = ragkit("tune", "adopt", "voice").stdout
    assert f"ragkit model serve /models/base --lora voice={run / 'model'}.\n" in printed
    assert f"it was trained with prompts of version {PROMPTS}, and they are" in printed
    assert question.split()[0] in ragkit.json("ask", question)["answer"]
    used = ragkit("tune", "prove", "voice", code=2).stderr.splitlines()[-1]
    assert used.startswith("ragkit: voice is the model that answers now: undo its adoption first")
    ragkit("tune", "adopt", "voice", "--undo")
    assert ragkit.json("ask", question)["answer"] == VAGUE
    assert 'model = "base"' in file.read_text("utf-8")
    file.unlink()


@pytest.mark.long
def test_a_worse_adapter_and_one_without_a_difference_are_refused(
    settings: Settings, planted: Planted, server: StubServer
) -> None:
    """The good model is what answers first; then the server's first model, as none is named."""
    for name, model, outcome in (("base", "voice", "worse"), ("same", None, "no difference")):
        make_run(planted, settings.home, name)
        verdict = proof(settings, name, url=server.url, model=model)
        assert verdict.outcome == outcome
        assert (verdict.facts or {})["baseline"] == (model or "base")
        candidate = find_candidate(name, settings)
        with pytest.raises(
            ModelError, match=f"^{name} is not proven better, the verdict is {outcome[:5]}"
        ):
            check_proven(candidate, settings, "c")


@pytest.mark.long
def test_an_adapter_that_forgot_what_its_base_knew_is_worse(
    settings: Settings, planted: Planted
) -> None:
    """By a task of the user's own and by a labelled set, which are asked of both models."""
    exam = planted.folder / "capitals.toml"
    exam.write_text(EXAM, "utf-8")
    items = [{"question": f"The capital of country {n}?", "answers": ["Paris"]} for n in range(30)]
    (planted.folder / "capitals.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    labelled = planted.folder / "more.jsonl"
    labelled.write_text("\n".join(map(json.dumps, questions_of(planted)[:25])), "utf-8")
    make_run(planted, settings.home, "forgetful")

    def knowing(messages: Sequence[Mapping[str, Any]]) -> str:
        return "Paris." if "capital" in messages[-1]["content"] else vague(messages)

    scripts: dict[str, Script] = {"base": knowing, "forgetful": quote}
    with StubServer(models=list(scripts), by_model=scripts) as server:
        verdict = proof(settings, "forgetful", guards=[str(exam), str(labelled)], url=server.url)
    guards = {row.name: row for row in verdict.guards}
    task, more = guards["capitals"], guards["more"]
    assert (task.measure, task.items, task.a, task.b) == ("contains", 30, 1.0, 0.0)
    assert (more.measure, more.items, more.a) == ("answer_score", 25, 0.0)
    assert more.b > 0.8
    assert verdict.main.mean > 0.8
    assert verdict.outcome == "worse"
    assert verdict.sentence.startswith("worse by 1.000 (95% 0.769 to 1.000) on capitals")


@pytest.mark.long
def test_a_task_that_is_unknown_or_without_data_is_refused_before_anything_is_asked(
    settings: Settings, planted: Planted, server: StubServer
) -> None:
    make_run(planted, settings.home, "voice-3")
    server.models = ("base", "voice-3")
    with pytest.raises(RagkitError, match="mmlo"):
        proof(settings, "voice-3", guards=["mmlo"], url=server.url)
    with pytest.raises(UsageError, match=r"^--guard mmlu: .*, or set RAGKIT_EVAL_DATA to the fold"):
        proof(settings, "voice-3", guards=["mmlu"], url=server.url)
    assert server.chats == []


def test_an_adapter_that_nobody_serves_is_refused_before_anything_is_asked(
    settings: Settings, planted: Planted, server: StubServer
) -> None:
    run = make_run(planted, settings.home, "alone")
    command = f"`ragkit model serve /models/base --lora alone={run / 'model'}`"
    with pytest.raises(UsageError) as none:
        proof(settings, "alone")
    assert str(none.value) == (
        "an adapter is proven by its answers, and no language model is set: serve it beside its"
        f" base ({command}) and set RAGKIT_LLM_URL and RAGKIT_LLM_MODEL"
    )
    for model, absent in (("base", "alone"), ("other", "other"), (None, "alone")):
        with pytest.raises(UsageError) as other:
            proof(settings, "alone", url=server.url, model=model)
        assert str(other.value) == (
            f"{server.url} offers base, voice, same and no {absent}: serve it beside its base"
            f" ({command}), or correct RAGKIT_LLM_MODEL"
        )
    assert server.chats == []


def test_refusals_and_citations_guard_an_adapter(
    settings: Settings, planted: Planted, server: StubServer, tmp_path: Path
) -> None:
    """By a program in the place of evaluations: better answers with worse refusals are worse."""
    asked: list[tuple[str, str]] = []
    changes = {"answer_score": 0.1, "refused_rightly": -0.005}
    names = ("answer_score", "refused_rightly", "citation_validity", "citation_recall")
    summary = json.dumps({"scores": dict.fromkeys((*names, "groundedness"))})

    def program(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
        if arguments[1] != "compare":
            asked.append((arguments[1], variables["RAGKIT_LLM_MODEL"]))
            return summary
        metrics = [arguments[n + 1] for n, part in enumerate(arguments) if part == "--metric"]
        return json.dumps({"rows": [row(name, changes.get(name, 0.0)) for name in metrics]})

    def row(metric: str, mean: float) -> dict[str, Any]:
        change = {"mean": mean, "low": mean - 0.05, "high": mean + 0.05}
        values = {"metric": metric, "items": 90, "clusters": 30, "p": 0.01, "detectable": None}
        return {**values, "a": {"mean": 0.5}, "b": {"mean": 0.5 + mean}, "difference": change}

    make_run(planted, settings.home, "voice-2")
    server.models = ("base", "voice-2")
    verdict = proof(settings, "voice-2", program, url=server.url)
    assert asked == [("rag", "base"), ("rag", "voice-2")]
    assert (verdict.outcome, verdict.main.measure) == ("better", "answer_score")
    assert [guard.name for guard in verdict.guards] == [
        "refused_rightly", "citation_validity", "citation_recall"
    ]  # fmt: skip
    assert [other.measure for other in verdict.reported] == ["groundedness"]
    changes["citation_recall"] = -0.02
    verdict = proof(settings, "voice-2", program, url=server.url)
    assert verdict.sentence.startswith("worse by 0.020 (95% -0.030 to 0.070) on citation_recall")

    def failing(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
        return json.dumps({"errors": 2, "worst": [{"error": "no memory"}]})

    message = (
        "^2 questions of answers ended in an error with the baseline, the first as 'no memory'"
    )
    with pytest.raises(RagkitError, match=message):
        proof(settings, "voice-2", failing, url=server.url)

    empty = Evaluations(lambda *_: "{}", tmp_path, variables={})
    with pytest.raises(RagkitError, match=r"^the runs of answers share no value of answer_score$"):
        empty.answers("answers", tmp_path, "c", ["answer_score"])
