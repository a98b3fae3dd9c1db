"""What every `Reranker` must do."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ragkit.contracts import Reranker

QUERY = "How long do cats sleep?"
PASSAGES = (
    "The stock market fell today.",
    "Cats sleep for sixteen hours; kittens sleep longer.",
    "",
    "国内航班一律乘坐经济舱。",
    "Oil and wheat are cheaper. " * 40,
)


class RerankerConformance:
    """Needs a fixture `reranker`, which may be of any scope; the suite loads it."""

    @pytest.fixture(autouse=True)
    def _loaded(self, reranker: Reranker) -> None:
        reranker.load()

    def test_it_has_one_name(self, reranker: Reranker) -> None:
        assert reranker.name.strip()
        assert reranker.name == reranker.name

    def test_no_passages(self, reranker: Reranker) -> None:
        assert list(reranker.rerank(QUERY, [])) == []

    def test_best_passage_scores_highest(self, reranker: Reranker) -> None:
        scores = list(reranker.rerank(QUERY, PASSAGES))
        assert len(scores) == len(PASSAGES)
        assert all(isfinite(score) for score in scores)
        assert max(range(len(scores)), key=scores.__getitem__) == 1

    def test_order_is_kept(self, reranker: Reranker) -> None:
        forwards = list(reranker.rerank(QUERY, PASSAGES))
        backwards = list(reranker.rerank(QUERY, PASSAGES[::-1]))
        assert backwards[::-1] == pytest.approx(forwards, rel=0.02, abs=0.02)

    def test_other_passages_do_not_matter(self, reranker: Reranker) -> None:
        together = reranker.rerank(QUERY, PASSAGES)
        alone = [reranker.rerank(QUERY, [passage])[0] for passage in PASSAGES]
        assert alone == pytest.approx(list(together), rel=0.02, abs=0.02)

    def test_loading_again_changes_nothing(self, reranker: Reranker) -> None:
        ranking = list(reranker.rerank(QUERY, PASSAGES))
        reranker.load()
        assert list(reranker.rerank(QUERY, PASSAGES)) == pytest.approx(ranking)

    @pytest.mark.parametrize("query", ["", " ", "？", "cats " * 2000])
    def test_any_query_is_scored(self, reranker: Reranker, query: str) -> None:
        scores = reranker.rerank(query, PASSAGES[:2])
        assert len(scores) == 2
        assert all(isfinite(score) for score in scores)
