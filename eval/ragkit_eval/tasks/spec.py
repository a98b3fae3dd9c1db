"""The declaration of a task, read from its TOML file; a form's values override the file's."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run.item import Method

Format = Literal["csv", "jsonl", "json"]
_METHODS = ("letter", "loglikelihood", "generate")
_FORMATS = get_args(Format)
# Keys added after the first signatures: without a value they leave a task's signature as it was.
_LATER_KEYS = (("data", "each"), ("data", "join"), ("data", "join_on"), ("fields", "turns"))


@dataclass(frozen=True, slots=True)
class DataSpec:
    """The files of the rows. `files` are patterns below `folder`; the text that their `*` matches
    is the group of a row, unless a field names it. `columns` names the columns of a CSV without a
    header, or of JSON rows that are lists, and `rows` the key of a JSON file's list. `each` is an
    expression that gives a row's list of questions. `join` is a CSV file, or several names for it,
    whose row with the same values in the columns `join_on` is `joined`. `shots` is a file of
    examples, of which the first `shot_count` precede each question, and `prefix` a text file that
    the rule `prefix_rule` turns into examples; both may contain "{group}".
    """

    files: tuple[str, ...]
    folder: str = ""
    format: Format = "jsonl"
    columns: tuple[str, ...] = ()
    rows: str = ""
    each: str = ""
    join: tuple[str, ...] = ()
    join_on: tuple[str, ...] = ()
    shots: str = ""
    shot_count: int = 5
    prefix: str = ""
    prefix_rule: str = ""


@dataclass(frozen=True, slots=True)
class FieldsSpec:
    """Expressions over the columns of a row that give the fields of an item.

    A row for which `keep` is false is not an item of this task. `turns` are a user's later
    messages, each sent after the model's answer to the one before.
    """

    question: str
    target: str
    id: str = ""
    options: str = ""
    labels: str = ""
    group: str = ""
    cluster: str = ""
    keep: str = ""
    turns: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """Templates. A prompt is `head`, then `question` and `answer` of each shot, then `question`.

    `choice` is rendered for each option, for its log-likelihood.
    """

    question: str = "{{ question }}"
    head: str = ""
    answer: str = " {{ target }}\n\n"
    choice: str = " {{ label }}"


@dataclass(frozen=True, slots=True)
class SamplingSpec:
    """Options of each request. Greedy, as in every published figure of these tasks."""

    max_tokens: int = 256
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    chat: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """A task in one of its forms. `base` is the parent of its data folder, "" for the folder that
    the user names; `names` maps groups to their names in prompts; `edits` corrects prefixes by
    triples of group, text and replacement.
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
        """Return the file's version and a hash of the keys that prompts and scores depend on."""
        hashed = asdict(self)
        for name in ("name", "title", "source", "base", "version"):
            del hashed[name]
        hashed["data"].pop("folder")
        for table, name in _LATER_KEYS:
            if not hashed[table][name]:
                del hashed[table][name]
        text = json.dumps(hashed, ensure_ascii=False, sort_keys=True)
        return f"{self.version}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def read_spec(path: Path, *, form: str = "", name: str = "") -> Spec:
    """Read a task's file in one of its forms, "" for the plain form.

    Raises NotFoundError without the file or the form, and UsageError naming the malformed key.
    """
    from ragkit_eval.tasks.spec_checks import problems

    values = _read(path)
    forms = _table(values.pop("form", {}), "form", path)
    if form and form not in forms:
        raise NotFoundError(unknown("form", form, forms, where=str(name or path)))
    merged = _merge(values, _table(forms.get(form, {}), f"form.{form}", path))
    plain_name = name or path.stem
    merged["name"] = f"{plain_name}:{form}" if form else plain_name
    spec = cast(Spec, _build(Spec, merged, str(path), ""))
    for problem in problems(spec):
        raise UsageError(f"{path}: {problem}")
    return spec


def forms(path: Path) -> tuple[str, ...]:
    """Return the names of a file's forms without the plain form."""
    return tuple(_table(_read(path).get("form", {}), "form", path))


def unknown(kind: str, value: str, candidates: Iterable[str], *, where: str = "") -> str:
    """Write the message that a name is unknown, with close names."""
    names = sorted(candidates)
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
        raise UsageError(f"{path}: not the file of a task: {error}") from error


def _table(value: Any, key: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {key} is {value!r}: make it a table, [{key}]")
    return value


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        are_tables = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if are_tables else value
    return merged


def _build(kind: type, values: Mapping[str, Any], path: str, prefix: str) -> Any:
    """Build a dataclass from a table of any content, checking names and types."""
    hints = get_type_hints(kind)
    keys = {entry.name for entry in fields(kind)} - {"base"}
    for key in values:
        if key not in keys:
            raise UsageError(unknown("key", prefix + key, {prefix + k for k in keys}, where=path))
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
        return tuple(_value(get_args(hint)[0], entry, path, key) for entry in value)
    if origin is Mapping or getattr(origin, "__name__", "") == "Mapping":
        if isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values()):
            return value
    elif origin is Literal:
        if value in get_args(hint):
            return value
        raise UsageError(unknown(key, str(value), map(str, get_args(hint)), where=path))
    elif origin not in (Union, UnionType, tuple) and _has_type(hint, value):
        return value
    raise UsageError(f"{path}: {key} is {value!r}: expected {_type_name(hint)}")


def _has_type(hint: Any, value: Any) -> bool:
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(hint, type) and type(value) is hint


def _type_name(hint: Any) -> str:
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    return words.get(hint, "a list" if get_origin(hint) is tuple else "a table")
