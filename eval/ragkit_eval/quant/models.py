"""What `ragkit eval quant` is given: models behind servers, or runs made of them before.

It reads the words of the command line and asks servers who they are; nothing of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragkit.errors import NotFoundError, UsageError

_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Served:
    """A model behind an OpenAI-compatible server; `model` "" is the only one that it has."""

    url: str
    model: str
    label: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that was made before."""

    path: Path


def parse(text: str) -> Served | Kept:
    """Read URL, URL#MODEL, LABEL=URL#MODEL, or the path of a run file.

    Raises UsageError, NotFoundError saying what may be written.

    >>> parse("int4=http://127.0.0.1:8000/v1#qwen")
    Served(url='http://127.0.0.1:8000/v1', model='qwen', label='int4')
    """
    label, found, rest = "", "", text
    if not text.startswith(_SCHEMES):
        label, found, rest = text.partition("=")
    if rest.startswith(_SCHEMES):
        url, _, model = rest.partition("#")
        return Served(url, model, label if found else model)
    path = Path(text)
    if path.is_file():
        return Kept(path)
    raise NotFoundError(
        f"{text!r} is no address and no run file: write http://HOST:PORT/v1#MODEL, or the path of"
        " what 'ragkit eval run' wrote"
    )


async def resolved(served: Served, *, api_key: str | None, timeout_s: float) -> Served:
    """Ask the server who it is: its model where none was named, and a label.

    Raises ServerGoneError when it does not answer, NotFoundError when it has no such model.
    """
    from ragkit_eval.endpoint import Endpoint

    async with Endpoint.open(
        served.url, served.model or None, api_key=api_key, timeout_s=timeout_s
    ) as endpoint:
        model = endpoint.model
    return Served(served.url, model, served.label or model)


def with_labels(models: list[Served | Kept]) -> list[Served | Kept]:
    """Make labels differ, by number where they do not. Raises UsageError for one thing twice."""
    if len(set(models)) < len(models):
        raise UsageError("a model is named twice: name each once")
    labels = [one.label for one in models if isinstance(one, Served)]
    counted: dict[str, int] = {}
    found: list[Served | Kept] = []
    for one in models:
        if isinstance(one, Served) and labels.count(one.label) > 1:
            counted[one.label] = counted.get(one.label, 0) + 1
            found.append(Served(one.url, one.model, f"{one.label} ({counted[one.label]})"))
        else:
            found.append(one)
    return found
