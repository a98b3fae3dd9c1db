"""Write a report as a CSV table, one row per run and item, safe against formula injection.

Files are read line by line, so that memory does not grow with the table.
"""

from __future__ import annotations

import csv as _csv
import io
import re
from collections.abc import Iterator, Sequence

from ragkit.report.safe_text import inert
from ragkit_eval.compare.compare import Comparison
from ragkit_eval.compare.pairing import run_names
from ragkit_eval.report.extract import Key
from ragkit_eval.run.record import Record, Run, read_lines

FIELDS = (
    "run task id group cluster status prediction targets question output error finish fallback"
    " latency_s first_token_s prompt_tokens completion_tokens cached_tokens"
).split()
# Spreadsheets run texts with these first characters, also after blanks and in East Asian forms:
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠'\t\r\n]")


def csv(runs: Sequence[Run], comparison: Comparison | None = None) -> str:
    """Write every item of every run as CSV (RFC 4180), scores at full precision.

    A text that a spreadsheet might run, or that begins with an apostrophe, gets an apostrophe as
    its first character: removing one leading apostrophe restores each text. `comparison` is not
    used.
    """
    return "".join(csv_lines(runs))


def csv_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the table, column names first."""
    metrics = dict.fromkeys(
        metric for run in runs for record in run.records for metric in record.scores
    )
    yield _write_line([*FIELDS, *(_escape_formula(metric) for metric in metrics)])
    for name, run in zip(run_names(runs), runs, strict=True):
        for record in _last_records(run):
            yield _write_line(
                [*_row_values(name, record), *(record.scores.get(m, "") for m in metrics)]
            )


def _last_records(run: Run) -> Iterator[Record]:
    """Yield each item's last record, the valid one, in the file's order."""
    remaining: dict[Key, int] = {}
    for record in _read_records(run):
        key = (record.task, record.id)
        remaining[key] = remaining.get(key, 0) + 1
    for record in _read_records(run):
        key = (record.task, record.id)
        remaining[key] -= 1
        if not remaining[key]:
            yield record


def _read_records(run: Run) -> Iterator[Record]:
    return (line for line in read_lines(run.path) if isinstance(line, Record))


def _row_values(run: str, record: Record) -> list[str | float | int]:
    usage = record.usage
    return [
        *map(
            _escape_formula,
            (run, record.task, record.id, record.group, record.cluster, record.status),
        ),
        _escape_formula(record.prediction),
        _escape_formula("\n".join(record.targets)),
        *map(_escape_formula, (record.question, record.output, record.error, record.finish)),
        int(record.fallback),
        record.latency_s,
        "" if record.first_token_s is None else record.first_token_s,
        *(usage.get(name, "") for name in FIELDS[-3:]),
    ]


def _escape_formula(text: str) -> str:
    text = inert(text)
    return f"'{text}" if _FORMULA.match(text) else text


def _write_line(values: Sequence[object]) -> str:
    buffer = io.StringIO()
    _csv.writer(buffer).writerow(values)
    return buffer.getvalue()
