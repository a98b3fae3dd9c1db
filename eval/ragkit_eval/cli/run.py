"""`ragkit eval run`: ask a language model the items of tasks, and write a run file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.errors import UsageError
from ragkit_eval.cli.options import DataFolder, Groups, JsonOption

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_eval.run.record import Run


def run(
    tasks: Annotated[
        list[str], typer.Argument(help="Tasks to run; `ragkit eval tasks` lists them.")
    ],
    out: Annotated[
        Path, typer.Option(help="Run file; an unfinished run with the same settings is continued.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="Name of the model at the server (default: the setting RAGKIT_LLM_MODEL)."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="Base URL of the server, ending in /v1 (default: the setting RAGKIT_LLM_URL)."
        ),
    ] = None,
    data: DataFolder = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of items of each task; always the same items."),
    ] = None,
    group: Groups = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=4096, help="Number of concurrent requests.")
    ] = 32,
    timeout_s: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Seconds allowed for one answer (default: the setting "
            "RAGKIT_LLM_TOTAL_TIMEOUT_S).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed sent with each request.")] = 0,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--completions",
            help="Use the chat or the completions endpoint (default: as the task says).",
        ),
    ] = None,
    special_tokens: Annotated[
        bool,
        typer.Option(help="Let the server add special tokens such as <s> to prompts."),
    ] = True,
    revision: Annotated[str, typer.Option(help="Revision of the model, for the record.")] = "",
    server_args: Annotated[str, typer.Option(help="Arguments of the server, for the record.")] = "",
    label: Annotated[str, typer.Option(help="Name of the run in tables and plots.")] = "",
    execute_code: Annotated[
        bool,
        typer.Option("--execute-code", help="Run programs that the model writes, in a sandbox."),
    ] = False,
    weak_sandbox: Annotated[
        bool,
        typer.Option(
            "--weak-sandbox", help="Run them even if this machine cannot confine them fully."
        ),
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Judge of written answers, asked at RAGKIT_LLM_URL: llm, llm:quality, or "
            "MODULE:ATTRIBUTE."
        ),
    ] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(help="Run file whose answers to the same items are reused (repeatable)."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite a run file that holds another run.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run tasks against a language model behind an OpenAI-compatible server.

    Every item is written at once, so that the same command continues a run that was stopped. Exit
    codes: 0 done, 1 failed, 2 wrong usage, 3 some items ended in an error.
    """
    from ragkit.settings.settings import load_settings
    from ragkit_eval.judge import open_judge
    from ragkit_eval.run import evaluate, shown_progress

    settings = load_settings()
    try:
        with shown_progress() as progress:
            result = evaluate(
                tasks,
                url=_choose_url(settings, url),
                out=out,
                model=_choose_model(settings, model, url),
                api_key=_choose_key(settings, url),
                revision=revision,
                server_args=server_args,
                data=data,
                limit=limit,
                groups=group or (),
                concurrency=concurrency,
                timeout_s=timeout_s or settings.llm_total_timeout_s,
                seed=seed,
                chat=chat,
                special_tokens=special_tokens,
                execute_code=execute_code,
                weak_sandbox=weak_sandbox,
                judge=open_judge(judge, settings) if judge else None,
                label=label,
                reuse=reuse or (),
                overwrite=overwrite,
                progress=progress,
            )
    except (KeyboardInterrupt, SystemExit):
        typer.echo(f"ragkit: stopped; the same command goes on from what is in {out}", err=True)
        raise
    _print(result, json=json)


def _choose_url(settings: "Settings", url: str | None) -> str:
    """Choose the server. Raises UsageError unless one model server is named."""
    server = url or settings.llm_url
    if server is None:
        raise UsageError(
            "no model server is named: start one with 'ragkit model serve', then give --url or set"
            " RAGKIT_LLM_URL"
        )
    if server.startswith(("local:", "provider:")):
        raise UsageError(
            f"{server.partition(':')[0]}: is no model server, which 'ragkit eval run' needs: start"
            " one with 'ragkit model serve' and give --url http://127.0.0.1:8000/v1"
        )
    if len(server.split()) > 1:
        raise UsageError("RAGKIT_LLM_URL names several servers: name the one to measure with --url")
    return server


def _choose_model(settings: "Settings", model: str | None, url: str | None) -> str | None:
    """Choose the model; the configured one belongs to the configured server only."""
    return model or (settings.llm_model if _is_configured_server(settings, url) else None)


def _choose_key(settings: "Settings", url: str | None) -> str | None:
    """Return the configured server's key; it is not sent to another server."""
    key = settings.llm_api_key
    return key.get_secret_value() if key and _is_configured_server(settings, url) else None


def _is_configured_server(settings: "Settings", url: str | None) -> bool:
    return url is None or settings.llm_url is None or url in settings.llm_url.split()


def _print(run: "Run", *, json: bool) -> None:
    from ragkit.cli.render import print_json
    from ragkit.text.printable import printable
    from ragkit_eval.run.summary import coverage_line, summarise, summary_json, summary_lines

    summaries = summarise(run)
    if json:
        tasks = [summary_json(summary) for summary in summaries.values()]
        print_json({"run": str(run.path), "name": run.header.name, "tasks": tasks})
    else:
        for line in [*summary_lines(summaries), *map(coverage_line, summaries.values())]:
            typer.echo(printable(line))
    errors = [record for record in run.records if record.status == "error"]
    if errors:
        first = f"{errors[0].task} {errors[0].id}: {errors[0].error}"
        count = f" (first of {len(errors):,})" if len(errors) > 1 else ""
        typer.echo(f"ragkit: {printable(first)}{count}; the same command asks again", err=True)
        raise typer.Exit(1 if len(errors) == len(run.records) else 3)
