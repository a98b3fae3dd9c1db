"""Write a setting's value for people to read, without the passwords and keys in it."""

from __future__ import annotations

import re
from typing import Final

from pydantic import SecretStr

_DATABASES: Final = frozenset({"database_url", "database_owner_url", "database_replica_url"})
_SECRETS: Final = frozenset(
    {"llm_api_key", "embed_api_key", "reranker_api_key", "key", "oidc_client_secret"}
)


def masked(name: str, value: object) -> str:
    """Write a setting's value for people to read, without passwords and keys.

    >>> masked("llm_url", "http://me:secret@host/v1?key=secret")
    'http://***@host/v1?***'
    """
    text = str(value.get_secret_value() if isinstance(value, SecretStr) else value)
    if name in {"llm_url", "embed_url", "reranker"}:
        return " ".join(_masked_url(url) for url in text.split()) or text
    if name in _DATABASES:
        return _masked_database_url(text)
    return "***" if name in _SECRETS else text


def _masked_url(url: str) -> str:
    return re.sub(r"\?.*", "?***", re.sub(r"^(\w+://)?.*@", r"\1***@", url))


def is_database_url(text: str) -> bool:
    """Tell whether libpq takes the text as an address and cannot mistake a password's characters.

    In postgresql://u:p/w@host libpq reads u as the host and shows the rest as port and database.
    """
    import psycopg
    from psycopg import pq

    url = re.fullmatch(r"postgres(?:ql)?://(?:[^/?#@]*@)?[^@]*", text)
    try:
        pq.Conninfo.parse(text.encode())
    except (psycopg.Error, UnicodeError):
        return False
    return bool(url) or "://" not in text.partition("=")[0]


def _masked_database_url(text: str) -> str:
    """Show the parts that libpq reads, save those that it calls secret itself."""
    if not is_database_url(text):
        return "***"
    from psycopg import pq

    return " ".join(
        f"{part.keyword.decode()}={'***' if b'*' in part.dispchar else part.val.decode()}"
        for part in pq.Conninfo.parse(text.encode())
        if part.val
    )
