"""Parse the models of `ragkit eval quant`: models behind servers, models to serve, run files."""

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
    """A model behind an OpenAI-compatible server; `model` "" is the only model of the server."""

    url: str
    model: str
    label: str


@dataclass(frozen=True, slots=True)
class ToServe:
    """A model to serve during its run; `arguments` are those of `ragkit model serve`."""

    arguments: tuple[str, ...]
    label: str


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run."""

    path: Path
    label: str = ""


Model = Served | ToServe | FinishedRun


def parse(text: str) -> Model:
    """Read URL, URL#MODEL, serve:MODEL with options, or the path of a run file.

    LABEL= may precede an address and serve:. Raises UsageError, and NotFoundError naming the
    possible forms.

    >>> parse("int4=http://127.0.0.1:8000/v1#qwen")
    Served(url='http://127.0.0.1:8000/v1', model='qwen', label='int4')
    >>> parse("serve:./qwen-awq --max-model-len 4096").arguments
    ('./qwen-awq', '--max-model-len', '4096')
    """
    label, address = "", text
    if not text.startswith((*_SCHEMES, _SERVE)):
        label, _, address = text.partition("=")
    if address.startswith(_SCHEMES):
        url, _, model = address.partition("#")
        return Served(url, model, label or model)
    if address.startswith(_SERVE):
        arguments = _arguments(address.removeprefix(_SERVE), text)
        return ToServe(arguments, label or Path(arguments[0]).name)
    path = Path(text)
    if path.is_file():
        return FinishedRun(path)
    raise NotFoundError(
        f"{text!r} is no address and no run file: write http://HOST:PORT/v1#MODEL, serve:MODEL, or"
        " the path of a run of 'ragkit eval run'"
    )


def with_labels(models: Sequence[Model]) -> list[Model]:
    """Number labels that are equal. Raises UsageError for a model that is named twice."""
    if len(set(models)) < len(models):
        raise UsageError("a model is named twice: name each once")
    times = Counter(model.label for model in models if model.label)
    counts: Counter[str] = Counter()
    labelled: list[Model] = []
    for model in models:
        counts[model.label] += 1
        numbered = times[model.label] > 1
        label = f"{model.label} ({counts[model.label]})" if numbered else model.label
        labelled.append(replace(model, label=label))
    return labelled


def _arguments(text: str, model_text: str) -> tuple[str, ...]:
    try:
        arguments = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{model_text!r}: {error}: quote as in a shell") from error
    if not arguments or arguments[0].startswith("-"):
        raise UsageError(f"{model_text!r}: name a model after serve:, then options of its server")
    return arguments
