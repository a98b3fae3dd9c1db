"""A command made of commands, each imported only when it is called: help answers at once."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

import typer
from typer.core import TyperGroup

# Typer names only kinds of it, and has click in itself or beside itself by its version.
_USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__base__)
CommandError: Final = cast("type[Exception]", _USAGE_ERROR.__base__)  # of anything on the line


class Entry(NamedTuple):
    """Where a command lives, "module:attribute" of a function or a Typer app, and its one line."""

    target: str
    help: str


def lazy_group(commands: Mapping[str, Entry]) -> type[TyperGroup]:
    """Make the class of a group that has these commands."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

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
            return command

        def invoke(self, ctx: Any) -> Any:
            try:
                return super().invoke(ctx)
            except _USAGE_ERROR as error:
                _tell_of_dashes(error)
                raise

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, entry.help) for name, entry in commands.items()])

    return LazyGroup


def _tell_of_dashes(error: Any) -> None:
    """Add to what is said of an unknown option how a word that begins with a dash is given."""
    if type(error).__name__ != "NoSuchOption" or error.possibilities or error.ctx is None:
        return
    words = [one for one in error.ctx.command.params if one.param_type_name == "argument"]
    if words:
        place = f"{error.ctx.command_path} -- {words[0].name.upper()}"
        error.message += f". A word that begins with a dash comes after two: {place}"
