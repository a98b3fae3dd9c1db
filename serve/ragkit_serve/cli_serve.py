"""`ragkit serve`: the chat page, the HTTP API and the ingestion worker, by one command."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Processes that answer.")
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="The chat page at /.")] = True,
    worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="The worker that takes uploads in.")
    ] = True,
) -> None:
    """Serve the chat page and the HTTP API, by default to this machine alone.

    Ends on SIGTERM or Ctrl-C: nothing new is taken, running answers are finished.
    """
    import os

    from ragkit.settings import load_settings
    from ragkit_serve.supervise import serve as run

    given = {"HOST": host, "PORT": port, "WORKERS": workers}
    for name, value in given.items():  # the processes that it starts read the same settings
        if value is not None:
            os.environ[f"RAGKIT_SERVE_{name}"] = str(value)

    def ready(url: str) -> None:
        what = "the chat page and the API are" if page else "the API is"
        typer.echo(f"{what} at {url} (Ctrl-C ends it)")

    run(load_settings(), page=page, worker=worker, on_ready=ready)
