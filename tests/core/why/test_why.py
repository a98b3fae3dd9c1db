"""Which stage loses a document: each stage once as the loser, with its numbers and a remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.llm import ChatGenerator
from ragkit.cli.main import app
from ragkit.contracts import Generator
from ragkit.errors import NotFoundError, QueryError, UsageError
from ragkit.knowledge.base import KnowledgeBase
from ragkit.question.plan import Planner
from ragkit.retrieve.steps.duplicates import Collapse
from ragkit.retrieve.steps.expand import Widen
from ragkit.settings.settings import Settings
from ragkit.store.jobs.ledger import Ledger
from ragkit.store.open import open_database
from ragkit.store.postgres import PostgresStore
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeReranker, FakeStore, fill
from ragkit.testing.corpus import new_document
from ragkit.testing.store import FakeReader
from ragkit.types import Fields, Hit, NewDocument
from ragkit.why import Step, Why

QUESTION = "How high is the travel budget?"
BUDGET = new_document("files/budget.md", "The travel budget is 300 euros high.", "It is yearly.")
CATS = new_document("files/cats.md", "Cats sleep for sixteen hours.")


def many(count: int, text: str = "Note {n}: the travel budget of team {n} is high.") -> NewDocument:
    return new_document("files/many.md", *(text.format(n=n) for n in range(count)))


def knowledge(*documents: NewDocument, generator: Generator | None = None) -> KnowledgeBase:
    store = FakeStore()
    fill(store, FakeEmbedder(), documents)
    return KnowledgeBase(
        store, FakeEmbedder(), generator or ExtractiveGenerator(), collection="default"
    )


class Without:
    """Drop the hits of a document."""

    def __init__(self, uri: str, name: str) -> None:
        self.name = name
        self._uri = uri

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [hit for hit in hits if hit.uri != self._uri]


def step(why: Why, name: str) -> Step:
    return next(one for one in why.steps if one.name == name)


def names(why: Why) -> list[str]:
    return [one.name for one in why.steps]


def lost(why: Why, name: str) -> Step:
    """Return the last step, which is the only one that lost the document."""
    assert [one.name for one in why.steps if one.kept is False] == [name]
    assert (why.lost, why.steps[-1].name) == (name, name)
    assert why.remedy == why.steps[-1].remedy
    assert why.remedy.endswith(".")
    return why.steps[-1]


def test_one_that_is_cited_was_lost_nowhere() -> None:
    why = knowledge(BUDGET, CATS).why(QUESTION, "budget.md")
    assert (why.lost, why.remedy) == ("", "")
    assert names(why) == [
        *("document", "parse", "chunk", "vectors", "words", "candidates", "fusion", "top k"),
        *("gate", "budget", "answer"),
    ]
    assert why.document is not None
    assert why.document.uri == "files/budget.md"
    assert step(why, "parse").numbers == {"chars": len(BUDGET.text), "pages": 0}
    assert step(why, "chunk").numbers == {"chunks": 2}
    vectors, words = step(why, "vectors"), step(why, "words")
    assert (vectors.numbers["rank"], vectors.numbers["of"]) == (1, 3)
    # Of "how high is the travel budget" the chunk lacks nothing but "how".
    assert vectors.numbers["cosine"] == pytest.approx(5 / (6 * 7) ** 0.5, abs=1e-6)
    assert str(words.numbers["lacks"]).startswith("how ")
    assert (words.numbers["rank"], words.numbers["of"]) == (1, 2)
    assert step(why, "answer").says.startswith("cited as [1]")


def test_it_is_named_by_id_uri_or_the_end_of_that() -> None:
    kb = knowledge(BUDGET, CATS)
    number = next(d.id for d in kb.store.documents("default") if d.uri == BUDGET.uri)
    assert kb.why(QUESTION, number) == replace(kb.why(QUESTION, BUDGET.uri), name=str(number))
    assert kb.why(QUESTION, " get.md ").document == kb.store.document(number)
    with pytest.raises(UsageError, match=r"'.md' may be 2 documents: \d+ \(files/budget.md\), "):
        kb.why(QUESTION, ".md")
    with pytest.raises(UsageError, match="name a document"):
        kb.why(QUESTION, " ")
    longer = knowledge(BUDGET, replace(BUDGET, uri="files/no-budget.md"))
    assert longer.why(QUESTION, "budget.md").document == longer.store.document(number)
    exact = knowledge(BUDGET, replace(BUDGET, uri="budget.md"))
    found = exact.why(QUESTION, "budget.md").document
    assert found is not None
    assert found.uri == "budget.md"


def test_a_files_name_without_its_extension_is_enough() -> None:
    kb = knowledge(BUDGET, CATS, replace(CATS, uri="files/no-budget"))
    for name in ("budget", " files/budget.md ", "/budget.md"):
        found = kb.why(QUESTION, name).document
        assert found is not None
        assert found.uri == BUDGET.uri  # rather than what merely ends so
    kb = knowledge(BUDGET, replace(BUDGET, uri="upload:budget.pdf"))
    with pytest.raises(UsageError, match=r"'budget' may be 2 documents"):
        kb.why(QUESTION, "budget")
    found = kb.why(QUESTION, "budget.pdf").document
    assert found is not None
    many_more = knowledge(*(replace(BUDGET, uri=f"{n}/budget.md") for n in range(9)))
    shown = r"more than 5 documents: (\d+ \(\d/budget.md\), ){5}\.{3};"
    with pytest.raises(UsageError, match=shown):
        many_more.why(QUESTION, "budget.md")
    with pytest.raises(UsageError, match="name a document"):
        kb.why(QUESTION, "a\0")


@pytest.mark.parametrize("name", ["budgte.md", "bugdet", "files/Budget.pdf"])
def test_close_names_are_suggested_for_one_that_is_not_there(name: str) -> None:
    absent = lost(knowledge(BUDGET, CATS).why(QUESTION, name), "document")
    assert absent.numbers == {"like": "files/budget.md"}
    assert absent.remedy.startswith("Did you mean files/budget.md? ")


def test_bad_questions_are_refused_as_a_search_refuses_them() -> None:
    kb = knowledge(BUDGET)
    for question, k in (("?!", 5), ("x " * 20_000, 5), (QUESTION, 0), (QUESTION, 10**7)):
        with pytest.raises(QueryError):
            kb.why(question, "budget.md", k=k)
    kb.collection = "absent"
    with pytest.raises(NotFoundError):
        kb.why(QUESTION, "budget.md")


def test_one_that_is_not_there() -> None:
    why = knowledge(BUDGET).why(QUESTION, "absent.md")
    assert "no document of collection 'default'" in lost(why, "document").says
    assert (why.document, names(why)) == (None, ["document"])


def test_one_in_another_collection() -> None:
    kb = knowledge(BUDGET)
    fill(kb.store, FakeEmbedder(), [CATS], "animals")
    for name in ("cats.md", str(kb.store.documents("animals")[0].id)):
        assert lost(kb.why(QUESTION, name), "document").numbers == {"collection": "animals"}


def test_one_without_text_and_one_without_chunks() -> None:
    kb = knowledge(BUDGET, new_document("empty.md"), replace(CATS, chunks=()))
    assert "OCR" in lost(kb.why(QUESTION, "empty.md"), "parse").remedy
    assert lost(kb.why(QUESTION, "cats.md"), "chunk").numbers == {"chunks": 0}


def test_one_that_neither_meaning_nor_words_find() -> None:
    why = knowledge(many(400), CATS).why(QUESTION, "cats.md")
    assert "RAGKIT_QUERIES" in lost(why, "candidates").remedy
    vectors = step(why, "vectors")
    assert (vectors.kept, vectors.numbers["of"], vectors.numbers["looked at"]) == (None, 401, 300)
    assert vectors.numbers["rank"] == 401
    words = step(why, "words")
    assert (words.kept, words.numbers["has"]) == (None, "")
    assert "travel" in str(words.numbers["lacks"])
    assert "no chunk of it has a word of the question" in words.says


class Missing(FakeStore):
    """A store whose index misses what is nearest."""

    @contextmanager
    def snapshot(self) -> Iterator[FakeReader]:
        with super().snapshot() as reader:
            missed = copy(reader)
            nearest = reader.nearest
            missed.nearest = lambda *asked: nearest(*asked)[1:]  # type: ignore[method-assign]
            yield missed


def test_one_that_an_index_missed() -> None:
    store = Missing()
    fill(store, FakeEmbedder(), [many(3), CATS])
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")
    why = kb.why("How long do cats sleep?", "cats.md", mode="dense")
    assert "ragkit index recall" in lost(why, "candidates").remedy
    vectors = step(why, "vectors").numbers
    assert (vectors["rank"], vectors["missed by"]) == (1, "index")
    assert kb.why("How long do cats sleep?", "cats.md").lost == ""  # its words are found


def test_a_phrase_that_stands_nowhere_loses_nothing() -> None:
    kb = knowledge(BUDGET, CATS)
    assert kb.why('How high is the "travel allowance"?', "budget.md").lost == ""


def test_one_that_a_filter_is_not_true_of() -> None:
    kb = knowledge(BUDGET, CATS).adapted(where={"eq": {"uri": CATS.uri}})
    assert lost(kb.why(QUESTION, "budget.md"), "filter").numbers == {"chunks": 0}


def test_one_that_the_question_was_taken_not_to_mean() -> None:
    kb = knowledge(replace(BUDGET, media_type="text/markdown"), CATS)
    fields = Fields((), ("text/markdown",), {}, {})
    kb.plan = Planner(fields=lambda: fields)
    why = kb.why("How long do cats sleep in the Markdown files?", "cats.md")
    assert "RAGKIT_INFER_FILTERS" in lost(why, "filter").remedy
    assert "text/markdown" in str(step(why, "plan").numbers["filter"])
    # A filter that leaves nothing has lost nothing.
    why = kb.why("How long do cats sleep in fees.pdf?", "cats.md")
    assert "was dropped" in step(why, "plan").says
    assert "filter" not in names(why)
    assert why.lost == ""


def test_one_that_ranks_too_low_to_be_passed_on() -> None:
    late = new_document("late.md", "A budget.")
    why = knowledge(many(60), late).why(QUESTION, "late.md", k=3)
    fusion = lost(why, "fusion")
    assert fusion.numbers["rank"] == 61
    assert fusion.numbers["passed on"] == 3
    assert {"dense", "lexical", "score"} <= fusion.numbers.keys()
    assert step(why, "candidates").says == "found by vectors and words"


def test_one_that_says_the_same_as_a_better_one() -> None:
    kb = knowledge(many(3), BUDGET, replace(BUDGET, uri="files/copy.md"))
    kb.distinct = Collapse()
    why = kb.why("Is it yearly, the travel budget of 300 euros?", "copy.md", k=2)
    duplicates = lost(why, "duplicates")
    assert duplicates.numbers["uri"] == "files/budget.md"
    assert "among that passage's duplicates" in duplicates.remedy


@pytest.mark.parametrize("name", ["rerank", "cut-off", "per document", "diversify", "my own"])
def test_one_that_was_dropped_from_the_hits(name: str) -> None:
    kb = knowledge(BUDGET, CATS)
    kb.refinements = [Without("nothing", "first"), Without(BUDGET.uri, name)]
    dropped = lost(kb.why(QUESTION, "budget.md"), name)
    assert dropped.numbers == {"left": 1, "rank before": 1}
    assert step(kb.why(QUESTION, "budget.md"), "first").numbers["rank"] == 1


def test_one_that_is_reranked_out_of_the_best() -> None:
    kb = knowledge(
        many(4),
        new_document("late.md", "Travel budget: high, high, high, we say. So do all others here."),
    )
    kb.reranker, kb.candidates = FakeReranker(), 20
    why = kb.why("travel budget high high high", "late.md", k=1)
    assert (step(why, "fusion").numbers["rank"], step(why, "rerank").numbers["rank"]) == (1, 5)
    assert lost(why, "top k").numbers == {"rank": 5, "k": 1}


def test_one_that_is_not_refined_at_all() -> None:
    kb = knowledge(many(20), new_document("late.md", "A travel budget."))
    kb.distinct, kb.reranker, kb.candidates = Collapse(), FakeReranker(), 15
    why = kb.why("the travel budget of team is high", "late.md", k=2)
    assert lost(why, "depth").numbers == {"rank": 21, "refined": 15}


def test_one_beyond_the_passages_asked_for() -> None:
    kb = knowledge(many(4), new_document("late.md", "A budget."))
    kb.distinct = Collapse()
    best = lost(kb.why(QUESTION, "late.md", k=3), "top k")
    assert best.numbers == {"rank": 5, "k": 3}
    assert best.remedy == "Ask for more passages: -k 5."
    assert kb.why(QUESTION, "late.md", k=5, answer=False).lost == ""


def test_a_passage_that_was_joined_to_another_is_not_lost() -> None:
    kb = knowledge(BUDGET, CATS)
    kb.widening = [Widen(kb.store, "neighbours")]
    why = kb.why(QUESTION, "budget.md")
    assert why.lost == ""
    assert step(why, "top k").numbers["end"] == len(BUDGET.text)


def test_one_whose_question_is_refused_before_it_is_asked() -> None:
    kb = knowledge(BUDGET, CATS)
    why = kb.why("Which zebra crossing regulations apply to penguins?", "cats.md")
    assert "calibrate" in lost(why, "gate").remedy


def chat(said: str, budget_tokens: int) -> ChatGenerator:
    return ChatGenerator(FakeLanguageModel(said), budget_tokens=budget_tokens)


def test_one_that_does_not_fit_into_the_prompt() -> None:
    long = new_document("long.md", "The travel budget is high. " + "It goes on and on. " * 9)
    kb = knowledge(BUDGET, long, generator=chat("300 euros [1].", 30))
    budget = lost(kb.why(QUESTION, "long.md"), "budget")
    assert (budget.numbers["budget"], budget.numbers["shown"]) == (30, 2)
    assert int(budget.numbers["tokens"]) > 40
    assert "RAGKIT_LLM_BUDGET_TOKENS" in budget.remedy
    assert kb.why(QUESTION, "budget.md").lost == ""


def test_one_that_was_shown_and_not_cited() -> None:
    kb = knowledge(BUDGET, CATS, generator=chat("300 euros [1].", 500))
    assert "none of the 1 citations" in lost(kb.why(QUESTION, "cats.md"), "answer").says
    refusing = knowledge(BUDGET, generator=chat("The sources do not answer this question.", 500))
    assert "refusal" in lost(refusing.why(QUESTION, "budget.md"), "answer").says


def test_without_an_answer_no_model_is_asked() -> None:
    model = FakeLanguageModel("300 euros [1].")
    kb = knowledge(BUDGET, generator=ChatGenerator(model))
    assert names(kb.why(QUESTION, "budget.md", answer=False))[-1] == "gate"
    assert model.asked == []


def test_in_the_database(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    settings = Settings(database_url=SecretStr(fresh_database))
    with open_database(settings) as database:
        store = database.store("default")
        fill(store, FakeEmbedder(), [many(330), BUDGET, CATS, replace(BUDGET, uri="copy.md")])
        (collection,) = store.collections()
        uris = ["/in/broken.pdf", "/in/waiting.pdf", "/in/done.pdf"]
        with Ledger(database.pool, "default").worker(collection.id) as worker:
            worker.enqueue(uris)
            for job in worker.claim(uris, limit=3):
                if job.uri == uris[0]:
                    worker.fail(job, "parse", "it is encrypted")
        fill(store, FakeEmbedder(), [replace(CATS, uri="in/dogs.md")], "animals")
        kb = KnowledgeBase.over(database, settings, embedder=FakeEmbedder())
        # Nobody's collection is listed for one name.
        monkeypatch.setattr(PostgresStore, "documents", None)
        assert kb.why(QUESTION, "budget", answer=False).document == kb.store.document(2)
        assert lost(kb.why(QUESTION, "dogs"), "document").numbers == {"collection": "animals"}
        assert lost(kb.why(QUESTION, "cast.md"), "document").numbers == {"like": "files/cats.md"}
        assert lost(kb.why(QUESTION, "zebra.pdf"), "document").numbers == {}
        assert kb.why(QUESTION, "get.md", k=400, answer=False).lost == ""
        broken = lost(kb.why(QUESTION, "broken.pdf"), "parse")
        assert broken.numbers["reason"] == "it is encrypted"
        assert "it is encrypted" in broken.says
        eve = database.store("default", readers=("user:eve",))
        assert eve.attempts("default", "broken.pdf") == []  # somebody else's file
        waiting = lost(kb.why(QUESTION, "waiting.pdf"), "document")
        assert waiting.numbers["state"] == "queued"
        vectors = step(kb.why(QUESTION, "cats.md"), "vectors")
        assert (vectors.numbers["rank"], vectors.numbers["of"]) == (335, 335)
        copied = lost(kb.why("Is it yearly, the 300 euros?", "copy.md", k=1), "duplicates")
        assert copied.numbers["uri"] == "files/budget.md"

    run = CliRunner().invoke
    absent = run(app, ["ask", QUESTION, "--why", "broken.pdf", "--json"])
    assert absent.exit_code == 0, absent.output
    told = json.loads(absent.output)
    assert (told["lost"], told["document"]) == ("parse", None)
    assert told["steps"][0]["numbers"]["stage"] == "parse"
    shown = run(app, ["why", QUESTION, "--document", "broken.pdf"])
    assert "Lost at: parse. Correct what stands there" in shown.output
    left = ["--where", "uri = 'files/budget.md'", "--mode", "lexical", "--no-answer", "--json"]
    filtered = run(app, ["why", QUESTION, "--document", "cats.md", *left])
    assert json.loads(filtered.output)["lost"] == "filter"
    refused = run(app, ["why", QUESTION, "--document", ".md"])
    assert isinstance(refused.exception, UsageError)
