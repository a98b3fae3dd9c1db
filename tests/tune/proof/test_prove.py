"""Proofs on a real database: a planted gain, noise, and what is refused before anything is run."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError, NotFoundError, RagkitError, UsageError
from ragkit.knowledge.base import KnowledgeBase
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.corpus import fill, new_document
from ragkit_tune.adopt.adopt import adopt, undo
from ragkit_tune.adopt.proven import check_proven
from ragkit_tune.data.data_set import read_data_set
from ragkit_tune.data.sources import Sources
from ragkit_tune.proof.candidate import find_candidate, write_verdict
from ragkit_tune.proof.leaks import check_untouched
from ragkit_tune.proof.ledger import Trial, add_trial
from ragkit_tune.proof.measure import Proof
from ragkit_tune.proof.programs import run_ragkit, variables_of
from ragkit_tune.proof.prove import prove
from ragkit_tune.proof.verdict import Difference, Verdict, decide
from tests.commands import Commands
from tests.core.rerank.conftest import network, save_tokenizer
from tests.tune.proof.planted import Planted, in_process


def proof(settings: Settings, name: str, **values: object) -> Verdict:
    candidate = find_candidate(name, settings)
    given = {"handbook": False, "program": in_process, "collection": "c", **values}
    return prove(Proof(candidate, settings, **given))  # type: ignore[arg-type]


def states(settings: Settings) -> dict[str, str]:
    with open_database(settings) as database:
        spaces = database.store(settings.tenant).spaces.of("c")
        return {kept.source.rpartition("/")[2]: kept.state for kept in spaces}


def right(settings: Settings, questions: Sequence[Mapping[str, Any]]) -> int:
    """Count the questions whose document a search finds first."""
    with KnowledgeBase.open(settings, collection="c") as kb:
        return sum(kb.search(row["question"])[0].uri in row["relevant"] for row in questions)


def without_answers(planted: Planted) -> Path:
    """Write the questions with their documents alone, of which no answers are asked."""
    rows = [json.loads(line) for line in planted.questions.read_text("utf-8").splitlines()]
    labels = planted.folder / "labels.jsonl"
    lines = [{name: row[name] for name in ("id", "question", "relevant", "group")} for row in rows]
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return labels


@pytest.mark.long
def test_a_planted_gain_is_proven_adopted_and_undone(settings: Settings, planted: Planted) -> None:
    folder = planted.run(settings.home, "gain", planted.tuned)
    questions = [json.loads(line) for line in planted.questions.read_text("utf-8").splitlines()]
    verdict = proof(settings, "gain")
    assert verdict.outcome == "better"
    assert (verdict.main.name, verdict.main.items, verdict.main.clusters) == ("hybrid", 90, 30)
    assert 0.4 < verdict.main.low < verdict.main.mean < 0.9
    assert [row.name for row in verdict.reported] == ["dense", "answers"]
    gain = find_candidate("gain", settings)
    assert gain.verdict() == verdict
    assert "**better by 0." in (folder / "card.md").read_text("utf-8")
    assert states(settings) == {"base": "active", "model": "ready"}

    before = right(settings, questions)
    done = adopt(gain, settings)
    assert states(settings) == {"base": "previous", "model": "active"}
    assert done.notes == ()
    assert right(settings, questions) > before + 20
    with pytest.raises(UsageError, match=r"^gain is adopted since .* \(collection c\): undo it"):
        adopt(gain, settings)
    with pytest.raises(UsageError, match=r"is searched with .*model already: undo its adoption"):
        proof(settings, "gain")
    undo(gain, settings)
    assert states(settings) == {"base": "active", "model": "previous"}
    assert right(settings, questions) == before
    with pytest.raises(UsageError, match=r"^gain is not adopted: there is nothing to undo$"):
        undo(gain, settings)

    with open_database(settings) as database:
        store = database.store(settings.tenant)
        base = LocalEmbedder(str(planted.base))
        fill(store, base, [new_document("/d/new.md", "A new one.")], "c")
    changed = adopt(gain, settings)
    assert changed.notes == (
        f"the collection changed since the proof of {(verdict.facts or {})['proven_at']}: it had 40"
        " documents then, and has 41 now",
    )
    undo(gain, settings)
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        store.delete_uris("c", ["/d/new.md"])

    (folder / "model" / "config.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match=r"model changed since its proof of .*: restore it"):
        adopt(gain, settings)
    with pytest.raises(UsageError, match="changed since its proof"):
        proof(settings, "gain")


@pytest.mark.long
def test_noise_makes_no_difference_and_is_not_adopted(settings: Settings, planted: Planted) -> None:
    """Two models without a difference: the second is corrected for both, and nothing is left."""
    verdict = proof(settings, str(planted.noise), questions=planted.questions)
    assert verdict.outcome == "no difference"
    assert verdict.notes[0].startswith("the rows that this model was trained on are not known")
    assert "this set shows differences of 0." in verdict.notes[1]
    assert states(settings)["noise"] == "dropped"
    noise = find_candidate(str(planted.noise), settings)
    with pytest.raises(
        ModelError, match=r"^noise is not proven better, the verdict is no diff"
    ) as e:
        adopt(noise, settings)
    assert e.value.exit_code == 1
    adopt(noise, settings, unproven=True)
    assert states(settings)["noise"] == "active"
    undo(noise, settings)
    assert states(settings)["base"] == "active"

    card = (planted.noise / "card.md").read_text("utf-8")
    assert card.count("## Proof") == 1
    other = planted.folder / "other"
    shutil.copytree(planted.noise, other)
    (other / "config_sentence_transformers.json").write_text('{"prompts": {"query": "ask "}}')
    again = proof(settings, str(other), questions=planted.questions)
    assert again.tried == verdict.tried + 1
    assert (other / "card.md").read_text("utf-8").count("## Proof") == 1


def test_what_cannot_be_proven_is_refused_by_name(settings: Settings, planted: Planted) -> None:
    planted.run(settings.home, "going", planted.base, state="stopped")
    planted.run(settings.home, "judge", planted.base, kind="reward")
    planted.run(settings.home, "stale", planted.base, data_hash="another")
    for name, kind, message in (
        ("going", UsageError, "run going is not finished but stopped: continue it with"),
        ("judge", UsageError, "run judge trained a reward model, which no search or answer uses"),
        ("stale", UsageError, "is not what run stale was trained on: restore it"),
        ("absent", NotFoundError, "absent is neither a run nor a model's folder: runs are"),
        (str(planted.base), UsageError, "base has no test questions of its own: name a labelled"),
    ):
        with pytest.raises(kind, match=message):
            proof(settings, name)


def test_questions_that_were_trained_on_are_refused(settings: Settings, planted: Planted) -> None:
    planted.run(settings.home, "seen", planted.base)
    rows = [json.loads(line) for line in planted.questions.read_text("utf-8").splitlines()]
    pair = json.loads((planted.folder / "data" / "train.jsonl").read_text("utf-8").splitlines()[0])
    span = {name: pair[name] for name in ("document", "start", "end")}
    leaks = {
        "its question was trained on": {"question": pair["query"].upper()},
        f"its document {pair['document']} was trained on": {"spans": [span], "relevant": {}},
    }
    for message, change in leaks.items():
        leaked = planted.folder / "leaked.jsonl"
        lines = [rows[0], {**rows[1], **change}]
        leaked.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        with pytest.raises(UsageError, match=rf"^{leaked}:2: {message} \(row /d/0"):
            proof(settings, "seen", questions=leaked)


def test_a_document_or_passage_that_is_nearly_one_that_was_trained_on_is_refused(
    settings: Settings, planted: Planted
) -> None:
    row = json.loads((planted.folder / "data" / "train.jsonl").read_text("utf-8").splitlines()[0])
    filler = " ".join(f"filler{number}" for number in range(20))
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        base = LocalEmbedder(str(planted.base))
        text = store.text(store.documents("c")[0].id)
        paragraphs = [row["positive"], filler]
        copies = [new_document("/near.md", *paragraphs), new_document("/copy.md", text + " End.")]
        fill(store, base, copies, "near")
        sources = Sources(store, "near")
        original = new_document(row["document"], *text.split("\n\n"))
        fill(store, base, [original], "near")
        sources = Sources(store, "near")
        data = read_data_set(planted.folder / "data")
        label = {"id": "1", "question": "Anything?", "relevant": {"/copy.md": 1}}
        span = {"document": "/near.md", "start": 0, "end": len(row["positive"])}
        for line, message in (
            (label, "nearly its document /copy.md was trained on"),
            ({**label, "relevant": {}, "spans": [span]}, "nearly its passage"),
        ):
            path = planted.folder / "near.jsonl"
            path.write_text(json.dumps(line) + "\n", "utf-8")
            with pytest.raises(UsageError, match=message):
                check_untouched(path, [data], sources)


def test_a_gain_is_lost_again_when_further_models_are_tried(
    settings: Settings, planted: Planted
) -> None:
    """The ledger outlives runs: what was shown of one model is not shown of the best of many."""
    planted.run(settings.home, "lucky", planted.base)
    lucky = find_candidate("lucky", settings)
    main = Difference("hybrid", "ndcg@10", 90, 30, 0.5, 0.53, 0.03, 0.002, 0.06, p=0.03)
    facts = {"model": lucky.hash(), "collection": "c", "trial": "t", "kind": "embedder"}
    write_verdict(lucky, decide(main, facts=facts))
    assert check_proven(lucky, settings, "c").outcome == "better"
    add_trial(settings, Trial("t", "c", "another", "r", 0.4))
    with pytest.raises(ModelError, match=r"but 2 models were tried on .* p is 0.06 now, no differ"):
        check_proven(lucky, settings, "c")
    with pytest.raises(ModelError, match="is proven in collection 'c', not in 'd': prove it there"):
        check_proven(replace(lucky), settings, "d")


@pytest.mark.long
def test_the_command_runs_programs_and_says_no_difference(
    settings: Settings, planted: Planted
) -> None:
    """As users run it: processes of their own, a guard of another collection, exit code 1."""
    planted.run(settings.home, "there", planted.base)
    labels = without_answers(planted)
    assert settings.database_url is not None
    ragkit = Commands(settings.database_url.get_secret_value(), planted.folder)
    ragkit.environment["RAGKIT_HOME"] = str(settings.home)
    arguments = ["tune", "prove", str(planted.noise), "--set", str(labels), "-c", "c"]
    options = ["--no-handbook", "--guard", f"{labels}=c", "--require-better", "--json"]
    verdict = json.loads(ragkit(*arguments, *options, code=1).stdout)
    assert verdict["name"] == "noise"
    assert verdict["outcome"] == "no difference"
    (guard,) = verdict["guards"]
    assert (guard["name"], guard["mean"]) == ("labels", verdict["main"]["mean"])
    assert [row["name"] for row in verdict["reported"]] == ["dense"]
    assert ragkit("tune", "adopt", str(planted.noise), code=1).stdout == ""
    line = ragkit.error("tune", "prove", "nothing", code=2)
    assert line.startswith("ragkit: nothing is neither a run nor a model's folder: runs are ")
    assert "there" in line.partition("runs are ")[2]


@pytest.mark.long
def test_a_reranker_is_compared_with_searching_without_it(
    settings: Settings, planted: Planted
) -> None:
    model = planted.folder / "cross"
    size = save_tokenizer(model)
    network("Bert", model, size, None).save_pretrained(model)
    verdict = proof(settings, str(model), questions=without_answers(planted))
    facts = verdict.facts or {}
    assert (facts["kind"], facts["baseline"]) == ("reranker", "no reranker")
    assert verdict.main.a != verdict.main.b
    assert verdict.reported == ()
    folder = settings.home / "tune" / ".proofs" / facts["model"][:12]
    assert sorted(path.name for path in folder.iterdir()) == [
        "hybrid-baseline.jsonl", "hybrid-candidate.jsonl"
    ]  # fmt: skip
    assert oct(folder.stat().st_mode & 0o777) == "0o700"


def test_a_failed_program_is_named_with_its_last_line(settings: Settings) -> None:
    with pytest.raises(RagkitError, match=r"^`ragkit eval retrieval` failed \(exit code 2\): ragk"):
        run_ragkit(["eval", "retrieval", "/no/set.jsonl"], variables_of(settings))


def test_a_variable_that_names_a_file_with_a_secret_is_not_passed_beside_the_secret(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program refuses to start with both."""
    url = settings.database_url
    assert url is not None
    file = tmp_path / "url"
    file.write_text(url.get_secret_value(), "utf-8")
    monkeypatch.setenv("RAGKIT_DATABASE_URL_FILE", str(file))
    printed = run_ragkit(["config", "--json"], variables_of(settings))
    assert json.loads(printed)["settings"]["database_url"]["origin"] == "RAGKIT_DATABASE_URL"
