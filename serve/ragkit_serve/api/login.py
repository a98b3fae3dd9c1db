"""Log-in for the chat page: by a key, or by an OpenID Connect provider. Plain forms, no scripts.

What a log-in is worth is for `ragkit.logins`; what a provider says, for `ragkit_serve.api.oidc`.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Annotated, Final

from anyio import to_thread
from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ragkit import keys, logins
from ragkit.keys import Access
from ragkit_serve.api import oidc
from ragkit_serve.api.access import public
from ragkit_serve.api.errors import ApiError
from ragkit_serve.api.gate import COOKIE

if TYPE_CHECKING:
    from ragkit_serve.api.state import State

router = APIRouter()

_NEXT: Final = re.compile(r"/(?![/\\])[A-Za-z0-9._~/-]{0,200}")  # a path here, and nowhere else
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",  # without any, browsers say that the form's origin is null
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_WORDS: Final = {
    "en": {
        "title": "Log in to ragkit",
        "key": "Access key",
        "submit": "Log in",
        "wrong": "This key is not valid. Ask whoever runs the server for one.",
        "sign_on": "Log in with your organisation's account",
        "failed": "Your organisation's log-in failed. Try again.",
        "away": "Your organisation's log-in cannot be reached. Try again later, or use a key.",
    },
    "zh": {
        "title": "登录 ragkit",
        "key": "访问密钥",
        "submit": "登录",
        "wrong": "此密钥无效。请向服务器管理员索取。",
        "sign_on": "使用组织账号登录",
        "failed": "组织账号登录失败，请重试。",
        "away": "暂时无法连接组织账号登录服务，请稍后重试，或使用密钥登录。",
    },
}
_PAGE: Final = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }}
body {{ display: grid; place-items: center; min-height: 90vh; margin: 1rem; }}
main {{ width: min(24rem, 100%); }}
h1 {{ font-size: 1.4rem; }}
label, input, button, a.button {{ display: block; width: 100%; box-sizing: border-box; }}
input, button, a.button {{ font: inherit; padding: .6rem; margin: .4rem 0 1rem;
  border: 1px solid GrayText; border-radius: .4rem; text-align: center; }}
button {{ background: #1d4ed8; color: white; border: 0; cursor: pointer; }}
a.button {{ color: inherit; text-decoration: none; }}
.wrong {{ border-left: .3rem solid #dc2626; padding: .4rem .8rem; }}
</style></head><body><main>
<h1>{title}</h1>
{said}<form method="post" action="/login">
<input type="hidden" name="next" value="{next}">
<label for="key">{key}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>{submit}</button>
</form>{sign_on}</main></body></html>
"""


@router.get("/login", dependencies=[public()], response_class=HTMLResponse, include_in_schema=False)
def login_page(request: Request, next: str = "/") -> Response:
    """Show the form."""
    return _page(request, next)


@router.post("/login", dependencies=[public()], include_in_schema=False)
async def log_in(
    request: Request,
    key: Annotated[str, Form(max_length=200)] = "",
    next: Annotated[str, Form(max_length=300)] = "/",
) -> Response:
    """Log in by a key and go on to the page that was asked for."""
    state: State = request.app.state.ragkit
    await state.quota.check_guesses(request.scope)
    database = state.services.database
    access = await to_thread.run_sync(keys.verify, database, key.strip())
    if access is None:
        await state.quota.count_guess(request.scope)
        return _page(request, next, "wrong", 401)
    token = await to_thread.run_sync(lambda: _begun(state, access))
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
    """Go to the provider."""
    state: State = request.app.state.ragkit
    try:
        url = await oidc.begin(state.services, _callback(request), _inside(next))
    except ApiError as error:
        return _away(request, next, error)
    return RedirectResponse(url, 303, headers=_HEADERS)


@router.get("/login/callback", dependencies=[public()], include_in_schema=False)
async def signed_on(request: Request, code: str = "", state: str = "") -> Response:
    """Take the provider's answer."""
    here: State = request.app.state.ragkit
    try:
        done = await oidc.finish(here.services, _callback(request), code=code, state=state)
    except ApiError as error:
        return _away(request, "/", error)
    if done is None:
        await here.quota.count_guess(request.scope)
        return _page(request, "/", "failed", 401)
    return _logged_in(request, done.token, done.next)


def _begun(state: State, access: Access) -> str:
    return logins.begin(
        state.services.database,
        tenant=access.tenant,
        principal=access.principal,
        scopes=access.scopes,
        collections=access.collections,
        key=access.id,
        groups=access.groups,
    )


def _logged_in(request: Request, token: str, next: str) -> Response:
    response = RedirectResponse(_inside(next), 303, headers={"cache-control": "no-store"})
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(logins.LASTS_S),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


def _away(request: Request, next: str, error: ApiError) -> Response:
    """Tell a person on the form what a program is told by the error itself."""
    if error.status < 500 or "text/html" not in request.headers.get("accept", ""):
        raise error
    return _page(request, next, "away", error.status)


def _callback(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers['host']}/login/callback"


def _inside(next: str) -> str:
    """Return a path of this server; anything else leads to the front page."""
    return next if _NEXT.fullmatch(next) else "/"


def _page(request: Request, next: str, said: str = "", status: int = 200) -> HTMLResponse:
    language = "zh" if request.headers.get("accept-language", "").startswith("zh") else "en"
    words = _WORDS[language]
    settings = request.app.state.services.settings
    sign_on = ""
    if settings.oidc_issuer:
        link = f"/login/oidc?next={escape(_inside(next))}"
        sign_on = f'\n<a class="button" href="{link}">{words["sign_on"]}</a>'
    page = _PAGE.format(
        language=language,
        title=words["title"],
        key=words["key"],
        submit=words["submit"],
        next=escape(_inside(next)),
        said=f'<p class="wrong" role="alert">{words[said]}</p>\n' if said else "",
        sign_on=sign_on,
    )
    return HTMLResponse(page, status, headers=_HEADERS)
