"""For whom every statement is made: the database itself is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.serve.api.conftest import Serve, Site

# What a reader of documents is told to note: for whom, as the connection says.
_NOTE = """
    CREATE TABLE noted (tenant text, principal text);
    CREATE FUNCTION note() RETURNS boolean LANGUAGE sql AS $$
        INSERT INTO noted VALUES (
            current_setting('ragkit.tenant', true), current_setting('ragkit.principal', true)
        ) RETURNING true
    $$
"""


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("stream", [False, True])
def test_tenant_and_principal_travel_to_the_database(
    serve: Serve, key: Callable[..., str], site: Site, stream: bool
) -> None:
    ann, bob = key("read", "write", principal="ann"), key("read", tenant="other", principal="bob")
    with psycopg.connect(site.url, autocommit=True) as conn, serve() as live:
        conn.execute(_NOTE)
        conn.execute(
            "CREATE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM note(); RETURN NEW; END $$"
        )
        conn.execute(
            "CREATE TRIGGER t AFTER INSERT OR UPDATE ON conversation"
            " FOR EACH ROW EXECUTE FUNCTION noting()"
        )
        for secret, question in ((ann, "How many days of holiday?"), (bob, "What of the vault?")):
            body: dict[str, Any] = {
                "model": "ragkit",
                "messages": [{"role": "user", "content": question}],
                "stream": stream,
                "ragkit": {"conversation": "new"},
            }
            headers = {"authorization": f"Bearer {secret}"}
            url = f"{live.url}/v1/chat/completions"
            assert httpx.post(url, json=body, headers=headers, timeout=30).status_code == 200
        noted = set(conn.execute("SELECT tenant, principal FROM noted").fetchall())
    assert noted == {("default", "ann"), ("other", "bob")}
