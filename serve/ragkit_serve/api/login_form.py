"""The log-in form as a page: plain HTML in English or Chinese, no scripts.

It knows nothing of keys or providers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final, Literal

from starlette.responses import HTMLResponse

if TYPE_CHECKING:
    from starlette.requests import Request

Notice = Literal["", "wrong", "failed", "away", "busy"]
_NEXT: Final = re.compile(r"/(?![/\\])[A-Za-z0-9._~/-]{0,200}")  # a path here, and nowhere else
HEADERS: Final = {
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
        "busy": "Too many attempts came from your address. Try again in a minute.",
    },
    "zh": {
        "title": "登录 ragkit",
        "key": "访问密钥",
        "submit": "登录",
        "wrong": "此密钥无效。请向服务器管理员索取。",
        "sign_on": "使用组织账号登录",
        "failed": "组织账号登录失败，请重试。",
        "away": "暂时无法连接组织账号登录服务，请稍后重试，或使用密钥登录。",
        "busy": "来自您的地址的尝试过多，请一分钟后再试。",
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
{notice}<form method="post" action="/login">
<input type="hidden" name="next" value="{next}">
<label for="key">{key}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>{submit}</button>
</form>{sign_on}</main></body></html>
"""


def inside(next: str) -> str:
    """Return a path of this server; anything else leads to the front page."""
    return next if _NEXT.fullmatch(next) else "/"


def form_page(
    request: Request,
    next: str,
    notice: Notice = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return the form, with a notice above it and the way to single sign-on where there is one."""
    language = "zh" if request.headers.get("accept-language", "").startswith("zh") else "en"
    words = _WORDS[language]
    sign_on = ""
    if request.app.state.services.settings.oidc_issuer:
        link = f"/login/oidc?next={escape(inside(next))}"
        sign_on = f'\n<a class="button" href="{link}">{words["sign_on"]}</a>'
    page = _PAGE.format(
        language=language,
        title=words["title"],
        key=words["key"],
        submit=words["submit"],
        next=escape(inside(next)),
        notice=f'<p class="wrong" role="alert">{words[notice]}</p>\n' if notice else "",
        sign_on=sign_on,
    )
    return HTMLResponse(page, status, headers={**HEADERS, **(headers or {})})
