"""docs/guarantees.md and docs/security.md name tests that exist, in the files that hold them."""

import re

import pytest

from tests.places import ROOT

GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
PROMISES = re.split(r"^### ", GUARANTEES.partition("## What is not promised")[0], flags=re.M)[1:]
CHECKS = re.split(r"^\d+\. ", SECURITY, flags=re.M)[1:]


def test_there_are_as_many_as_announced() -> None:
    assert len(PROMISES) >= 15
    assert len(CHECKS) == 40


@pytest.mark.parametrize("section", [*PROMISES, *CHECKS], ids=lambda text: text[:50])
def test_a_promise_and_a_check_name_tests_that_exist(section: str) -> None:
    parts = re.split(r"\]\(\.\./(tests/[\w/]+\.py)\)", section)
    assert len(parts) > 1, "no test is named"
    for path, text in zip(parts[1::2], parts[2::2], strict=True):
        source = (ROOT / path).read_text("utf-8")
        defined = set(re.findall(r"^(?:async )?def (test_\w+)", source, re.M))
        named = set(re.findall(r"`(test_\w+)`", text))
        assert named, f"no test of {path} is named"
        assert named <= defined, f"{path} has no {named - defined}"
