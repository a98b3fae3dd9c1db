"""A grid: which values of which options are tried, read from a TOML file and checked whole.

Knows which options there are and what each one changes; nothing of how a cell is run.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ragkit.errors import NotFoundError, UsageError
from ragkit.masking import masked
from ragkit.types import Mode

TaskKind = Literal["retrieval", "answers"]

# What is asked for with each question.
ASKED: Final = ("mode", "passages", "refusal_threshold", "instructions")
# Settings that change what is stored: such a cell has a collection of its own.
STORED: Final = (
    "chunk_tokens",
    "chunk_overlap_tokens",
    "embed_model",
    "embed_dimension",
    "stem",
    "cjk",
)
# Settings that change what is found in it.
FOUND: Final = (
    "reranker",
    "reranker_model",
    "rerank_candidates",
    "max_per_document",
    "diversity",
    "expand",
    "queries",
    "infer_filters",
)
# Settings that change how an answer is written from what was found.
WRITTEN: Final = (
    "llm_url",
    "llm_model",
    "llm_context_tokens",
    "llm_tokenizer",
    "llm_budget_tokens",
    "llm_temperature",
    "llm_max_tokens",
    "llm_seed",
    "prompts",
    "nli_model",
)
_SEARCHED: Final = ("mode", *STORED, *FOUND)  # all that a search depends on
_KEYS: Final = ("task", "metric", "documents", "grid")
_MOST_CELLS = 200  # arbitrary: only catches slips
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Cell:
    """One choice of a value for each option; `label` names those that vary."""

    values: Mapping[str, Any]
    label: str

    @property
    def stem(self) -> str:
        """Return a name for its files: readable, and of this cell alone."""
        safe = "".join(c if c.isalnum() or c in "=.-" else "-" for c in self.label)
        return f"{safe[:_NAME_CHARS].strip('-')}-{_hash([self.label, self.options()])}"

    def options(self) -> dict[str, Any]:
        """Return its options without the address of a server, which may move or hold a password."""
        return {name: value for name, value in self.shown().items() if name != "llm_url"}

    def shown(self) -> dict[str, Any]:
        """Return its options as they may be written down, without a password in an address."""
        addresses = {"llm_url", "reranker"} & self.values.keys()
        return {**self.values, **{name: masked(name, self.values[name]) for name in addresses}}

    def settings(self) -> dict[str, Any]:
        """Return the settings among its options."""
        return {name: value for name, value in self.values.items() if name not in ASKED}

    def stored(self) -> dict[str, Any]:
        """Return the settings that change what is stored."""
        return {name: self.values[name] for name in STORED if name in self.values}

    def collection(self, documents: str) -> str:
        """Name the collection in which `documents`, named in any way, are stored like this."""
        return f"sweep-{_hash({**self.stored(), 'documents': documents})}"


@dataclass(frozen=True, slots=True)
class Grid:
    """The options and their values, the first of each being the baseline's.

    `documents` are the paths that are ingested for options that change what is stored. `metric`
    decides; "" is the task's own.
    """

    axes: Mapping[str, tuple[Any, ...]]
    task: TaskKind = "answers"
    metric: str = ""
    documents: tuple[Path, ...] = ()

    def cells(self) -> tuple[Cell, ...]:
        """Return each combination, the baseline first."""
        varying = [name for name, values in self.axes.items() if len(values) > 1]
        found = []
        for chosen in itertools.product(*self.axes.values()):
            values = dict(zip(self.axes, chosen, strict=True))
            label = ", ".join(f"{name}={masked(name, values[name])}" for name in varying)
            found.append(Cell(values, label))
        return tuple(found)

    @property
    def stores(self) -> bool:
        """Tell whether an option changes what is stored."""
        return any(name in STORED for name in self.axes)


def read_grid(path: Path) -> Grid:
    """Read a grid. Raises NotFoundError, and UsageError naming the file, the key and the remedy.

    Paths of documents are relative to the file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise NotFoundError(f"cannot read the grid {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the grid is not UTF-8: save it so") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    for key in values:
        _known(key, _KEYS, f"{path}: a key", "options stand under [grid]")
    grid = Grid(
        axes=_axes(values.get("grid"), path),
        task=_task(values.get("task", "answers"), path),
        metric=_text(values.get("metric", ""), f"{path}: metric"),
        documents=tuple(
            _document(one, path) for one in _list(values.get("documents", []), path, "documents")
        ),
    )
    _check_together(grid, path)
    return grid


def _axes(options: object, path: Path) -> Mapping[str, tuple[Any, ...]]:
    if not isinstance(options, dict) or not options:
        raise UsageError(f'{path}: there is no [grid]: write [grid], mode = ["hybrid", "dense"]')
    axes: dict[str, tuple[Any, ...]] = {}
    for name, given in options.items():
        _known(name, (*ASKED, *STORED, *FOUND, *WRITTEN), f"{path}: an option of [grid]", "")
        values = tuple(given) if isinstance(given, list) else (given,)
        if not values:
            raise UsageError(f"{path}: {name} has no value: write one or more")
        written = [json.dumps(value, default=str) for value in values]
        if len(set(written)) < len(written):
            raise UsageError(f"{path}: {name} has a value twice: write each once")
        for value in values:
            _check(name, value, path)
        axes[name] = values
    return axes


def _check(name: str, value: object, path: Path) -> None:
    """Check what the settings do not: the options that go with a question."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    right = {
        "mode": value in get_args(Mode),
        "passages": isinstance(value, int) and number and 1 <= value <= 100,
        "refusal_threshold": number and 0 <= float(str(value)) <= 1,
        "instructions": isinstance(value, str),
    }.get(name, number or isinstance(value, str))
    if not right:
        wanted = {
            "mode": f"one of {', '.join(get_args(Mode))}",
            "passages": "a whole number from 1 to 100",
            "refusal_threshold": "a number from 0 to 1",
            "instructions": "a text",
        }.get(name, "a number or a text")
        raise UsageError(f"{path}: {name} = {value!r}: it takes {wanted}")


def _check_together(grid: Grid, path: Path) -> None:
    idle = [name for name in grid.axes if name not in _SEARCHED]
    if grid.task == "retrieval" and idle:
        raise UsageError(
            f'{path}: {idle[0]} changes no search: take it away, or write task = "answers"'
        )
    count = 1
    for values in grid.axes.values():
        count *= len(values)
    if count < 2:
        raise UsageError(f"{path}: nothing varies: give an option two values or more")
    if count > _MOST_CELLS:
        raise UsageError(f"{path}: {count} cells are more than {_MOST_CELLS}: try fewer values")


def _task(value: object, path: Path) -> TaskKind:
    for kind in get_args(TaskKind):
        if value == kind:
            found: TaskKind = kind
            return found
    raise UsageError(f'{path}: task = {value!r}: write "retrieval" or "answers"')


def _document(value: object, path: Path) -> Path:
    found = path.parent / _text(value, f"{path}: documents")
    if not found.exists():
        raise NotFoundError(f"{path}: there are no documents in {found}: correct the path")
    return found


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {value!r} is no text: put it in quotation marks")
    return value


def _list(value: object, path: Path, name: str) -> Sequence[object]:
    return value if isinstance(value, list) else [_text(value, f"{path}: {name}")]


def _known(name: str, known: Sequence[str], what: str, hint: str) -> None:
    if name not in known:
        close = get_close_matches(name, known, 3) or list(known)
        remedy = f"; {hint}" if hint else ""
        raise UsageError(f"{what} is unknown: {name}: did you mean {', '.join(close)}?{remedy}")


def _hash(value: object) -> str:
    written = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:8]
