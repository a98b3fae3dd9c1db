"""The `ragkit` command: a table of commands, each imported when it is called.

Help must answer at once, so this file holds one line about each command and imports none of them.
"""

import typer

from ragkit import __version__
from ragkit.cli.entry import main
from ragkit.cli.lazy import Entry, lazy_group

__all__ = ["COMMANDS", "app", "main"]

_MORE = "More commands"
COMMANDS = {
    "ingest": Entry(
        "ragkit_ingest.cli.ingest:ingest",
        "Read files and folders, so that questions can be answered from them.",
    ),
    "ask": Entry("ragkit.cli.ask:ask", "Answer a question with citations, or say that it cannot."),
    "chat": Entry("ragkit.cli.chat:chat", "Talk with your documents; the conversation is saved."),
    "search": Entry("ragkit.cli.search:search", "Find passages by meaning and by words."),
    "serve": Entry(
        "ragkit_serve.web.cli_serve:serve", "Serve the chat page and the OpenAI-compatible API."
    ),
    "documents": Entry("ragkit.cli.documents:app", "List, show, restore and delete documents."),
    "doctor": Entry("ragkit.cli.doctor:doctor", "Check the installation and suggest remedies."),
    "config": Entry(
        "ragkit.cli.config:config", "Show the settings and where each value comes from."
    ),
    "collections": Entry(
        "ragkit.cli.collections:app",
        "List, create, rename and delete collections; set their metadata keys and options.",
        _MORE,
    ),
    "share": Entry(
        "ragkit.cli.share:share", "Choose who may read a collection or a document.", _MORE
    ),
    "conversations": Entry(
        "ragkit.cli.conversations:app",
        "List, show, rename and delete conversations; list the ratings of answers.",
        _MORE,
    ),
    "jobs": Entry(
        "ragkit.cli.jobs:app", "List, show, retry, cancel and report ingestion jobs.", _MORE
    ),
    "worker": Entry(
        "ragkit_ingest.cli.worker:worker", "Read queued and uploaded files as they arrive.", _MORE
    ),
    "index": Entry(
        "ragkit.cli.index:app",
        "Show, build and tune the vector index; change the embedding model.",
        _MORE,
    ),
    "eval": Entry(
        "ragkit_eval.cli.main:app", "Evaluate models, indexes and answers, and compare runs.", _MORE
    ),
    "model": Entry("ragkit_models.cli:app", "Serve, plan and quantize language models.", _MORE),
    "tune": Entry(
        "ragkit_tune.cli:app",
        "Train models on your own documents, and prove that they are better.",
        _MORE,
    ),
    "mcp": Entry(
        "ragkit_serve.mcp.cli:mcp", "Offer search and ask to other programs (MCP).", _MORE
    ),
    "keys": Entry("ragkit.cli.keys:app", "Create, list and revoke access keys.", _MORE),
    "db": Entry(
        "ragkit.cli.db:app",
        "Manage the database: status, tables and roles, backups.",
        _MORE,
    ),
    # Older names.
    "agent": Entry("ragkit.cli.agent:agent", "ask --agent", None),
    "why": Entry("ragkit.cli.why:why", "ask --why", None),
    "calibrate": Entry("ragkit.cli.calibrate:calibrate", "eval calibrate", None),
    "recall": Entry("ragkit.cli.recall:recall", "index recall", None),
    "reembed": Entry("ragkit.cli.reembed:reembed", "index reembed", None),
}


app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"ragkit {__version__}")
        raise typer.Exit


@app.callback()
def _ragkit(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Answer questions from your own documents, with citations that can be checked.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but some items failed.
    """


if __name__ == "__main__":
    main()
