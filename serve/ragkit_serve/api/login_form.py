"""The log-in form as a page: plain HTML in English or Chinese, no scripts.

Its colours are the chat page's, in the two files that are served before log-in.
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
        "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",  # without any, browsers say that the form's origin is null
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_WORDS: Final = {
    "en": {
        "title": "Log in",
        "about": "Ask your documents, with sources you can check.",
        "key": "Access key",
        "key_hint": "The person who runs this server can give you one. It begins with rk_.",
        "submit": "Log in",
        "or": "or",
        "wrong": "This key is not valid. Check that you copied all of it, or ask the person"
        " who runs this server for a new one.",
        "sign_on": "Log in with your organisation's account",
        "failed": "The log-in with your organisation's account failed. Try again.",
        "away": "Your organisation's log-in cannot be reached. Try again later, or use a key.",
        "busy": "Too many attempts came from your address. Try again in a minute.",
    },
    "zh": {
        "title": "登录",
        "about": "向您的文档提问，每个回答都注明出处。",
        "key": "访问密钥",
        "key_hint": "密钥以 rk_ 开头，可向管理这台服务器的人索取。",
        "submit": "登录",
        "or": "或",
        "wrong": "此密钥无效。请检查是否复制完整，或向管理这台服务器的人索取新的密钥。",
        "sign_on": "使用组织账号登录",
        "failed": "组织账号登录失败，请重试。",
        "away": "暂时无法连接组织账号登录服务，请稍后重试，或使用密钥登录。",
        "busy": "来自您的地址的尝试过多，请一分钟后再试。",
    },
}
_PAGE: Final = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · ragkit</title>
<link rel="icon" href="/ui/static/mark.svg">
<link rel="stylesheet" href="/ui/static/look.css">
<style>
:root {{ color-scheme: light dark; }}
* {{ box-sizing: border-box; }}
body {{ display: grid; place-items: center; min-height: 100dvh; margin: 0; padding: 1rem;
  background: var(--rk-back); color: var(--rk-text); font: 16px/1.55 var(--rk-font); }}
main {{ width: min(25rem, 100%); padding: 2rem; border: 1px solid var(--rk-line);
  border-radius: var(--rk-radius); background: var(--rk-surface);
  box-shadow: var(--rk-shadow); }}
.rk-brand-name {{ font-size: 1.5rem; }}
p {{ margin: .2rem 0 0; }}
.about, .hint, .or {{ color: var(--rk-soft); }}
h1 {{ margin: 1.6rem 0 .8rem; font-size: 1.25rem; }}
label {{ display: block; margin-bottom: .3rem; font-weight: 600; }}
input, button, a.button {{ display: block; width: 100%; min-height: 2.9rem; padding: .6rem .9rem;
  border: 1px solid var(--rk-control-line); border-radius: var(--rk-radius-small);
  background: var(--rk-surface); color: var(--rk-text); font: inherit; }}
:focus-visible {{ outline: 2px solid var(--rk-brand); outline-offset: 2px; }}
.hint {{ margin: .4rem 0 1.1rem; font-size: .88rem; }}
button {{ border-color: var(--rk-brand); background: var(--rk-brand); color: var(--rk-on-brand);
  font-weight: 600; cursor: pointer; }}
button:hover {{ border-color: var(--rk-brand-hover); background: var(--rk-brand-hover); }}
a.button {{ text-align: center; text-decoration: none; }}
a.button:hover {{ border-color: var(--rk-brand); background: var(--rk-brand-soft); }}
.or {{ margin: .8rem 0; text-align: center; font-size: .9rem; }}
.wrong {{ margin: 0 0 1rem; padding: .6rem .9rem; border: 1px solid var(--rk-error);
  border-radius: var(--rk-radius-small); background: var(--rk-error-fill);
  color: var(--rk-error); }}
</style></head><body><main>
<span class="rk-brand-name">ragkit</span>
<p class="about">{about}</p>
<h1>{title}</h1>
{notice}<form method="post" action="/login">
<input type="hidden" name="next" value="{next}">
<label for="key">{key}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus
 aria-describedby="key-hint">
<p class="hint" id="key-hint">{key_hint}</p>
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
        sign_on = (
            f'\n<p class="or">{words["or"]}</p>'
            f'<a class="button" href="{link}">{words["sign_on"]}</a>'
        )
    page = _PAGE.format(
        language=language,
        **{name: words[name] for name in ("title", "about", "key", "key_hint", "submit")},
        next=escape(inside(next)),
        notice=f'<p class="wrong" role="alert">{words[notice]}</p>\n' if notice else "",
        sign_on=sign_on,
    )
    return HTMLResponse(page, status, headers={**HEADERS, **(headers or {})})
