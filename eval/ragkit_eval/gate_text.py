"""A gate's outcome in plain words, as Markdown, JUnit XML and JSON. It decides nothing."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from ragkit_eval.compare_text import as_finite, cell
from ragkit_eval.gate import Check, Gate, Outcome

# What XML 1.0 cannot hold, even escaped: https://www.w3.org/TR/xml/#charsets
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SAID: dict[Outcome, str] = {
    "pass": "passed",
    "regression": "failed: a regression",
    "inconclusive": "not shown to be good enough",
    "unusable": "unusable",
}


def sentence(check: Check, level: float = 0.95) -> str:
    """Say in one sentence what a check found."""
    row, margin = check.row, check.max_drop
    found = (
        f"{row.metric} of {row.task}: {row.baseline} {row.a.mean:.3f}, {row.candidate}"
        f" {row.b.mean:.3f}, difference {row.difference.mean:+.3f}"
        f" ({level:.0%} {row.difference.low:+.3f} to {row.difference.high:+.3f})"
        f" over {row.items} items"
    )
    if check.outcome == "pass" and row.better == row.worse == 0:
        shows = f"{row.detectable:.3f} or more" if isfinite(row.detectable) else "none"
        return f"{found}: no item scored otherwise (differences that this data can show: {shows})"
    if check.outcome == "pass":
        return f"{found}: a drop of more than {margin:g} is ruled out"
    if check.outcome == "regression":
        return f"{found}: it dropped by more than {margin:g}"
    return (
        f"{found}: whether it dropped by more than {margin:g} cannot be told from this data;"
        " take more items or a wider margin"
    )


def lines(found: Gate) -> list[str]:
    """Return the outcome as lines of text, the last one the verdict."""
    said = [f"{check.outcome}: {sentence(check, found.level)}" for check in found.checks]
    said += [f"unusable: {problem}" for problem in found.problems]
    return [*said, verdict(found)]


def verdict(found: Gate) -> str:
    """Return the whole gate's outcome in a line."""
    if found.outcome != "inconclusive":
        return f"Gate {_SAID[found.outcome]}."
    if found.allow_inconclusive:
        return f"Gate {_SAID[found.outcome]}, which --allow-inconclusive lets through."
    return f"Gate {_SAID[found.outcome]}, which counts as a failure without --allow-inconclusive."


def markdown(found: Gate) -> str:
    """Write the outcome for a CI summary."""
    out = [f"### {verdict(found)}", ""]
    if found.checks:
        out += [
            f"| | task | metric | baseline | candidate | difference ({found.level:.0%})"
            " | largest drop allowed | items |",
            "|---|---|---|---:|---:|---|---:|---:|",
        ]
    for check in found.checks:
        row = check.row
        out.append(
            f"| {check.outcome} | {cell(row.task)} | {cell(row.metric)} | {row.a.mean:.3f}"
            f" | {row.b.mean:.3f} | {row.difference.mean:+.3f} ({row.difference.low:+.3f} to"
            f" {row.difference.high:+.3f}) | {check.max_drop:g} | {row.items} |"
        )
    out += [f"- {cell(problem)}" for problem in found.problems]
    return "\n".join(out) + "\n"


def junit(found: Gate) -> str:
    """Write the outcome as JUnit XML: a failure per check that fails, an error per problem."""
    failed = [check for check in found.checks if check.outcome not in ("pass",)]
    skipped = [
        check for check in failed if check.outcome == "inconclusive" and found.allow_inconclusive
    ]
    suite = ElementTree.Element(
        "testsuite",
        name="ragkit eval gate",
        tests=str(len(found.checks) + len(found.problems)),
        failures=str(len(failed) - len(skipped)),
        errors=str(len(found.problems)),
        skipped=str(len(skipped)),
    )
    for check in found.checks:
        case = _case(
            suite, check.row.task, f"{check.row.metric} drops by at most {check.max_drop:g}"
        )
        said = _xml(sentence(check, found.level))
        if check in skipped:
            ElementTree.SubElement(case, "skipped", message=said)
        elif check in failed:
            ElementTree.SubElement(case, "failure", message=said, type=check.outcome)
        else:
            ElementTree.SubElement(case, "system-out").text = said
    for problem in found.problems:
        case = _case(suite, "runs", "the runs can be compared")
        ElementTree.SubElement(case, "error", message=_xml(problem), type="unusable")
    ElementTree.indent(suite)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"
    )


def as_json(found: Gate) -> dict[str, Any]:
    """Return the outcome as JSON values; what is not finite is null."""
    from dataclasses import asdict

    values: dict[str, Any] = {
        "outcome": found.outcome,
        "exit_code": found.exit_code,
        "checks": [
            {**asdict(check.row), "max_drop": check.max_drop, "outcome": check.outcome}
            | {"says": sentence(check, found.level)}
            for check in found.checks
        ],
        "problems": list(found.problems),
    }
    finite: dict[str, Any] = as_finite(values)
    return finite


def _case(suite: ElementTree.Element, task: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_xml(task), name=_xml(name))


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
