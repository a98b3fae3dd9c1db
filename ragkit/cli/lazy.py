"""A group of commands that imports each one only when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

import typer
from typer.core import TyperGroup

from ragkit.cli.words import language, say, sentence
from ragkit.errors import UsageError

# Typer names only kinds of it, and has click in itself or beside itself by its version.
_USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__base__)
CommandError: Final = cast("type[Exception]", _USAGE_ERROR.__base__)  # of anything on the line


class Entry(NamedTuple):
    """A command: "module:attribute" of its function or Typer app, its one line, its heading.

    A command without a heading is an older name: it works, and help does not list it.
    """

    target: str
    help: str
    heading: str | None = "Commands"


def lazy_group(commands: Mapping[str, Entry]) -> type[TyperGroup]:
    """Make the class of a group that has these commands."""

    class LazyGroup(TyperGroup):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            _localise(self)

        def list_commands(self, ctx: Any) -> list[str]:
            return [name for name, entry in commands.items() if entry.heading is not None]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in commands:
                return None
            module, attribute = commands[cmd_name].target.split(":")
            target = getattr(import_module(module), attribute)
            if not isinstance(target, typer.Typer):
                app = typer.Typer(add_completion=False, rich_markup_mode=None)
                app.command(name=cmd_name)(target)
                target = app
            command = typer.main.get_command(target)
            command.name = cmd_name
            _localise(command)
            return command

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            try:
                return super().resolve_command(ctx, args)
            except _USAGE_ERROR as error:
                from difflib import get_close_matches

                for close in get_close_matches(args[0], self.list_commands(ctx), 1):
                    error.message += f" Did you mean {close}?"  # type: ignore[attr-defined]
                raise

        def invoke(self, ctx: Any) -> Any:
            try:
                return super().invoke(ctx)
            except _USAGE_ERROR as error:
                error.message = error.message.replace("Value error, ", "")  # type: ignore[attr-defined]  # pydantic's
                _tell_of_dashes(error)
                if language() == "en" or type(error).__name__ == "NoArgsIsHelpError":
                    raise
                raise UsageError(_explained(error)) from None

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            headings = dict.fromkeys(entry.heading for entry in commands.values())
            for heading in filter(None, headings):
                rows = [
                    (n, entry.help) for n, entry in commands.items() if entry.heading == heading
                ]
                with formatter.section(heading):
                    formatter.write_dl(rows)

    return LazyGroup


def _localise(command: Any) -> None:
    from ragkit.cli.help import localise

    localise(command)


def _explained(error: Any) -> str:
    """Return a usage error in the user's language, with the help command."""
    message = sentence(error.format_message())
    if error.ctx is None:
        return message
    return say(
        "{message} (`{command} --help` explains it)",
        message=message,
        command=error.ctx.command_path,
    )


def _tell_of_dashes(error: Any) -> None:
    """Add to an unknown-option error how to pass an argument that begins with a dash."""
    if type(error).__name__ != "NoSuchOption" or error.possibilities or error.ctx is None:
        return
    words = [param for param in error.ctx.command.params if param.param_type_name == "argument"]
    if words:
        command = f"{error.ctx.command_path} -- {words[0].name.upper()}"
        advice = ". For a word that begins with a dash, write -- before it: {command}"
        error.message += say(advice, command=command)
