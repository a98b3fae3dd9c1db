"""What a task is, as its TOML file declares it, with a form's own values laid over the file's.

It reads and checks declarations; it knows no data, builds no prompt and scores nothing.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.item import Method
from ragkit_eval.tasks.prefixes import PREFIX_RULES

Format = Literal["csv", "jsonl", "json"]
_METHODS = ("letter", "loglikelihood", "generate")
_FORMATS = get_args(Format)


@dataclass(frozen=True, slots=True)
class DataSpec:
    """Where the rows are. `files` are patterns below `folder`; what their one `*` matches is a
    row's group, unless a field says it. `columns` names the columns of a CSV without a header, and
    `rows` the key of a JSON file's list. `shots` is the file of examples shown before each
    question, of which the first `shot_count` are, and `prefix` a file of text that the rule
    `prefix_rule` turns into the examples; both may hold "{group}".
    """

    files: tuple[str, ...]
    folder: str = ""
    format: Format = "jsonl"
    columns: tuple[str, ...] = ()
    rows: str = ""
    shots: str = ""
    shot_count: int = 5
    prefix: str = ""
    prefix_rule: str = ""


@dataclass(frozen=True, slots=True)
class FieldsSpec:
    """How a row's values become an item's: each an expression over the row's columns.

    A row for which `keep` is false is no item of this task.
    """

    question: str
    target: str
    id: str = ""
    options: str = ""
    labels: str = ""
    group: str = ""
    cluster: str = ""
    keep: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """Templates. A prompt is `head`, then `question` and `answer` of each shot, then `question`.

    `choice` is rendered for each option, as what a full log-likelihood is asked of.
    """

    question: str = "{{ question }}"
    head: str = ""
    answer: str = " {{ target }}\n\n"
    choice: str = " {{ label }}"


@dataclass(frozen=True, slots=True)
class SamplingSpec:
    """What goes with each request. Greedy, as every figure published for these tasks is."""

    max_tokens: int = 256
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    chat: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """A task in one form. `base` is the folder that its data folder is below, "" for the one that
    the user names; `names` gives groups the names that prompts call them by; `edits` corrects
    prefixes: triples of group, old and new text.
    """

    name: str
    method: Method
    scorer: str
    metric: str
    data: DataSpec
    fields: FieldsSpec
    prompt: PromptSpec = field(default_factory=PromptSpec)
    sampling: SamplingSpec = field(default_factory=SamplingSpec)
    version: str = "1"
    title: str = ""
    source: str = ""
    metrics: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[tuple[str, ...], ...] = ()
    base: str = ""

    @property
    def signature(self) -> str:
        """Return the file's version and a hash of all that prompts and scores depend on."""
        kept = asdict(self)
        for name in ("name", "title", "source", "base", "version"):
            del kept[name]
        kept["data"].pop("folder")
        text = json.dumps(kept, ensure_ascii=False, sort_keys=True)
        return f"{self.version}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read_spec(path: Path, *, form: str = "", name: str = "") -> Spec:
    """Read a task's file in one of its forms, "" for the plain one.

    Raises NotFoundError without the file or the form, and UsageError naming what is wrong in it.
    """
    values = _read(path)
    forms = _table(values.pop("form", {}), "form", path)
    if form and form not in forms:
        raise NotFoundError(unknown("form", form, forms, where=str(name or path)))
    merged = _merge(values, _table(forms.get(form, {}), f"form.{form}", path))
    plain = name or path.stem
    merged["name"] = f"{plain}:{form}" if form else plain
    spec = cast(Spec, _build(Spec, merged, str(path), ""))
    _check(spec, path)
    return spec


def forms(path: Path) -> tuple[str, ...]:
    """Return the names of a file's forms, the plain one left out."""
    return tuple(_table(_read(path).get("form", {}), "form", path))


def unknown(kind: str, value: str, known: Iterable[str], *, where: str = "") -> str:
    """Say in one line that a name is not known, and which close ones are."""
    names = sorted(known)
    close = difflib.get_close_matches(value, names, n=3, cutoff=0.5)
    hint = "did you mean " + " or ".join(close) if close else "there is " + ", ".join(names)
    prefix = f"{where}: " if where else ""
    return f"{prefix}no {kind} {value!r}: {hint if names else 'there is none'}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise NotFoundError(f"cannot read the task {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not a task's file: {error}") from error


def _table(value: Any, key: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {key} is {value!r}: make it a table, [{key}]")
    return value


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _build(kind: type, values: Mapping[str, Any], path: str, prefix: str) -> Any:
    """Make a dataclass of a table, checking names and types, whatever the table holds."""
    hints = get_type_hints(kind)
    known = {entry.name for entry in fields(kind)} - {"base"}
    for key in values:
        if key not in known:
            raise UsageError(unknown("key", prefix + key, {prefix + k for k in known}, where=path))
    try:
        built = {
            key: _value(hints[key], value, path, prefix + key) for key, value in values.items()
        }
        return kind(**built)
    except TypeError as error:
        missing = str(error).partition(": ")[2] or str(error)
        raise UsageError(f"{path}: the task lacks {prefix}{missing}: add it") from error


def _value(hint: Any, value: Any, path: str, key: str) -> Any:
    origin = get_origin(hint)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return _build(hint, value, path, f"{key}.")
    if origin is tuple and isinstance(value, list):
        return tuple(_value(get_args(hint)[0], one, path, key) for one in value)
    if origin is Mapping or getattr(origin, "__name__", "") == "Mapping":
        if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
            return value
    elif origin is Literal:
        if value in get_args(hint):
            return value
        raise UsageError(unknown(key, str(value), map(str, get_args(hint)), where=path))
    elif origin not in (Union, UnionType, tuple) and _is(hint, value):
        return value
    raise UsageError(f"{path}: {key} is {value!r}: expected {_word(hint)}")


def _is(hint: Any, value: Any) -> bool:
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(hint, type) and type(value) is hint


def _word(hint: Any) -> str:
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    return words.get(hint, "a list" if get_origin(hint) is tuple else "a table")


def _check(spec: Spec, path: Path) -> None:
    """Refuse what fits the types and makes no sense."""
    if spec.method not in _METHODS:
        raise UsageError(unknown("method", spec.method, _METHODS, where=str(path)))
    if not spec.data.files:
        raise UsageError(f"{path}: data.files is empty: name the files that hold the questions")
    for name in spec.data.files:
        parts = Path(name).parts
        if Path(name).is_absolute() or ".." in parts:
            raise UsageError(f"{path}: data.files leave the data folder: set data.folder instead")
        if not parts or any("**" in part and part != "**" for part in parts):
            raise UsageError(f"{path}: data.files has {name!r}: name files, such as test/*.jsonl")
    hub = any(name.startswith("hf:") for name in spec.data.files)
    if hub and (spec.data.shots or spec.data.prefix or len(spec.data.files) > 1):
        raise UsageError(f"{path}: data.files: hf: is one dataset without shots: use local files")
    if spec.method != "generate" and not spec.fields.options:
        raise UsageError(f"{path}: fields.options is missing: {spec.method} chooses among options")
    for problem in (*_of_data(spec.data), *_of_scorer(spec), *_of_sampling(spec.sampling)):
        raise UsageError(f"{path}: {problem}")
    if any(len(edit) != 3 for edit in spec.edits):
        raise UsageError(f"{path}: edits: each is a list of three: group, old text, new text")


def _of_data(data: DataSpec) -> Iterator[str]:
    """Say which keys of the data would be passed over in silence."""
    if data.columns and data.format != "csv":
        yield f"data.columns are those of a CSV file, and data.format is {data.format}"
    if data.rows and data.format != "json":
        yield f"data.rows is a key of a JSON file, and data.format is {data.format}"
    if bool(data.prefix) != bool(data.prefix_rule):
        yield "data.prefix and data.prefix_rule go together: give both, or neither"
    if data.prefix and data.shots:
        yield "data.prefix and data.shots both hold the examples: give one"
    if data.prefix_rule and data.prefix_rule not in PREFIX_RULES:
        yield unknown("data.prefix_rule", data.prefix_rule, PREFIX_RULES)
    if data.shots and data.shot_count < 1:
        yield f"data.shot_count is {data.shot_count}: at least 1, or leave data.shots out"


def _of_scorer(spec: Spec) -> Iterator[str]:
    """Say what a scorer could only count as wrong, or would not look at."""
    if spec.scorer == "choice" and not spec.fields.options:
        yield "fields.options is missing: the scorer choice tells options apart"
    if spec.method == "loglikelihood" and spec.scorer != "choice":
        yield f"the scorer {spec.scorer} reads a text, which loglikelihood has not: use choice"
    if spec.metrics and spec.scorer != "text":
        yield f"metrics are the scorer text's, and this is {spec.scorer}: leave them out"
    lacking = [name for name in ("test", "entry_point") if name not in spec.fields.extra]
    if spec.scorer == "program" and lacking:
        yield f"fields.extra lacks {' and '.join(lacking)}, which the scorer program runs"


def _of_sampling(sampling: SamplingSpec) -> Iterator[str]:
    if sampling.max_tokens < 1:
        yield f"sampling.max_tokens is {sampling.max_tokens}: at least 1"
    if not 0 <= sampling.temperature < inf:
        yield f"sampling.temperature is {sampling.temperature}: a number from 0 on"
    if "" in sampling.stop:
        yield "sampling.stop has an empty text: name what to stop at"
