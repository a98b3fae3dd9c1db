"""The tests that docs/guarantees.md names are there, in the files that it names."""

import re

from tests.places import ROOT

PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")


def test_every_promise_names_a_test_that_is_there() -> None:
    promises = re.split(r"^### ", PAGE.partition("## What is not promised")[0], flags=re.M)[1:]
    assert len(promises) >= 15
    for promise in promises:
        title, found = promise.partition("\n")[0], 0
        parts = re.split(r"\]\(\.\./(tests/[\w/]+\.py)\)", promise)
        for path, said in zip(parts[1::2], parts[2::2], strict=True):
            defined = set(re.findall(r"^def (test_\w+)", (ROOT / path).read_text("utf-8"), re.M))
            named = set(re.findall(r"`(test_\w+)`", said))
            assert named, f"{title}: no test of {path} is named"
            assert named <= defined, f"{title}: {path} has no {named - defined}"
            found += len(named)
        assert found, f"{title}: nothing shows it"
