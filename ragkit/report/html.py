"""What pages of reports share: their look, and a policy that lets them load nothing else."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

Part = Literal["colours", "page", "drawing"]

_FOLDER = Path(__file__).parent


def read_style(*parts: Part) -> str:
    """Return the style of a page (all three parts) or of a picture (colours and drawing).

    It is light or dark as the reader's system is, light in print, and holds no `</`.
    """
    return "".join(_read(part) for part in parts)


def make_policy(style: str, script: str = "") -> str:
    """Return a content security policy that allows this style and this script, by their hashes.

    Nothing else is loaded or run, whatever text of a document or model stands on the page.
    """
    scripts = f" script-src {_hash_source(script)};" if script else ""
    return (
        f"default-src 'none'; style-src {_hash_source(style)};{scripts}"
        " base-uri 'none'; form-action 'none'"
    )


@cache
def _read(part: str) -> str:
    return (_FOLDER / f"{part}.css").read_text("utf-8")


def _hash_source(part: str) -> str:
    return f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"
