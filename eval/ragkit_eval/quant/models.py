"""What `ragkit eval quant` is given: models behind servers, models to serve, or runs made before.

It reads the words of the command line; nothing of tasks, nor of how a server is started.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ragkit.errors import NotFoundError, UsageError

_SCHEMES: Final = ("http://", "https://")
_SERVE: Final = "serve:"


@dataclass(frozen=True, slots=True)
class Served:
    """A model behind an OpenAI-compatible server; `model` "" is the only one that it has."""

    url: str
    model: str
    label: str


@dataclass(frozen=True, slots=True)
class ToServe:
    """A model to be served for as long as it is asked; `arguments` are `ragkit model serve`'s."""

    arguments: tuple[str, ...]
    label: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that was made before."""

    path: Path
    label: str = ""


Model = Served | ToServe | Kept


def parse(text: str) -> Model:
    """Read URL, URL#MODEL, serve:MODEL with options, or the path of a run file.

    LABEL= may stand before an address and before serve:. Raises UsageError, NotFoundError saying
    what may be written.

    >>> parse("int4=http://127.0.0.1:8000/v1#qwen")
    Served(url='http://127.0.0.1:8000/v1', model='qwen', label='int4')
    >>> parse("serve:./qwen-awq --max-model-len 4096").arguments
    ('./qwen-awq', '--max-model-len', '4096')
    """
    label, rest = "", text
    if not text.startswith((*_SCHEMES, _SERVE)):
        label, _, rest = text.partition("=")
    if rest.startswith(_SCHEMES):
        url, _, model = rest.partition("#")
        return Served(url, model, label or model)
    if rest.startswith(_SERVE):
        arguments = _arguments(rest.removeprefix(_SERVE), text)
        return ToServe(arguments, label or Path(arguments[0]).name)
    path = Path(text)
    if path.is_file():
        return Kept(path)
    raise NotFoundError(
        f"{text!r} is no address and no run file: write http://HOST:PORT/v1#MODEL, serve:MODEL, or"
        " the path of what 'ragkit eval run' wrote"
    )


def with_labels(models: Sequence[Model]) -> list[Model]:
    """Make labels differ, by number where they do not. Raises UsageError for one thing twice."""
    if len(set(models)) < len(models):
        raise UsageError("a model is named twice: name each once")
    times = Counter(one.label for one in models if one.label)
    before: Counter[str] = Counter()
    found: list[Model] = []
    for one in models:
        before[one.label] += 1
        numbered = times[one.label] > 1
        label = f"{one.label} ({before[one.label]})" if numbered else one.label
        found.append(replace(one, label=label))
    return found


def _arguments(text: str, whole: str) -> tuple[str, ...]:
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{whole!r}: {error}: quote as in a shell") from error
    if not arguments or arguments[0].startswith("-"):
        raise UsageError(f"{whole!r}: name a model after serve:, then options of its server")
    return arguments
