"""Count what a user can meet: `python -m tests.surface` prints commands, options, settings, names.

Hidden commands and options are not counted, and neither is `--help`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

import ragkit
from ragkit.cli.main import app
from ragkit.settings.settings import Settings


def commands() -> dict[str, int]:
    """Return the number of options of each command, by the command's words."""
    group: Any = typer.main.get_command(app)
    return dict(_leaves(group, group.context_class(group, info_name="ragkit"), ()))


def _leaves(command: Any, context: Any, words: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    if not hasattr(command, "list_commands"):
        yield " ".join(words), sum(_is_counted(parameter) for parameter in command.params)
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if not inner.hidden:
            below = inner.context_class(inner, parent=context, info_name=name)
            yield from _leaves(inner, below, (*words, name))


def _is_counted(parameter: Any) -> bool:
    return (
        parameter.param_type_name == "option"
        and "--help" not in parameter.opts
        and not parameter.hidden
    )


def main() -> None:
    """Print the counts."""
    options = commands()
    first = {words.partition(" ")[0] for words in options}
    print(f"commands: {len(first)} at the first level, {len(options)} with all below them")
    print(f"options: {sum(options.values())}")
    print(f"settings: {len(Settings.model_fields)}")
    names: Any = ragkit
    print(f"public names of ragkit: {len(names.__all__)}")


if __name__ == "__main__":
    main()
