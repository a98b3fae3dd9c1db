"""Log-in for the chat page: by a key, or by an OpenID Connect provider. Plain forms, no scripts.

What a log-in is worth is for `ragkit.access.logins`; what a provider says, for
`ragkit_serve.api.oidc`. A single sign-on belongs to the browser that began it: a cookie has the
secrets of those it has under way, and the provider's answer is worth nothing without one of them.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ragkit.access import logins
from ragkit_serve.api import oidc
from ragkit_serve.api.access import public
from ragkit_serve.api.authority import server_address
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.gate import COOKIE
from ragkit_serve.api.login_form import HEADERS, form_page, inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragkit.access.library import Caller
    from ragkit_serve.api.state import State

router = APIRouter()

SIGN_ON_COOKIE: Final = "ragkit_sign_on"
MAX_SIGN_ONS: Final = 5  # arbitrary: that one browser has under way at once, one for each tab
_SECRETS: Final = re.compile(r"[A-Za-z0-9_-]{43}(?:\.[A-Za-z0-9_-]{43}){0,4}")
_FORM: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 10  # arbitrary: the form has two


@router.get("/login", dependencies=[public()], response_class=HTMLResponse, include_in_schema=False)
def login_page(request: Request, next: str = "/") -> Response:
    """Show the form."""
    return form_page(request, next)


@router.post("/login", dependencies=[public()], include_in_schema=False)
async def log_in(request: Request) -> Response:
    """Log in by a key and go on to the page that was asked for."""
    state: State = request.app.state.ragkit
    form = await _form(request)
    next, key = form.get("next", "/"), form.get("key", "").strip()
    caller = await state.keyring.by_key(key, await state.quota.lane(request.scope))
    if caller is None:
        try:
            await state.quota.count_guess(request.scope)
        except ApiError as error:
            return _explained(request, next, error)
        return form_page(request, next, "wrong", 401)
    token = await to_thread.run_sync(_begun, state, caller)
    return _logged_in(request, token, next)


@router.post("/logout", dependencies=[public()], include_in_schema=False)
async def log_out(request: Request) -> Response:
    """End the log-in."""
    state: State = request.app.state.ragkit
    await state.keyring.forget(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/login/oidc", dependencies=[public()], include_in_schema=False)
async def sign_on(request: Request, next: str = "/") -> Response:
    """Begin a single sign-on and go to the provider."""
    state: State = request.app.state.ragkit
    try:
        await state.quota.count_sign_on(request.scope)
        started = await oidc.begin(state.services, _callback(request), inside(next))
    except ApiError as error:
        return _explained(request, next, error)
    response = RedirectResponse(started.url, 303, headers=HEADERS)
    _remember(request, response, [*_under_way(request), started.secret])
    return response


@router.get("/login/callback", dependencies=[public()], include_in_schema=False)
async def signed_on(request: Request, code: str = "", state: str = "") -> Response:
    """Take the provider's answer, if this browser began the sign-on that it belongs to."""
    server_state: State = request.app.state.ragkit
    browser = _under_way(request)
    lane = await server_state.quota.lane(request.scope)
    accepted = await to_thread.run_sync(
        logins.finish_sign_on, server_state.services.database, state, browser, limiter=lane
    )
    if accepted is None:
        return await _failed(request)
    place, begun = accepted
    try:
        token = await oidc.finish(server_state.services, _callback(request), code, begun)
    except ApiError as error:
        response = _explained(request, begun.next, error)
    else:
        response = (
            await _failed(request) if token is None else _logged_in(request, token, begun.next)
        )
    _remember(request, response, [*browser[:place], *browser[place + 1 :]])
    return response


async def _form(request: Request) -> dict[str, str]:
    """Read the form; of a field that comes twice, the first. Raises ApiError."""
    content_type = request.headers.get("content-type", "").partition(";")[0]
    if content_type.strip().lower() != _FORM:
        raise ApiError(415, f"send the form as {_FORM}", code="content_type")
    try:
        text = (await request.body()).decode("utf-8", "replace")
        fields = parse_qs(text, max_num_fields=_MAX_FIELDS)
    except (ClientDisconnect, ValueError) as error:
        raise ApiError(400, "the form cannot be read", code="form") from error
    return {name: values[0] for name, values in fields.items()}


def _begun(state: State, caller: Caller) -> str:
    return logins.begin(
        state.services.database,
        tenant=caller.tenant,
        principal=caller.principal,
        scopes=tuple(caller.scopes),
        collections=caller.collections,
        key=caller.key,
        groups=tuple(caller.groups),
    )


def _logged_in(request: Request, token: str, next: str) -> Response:
    response = RedirectResponse(inside(next), 303, headers={"cache-control": "no-store"})
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(logins.LASTS_S),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


async def _failed(request: Request) -> Response:
    """Count an answer that logs nobody in as a guess, and show the form."""
    state: State = request.app.state.ragkit
    try:
        await state.quota.count_guess(request.scope)
    except ApiError as error:
        return _explained(request, "/", error)
    return form_page(request, "/", "failed", 401)


def _explained(request: Request, next: str, error: ApiError) -> Response:
    """Show a person on the form what a program reads in the error itself."""
    is_busy = error.status == 429
    if not (is_busy or error.status >= 500) or "text/html" not in request.headers.get("accept", ""):
        raise error
    return form_page(request, next, "busy" if is_busy else "away", error.status, error.headers)


def _under_way(request: Request) -> list[str]:
    """Return the secrets of the sign-ons that this browser has begun, the oldest first."""
    name, _ = _cookie_of(request)
    text = request.cookies.get(name, "")
    return text.split(".") if _SECRETS.fullmatch(text) else []


def _remember(request: Request, response: Response, browser: Sequence[str]) -> None:
    """Have the browser keep the newest of these secrets; without any, no cookie."""
    name, path = _cookie_of(request)
    keep = partial(
        response.set_cookie,
        name,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
        path=path,
    )
    if browser:
        keep(".".join(browser[-MAX_SIGN_ONS:]), max_age=int(logins.SIGN_ON_S))
    else:
        keep("", max_age=0)


def _cookie_of(request: Request) -> tuple[str, str]:
    """Return the cookie's name and path.

    Over TLS the prefix keeps other hosts of the domain from setting it, which demands the path /.
    """
    if request.url.scheme == "https":
        return f"__Host-{SIGN_ON_COOKIE}", "/"
    return SIGN_ON_COOKIE, "/login"


def _callback(request: Request) -> str:
    return f"{server_address(request)}/login/callback"
