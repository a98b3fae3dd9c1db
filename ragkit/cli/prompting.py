"""Options of `ragkit ask` that say how a language model is asked: examples, steps, samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from ragkit.prompts.prompting import Example, Prompting
    from ragkit.settings.settings import Settings

MAX_BYTES: Final = 1_000_000  # of a file of examples; arbitrary, more than their bounds allow

ExamplesFile = Annotated[
    Path | None,
    typer.Option(
        "--examples",
        metavar="FILE",
        help="JSON lines, each with a question and its answer, as examples for the language model.",
    ),
]
InSteps = Annotated[
    bool,
    typer.Option("--steps", help="Let the language model reason step by step before it answers."),
]
Samples = Annotated[
    int | None,
    typer.Option(
        min=2,
        max=9,
        help="Number of answers to write; the one that most others agree with is shown.",
    ),
]


def prompting_with(
    settings: Settings, examples: Path | None, samples: int | None, *, steps: bool
) -> Prompting | None:
    """Return how to ask the language model; None: plainly.

    Raises UsageError without a language model, for a wrong file, and for more than the bounds.
    """
    if examples is None and samples is None and not steps:
        return None
    from ragkit.errors import UsageError
    from ragkit.prompts.prompting import Prompting

    if settings.llm_url is None:
        raise UsageError(
            "--examples, --steps and --samples need a language model: set RAGKIT_LLM_URL"
        )
    return Prompting(read_examples(examples) if examples else (), steps, samples or 1)


def read_examples(path: Path) -> tuple[Example, ...]:
    """Read a file of examples. Raises UsageError with FILE:LINE for a wrong one."""
    from ragkit.errors import NotFoundError, UsageError
    from ragkit.prompts.prompting import Example
    from ragkit.upkeep.questions import read_lines, read_row

    try:
        size = path.stat().st_size
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: name a file") from error
    if size > MAX_BYTES:
        raise UsageError(f"{path} has {size:,} bytes: examples have at most {MAX_BYTES:,}")
    rows = [(where, read_row(where, line)) for where, line in read_lines(path)]
    if not rows:
        raise UsageError(f'{path} has no example: write a line {{"question": ..., "answer": ...}}')
    return tuple(
        Example(_text(where, row, "question"), _text(where, row, "answer")) for where, row in rows
    )


def _text(where: str, row: Any, name: str) -> str:
    from ragkit.errors import UsageError

    value = row.get(name) if isinstance(row, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: no {name}: write a text for it")
    return value
