"""Routes that are functions run in threads that all keys share: each key has its turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragkit_serve.api.access import Need
from ragkit_serve.api.app import GROUPS
from tests.serve.api.conftest import Serve
from tests.serve.api.test_load import until
from tests.serve.api.test_places import GREEDY, Hold, hang_up, hold, requests

__all__ = ["hold"]  # the fixture

FILE = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    b"Text.\r\n--x--\r\n"
)
READS = {
    "document": "/v1/documents/1",
    "text": "/v1/documents/1/text",
    "file": "/v1/documents/1/source",
    "page": "/v1/documents/1/pages/1",
    "picture": "/v1/documents/1/pages/1.png",
    "documents": "/v1/collections/default/documents",
    "versions": "/v1/documents/1/versions",
}


@pytest.mark.parametrize("hold", [GREEDY], indirect=True)
@pytest.mark.parametrize("name", READS)
def test_requests_that_hang_up_wait_for_their_keys_turn(
    serve: Serve, key: Callable[..., str], hold: Hold, name: str
) -> None:
    """Of thirty-six, four run and the others never do: their clients have left."""
    greedy, other = key("read", principal=GREEDY), key("read", principal="other")
    with serve(serve_key_concurrency=4) as live:
        connections = [hang_up(live, "GET", READS[name], None, greedy) for _ in range(36)]
        assert until(lambda: hold.running == 4 and requests(live) == 36)
        for connection in connections:
            connection.close()
        read = httpx.get(
            f"{live.base}/documents/1/text",
            headers={"authorization": f"Bearer {other}"},
            timeout=60,
        )
        assert read.status_code == 200
        assert (hold.most, hold.begun) == (4, 4)
        hold.release.set()
        assert until(lambda: requests(live) == 0)
        assert hold.begun == 4


@pytest.mark.parametrize("hold", [GREEDY], indirect=True)
def test_uploads_take_turns(serve: Serve, key: Callable[..., str], hold: Hold) -> None:
    greedy = key("write", principal=GREEDY)
    statuses: list[int] = []
    with serve(serve_key_concurrency=2) as live:

        def replace() -> None:
            answer = httpx.put(
                f"{live.base}/documents/999999/source",
                content=FILE,
                headers={
                    "authorization": f"Bearer {greedy}",
                    "content-type": "multipart/form-data; boundary=x",
                },
                timeout=60,
            )
            statuses.append(answer.status_code)

        threads = [threading.Thread(target=replace) for _ in range(8)]
        for thread in threads:
            thread.start()
        assert until(lambda: hold.running == 2 and requests(live) == 8)
        hold.release.set()
        for thread in threads:
            thread.join(60)
    assert (hold.most, statuses) == (2, [404] * 8)


def test_a_turn_is_not_waited_for_without_end(
    serve: Serve, key: Callable[..., str], hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit_serve.api.quota.LONGEST_TURN_WAIT_S", 0.1)
    headers = {"authorization": f"Bearer {key('read')}"}
    with serve(serve_key_concurrency=1) as live:
        with hang_up(live, "GET", READS["text"], None, headers["authorization"].split()[1]):
            assert until(lambda: hold.running == 1)
            refused = httpx.get(f"{live.base}/documents/1", headers=headers, timeout=60)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "concurrency"
        hold.release.set()
        assert until(lambda: requests(live) == 0)
        assert httpx.get(f"{live.base}/documents/1", headers=headers, timeout=60).is_success


def test_every_function_that_answers_a_caller_takes_turns() -> None:
    """`needs` is what hands the caller to a route, and what waits for the turn."""
    routes: list[Any] = [route for group in GROUPS for route in group.router.routes]
    bare = {
        route.path
        for route in routes
        if route.path.startswith("/v1/")
        and not any(isinstance(part.call, Need) for part in route.dependant.dependencies)
    }
    assert bare == set()
