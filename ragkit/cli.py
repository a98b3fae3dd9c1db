"""The `ragkit` command: a table of commands, each imported when it is called.

Help must answer at once, so this file knows one line about each command and nothing more.
"""

import typer

from ragkit import __version__
from ragkit.cli_lazy import Entry, lazy_group
from ragkit.entry import main

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = {
    "ingest": Entry("ragkit_ingest.cli:ingest", "Take files and folders into a collection."),
    "worker": Entry("ragkit_ingest.cli_worker:worker", "Take in uploaded files as they come."),
    "jobs": Entry("ragkit.cli_jobs:app", "List, show, retry and cancel the jobs of ingestion."),
    "search": Entry("ragkit.cli_search:search", "Find passages by meaning and by words."),
    "ask": Entry("ragkit.cli_ask:ask", "Answer a question with citations, or say that it cannot."),
    "why": Entry("ragkit.cli_why:why", "Tell which stage lost a document that was not cited."),
    "agent": Entry("ragkit.cli_agent:agent", "Answer by searching several times, step by step."),
    "chat": Entry("ragkit.cli_chat:chat", "Talk with your documents; the conversation is kept."),
    "conversations": Entry(
        "ragkit.cli_conversations:app", "List, show, rename, export and delete conversations."
    ),
    "feedback": Entry(
        "ragkit.cli_feedback:app", "List, export and delete what people think of answers."
    ),
    "documents": Entry("ragkit.cli_documents:app", "List, show, share and delete documents."),
    "collections": Entry(
        "ragkit.cli_collections:app",
        "List, create, share and delete collections; their metadata keys and options.",
    ),
    "reembed": Entry(
        "ragkit.cli_reembed:reembed", "Move a collection to another embedding model, and back."
    ),
    "index": Entry("ragkit.cli_index:index", "Show the vector index, or build it anew."),
    "recall": Entry(
        "ragkit.cli_recall:recall", "Compare the vector index with exact search, and tune it."
    ),
    "calibrate": Entry(
        "ragkit.cli_calibrate:calibrate", "Fit when to refuse, from labelled questions."
    ),
    "serve": Entry(
        "ragkit_serve.cli_serve:serve", "Serve the chat page and the OpenAI-compatible API."
    ),
    "model": Entry(
        "ragkit_serve.model.cli:app", "Serve, plan, quantize and measure language models."
    ),
    "eval": Entry(
        "ragkit_eval.cli:app", "Measure models, indexes and answers; compare runs soundly."
    ),
    "mcp": Entry("ragkit_serve.cli_mcp:mcp", "Offer search and ask to other programs (MCP)."),
    "keys": Entry("ragkit.cli_keys:app", "Create, list and revoke access keys."),
    "db": Entry(
        "ragkit.cli_db:app", "Look after the database: its state, its tables and roles, backups."
    ),
    "config": Entry("ragkit.cli_config:config", "Print each setting and where it came from."),
    "doctor": Entry("ragkit.cli_doctor:doctor", "Check everything and name the remedies."),
}


app = typer.Typer(
    cls=lazy_group(COMMANDS),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
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
