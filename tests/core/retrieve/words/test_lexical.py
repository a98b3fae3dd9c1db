"""The lexical leg over PostgreSQL's postings and the fake's: marks, filters, analysers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ragkit.contracts import Store
from ragkit.filters.tree import parse
from ragkit.retrieve.words.bm25 import K1, B
from ragkit.retrieve.words.search import LexicalHits, search_words
from ragkit.retrieve.words.weights import term_weights
from ragkit.store.connection.connect import open_pool
from ragkit.store.postgres import PostgresStore
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document
from ragkit.text.analyse import analyse
from ragkit.text.analysers import analyser_name
from tests.databases import Databases

TEXTS = [
    "The force majeure clause covers fire and flood.",
    "Majeure is French; a force is a force.",
    "No force, no majeure: forces majeures are excluded.",
    "合同法规定了违约责任，税率另有规定。",
    "劳动合同。法律规定的纳税",
    "A股市场2008年底",
    "税",
    "The wing and the tail of the aeroplane; wing loading, state of the art.",
    "The tail alone, an art of state.",
]


@pytest.fixture(scope="module")
def url(databases: Databases) -> Iterator[str]:
    """One database for the module: only read, or written in collections of their own."""
    with databases.take() as url:
        yield url


@pytest.fixture(scope="module")
def pool(url: str) -> Iterator[Any]:
    opened = open_pool(url)
    yield opened
    opened.close()


def filled(pool: Any, stem: Any = "english", cjk: Any = "bigrams") -> PostgresStore:
    name = analyser_name(stem, cjk)
    store = PostgresStore(pool, tenant=f"{stem} {cjk}", analyser=name)
    if not store.collections():
        fill(store, FakeEmbedder(), [new_document(f"d{n}", text) for n, text in enumerate(TEXTS)])
    return store


@pytest.fixture(params=["postgres", "fake"])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param == "postgres":
        return filled(request.getfixturevalue("pool"))
    fake = FakeStore()
    fill(fake, FakeEmbedder(), [new_document(f"d{n}", text) for n, text in enumerate(TEXTS)])
    return fake


def search(store: Store, query: str, k: int = 10, where: Any = None) -> list[str]:
    """Return the URIs found, best first."""
    with store.snapshot() as reader:
        condition = None if where is None else parse(where)
        found = search_words(reader, "default", query, k, condition)
        return [hit.uri for hit in reader.hits([chunk for chunk, _ in found.best])]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"force majeure"', ["d0", "d2"]),  # by stems: forces majeures
        ('force "majeure clause"', ["d0"]),
        ('-"force majeure" force', ["d1"]),
        ("force -french -flood", ["d2"]),
        ("+tail wing", ["d7", "d8"]),
        ("+wing tail", ["d7"]),
        ("+state-of-the-art tail", ["d7"]),
        ("“合同法”", ["d3"]),
        ("合同 -劳动合同", ["d3"]),
        ("规定 +税", ["d3", "d4", "d6"]),
        ("规定 -税率", ["d4"]),
        ("规定 -税", []),
        ("“2008年”", ["d5"]),
        ("“A股”", ["d5"]),
        ("“法律规定”", ["d4"]),
        ('"no such phrase" wing', []),
        ("税", ["d3", "d4", "d6"]),
        ("股", ["d5"]),
        ("马", []),
    ],
)
def test_what_is_demanded_is_met(store: Store, query: str, expected: list[str]) -> None:
    assert sorted(search(store, query)) == expected


def test_a_query_without_marks_finds_by_any_word_as_before(store: Store) -> None:
    with store.snapshot() as reader:
        found = search_words(reader, "default", "wing tail", 10)
        assert not found.constrained
        chunks = [chunk for chunk, _ in found.best]
        assert found.select([*chunks, 99999]) == [*chunks, 99999]
        assert found.scores(chunks) == dict(found.best)
        assert found.scores([99999]) == {}
    assert search(store, "wing tail") == ["d7", "d8"]
    assert search(store, "wing tail", k=1) == ["d7"]


def test_demands_are_put_to_any_chunk(store: Store) -> None:
    with store.snapshot() as reader:
        every = [chunk for chunk, _ in search_words(reader, "default", "the force a", 10).best]
        every += [chunk for chunk, _ in search_words(reader, "default", "规定", 10).best]

        def allowed(query: str) -> list[str]:
            found = search_words(reader, "default", query, 1)
            assert found.constrained
            return sorted(hit.uri for hit in reader.hits(found.select(every)))

        assert allowed('"force majeure"') == ["d0", "d2"]
        assert allowed("nothing -the") == ["d1", "d2", "d3", "d4", "d5"]
        assert allowed("规定 -“合同法”") == ["d0", "d1", "d2", "d4", "d5", "d7", "d8"]


@pytest.fixture(scope="module")
def many(pool: Any) -> PostgresStore:
    """300 documents of two passages each: one in 2, one in 40, and one alone are of a kind."""
    store = PostgresStore(pool, tenant="many")
    store.create_collection("default")
    model = FakeEmbedder()
    model.load()
    new = [
        replace(
            new_document(f"d{n:03}", *[f"wing {'wing ' * (n % 3)}tail {n % 7}"] * 2),
            metadata={"two": str(n % 2), "forty": str(n % 40), "alone": str(int(n == 77))},
        )
        for n in range(300)
    ]
    vectors = model.embed_passages(["wing", "tail"])
    store.put_documents("default", [(one, vectors) for one in new], model.space)
    return store


@pytest.mark.parametrize(("key", "matching"), [("two", 300), ("forty", 16), ("alone", 2)])
def test_k_are_found_behind_a_filter_whenever_there_are_k(
    many: PostgresStore, key: str, matching: int
) -> None:
    where = {"eq": {f"metadata.{key}": "1"}}
    everything = _found(many, "wing tail", 600)
    best = _found(many, "wing tail", 600, where)
    assert len(best) == matching
    assert best == [pair for pair in everything if pair[0] in dict(best)]
    for k in (1, 10, 60):
        assert _found(many, "wing tail", k, where) == best[:k]
    phrase = _found(many, '"tail 3"', 600)
    assert len(phrase) == 86
    assert _found(many, '"tail 3"', 5, where) == [p for p in phrase if p[0] in dict(best)][:5]


def _found(
    store: Store, query: str, k: int, where: dict[str, Any] | None = None
) -> list[tuple[int, float]]:
    with store.snapshot() as reader:
        condition = None if where is None else parse(where)
        return list(search_words(reader, "default", query, k, condition).best)


def test_constants_are_the_settings(store: Store) -> None:
    with store.snapshot() as reader:

        def of(k1: float = K1, b: float = B) -> LexicalHits:
            return search_words(reader, "default", "tail", 10, None, k1=k1, b=b)

        flat = of(b=0.0).best
        assert len({score for _, score in flat}) == 1  # once in each: length does not count
        assert len({score for _, score in of().best}) == 2
        assert of(k1=0.0).coverage == pytest.approx(1)


def test_scores_from_postgresql_equal_those_of_bm25s(pool: Any) -> None:
    import bm25s

    tokens = [analyse(text) for text in TEXTS]
    reference = bm25s.BM25(method="lucene", k1=1.5, b=0.5)
    reference.index(tokens, show_progress=False)
    known = {term for some in tokens for term in some}
    with filled(pool).snapshot() as reader:
        for query in ("the force of a tail", "合同法的规定", "state state art", "force wing 税率"):
            expected = reference.get_scores([term for term in analyse(query) if term in known])
            found = search_words(reader, "default", query, 10, k1=1.5, b=0.5)
            hits = reader.hits([chunk for chunk, _ in found.best])
            actual = {hit.uri: score for hit, (_, score) in zip(hits, found.best, strict=True)}
            assert actual == {
                f"d{n}": pytest.approx(score, abs=1e-5) for n, score in enumerate(expected) if score
            }


def test_without_stems_words_are_as_they_are_written(pool: Any) -> None:
    store = filled(pool, stem="none")
    assert search(store, "forces") == ["d2"]
    assert search(store, '"force majeure"') == ["d0"]
    assert sorted(search(filled(pool), "forces")) == ["d0", "d1", "d2"]


def test_words_of_a_segmenter(pool: Any) -> None:
    pytest.importorskip("rjieba")
    store = filled(pool, cjk="rjieba")
    assert search(store, "纳税") == ["d4"]
    assert search(store, "合同法") == ["d3"]
    assert search(store, "违约 “规定了”") == ["d3"]
    assert search(store, "规定 -合同法") == ["d4"]


def test_terms_weigh_sensibly_whatever_analyser_a_collection_has(pool: Any) -> None:
    """Callers ask with the default analyser's terms: stems and pairs."""
    asked = ["forc", "majeur", "tail", "wing", "nowher", "规定", "同法"]
    usual = term_weights(filled(pool), "default", asked)
    plain = term_weights(filled(pool, stem="none"), "default", asked)
    assert plain["tail"] == usual["tail"]
    assert plain["forc"] == pytest.approx(usual["forc"])  # "force" stands in all three
    assert plain["nowher"] == usual["nowher"] == max(usual.values())
    pytest.importorskip("rjieba")
    words = term_weights(filled(pool, cjk="rjieba"), "default", asked)
    assert words["规定"] == usual["规定"]
    assert min(words.values()) < words["同法"] < max(words.values())  # no word: as the others


@pytest.mark.parametrize("traditional", ["勞動合同", '"違約責任"', "+納稅 法律", "納", "稅"])
def test_traditional_words_find_simplified_text(store: Store, traditional: str) -> None:
    simplified = traditional.translate(str.maketrans("勞動違約責納稅", "劳动违约责纳税"))
    assert search(store, traditional) == search(store, simplified) != []


def test_an_analyser_stays_with_its_collection(pool: Any) -> None:
    filled(pool, stem="none")
    later = PostgresStore(pool, tenant="none bigrams", analyser=analyser_name("english", "bigrams"))
    assert later.create_collection("default").documents == len(TEXTS)
    assert search(later, "forces") == ["d2"]
    with later.snapshot() as reader:
        assert reader.analyser("default") == "nfkc-casefold+cjk-bigrams/2"
