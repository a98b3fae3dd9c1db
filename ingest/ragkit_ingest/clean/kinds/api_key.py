"""Find keys of programs: those with a known prefix, JSON web tokens, and named or sent secrets.

Only long runs of a key's characters are looked at, and each once. A password without a sign is not
found: it looks like any word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ragkit.types import Span
from ragkit_ingest.clean.kinds.candidates import tokens

_W = r"[0-9A-Za-z_-]"
# From the issuers' own documentation of how their keys look.
_PREFIXED: Final = (
    r"A[KS]IA[0-9A-Z]{16}",  # AWS, and its temporary keys
    r"gh[pousr]_[0-9A-Za-z]{36,255}",  # GitHub
    r"github_pat_[0-9A-Za-z_]{22,255}",
    rf"glpat-{_W}{{20,}}+",  # GitLab
    rf"sk-(?:proj|ant|admin|svcacct|or)-(?=[A-Za-z_-]*+[0-9]){_W}{{20,}}+",  # OpenAI, Anthropic
    r"sk-(?=[A-Za-z]*+[0-9])[0-9A-Za-z]{20,}+",  # OpenAI, DeepSeek, DashScope
    rf"xox[abeoprs]-(?=[A-Za-z-]*+[0-9]){_W}{{10,}}+",  # Slack
    rf"AIza{_W}{{35}}",  # Google
    rf"GOCSPX-{_W}{{28}}",
    rf"ya29\.{_W}{{20,}}+",
    r"[sr]k_(?:live|test)_[0-9A-Za-z]{16,}+",  # Stripe
    r"whsec_[0-9A-Za-z+/=]{24,}+",
    r"hf_[0-9A-Za-z]{30,}+",  # Hugging Face
    r"gsk_[0-9A-Za-z]{40,}+",  # Groq
    r"r8_[0-9A-Za-z]{37}",  # Replicate
    r"npm_[0-9A-Za-z]{36}",
    rf"pypi-AgEIcHlwaS5vcmc{_W}{{50,}}+",
    rf"SG\.{_W}{{22}}\.{_W}{{43}}",  # SendGrid
    r"dop_v1_[0-9a-f]{64}",  # DigitalOcean
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Shopify
    r"LTAI[0-9A-Za-z]{12,26}",  # Alibaba Cloud
    r"AKID[0-9A-Za-z]{32}",  # Tencent Cloud
    r"rk_[0-9a-f]{64}",  # ragkit's own
    rf"eyJ{_W}{{8,}}+\.eyJ{_W}{{8,}}+\.{_W}*+",  # JSON web token, RFC 7519
    r"(?<=hooks\.slack\.com/services/)[0-9A-Za-z/]{20,}+",
)
_SIGNED = re.compile(f"(?<![0-9A-Za-z_-])(?:{'|'.join(_PREFIXED)})(?![0-9A-Za-z_-])")
# What a value is called, api_key = "...", how it is sent, RFC 6750, or a Telegram bot's number.
_LED = re.compile(
    r"""(?ix)
    (?:
      (?:api|access|secret|auth|account|client|private|refresh|bearer) [ _-]?
      (?:access[ _-]?)? (?:key|token|secret) (?:[ _-]?(?:id|key))?
      ["'”]?\s{0,3} (?:=>|[=:：]) \s{0,3}
    | (?<![a-z])bearer[ ]
    | (?<![0-9])[0-9]{8,10}:
    ) ["'“]?\Z"""
)
_LONGEST_NAME_CHARS = 48  # arbitrary; longer than any name, sign and quotation marks above
_VALUE = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z_./+=-]{19,}+")
# A password in an address, RFC 3986 3.2.1; one in angle brackets or braces only stands for one.
_PASSWORD = re.compile(r"://[^\s/:@<>{}]{1,64}:([^\s/:@<>{}$*]{3,128})@")
_STAND_IN = re.compile(r"(?i)your|example|x{4}|\.{3}|placeholder|changeme|_here")
_DIGIT = re.compile(r"[0-9]")
_FEWEST_DIGITS = 3  # arbitrary; random characters have more, names of variables hardly any


def find(text: str) -> Iterator[Span]:
    """Yield the keys of a text, in no order; they may overlap."""
    for token in tokens(text):
        if not _DIGIT.search(text, token.start, token.end):
            continue
        # One character more shows what follows; it is in no key.
        for match in _SIGNED.finditer(text, token.start, min(token.end + 1, len(text))):
            yield Span(*match.span())
        yield from _value(text, token)
    for at in _places(text, "://"):
        password = _PASSWORD.match(text, at)
        if password and not _STAND_IN.search(password.group(1)):
            yield Span(*password.span(1))


def _value(text: str, token: Span) -> Iterator[Span]:
    """Yield the value that a name before the token, or at its beginning, says is secret."""
    start = token.start
    if "=" in text[start : start + _LONGEST_NAME_CHARS]:  # name=value, in one token
        start = text.index("=", start) + 1
    value = _VALUE.match(text, start, token.end)
    if not value or not _LED.search(text[max(0, start - _LONGEST_NAME_CHARS) : start]):
        return
    if len(_DIGIT.findall(value.group())) < _FEWEST_DIGITS or _STAND_IN.search(value.group()):
        return
    yield Span(*value.span())


def _places(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))
