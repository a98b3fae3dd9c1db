"""Uploads sent again under an Idempotency-Key: at once, otherwise, after a failure, by others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest

from ragkit.errors import DatabaseError
from ragkit.store.jobs.upload_bytes import Sources
from tests.serve.api.conftest import Serve, Site
from tests.serve.web.test_supervise import program

pytestmark = pytest.mark.usefixtures("alone")
AT_ONCE: Final = 8
PATH: Final = "/v1/collections/default/documents"
KEY: Final = "4f0c"


def send(url: str, text: str, *, secret: str = "none", path: str = PATH) -> httpx.Response:
    headers = {"idempotency-key": KEY, "authorization": f"Bearer {secret}"}
    files = {"file": ("leave.txt", text.encode())}
    return httpx.post(url + path, files=files, headers=headers, timeout=60)


def at_once(calls: Sequence[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    """Make several requests at the same time, each on a connection of its own."""
    together = threading.Barrier(len(calls))

    def call(request: Callable[[], httpx.Response]) -> httpx.Response:
        together.wait(60)
        return request()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(call, calls))


def counts(database: str) -> tuple[int, int, int]:
    """Count jobs, kept files, and keys."""
    with psycopg.connect(database) as conn:
        row = conn.execute(
            "SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM source),"
            " (SELECT count(*) FROM upload_key)"
        ).fetchone()
    assert row is not None
    return row


def test_the_same_request_at_once_is_one_job_and_one_answer(serve: Serve, site: Site) -> None:
    with serve() as first, serve(serve_keep_days=29) as second:
        urls = [first.url, second.url] * (AT_ONCE // 2)
        answers = at_once([partial(send, url, "Leave is 28 days.") for url in urls])
    assert [answer.status_code for answer in answers] == [202] * AT_ONCE
    assert len({answer.text for answer in answers}) == 1
    assert counts(site.url) == (1, 1, 1)


def test_of_two_requests_at_once_under_one_key_the_first_stands(serve: Serve, site: Site) -> None:
    texts = ["Leave is 28 days.", "Leave is 29 days."] * (AT_ONCE // 2)
    with serve() as live:
        answers = at_once([partial(send, live.url, text) for text in texts])
        taken = {t for t, answer in zip(texts, answers, strict=True) if answer.status_code == 202}
        assert len(taken) == 1
        for text, answer in zip(texts, answers, strict=True):
            if text not in taken:
                assert answer.status_code == 409
                assert answer.json()["error"]["code"] == "idempotency_key_reused"
    assert counts(site.url) == (1, 1, 1)


def test_after_a_failure_the_same_key_may_be_used(
    serve: Serve, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Sources._keep

    def fails(*arguments: Any) -> int:
        keep(*arguments)
        raise DatabaseError("The disk is full.")

    with serve() as live:
        assert send(live.url, "x", path=PATH.replace("default", "nowhere")).status_code == 404
        with monkeypatch.context() as patch:
            patch.setattr(Sources, "_keep", fails)
            assert send(live.url, "Leave is 28 days.").status_code == 503
        assert counts(site.url) == (0, 0, 0)
        first, again = (send(live.url, "Leave is 29 days.") for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json()
    assert counts(site.url) == (1, 1, 1)


def test_a_key_belongs_to_its_caller(serve: Serve, site: Site, key: Callable[..., str]) -> None:
    """Two principals of one tenant, and one of another tenant, at once."""
    site.database.store("other").add_collection("default")
    callers = [
        key("write", "read", principal="ada"),
        key("write", "read", principal="bob"),
        key("write", "read", principal="ada", tenant="other"),
    ]
    with serve() as live:
        answers = at_once([partial(send, live.url, "Leave.", secret=s) for s in callers * 2])
    assert [answer.status_code for answer in answers] == [202] * 6
    numbers = [answer.json()["data"][0]["id"] for answer in answers]
    assert numbers[:3] == numbers[3:]
    assert counts(site.url)[2] == 3


@pytest.mark.long
def test_two_web_processes_answer_alike(serve: Serve, fresh_database: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        urls = []
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            running = program(fresh_database, folder, "--no-page", "--no-worker")
            urls.append(stack.enter_context(running).url())
        made = httpx.post(f"{urls[0]}/v1/collections", json={"id": "default"}, timeout=60)
        assert made.status_code == 201
        calls = [partial(send, url, "Leave is 28 days.") for url in urls * (AT_ONCE // 2)]
        answers = at_once(calls)
    assert [answer.status_code for answer in answers] == [202] * AT_ONCE
    assert len({answer.text for answer in answers}) == 1
    assert counts(fresh_database) == (1, 1, 1)
