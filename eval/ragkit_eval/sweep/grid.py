"""Read a grid, the options and values that a sweep tries, from a TOML file, and check it."""

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
from ragkit.settings.secrets import masked
from ragkit.types import Mode

TaskKind = Literal["retrieval", "answers"]

# Options of a question.
QUESTION_OPTIONS: Final = ("mode", "passages", "refusal_threshold", "instructions")
# Settings that change what is stored: such a cell has a separate collection.
INGEST_SETTINGS: Final = (
    "chunk_tokens",
    "chunk_overlap_tokens",
    "embed_model",
    "embed_dimension",
    "stem",
    "cjk",
)
# Settings that change a search.
SEARCH_SETTINGS: Final = (
    "reranker",
    "reranker_model",
    "rerank_candidates",
    "max_per_document",
    "diversity",
    "expand",
    "queries",
    "infer_filters",
)
# Settings that change how an answer is written from the passages.
ANSWER_SETTINGS: Final = (
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
_SEARCH_OPTIONS: Final = (
    "mode",
    *INGEST_SETTINGS,
    *SEARCH_SETTINGS,
)  # everything that a search depends on
_KEYS: Final = ("task", "metric", "documents", "grid")
_MAX_CELLS = 200  # arbitrary: only catches mistakes
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Cell:
    """A value for each option; `label` names the options that vary."""

    values: Mapping[str, Any]
    label: str

    @property
    def stem(self) -> str:
        """Return a readable name for the cell's files, which no other cell has."""
        safe = "".join(c if c.isalnum() or c in "=.-" else "-" for c in self.label)
        return f"{safe[:_NAME_CHARS].strip('-')}-{_hash([self.label, self.options()])}"

    def options(self) -> dict[str, Any]:
        """Return the options without a server's address, which may change or hold a password."""
        return {name: value for name, value in self.masked_values().items() if name != "llm_url"}

    def masked_values(self) -> dict[str, Any]:
        """Return the options for printing, with passwords in addresses masked."""
        addresses = {"llm_url", "reranker"} & self.values.keys()
        return {**self.values, **{name: masked(name, self.values[name]) for name in addresses}}

    def settings(self) -> dict[str, Any]:
        """Return the settings among its options."""
        return {name: value for name, value in self.values.items() if name not in QUESTION_OPTIONS}

    def stored_values(self) -> dict[str, Any]:
        """Return the settings that change what is stored."""
        return {name: self.values[name] for name in INGEST_SETTINGS if name in self.values}

    def collection(self, documents: str) -> str:
        """Name the collection of `documents`, any name of them, stored with these settings."""
        return f"sweep-{_hash({**self.stored_values(), 'documents': documents})}"


@dataclass(frozen=True, slots=True)
class Grid:
    """The options and their values, the first value of each being the baseline's.

    `documents` are the paths that are ingested for options that change what is stored. `metric`
    decides; "" means the task's first metric.
    """

    axes: Mapping[str, tuple[Any, ...]]
    task: TaskKind = "answers"
    metric: str = ""
    documents: tuple[Path, ...] = ()

    def cells(self) -> tuple[Cell, ...]:
        """Return each combination, the baseline first."""
        varying = [name for name, values in self.axes.items() if len(values) > 1]
        cells = []
        for chosen in itertools.product(*self.axes.values()):
            values = dict(zip(self.axes, chosen, strict=True))
            label = ", ".join(f"{name}={masked(name, values[name])}" for name in varying)
            cells.append(Cell(values, label))
        return tuple(cells)

    @property
    def stores(self) -> bool:
        """Tell whether an option changes what is stored."""
        return any(name in INGEST_SETTINGS for name in self.axes)


def read_grid(path: Path) -> Grid:
    """Read a grid. Raises NotFoundError, and UsageError naming the file, the key and the remedy.

    Paths of documents are relative to the file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise NotFoundError(f"cannot read the grid {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: the grid is not UTF-8: save it as UTF-8") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    for key in values:
        _check_known(key, _KEYS, f"{path}: a key", "options stand under [grid]")
    grid = Grid(
        axes=_parse_axes(values.get("grid"), path),
        task=_parse_task(values.get("task", "answers"), path),
        metric=_parse_text(values.get("metric", ""), f"{path}: metric"),
        documents=tuple(
            _find_document(document, path)
            for document in _parse_list(values.get("documents", []), path, "documents")
        ),
    )
    _check_grid(grid, path)
    return grid


def _parse_axes(options: object, path: Path) -> Mapping[str, tuple[Any, ...]]:
    if not isinstance(options, dict) or not options:
        raise UsageError(f'{path}: there is no [grid]: write [grid], mode = ["hybrid", "dense"]')
    axes: dict[str, tuple[Any, ...]] = {}
    for name, listed in options.items():
        _check_known(
            name,
            (*QUESTION_OPTIONS, *INGEST_SETTINGS, *SEARCH_SETTINGS, *ANSWER_SETTINGS),
            f"{path}: an option of [grid]",
            "",
        )
        values = tuple(listed) if isinstance(listed, list) else (listed,)
        if not values:
            raise UsageError(f"{path}: {name} has no value: write one or more")
        written = [json.dumps(value, default=str) for value in values]
        if len(set(written)) < len(written):
            raise UsageError(f"{path}: {name} has a value twice: write each once")
        for value in values:
            _check_value(name, value, path)
        axes[name] = values
    return axes


def _check_value(name: str, value: object, path: Path) -> None:
    """Check the options of a question; the settings check their own values."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    valid = {
        "mode": value in get_args(Mode),
        "passages": isinstance(value, int) and number and 1 <= value <= 100,
        "refusal_threshold": number and 0 <= float(str(value)) <= 1,
        "instructions": isinstance(value, str),
    }.get(name, number or isinstance(value, str))
    if not valid:
        expected = {
            "mode": f"one of {', '.join(get_args(Mode))}",
            "passages": "a whole number from 1 to 100",
            "refusal_threshold": "a number from 0 to 1",
            "instructions": "a text",
        }.get(name, "a number or a text")
        raise UsageError(f"{path}: {name} = {value!r}: it takes {expected}")


def _check_grid(grid: Grid, path: Path) -> None:
    unused = [name for name in grid.axes if name not in _SEARCH_OPTIONS]
    if grid.task == "retrieval" and unused:
        raise UsageError(
            f'{path}: {unused[0]} changes no search: remove it, or write task = "answers"'
        )
    count = 1
    for values in grid.axes.values():
        count *= len(values)
    if count < 2:
        raise UsageError(f"{path}: nothing varies: give an option two values or more")
    if count > _MAX_CELLS:
        raise UsageError(f"{path}: {count} cells are more than {_MAX_CELLS}: try fewer values")


def _parse_task(value: object, path: Path) -> TaskKind:
    for kind in get_args(TaskKind):
        if value == kind:
            checked: TaskKind = kind
            return checked
    raise UsageError(f'{path}: task = {value!r}: write "retrieval" or "answers"')


def _find_document(value: object, path: Path) -> Path:
    document = path.parent / _parse_text(value, f"{path}: documents")
    if not document.exists():
        raise NotFoundError(f"{path}: there are no documents in {document}: correct the path")
    return document


def _parse_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {value!r} is no text: put it in quotation marks")
    return value


def _parse_list(value: object, path: Path, name: str) -> Sequence[object]:
    return value if isinstance(value, list) else [_parse_text(value, f"{path}: {name}")]


def _check_known(name: str, allowed: Sequence[str], subject: str, hint: str) -> None:
    if name not in allowed:
        close = get_close_matches(name, allowed, 3) or list(allowed)
        remedy = f"; {hint}" if hint else ""
        raise UsageError(f"{subject} is unknown: {name}: did you mean {', '.join(close)}?{remedy}")


def _hash(value: object) -> str:
    written = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:8]
