"""POST /v1/search: its trace, and every request that cannot be searched with."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

from ragkit.contracts import Embedder
from ragkit.store.open import Database
from tests.serve.api.conftest import Live, Serve

BAD: tuple[tuple[dict[str, Any], int, str], ...] = (
    ({}, 400, "query: "),
    ({"query": ""}, 400, "query: "),
    ({"query": " \n"}, 400, "has no word: ask with at least one"),
    ({"query": "?!"}, 400, "has no word: ask with at least one"),
    ({"query": "w" * 1_000_000}, 400, "query: "),
    ({"query": "leave", "k": 0}, 400, "k: "),
    ({"query": "leave", "k": 10_000_000}, 400, "k: "),
    ({"query": "leave", "mode": "fuzzy"}, 400, "mode: "),
    ({"query": "leave", "filter": {"equals": {"uri": "a"}}}, 400, "equals"),
    ({"query": "leave", "collection": "nowhere"}, 404, "'nowhere'"),
    ({"query": "leave", "collection": "empty"}, 404, "'empty' has no documents"),
    ({"query": "leave", "trace": "perhaps"}, 400, "trace: "),
    ({"query": "leave", "as_of": "yesterday"}, 400, "as_of: "),
    ({"query": "leave", "as_of": "2026-01-31T15:00:00"}, 400, "as_of: "),
    ({"query": "leave", "as_of": "1999-01-31T15:00:00Z"}, 404, "nothing from 1999-01-31T15"),
)


def asked(live: Live, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{live.base}/search", json=body, timeout=30)


def check_trace(live: Live) -> None:
    found = asked(live, {"query": "paid holiday", "k": 2, "trace": True}).json()
    assert "trace" not in asked(live, {"query": "paid holiday", "k": 2}).json()
    now = asked(live, {"query": "paid holiday", "k": 2, "as_of": "2999-01-01T00:00:00Z"}).json()
    assert now["data"] == found["data"]
    steps = {step["name"]: step for step in found["trace"]}
    assert {"embed", "dense", "lexical", "fuse", "fetch"} <= steps.keys()
    assert list(found["timings"]) == [step["name"] for step in found["trace"]]
    assert steps["fetch"]["ranked"][:2] == [[hit["chunk"], hit["score"]] for hit in found["data"]]
    assert steps["fuse"]["notes"]["method"] == "calibrated"
    assert 0 <= steps["fuse"]["notes"]["dense_weight"] <= 1
    assert 0 < steps["lexical"]["notes"]["coverage"] <= 1


@pytest.mark.usefixtures("alone")
def test_a_trace_has_every_stage_and_what_cannot_be_searched_for_is_refused(
    serve: Serve,
    database: Database,
    loaded_embedder: Embedder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    database.store("default").create_collection("empty")
    with serve() as live:
        check_trace(live)
        for body, status, message in BAD:
            answer = asked(live, body)
            error = answer.json()["error"]
            assert (answer.status_code, message in error["message"]) == (status, True), error
            assert "\n" not in error["message"]
        wrong = (np.full(384, np.nan, np.float32), "with NaN"), (np.ones(3, np.float32), "(3,)")
        for vector, message in wrong:
            monkeypatch.setattr(loaded_embedder, "embed_query", lambda text, v=vector: v)
            answer = asked(live, {"query": "leave"})
            assert answer.status_code == 500
            assert answer.json()["error"]["message"].startswith("the server failed: see the")
            assert message in caplog.text
            assert asked(live, {"query": "leave", "mode": "lexical"}).status_code == 200
