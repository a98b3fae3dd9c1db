"""`ragkit mcp`: search and ask for other programs, by the Model Context Protocol."""

from typing import Annotated

import typer


def mcp(
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve over HTTP; every request needs an access key."
        ),
    ] = None,
) -> None:
    """Offer search and ask to other programs over standard input and output, or over HTTP.

    It acts for the tenant and principal of RAGKIT_KEY, or else for those in the settings.
    """
    from ragkit.access.library import Library
    from ragkit.adapters import mcp as mcp_server
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database

    settings = load_settings()
    address = None if http is None else _address(http)
    with open_database(settings) as database:
        library = Library(settings, database)
        if address is not None:
            from ragkit_serve.mcp.http import run_http

            run_http(library, database, settings, *address)
        else:
            mcp_server.run_stdio(library, mcp_server.caller_of(settings, database))


def _address(text: str) -> tuple[str, int]:
    from ragkit.errors import UsageError

    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise UsageError(f"{text!r} is no address: write it as 127.0.0.1:8765")
    return host.strip("[]"), int(port)
