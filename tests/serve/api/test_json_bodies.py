"""Bodies that are no JSON, or strange JSON, on every route that takes a body."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.json_bodies import MAX_DEPTH, check_json
from tests.serve.api.conftest import Scripted, Serve

MEGABYTE: Final = 1 << 20
MEMORY_LIMIT: Final = 64 * MEGABYTE
REQUESTS: Final = 200  # of a megabyte and more each: three times the limit, if they stayed
HERE: Final = '"the value"'

NO_JSON: Final = {
    "NaN": b"NaN",
    "infinity": b"Infinity",
    "negative infinity": b"-Infinity",
    "large float": b"1e999",
    "long integer": b"9" * 5000,
    "nested lists": b"[" * 10_000 + b"]" * 10_000,
    "nested objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "name twice": b'{"a": 1, "a": 2}',
    "half of a pair": rb'"\ud800"',
    "half of a pair in a name": rb'{"\udc00": 1}',
    "invalid UTF-8": b'"\xff\xfe"',
    "UTF-8 of half a pair": b'"\xed\xa0\x80"',
    "control character": b'"\x00"',
    "broken off": b'{"a": ',
    "comment": b"1 // one",
}
# JSON that few fields can have; what a route makes of it is its own affair.
STRANGE: Final = {
    "NUL": rb'"\u0000"',
    "name with NUL": rb'{"\u0000": 1}',
    "large integer": b"1" + b"0" * 400,
    "64 bits": b"9223372036854775808",
    "negative": b"-1",
    "nested": b'{"and":[' * 40 + b"1" + b"]}" * 40,
    "null": b"null",
    "list of null": b"[null]",
    "object": b"{}",
    "long text": b'"' + b"x" * 100_000 + b'"',
}


@dataclass(frozen=True, slots=True)
class Place:
    """A route that takes JSON, and a body of it with a mark where a value stands."""

    method: str
    url: str
    name: str
    body: bytes

    def with_value(self, value: bytes) -> bytes:
        return self.body.replace(HERE.encode(), value)


@pytest.fixture
def client(
    serve: Serve, scripted: Scripted, key: Callable[..., str], alone: None
) -> Iterator[httpx.Client]:
    """A client with every scope."""
    headers = {
        "authorization": f"Bearer {key('read', 'write', 'admin')}",
        "content-type": "application/json",
    }
    stub = scripted()
    with (
        serve(llm_url=stub.url, llm_model="stub", serve_key_rate=1_000_000) as live,
        httpx.Client(base_url=live.url, headers=headers, timeout=60) as opened,
    ):
        yield opened


def places(client: httpx.Client) -> list[Place]:
    """List every field of every route's JSON body, by the OpenAPI document."""
    document = client.get("/openapi.json").json()
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                continue
            reference = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            schema = document["components"]["schemas"][reference]
            url = path.replace("{id}", "1").replace("{name}", "default")
            example = schema["examples"][0]
            for name in [*schema["properties"], "other"]:
                body = json.dumps({**example, name: "the value"}).encode()
                found.append(Place(method, url, name, body))
    chat = "/v1/chat/completions"
    inner = [{"role": "user", "content": "the value", "other": "the value"}]
    for model in ("ragkit", "stub"):
        body = json.dumps({"model": model, "messages": inner}).encode()
        found.append(Place("post", chat, "content", body))
    for name in ("top_k", "min_p", "repetition_penalty", "metadata"):
        body = json.dumps({"model": "ragkit", "messages": [MESSAGE], name: "the value"}).encode()
        found.append(Place("post", chat, name, body))
    for name in ("collection", "filter", "as_of", "top_k", "conversation"):
        options = {"model": "ragkit", "messages": [MESSAGE], "ragkit": {name: "the value"}}
        found.append(Place("post", chat, f"ragkit.{name}", json.dumps(options).encode()))
    return found


MESSAGE: Final = {"role": "user", "content": "How many days of leave?"}


@pytest.mark.long
def test_what_is_no_json_is_a_400_on_every_route(client: httpx.Client) -> None:
    first = {(place.method, place.url): place for place in places(client)}
    assert len(first) >= 9
    for place in first.values():
        for name, value in NO_JSON.items():
            for body in (value, place.with_value(value)):
                answer = client.request(place.method, place.url, content=body)
                where = (place, name)
                assert answer.status_code == 400, where
                error = answer.json()["error"]
                assert error["code"] in {"json_invalid", "model_attributes_type"}, where
                assert "\n" not in error["message"], where


@pytest.mark.long
def test_strange_values_of_every_field_are_no_defect(client: httpx.Client) -> None:
    every = places(client)
    assert len(every) > 40
    for place in every:
        for name, value in STRANGE.items():
            answer = client.request(place.method, place.url, content=place.with_value(value))
            where = (place.url, place.name, name)
            assert answer.status_code < 500, where
            if answer.status_code >= 400:
                error = answer.json()["error"]
                assert error.keys() == {"message", "type", "param", "code"}, where
                assert "\n" not in error["message"], where


def test_ten_thousand_messages_are_too_many(client: httpx.Client) -> None:
    for model in ("ragkit", "stub"):
        body = {"model": model, "messages": [MESSAGE] * 10_000}
        answer = client.post("/v1/chat/completions", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "messages")


@pytest.mark.long
def test_memory_does_not_grow_with_bodies_that_are_refused(client: httpx.Client) -> None:
    """The server is in this process."""
    padding = b'"' + b"x" * MEGABYTE + b'", '
    values = [b"[" + padding + value + b"]" for value in NO_JSON.values()]
    messages = json.dumps([MESSAGE] * 30_000).encode()
    routes = sorted({(place.method, place.url) for place in places(client)})

    def send(count: int) -> int:
        for n in range(count):
            method, url = routes[n % len(routes)]
            content = messages if n % 10 == 0 else values[n % len(values)]
            assert client.request(method, url, content=content).status_code == 400
        gc.collect()
        return resident_bytes()

    before = send(2 * len(values))
    assert send(REQUESTS) - before < MEMORY_LIMIT


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.parametrize("value", NO_JSON.values(), ids=NO_JSON.keys())
def test_each_is_refused_by_the_check_itself(value: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        check_json(value)
    assert (caught.value.status, caught.value.code) == (400, "json_invalid")
    assert len(str(caught.value)) < 100


def test_json_is_let_through() -> None:
    for value in (
        b'{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}',
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b"[" + b"[]," * 1000 + b"1]",
        rb'["\ud83d\ude00", "\\ud800", "\u0000", 1e300, -0.0, 123456789012345678901234567890]',
        "休假".encode(),
    ):
        if value.startswith((b"{", b"[")):
            check_json(value)
        else:
            check_json(b'"' + value + b'"')
