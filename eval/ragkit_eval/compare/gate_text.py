"""Write a gate's outcome as plain text, Markdown, JUnit XML and JSON."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from ragkit_eval.compare.compare_text import as_finite, cell
from ragkit_eval.compare.gate import Check, Gate, Outcome

# Characters that XML 1.0 cannot hold, even escaped: https://www.w3.org/TR/xml/#charsets
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_VERDICTS: dict[Outcome, str] = {
    "pass": "passed",
    "regression": "failed: a regression",
    "inconclusive": "not shown to be good enough",
    "unusable": "unusable",
}


def sentence(check: Check, level: float = 0.95) -> str:
    """Describe in one sentence what a check found."""
    row, margin = check.row, check.max_drop
    figures = (
        f"{row.metric} of {row.task}: {row.baseline} {row.a.mean:.3f}, {row.candidate}"
        f" {row.b.mean:.3f}, difference {row.difference.mean:+.3f}"
        f" ({level:.0%} {row.difference.low:+.3f} to {row.difference.high:+.3f})"
        f" over {row.items} items"
    )
    if check.outcome == "pass" and row.better == row.worse == 0:
        shows = f"{row.detectable:.3f} or more" if isfinite(row.detectable) else "none"
        return f"{figures}: no item scored otherwise (differences that this data can show: {shows})"
    if check.outcome == "pass":
        return f"{figures}: a drop of more than {margin:g} is ruled out"
    if check.outcome == "regression":
        return f"{figures}: it dropped by more than {margin:g}"
    return (
        f"{figures}: whether it dropped by more than {margin:g} cannot be told from this data;"
        " take more items or a wider margin"
    )


def lines(gate: Gate) -> list[str]:
    """Return the checks and problems as lines of text; the last line is the verdict."""
    text_lines = [f"{check.outcome}: {sentence(check, gate.level)}" for check in gate.checks]
    text_lines += [f"unusable: {problem}" for problem in gate.problems]
    return [*text_lines, verdict(gate)]


def verdict(gate: Gate) -> str:
    """Return the gate's outcome as one line."""
    if gate.outcome != "inconclusive":
        return f"Gate {_VERDICTS[gate.outcome]}."
    if gate.allow_inconclusive:
        return f"Gate {_VERDICTS[gate.outcome]}, which --allow-inconclusive lets through."
    return (
        f"Gate {_VERDICTS[gate.outcome]}, which counts as a failure without --allow-inconclusive."
    )


def markdown(gate: Gate) -> str:
    """Write the outcome as Markdown, for a CI summary."""
    out = [f"### {verdict(gate)}", ""]
    if gate.checks:
        out += [
            f"| | task | metric | baseline | candidate | difference ({gate.level:.0%})"
            " | largest drop allowed | items |",
            "|---|---|---|---:|---:|---|---:|---:|",
        ]
    for check in gate.checks:
        row = check.row
        out.append(
            f"| {check.outcome} | {cell(row.task)} | {cell(row.metric)} | {row.a.mean:.3f}"
            f" | {row.b.mean:.3f} | {row.difference.mean:+.3f} ({row.difference.low:+.3f} to"
            f" {row.difference.high:+.3f}) | {check.max_drop:g} | {row.items} |"
        )
    out += [f"- {cell(problem)}" for problem in gate.problems]
    return "\n".join(out) + "\n"


def junit(gate: Gate) -> str:
    """Write the outcome as JUnit XML: failed checks are failures, problems are errors."""
    failed = [check for check in gate.checks if check.outcome not in ("pass",)]
    skipped = [
        check for check in failed if check.outcome == "inconclusive" and gate.allow_inconclusive
    ]
    suite = ElementTree.Element(
        "testsuite",
        name="ragkit eval gate",
        tests=str(len(gate.checks) + len(gate.problems)),
        failures=str(len(failed) - len(skipped)),
        errors=str(len(gate.problems)),
        skipped=str(len(skipped)),
    )
    for check in gate.checks:
        case = _add_case(
            suite, check.row.task, f"{check.row.metric} drops by at most {check.max_drop:g}"
        )
        message = _clean_xml(sentence(check, gate.level))
        if check in skipped:
            ElementTree.SubElement(case, "skipped", message=message)
        elif check in failed:
            ElementTree.SubElement(case, "failure", message=message, type=check.outcome)
        else:
            ElementTree.SubElement(case, "system-out").text = message
    for problem in gate.problems:
        case = _add_case(suite, "runs", "the runs can be compared")
        ElementTree.SubElement(case, "error", message=_clean_xml(problem), type="unusable")
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"
    )


def as_json(gate: Gate) -> dict[str, Any]:
    """Return the outcome as JSON values; infinite and undefined numbers are null."""
    from dataclasses import asdict

    values: dict[str, Any] = {
        "outcome": gate.outcome,
        "exit_code": gate.exit_code,
        "checks": [
            {**asdict(check.row), "max_drop": check.max_drop, "outcome": check.outcome}
            | {"says": sentence(check, gate.level)}
            for check in gate.checks
        ],
        "problems": list(gate.problems),
    }
    finite: dict[str, Any] = as_finite(values)
    return finite


def _add_case(suite: ElementTree.Element, task: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", classname=_clean_xml(task), name=_clean_xml(name)
    )


def _clean_xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
