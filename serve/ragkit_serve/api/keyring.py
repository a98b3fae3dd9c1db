"""Who calls: from a key in the Authorization header, a log-in cookie, or this machine's own user.

What a key stands for is remembered for a few seconds, so that not every request asks the database;
a revoked key is refused after as many seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ragkit.access import keys, logins
from ragkit.access.library import Caller

if TYPE_CHECKING:
    from anyio import CapacityLimiter

    from ragkit.access.keys import Access
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database

REMEMBERED_S: Final = 5.0  # arbitrary: how long a revoked key may go on
MAX_REMEMBERED: Final = 4096  # arbitrary
EVERYTHING: Final = ("read", "write", "admin", "metrics")


@dataclass(frozen=True, slots=True)
class _Known:
    caller: Caller | None
    until: float


class Keyring:
    """Recognise callers, asking the database at most every few seconds for each."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        loopback: bool,
        remembered_s: float = REMEMBERED_S,
    ) -> None:
        self._database = database
        self._settings = settings
        self._loopback = loopback
        self._remembered_s = remembered_s
        self._known: dict[bytes, _Known] = {}
        self._open = _Known(None, 0.0)

    async def by_key(self, secret: str, lane: CapacityLimiter | None = None) -> Caller | None:
        """Return whom a presented key stands for; None for none. A lookup waits for the lane."""
        return await self._remembered(b"key", secret, self._ask_key, lane)

    async def by_login(self, token: str, lane: CapacityLimiter | None = None) -> Caller | None:
        """Return who has logged in with this cookie; None when the log-in has ended."""
        return await self._remembered(b"login", token, self._ask_login, lane)

    async def anybody(self) -> Caller | None:
        """Return whom a request without a key acts for; None where keys are needed.

        That is the settings' own tenant, as long as only this machine can connect and no key is
        valid: whoever makes the first one closes the server.
        """
        if self._settings.serve_auth == "keys":
            return None
        if self._settings.serve_auth == "auto" and not self._loopback:
            return None
        if self._open.until < time.monotonic():
            closed = self._settings.serve_auth == "auto" and await to_thread.run_sync(
                keys.any_valid, self._database
            )
            caller = None if closed else self.owner
            self._open = _Known(caller, time.monotonic() + self._remembered_s)
        return self._open.caller

    @property
    def owner(self) -> Caller:
        """Whoever runs the server."""
        settings = self._settings
        return Caller(settings.tenant, settings.principal, scopes=EVERYTHING, operator=True)

    async def forget(self, token: str) -> None:
        """End a log-in, here at once."""
        self._known.pop(sha256(b"login" + token.encode()).digest(), None)
        await to_thread.run_sync(logins.end, self._database, token)

    async def _remembered(
        self, kind: bytes, secret: str, ask: _Ask, lane: CapacityLimiter | None
    ) -> Caller | None:
        digest = sha256(kind + secret.encode("utf-8", "replace")).digest()
        entry = self._known.get(digest)
        time_s = time.monotonic()
        if entry is not None and entry.until > time_s:
            return entry.caller
        caller = await to_thread.run_sync(ask, secret, limiter=lane)
        if caller is None:
            self._known.pop(digest, None)  # what is unknown takes no room
            return None
        if len(self._known) >= MAX_REMEMBERED:
            self._known = {d: k for d, k in self._known.items() if k.until > time_s}
        if len(self._known) < MAX_REMEMBERED:
            self._known[digest] = _Known(caller, time_s + self._remembered_s)
        return caller

    def _ask_key(self, secret: str) -> Caller | None:
        return _caller(keys.verify(self._database, secret))

    def _ask_login(self, token: str) -> Caller | None:
        return _caller(logins.verify(self._database, token))


def _caller(access: Access | None) -> Caller | None:
    if access is None:
        return None
    who = (access.tenant, access.principal, access.collections)
    return Caller(*who, access.scopes, access.id, access.groups)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Ask = Callable[[str], Caller | None]
