"""Refuse declarations of tasks whose values have the right types and contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Final

from ragkit_eval.tasks.prefixes import PREFIX_RULES
from ragkit_eval.tasks.scorers.bias import EXTRA as BIAS_EXTRA
from ragkit_eval.tasks.spec import DataSpec, SamplingSpec, Spec, unknown

_METHODS: Final = ("letter", "loglikelihood", "generate")
_CHOOSING: Final = ("choice", "bias", "mass")  # scorers of options, by likelihood too
# Values that scorers read from the item's `extra`, and what they do with them.
_EXTRA: Final = {
    "program": (("test", "entry_point"), "which the scorer program runs"),
    "bias": (BIAS_EXTRA, "by which the scorer bias counts"),
}


def problems(spec: Spec) -> Iterator[str]:
    """Yield what is wrong with a declaration, one sentence for each problem."""
    if spec.method not in _METHODS:
        yield unknown("method", spec.method, _METHODS)
    yield from _file_problems(spec.data)
    yield from _option_problems(spec)
    yield from _data_problems(spec.data)
    yield from _scorer_problems(spec)
    yield from _sampling_problems(spec.sampling)
    if any(len(edit) != 3 for edit in spec.edits):
        yield "edits: each is a list of three: group, text, replacement"


def _file_problems(data: DataSpec) -> Iterator[str]:
    if not data.files:
        yield "data.files is empty: name the files that hold the questions"
    for name in data.files:
        parts = Path(name).parts
        if Path(name).is_absolute() or ".." in parts:
            yield "data.files leave the data folder: set data.folder instead"
        if not parts or any("**" in part and part != "**" for part in parts):
            yield f"data.files has {name!r}: name files, such as test/*.jsonl"
    hub = any(name.startswith("hf:") for name in data.files)
    if hub and (data.shots or data.prefix or data.join or len(data.files) > 1):
        yield "data.files: hf: is one dataset without shots: use local files"


def _option_problems(spec: Spec) -> Iterator[str]:
    if spec.fields.turns and (spec.method != "generate" or not spec.sampling.chat):
        yield "fields.turns needs a conversation: set method to generate and sampling.chat to true"
    if spec.method != "generate" and not spec.fields.options:
        yield f"fields.options is missing: {spec.method} chooses among options"


def _data_problems(data: DataSpec) -> Iterator[str]:
    """Name keys of the data that would have no effect."""
    if data.columns and data.format == "jsonl":
        yield f"data.columns is for CSV and JSON files, and data.format is {data.format}: remove it"
    if bool(data.join) != bool(data.join_on):
        yield "data.join and data.join_on go together: give both, or neither"
    if data.each and data.shots:
        yield "data.each and data.shots exclude each other: keep one of them"
    if data.rows and data.format != "json":
        yield f"data.rows is for JSON files, and data.format is {data.format}: remove it"
    if bool(data.prefix) != bool(data.prefix_rule):
        yield "data.prefix and data.prefix_rule go together: give both, or neither"
    if data.prefix and data.shots:
        yield "data.prefix and data.shots both give the examples: keep one of them"
    if data.prefix_rule and data.prefix_rule not in PREFIX_RULES:
        yield unknown("data.prefix_rule", data.prefix_rule, PREFIX_RULES)
    if data.shots and data.shot_count < 1:
        yield f"data.shot_count is {data.shot_count}: it must be 1 or more, or remove data.shots"


def _scorer_problems(spec: Spec) -> Iterator[str]:
    """Name fields that a scorer lacks or would not use."""
    if spec.scorer in _CHOOSING and not spec.fields.options:
        yield f"fields.options is missing: the scorer {spec.scorer} compares options"
    if spec.scorer == "mass" and spec.method != "loglikelihood":
        yield f"the scorer mass needs the method loglikelihood, and this is {spec.method}"
    if spec.method == "loglikelihood" and spec.scorer not in _CHOOSING:
        yield f"the scorer {spec.scorer} reads a text, and loglikelihood gives none: use choice"
    if spec.metrics and spec.scorer != "text":
        yield f"metrics are for the scorer text, and this is {spec.scorer}: remove them"
    needed, reason = _EXTRA.get(spec.scorer, ((), ""))
    lacking = [name for name in needed if name not in spec.fields.extra]
    if lacking:
        yield f"fields.extra lacks {' and '.join(lacking)}, {reason}"


def _sampling_problems(sampling: SamplingSpec) -> Iterator[str]:
    if sampling.max_tokens < 1:
        yield f"sampling.max_tokens is {sampling.max_tokens}: it must be 1 or more"
    if not 0 <= sampling.temperature < inf:
        yield f"sampling.temperature is {sampling.temperature}: it must be 0 or more"
    if "" in sampling.stop:
        yield "sampling.stop has an empty text: name texts to stop at"
