"""`ragkit serve`: the chat page, the HTTP API and the ingestion worker, by one command."""

from __future__ import annotations

from typing import Annotated

import typer

from ragkit.cli.words import say


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Number of processes that answer.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="Serve the chat page at /.")
    ] = True,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Run a worker that reads uploaded files.")
    ] = True,
) -> None:
    """Serve the chat page and the HTTP API, by default only to this machine.

    Ctrl-C or SIGTERM stops it: it accepts nothing new and finishes the answers in progress.
    """
    import os

    from ragkit.settings.settings import load_settings
    from ragkit_serve.web.supervise import serve as run

    options = {"HOST": host, "PORT": port, "WORKERS": workers}
    for name, value in options.items():  # the processes that it starts read the same settings
        if value is not None:
            os.environ[f"RAGKIT_SERVE_{name}"] = str(value)

    def ready(url: str) -> None:
        text = (
            "The chat page and the API are at {url} (Ctrl-C stops the server)"
            if page
            else "The API is at {url} (Ctrl-C stops the server)"
        )
        typer.echo(say(text, url=url))

    run(load_settings(), page=page, worker=worker, on_ready=ready)
