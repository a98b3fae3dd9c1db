"""Keys under guessing: a valid one always works, and lookups of guesses take one lane."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
from anyio import CapacityLimiter
from limits import RateLimitItemPerMinute

from ragkit import Settings
from ragkit.access import keys, logins
from ragkit.access.keys import Access
from ragkit.store.open import Database
from ragkit_serve.api.gate import COOKIE
from ragkit_serve.api.keyring import Keyring
from ragkit_serve.api.metrics import Metrics
from ragkit_serve.api.quota import Quota, address_of
from tests.serve.api.conftest import Live, Serve

FEW = RateLimitItemPerMinute(3, namespace="guess")
ME = Access(1, "default", "me", ("read",), None)


def ask(live: Live, secret: str, **headers: str) -> int:
    headers["authorization"] = f"Bearer {secret}"
    return httpx.get(f"{live.url}/v1/models", headers=headers, timeout=30).status_code


def wrong(number: int) -> str:
    return f"rk_{number:064x}"


def test_a_valid_key_works_whatever_was_guessed_from_its_address(
    serve: Serve, key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the header, in the form and by a cookie; none of them was seen before."""
    by_header, by_form, by_cookie = key("read"), key("read"), key("read")
    with serve() as live:
        other = httpx.Client(base_url=live.url, headers={"accept": "text/html"})
        other.post("/login", data={"key": by_cookie})
        live.app.state.ragkit.keyring._known.clear()
        monkeypatch.setattr(live.app.state.ragkit.quota, "_guesses", FEW)
        assert [ask(live, wrong(n)) for n in range(6)] == [401, 401, 401, 429, 429, 429]
        assert ask(live, by_header) == 200
        with httpx.Client(base_url=live.url) as client:
            page = client.post("/login", data={"key": wrong(7)}, headers={"accept": "text/html"})
            assert (page.status_code, "Too many attempts" in page.text) == (429, True)
            assert client.post("/login", data={"key": by_form}).status_code == 303
            assert client.get("/v1/models").status_code == 200
        assert other.get("/v1/models").status_code == 200
        assert ask(live, wrong(8)) == 429  # guesses stay limited
        assert ask(live, wrong(9), **{"x-forwarded-for": "192.0.2.7"}) == 401  # each address's own


def test_log_ins_that_have_ended_are_guesses_that_refuse_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(serve_auth="keys") as live:
        monkeypatch.setattr(live.app.state.ragkit.quota, "_guesses", FEW)
        for number in range(6):
            cookie = {"cookie": f"{COOKIE}={number:064x}"}
            page = httpx.get(f"{live.url}/login", headers=cookie)
            assert page.status_code == 200
        assert ask(live, wrong(1)) == 429


class Lookups:
    """Lookups that do not return until they may; `most` is how many there were at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.may = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, database: Database, presented: str) -> Access | None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        assert self.may.wait(60)
        with self._lock:
            self.now -= 1
        return ME if presented == "right" else None


@pytest.mark.parametrize(("suspect", "at_once"), [(True, 1), (False, 10)])
async def test_lookups_for_an_address_that_guesses_go_one_at_a_time(
    database: Database, monkeypatch: pytest.MonkeyPatch, suspect: bool, at_once: int
) -> None:
    lookups = Lookups()
    monkeypatch.setattr(keys, "verify", lookups)
    keyring = Keyring(database, Settings(), loopback=True)
    lane = CapacityLimiter(1) if suspect else None
    answers: list[Any] = []

    async def look_up(secret: str) -> None:
        answers.append(await keyring.by_key(secret, lane))

    async with anyio.create_task_group() as group:
        for number in range(9):
            group.start_soon(look_up, f"wrong {number}")
        group.start_soon(look_up, "right")
        with anyio.fail_after(60):
            while lookups.most < at_once:
                await anyio.lowlevel.checkpoint()
        for _ in range(100):  # all have begun by now
            await anyio.lowlevel.checkpoint()
        lookups.may.set()
    assert lookups.most == at_once
    assert [one.principal for one in answers if one is not None] == ["me"]


async def test_all_addresses_that_guess_share_the_lane() -> None:
    quota = Quota(rate=1, concurrency=1, metrics=Metrics())
    scopes: list[Any] = [{"client": (f"192.0.2.{n}", 1)} for n in range(2)]
    assert [await quota.lane(scope) for scope in scopes] == [None, None]
    for scope in scopes:
        for _ in range(60):
            assert await quota.note_guess(scope)
        assert not await quota.note_guess(scope)
    first, second = [await quota.lane(scope) for scope in scopes]
    assert first is second
    assert first is not None
    assert first.total_tokens == 1


@pytest.mark.parametrize(
    "presented", ["", "rk_", "rk_" + "0" * 63, "rk_" + "g" * 64, "x" * 200, "rk_" + "0" * 64 + "\n"]
)
def test_what_is_no_key_by_its_form_asks_no_database(presented: str) -> None:
    assert keys.verify(None, presented) is None  # type: ignore[arg-type]
    assert logins.verify(None, presented) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::9", 1), "2001:db8:1:2::/64"),
        (("::1", 1), "::/64"),
        (("unix", 0), "unix"),
        (None, "local"),
    ],
)
def test_a_client_is_counted_by_its_address_or_its_site(client: Any, address: str) -> None:
    assert address_of({"client": client}) == address


def test_guesses_are_never_remembered(database: Database) -> None:
    keyring = Keyring(database, Settings(), loopback=True)

    async def guess() -> None:
        for number in range(50):
            assert await keyring.by_key(wrong(number)) is None

    anyio.run(guess)
    assert keyring._known == {}
