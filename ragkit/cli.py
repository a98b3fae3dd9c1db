"""The `ragkit` command: a table of commands, each imported when it is called.

Help must answer at once, so this file knows one line about each command and nothing more.
"""

import signal
import sys
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from ragkit import __version__


class Entry(NamedTuple):
    """Where a command lives, "module:attribute" of a function or a Typer app, and its one line."""

    target: str
    help: str


COMMANDS = {
    "ingest": Entry("ragkit_ingest.cli:ingest", "Take files and folders into a collection."),
    "search": Entry("ragkit.cli_search:search", "Find passages by meaning and by words."),
    "ask": Entry("ragkit.cli_ask:ask", "Answer a question with citations, or say that it cannot."),
    "chat": Entry("ragkit.cli_chat:chat", "Talk with your documents; the conversation is kept."),
    "conversations": Entry(
        "ragkit.cli_conversations:app", "List, show, export and delete conversations."
    ),
    "documents": Entry("ragkit.cli_documents:app", "List, show and delete documents."),
    "collections": Entry("ragkit.cli_collections:app", "List, create and delete collections."),
    "calibrate": Entry(
        "ragkit.cli_calibrate:calibrate", "Fit when to refuse, from labelled questions."
    ),
    "model": Entry(
        "ragkit_serve.model.cli:app", "Serve, plan, quantize and measure language models."
    ),
    "mcp": Entry("ragkit.cli_mcp:mcp", "Offer search and ask to other programs (MCP)."),
    "keys": Entry("ragkit.cli_keys:app", "Create, list and revoke access keys."),
    "db": Entry("ragkit.cli_db:app", "Show, start and stop the embedded database."),
    "config": Entry("ragkit.cli_config:config", "Print each setting and where it came from."),
    "doctor": Entry("ragkit.cli_doctor:doctor", "Check everything and name the remedies."),
}


class LazyGroup(TyperGroup):
    """A group that imports a command's module only when that command is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].target.split(":")
        target = getattr(import_module(module), attribute)
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name=cmd_name)(target)
            target = app
        command = typer.main.get_command(target)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


app = typer.Typer(
    cls=LazyGroup,
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


def main() -> None:
    """Run the command line; an expected error is one line on standard error."""
    from ragkit.errors import RagkitError

    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except RagkitError as error:
        typer.echo(f"ragkit: {' '.join(str(error).split())}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("ragkit: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stdout = None
        sys.exit(1)


def _end(number: int, frame: object) -> None:
    """End on SIGTERM as on any exit, so that the last client stops the embedded database."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
