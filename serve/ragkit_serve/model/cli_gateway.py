"""`ragkit model gateway`: an nginx configuration for several model servers, written and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def gateway(
    backends: Annotated[
        list[str],
        typer.Option(
            "--backends", metavar="URL", help="Model server, http://host:port (repeatable)."
        ),
    ],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="More model servers.")
    ] = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT")] = "127.0.0.1:8080",
    balance: Annotated[
        Literal["least-conn", "prefix"],
        typer.Option(
            help="Send requests to the least busy server, or prompts with the "
            "same beginning to the same server."
        ),
    ] = "least-conn",
    output: Annotated[
        Path | None, typer.Option(help="Folder for the generated files (default: ./gateway).")
    ] = None,
    backend_key_file: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File with the key of the servers, if it differs from the clients' key.",
        ),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    tls_key: Annotated[Path | None, typer.Option(exists=True, dir_okay=False)] = None,
    connections: Annotated[
        int, typer.Option(min=1, help="Maximum number of connections from one address.")
    ] = 256,
    requests_per_s: Annotated[
        int,
        typer.Option(
            min=0, help="Maximum number of requests a second from one address; 0 for no limit."
        ),
    ] = 0,
    silence: Annotated[
        int,
        typer.Option(
            min=1, help="Seconds that a server may send nothing before it counts as failed."
        ),
    ] = 300,
    run: Annotated[
        bool, typer.Option("--run", help="Run nginx with the generated configuration.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put several model servers behind one address, with one key and nothing else let through.

    Clients present RAGKIT_LLM_API_KEY; without one a key is made and printed. A question goes on to
    the next server as long as none of its answer has come.
    """
    import secrets

    from ragkit.errors import UsageError
    from ragkit.render import print_json
    from ragkit.settings import load_settings
    from ragkit_serve.model.gateway import config, nginx
    from ragkit_serve.model.gateway.backends import parse_backend, parse_listen

    settings = load_settings()
    own = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    key = own or secrets.token_urlsafe(32)
    servers = backend_key_file.read_text(encoding="utf-8").strip() if backend_key_file else key
    if own is None and backend_key_file is None:
        raise UsageError(
            "the servers' key is not known: set RAGKIT_LLM_API_KEY to it, or give it by"
            " --backend-key-file"
        )
    folder = (output or Path("gateway")).absolute()
    chosen = config.Gateway(
        backends=[parse_backend(url) for url in (*backends, *(more or ()))],
        listen=parse_listen(listen),
        client_keys=[key],
        backend_key=servers,
        balance=balance,
        connections=connections,
        requests_per_s=requests_per_s,
        silence_s=silence,
        certificate=tls_cert.absolute() if tls_cert else None,
        certificate_key=tls_key.absolute() if tls_key else None,
    )
    config.write(config.files(chosen, folder), folder)
    program = nginx.find_nginx()
    if program is not None:
        nginx.check(program, folder)
    url = f"{'https' if tls_cert else 'http'}://{listen.replace('*', '127.0.0.1')}/v1"
    if as_json:
        print_json({"config": str(folder / config.CONFIG), "checked": bool(program), "url": url})
    else:
        done = "written and checked by nginx" if program else "written, not checked"
        typer.echo(f"{folder / config.CONFIG}: {done}")
        typer.echo(f"  export RAGKIT_LLM_URL={url}")
        if own is None:
            typer.echo(f"  export RAGKIT_LLM_API_KEY={key}")
    if program is None:
        typer.echo("ragkit: nginx is not installed: apt install nginx-light", err=True)
        raise typer.Exit(1 if run else 0)
    if run:
        nginx.run(program, folder, lambda: typer.echo(f"nginx runs at {url}", err=True))
    elif not as_json:
        typer.echo(f"  nginx -p {folder} -c {folder / config.CONFIG} -g 'daemon off;'")
