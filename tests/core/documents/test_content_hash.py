"""The hash of a document's content: the same as ever, and found again from what is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest

from ragkit.documents.content_hash import content_hash, is_content

DATA = b"Leave is 28 days."
PARSED = {"author": "Ada", "created": "2020-04-02", "modified": "2021"}


def test_without_title_and_metadata_it_is_that_of_the_bytes() -> None:
    assert content_hash(DATA) == hashlib.sha256(DATA).hexdigest()


def test_a_given_title_and_metadata_are_hashed_as_documents_have_them_already() -> None:
    # printf 'Leave is 28 days.["Days", [["dept", "人事"], ["year", 2024]]]' | sha256sum
    expected = "314936c5da8c53a6379231c459124eb90a920b43725a23491e7c9b10ae22f52c"
    assert content_hash(DATA, "Days", {"year": 2024, "dept": "人事"}) == expected


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("", {}),
        ("Days", {}),
        ("", {"year": 2024}),
        ("Days", {"year": 2024, "size": 1.5, "final": True}),
        ("", {"author": "Ada's own", "year": 2024}),
        ("", {"near_duplicate_of": "given"}),
    ],
)
def test_a_document_is_known_by_what_it_stores(title: str, given: Mapping[str, Any]) -> None:
    hashed = content_hash(DATA, title, given)
    stored = {**PARSED, "near_duplicate_similarity": 0.9, **given}
    assert is_content(DATA, hashed, title or "From the parser", stored)
    assert not is_content(DATA + b" ", hashed, title, stored)
    assert not is_content(DATA, hashlib.sha256(b"").hexdigest(), title, stored)
