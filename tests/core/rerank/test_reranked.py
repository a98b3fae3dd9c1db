"""A reranker in a search: its order, and its cut-off by `ragkit eval calibrate`."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool
from pydantic import SecretStr
from typer.testing import CliRunner

from ragkit import KnowledgeBase, Settings
from ragkit.access.library import Caller, Library
from ragkit.answer.refuse.gate import Gate
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.llm import ChatGenerator
from ragkit.cli.main import app
from ragkit.contracts import LanguageModel
from ragkit.errors import ModelError, ModelServerError, SettingsError
from ragkit.knowledge.cosine_reranker import CosineReranker
from ragkit.knowledge.open_reranker import open_reranker
from ragkit.model.open import open_model
from ragkit.question.plan import Planner
from ragkit.rerank.cross_encoder import CrossEncoderReranker
from ragkit.rerank.late import LateReranker
from ragkit.rerank.refine import CutOff, Rerank
from ragkit.rerank.server import ServerReranker
from ragkit.stats.cutoff import RERANKED, SIGNALS, Cutoff
from ragkit.store.connection.connect import open_pool
from ragkit.store.open import open_database
from ragkit.store.people.calibration import Calibrations, CurrentCutoff
from ragkit.store.postgres import PostgresStore
from ragkit.testing import (
    FakeEmbedder,
    FakeReranker,
    RerankerConformance,
    fill,
    new_document,
    passages,
)
from ragkit.upkeep.calibrate import Labelled, calibration, fit
from tests.databases import Databases

HITS = passages()
THINGS = [f"thing{letter}{other}" for letter in "abcde" for other in "abcdefgh"][:24]


class ByLength:
    """Score a passage by its length; more than one reranker, fewer than a model."""

    name = "by length"

    def __init__(self) -> None:
        self.loaded = 0

    def load(self) -> None:
        self.loaded += 1

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        return [float(len(passage)) for passage in passages]


def test_the_first_hits_are_put_in_order_and_the_others_stay_behind() -> None:
    hits = HITS[:5]
    found = Rerank(ByLength(), 3).refine("q", hits)
    longest = sorted(hits[:3], key=lambda hit: -len(hit.text))
    assert [hit.chunk for hit in found] == [hit.chunk for hit in (*longest, *hits[3:])]
    assert [hit.scores.get("rerank") for hit in found[:3]] == [float(len(h.text)) for h in longest]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert found[3].score == found[2].score  # no better than what was scored last
    assert "rerank" not in found[3].scores
    assert Rerank(ByLength(), 3).refine("q", []) == []


def test_equal_scores_keep_the_order_of_the_search() -> None:
    class Same(ByLength):
        def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
            return [0.5] * len(passages)

    assert [hit.chunk for hit in Rerank(Same(), 20).refine("q", HITS)] == [h.chunk for h in HITS]


def test_a_score_that_is_no_number_is_an_error() -> None:
    class Broken(ByLength):
        def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
            return [float("nan")] * len(passages)

    with pytest.raises(ModelError, match="reranker by length gave no finite score"):
        Rerank(Broken(), 20).refine("q", HITS)


def test_a_cutoff_drops_what_is_below_it_and_what_was_not_scored() -> None:
    reranked = Rerank(ByLength(), 4).refine("q", HITS)
    least = sorted(hit.scores["rerank"] for hit in reranked if "rerank" in hit.scores)[1]
    left = CutOff(lambda: least).refine("q", reranked)
    assert [hit.chunk for hit in left] == [hit.chunk for hit in reranked[:3]]
    assert CutOff(lambda: None).refine("q", reranked) == reranked


def test_a_threshold_stands_for_a_score_of_the_reranker() -> None:
    cutoff = Cutoff(bias=1.0, weights=(2.0,), means=(0.5,), threshold=0.5, signals=RERANKED)
    assert cutoff.least == pytest.approx(0.0)  # 1 + 2 (x - 0.5) = 0
    assert Cutoff(1.0, (2.0,), (0.5,), 0.0, RERANKED).least == -float("inf")
    assert Cutoff(1.0, (2.0,), (0.5,), 1.0, RERANKED).least == float("inf")
    assert Cutoff(1.0, (-2.0,), (0.5,), 0.5, RERANKED).least is None
    assert Cutoff(1.0, (2.0, 1.0, 1.0), (0.5,) * 3, 0.5, SIGNALS).least is None


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ("cosine", CosineReranker),
        ("http://localhost:8080", ServerReranker),
        ("https://me:pw@host/v1/rerank", ServerReranker),
        ("late:some/colbert", LateReranker),
        ("some/cross-encoder", CrossEncoderReranker),
    ],
)
def test_the_settings_name_a_reranker_which_is_not_loaded(named: str, kind: type) -> None:
    made = open_reranker(Settings(reranker=named), FakeEmbedder())
    assert isinstance(made, kind)
    assert open_reranker(Settings(), FakeEmbedder()) is None
    with pytest.raises(SettingsError, match="write late:MODEL"):
        open_reranker(Settings(reranker="late:"), FakeEmbedder())


class TestCosine(RerankerConformance):
    @pytest.fixture
    def reranker(self) -> CosineReranker:
        return CosineReranker(FakeEmbedder())


@pytest.fixture(scope="module")
def pool(databases: Databases) -> Iterator[ConnectionPool[Connection[Any]]]:
    """A database with a document about each of some things, and duller ones."""
    with databases.take() as url:
        opened = open_pool(url)
        store = PostgresStore(opened)
        documents = [new_document(f"{t}.md", f"The {t} is kept on a shelf.") for t in THINGS]
        fill(store, FakeEmbedder(), documents)
        yield opened
        opened.close()


@pytest.fixture
def kb(pool: ConnectionPool[Connection[Any]]) -> KnowledgeBase:
    store, embedder = PostgresStore(pool), FakeEmbedder()
    reranker = FakeReranker()
    made = KnowledgeBase(
        store,
        embedder,
        ExtractiveGenerator(),
        collection="default",
        gate=Gate(
            lambda terms: dict.fromkeys(terms, 1.0),
            CurrentCutoff(store, "default", embedder, reranker=reranker),
        ),
    )
    made.reranker = reranker
    made.candidates = 20
    return made


def labelled() -> list[Labelled]:
    there = [Labelled(f"Where is the {thing} kept?", True, thing) for thing in THINGS]
    return there + [Labelled(f"Why did un{t} buy xy{t}?", False, t + "x") for t in THINGS]


def test_a_search_is_reranked_and_says_so(kb: KnowledgeBase) -> None:
    found = kb.find("Where is the thingaa kept?", k=3)
    assert found.hits[0].uri == "thingaa.md"
    assert all(hit.score == hit.scores["rerank"] for hit in found.hits)
    by_name = {stage.name: stage for stage in found.stages}
    assert len(by_name["rerank"].ranked) == 20  # more than are shown
    assert "cut-off" in by_name
    assert len(found.hits) == 3


def test_a_cutoff_is_fitted_on_the_rerankers_score_and_then_drops_passages(
    kb: KnowledgeBase,
    pool: ConnectionPool[Connection[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = kb.search("Where is the thingaa kept?", k=5)
    fitted = fit(kb, labelled(), max_false_refusals=0.1)
    assert fitted.auc == 1.0
    assert fitted.cutoff.signals == RERANKED
    least = fitted.cutoff.least
    assert least is not None
    assert before[0].scores["rerank"] > least > before[1].scores["rerank"]
    kept = Calibrations(pool, "default")
    made = calibration(kb, fitted, labelled(), "hybrid")
    assert made.reranker == "fake-shared-terms"
    kept.save("default", made)
    try:
        (left,) = kb.search("Where is the thingaa kept?", k=5)
        assert left == before[0]
        assert kb.search("Why did unthing buy xything?", k=5) == []
        monkeypatch.setattr(KnowledgeBase, "open", lambda *_, **__: nullcontext(kb))
        printed = CliRunner().invoke(app, ["search", "Why did unthing buy xything?"]).stdout
        assert "the reranker's cut-off: it dropped 20 passages; --no-rerank" in printed
        refused = kb.ask("Why did unthing buy xything?")
        assert refused.refused
        assert f"no passage reaches the reranker's cut-off {least:.3f}" in refused.reason
        assert f"重排序的分数线 {least:.3f}" in kb.ask("为什么买了它？").reason
        assert not kb.ask("Where is the thingaa kept?").refused
        free = kb.adapted(refusal_threshold=0)
        assert len(free.search("Why did unthing buy xything?", k=5)) == 5
        # What is fitted already does not stand in the way of a new fit.
        assert fit(kb, labelled(), max_false_refusals=0.1).cutoff == fitted.cutoff
        # Another reranker, or none, knows nothing of it.
        kb.reranker = None
        assert len(kb.search("Why did unthing buy xything?", k=5)) == 5
        current = CurrentCutoff(kb.store, "default", kb.embedder)
        assert current("hybrid") is None
        other = CurrentCutoff(kb.store, "default", kb.embedder, reranker=ByLength())
        assert other("hybrid") is None
    finally:
        kept.reset("default")


def test_a_reranker_that_fails_is_an_error_that_names_it(kb: KnowledgeBase) -> None:
    kb.reranker = ServerReranker("http://127.0.0.1:9", timeout_s=2)
    with pytest.raises(ModelServerError, match=r"reranker http://127\.0\.0\.1:9 cannot be reached"):
        kb.search("Where is the thingaa kept?")


def test_all_knowledge_bases_of_a_library_share_one_reranker(fresh_database: str) -> None:
    settings = Settings(
        database_url=SecretStr(fresh_database),
        reranker="some/model",
        diversity=0.3,
        max_per_document=2,
        rerank_candidates=7,
    )
    with open_database(settings) as database:
        library = Library(settings, database)
        one, two = (library.open(Caller("default", name)) for name in ("ada", "bob"))
        assert one.reranker is two.reranker is library.reranker
        pipeline = one.retriever("lexical")
        assert [step.name for step in pipeline.refinements] == [
            "rerank", "cut-off", "diversify", "per document",
        ]  # fmt: skip
        assert pipeline.depth == 7
        cosine = settings.model_copy(update={"reranker": "cosine"})
        own = Library(cosine, database).open(Caller("default", "ada"))
        assert isinstance(own.reranker, CosineReranker)
        assert KnowledgeBase.over(database, Settings()).retriever("lexical").depth == 0


def test_all_callers_of_a_library_share_its_language_and_entailment_models(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs a process, a connection or a gigabyte; and a server's health is known to it."""
    settings = Settings(
        database_url=SecretStr(fresh_database),
        llm_url="http://127.0.0.1:9/v1",
        llm_model="m",
        nli_model="some/model",
        queries="multi",
    )
    made: list[object] = []

    def counted(settings: Settings) -> LanguageModel | None:
        made.append(open_model(settings))
        return made[-1]  # type: ignore[return-value]

    monkeypatch.setattr("ragkit.model.open.open_model", counted)
    with open_database(settings) as database:
        library = Library(settings, database)
        one, two = (library.open(Caller("default", name)) for name in ("ada", "bob"))
        assert one is not two
        assert library.entails is not None
        assert one.entails is two.entails is library.entails
        for kb in (one, two):
            assert isinstance(kb.generator, ChatGenerator)
            assert isinstance(kb.plan, Planner)
            assert kb.generator._model is kb.plan._model is library.model
        assert made == [library.model]


def test_a_server_loads_the_reranker_before_the_first_question(fresh_database: str) -> None:
    settings = Settings(database_url=SecretStr(fresh_database))
    with open_database(settings) as database:
        library = Library(settings, database)
        library.embedder, reranker = FakeEmbedder(), ByLength()
        library.reranker = reranker
        library.load()
    assert reranker.loaded == 1
