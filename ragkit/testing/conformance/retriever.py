"""What every `Retriever` must do."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import pytest

from ragkit.errors import QueryError, RagkitError
from ragkit.testing.corpus import CORPUS

if TYPE_CHECKING:
    from ragkit.contracts import Retriever

CHUNKS = sum(len(document.chunks) for document in CORPUS)
TEXTS = {document.uri: document.text for document in CORPUS}


class RetrieverConformance:
    """Needs a fixture `retriever` over exactly the documents of `ragkit.testing.CORPUS`.

    `ragkit.testing.fill(store, embedder, CORPUS)` puts them into a store.
    """

    @pytest.mark.parametrize(
        ("query", "uri", "words"),
        [
            ("delta wing angle of attack", "wings.md", "triangular"),
            ("days of paid holiday", "leave.md", "28 days"),
            ("sick leave doctor's note", "leave.md", "third day"),
            ("国内航班乘坐什么舱", "差旅.md", "经济舱"),
        ],
    )
    def test_best_hit_comes_first(
        self, retriever: Retriever, query: str, uri: str, words: str
    ) -> None:
        first = retriever.search(query, k=3)[0]
        assert first.uri == uri
        assert words in first.text

    @pytest.mark.parametrize("k", [1, 2, CHUNKS, 50])
    def test_at_most_k_hits_best_first(self, retriever: Retriever, k: int) -> None:
        hits = retriever.search("unused days of the wing, 经理批准", k=k)
        assert 1 <= len(hits) <= min(k, CHUNKS)
        scores = [hit.score for hit in hits]
        assert all(isfinite(score) for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert len({hit.chunk for hit in hits}) == len(hits)

    def test_hits_quote_their_document(self, retriever: Retriever) -> None:
        titles = {document.uri: document.title for document in CORPUS}
        for hit in retriever.search("the wing, the days, 差旅报销", k=CHUNKS):
            assert hit.text == TEXTS[hit.uri][hit.start : hit.end] != ""
            assert hit.title == titles[hit.uri]
            assert hit.page in {1, 2}
            assert all(isfinite(score) for score in hit.scores.values())

    def test_same_query_same_hits(self, retriever: Retriever) -> None:
        query = "Otter flight 经济舱"
        assert list(retriever.search(query, k=4)) == list(retriever.search(query, k=4))

    @pytest.mark.parametrize("query", ["", " ", "\n\t", "\u3000", "?!", "。？！"])
    def test_query_without_content_is_refused(self, retriever: Retriever, query: str) -> None:
        with pytest.raises(QueryError) as raised:
            retriever.search(query, k=3)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        "query",
        [
            "zyzzyva",
            "'; DROP TABLE document; --",
            "wing & | ! <-> :* (",
            "%s %(name)s {} {0} \\",
            "wing " * 3000,
            "🛩",
            "a\u0301\u202e",
        ],
    )
    def test_strange_query_finds_what_it_finds(self, retriever: Retriever, query: str) -> None:
        try:
            hits = retriever.search(query, k=3)
        except QueryError:
            assert not any(char.isalnum() for char in query)
            return
        assert len(hits) <= 3

    @pytest.mark.parametrize("query", ["wing\x00", "wing \ud800"])
    def test_unstorable_characters_are_no_foreign_error(
        self, retriever: Retriever, query: str
    ) -> None:
        try:
            hits = retriever.search(query, k=3)
        except RagkitError:
            return
        assert len(hits) <= 3
