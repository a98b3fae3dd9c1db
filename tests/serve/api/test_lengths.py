"""Texts to rerank or embed: bounded together, and refused before any work."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.serve.api.conftest import Serve
from tests.serve.api.test_places import Hold, hold

__all__ = ["hold"]  # the fixture

TOO_LONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("rerank", {"query": "leave", "documents": ["word " * 20_000] * 6}, "documents"),
    ("rerank", {"query": "leave", "documents": ["w" * 2001] * 256}, "documents"),
    ("embeddings", {"model": "ragkit", "input": ["word " * 100_000] * 3}, "input"),
    ("embeddings", {"model": "ragkit", "input": ["w" * 4000] * 251}, "input"),
)


@pytest.mark.parametrize(("route", "body", "field"), TOO_LONG)
def test_texts_too_long_together_are_refused_before_any_work(
    serve: Serve, hold: Hold, route: str, body: dict[str, Any], field: str
) -> None:
    with serve() as live:
        answer = httpx.post(f"{live.base}/{route}", json=body, timeout=60)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (413, "too_large", field)
    assert "characters" in error["message"]
    assert "send fewer" in error["message"]
    assert hold.begun == 0


def test_as_many_texts_as_are_taken_of_an_ordinary_length_are_reranked(serve: Serve) -> None:
    """The most texts, each of a few sentences."""
    documents = [f"Text {n}. " + "Leave is 28 days. " * 4 for n in range(256)]
    with serve() as live:
        answer = httpx.post(
            f"{live.base}/rerank",
            json={"query": "leave", "documents": documents, "top_n": 1},
            timeout=60,
        )
    assert answer.status_code == 200
    assert len(answer.json()["results"]) == 1
