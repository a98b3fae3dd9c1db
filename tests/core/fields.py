"""What the documents of a collection can be filtered by, for tests of what reads it."""

from __future__ import annotations

from ragkit.types import Fields

PDF = "application/pdf"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FIELDS = Fields(
    languages=("en", "zh"),
    media_types=(PDF, WORD, "text/markdown"),
    keys={"year": "number", "department": "text"},
    values={"year": ("2022", "2023"), "department": ("human resources", "it")},
)
