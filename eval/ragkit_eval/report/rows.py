"""The report as a table, one row per run and item, that no spreadsheet takes for formulas.

Files are read line by line, so that a table of any length is written in the memory of one item.
"""

from __future__ import annotations

import csv as _csv
import io
import re
from collections.abc import Iterator, Sequence

from ragkit_eval.compare import Comparison
from ragkit_eval.pairing import run_names
from ragkit_eval.record import Record, Run, read_lines
from ragkit_eval.report.inert import inert
from ragkit_eval.report.texts import Key

FIELDS = (
    "run task id group cluster status prediction targets question output error finish fallback"
    " latency_s first_token_s prompt_tokens completion_tokens cached_tokens"
).split()
# Spreadsheets run what begins so, after blanks too, and in the East Asian forms:
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠'\t\r\n]")


def csv(runs: Sequence[Run], comparison: Comparison | None = None) -> str:
    """Write every item of every run as CSV (RFC 4180), scores at full precision.

    A text that a spreadsheet might run, or that begins with an apostrophe, has an apostrophe put
    before it: taking one leading apostrophe away gives each text back. A comparison adds nothing.
    """
    return "".join(csv_lines(runs))


def csv_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the table, the names of its columns first."""
    metrics = dict.fromkeys(
        metric for run in runs for record in run.records for metric in record.scores
    )
    yield _line([*FIELDS, *(_safe(metric) for metric in metrics)])
    for name, run in zip(run_names(runs), runs, strict=True):
        for record in _last_records(run):
            yield _line([*_values(name, record), *(record.scores.get(m, "") for m in metrics)])


def _last_records(run: Run) -> Iterator[Record]:
    """Yield each item's last record, which alone counts, in the order in which these stand."""
    left: dict[Key, int] = {}
    for record in _records(run):
        key = (record.task, record.id)
        left[key] = left.get(key, 0) + 1
    for record in _records(run):
        key = (record.task, record.id)
        left[key] -= 1
        if not left[key]:
            yield record


def _records(run: Run) -> Iterator[Record]:
    return (line for line in read_lines(run.path) if isinstance(line, Record))


def _values(run: str, record: Record) -> list[str | float | int]:
    usage = record.usage
    return [
        *map(_safe, (run, record.task, record.id, record.group, record.cluster, record.status)),
        _safe(record.prediction),
        _safe("\n".join(record.targets)),
        *map(_safe, (record.question, record.output, record.error, record.finish)),
        int(record.fallback),
        record.latency_s,
        "" if record.first_token_s is None else record.first_token_s,
        *(usage.get(name, "") for name in FIELDS[-3:]),
    ]


def _safe(text: str) -> str:
    text = inert(text)
    return f"'{text}" if _FORMULA.match(text) else text


def _line(values: Sequence[object]) -> str:
    written = io.StringIO()
    _csv.writer(written).writerow(values)
    return written.getvalue()
