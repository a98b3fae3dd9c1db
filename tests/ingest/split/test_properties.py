"""What holds of every splitter for any text at all, blocks over it wherever they fall."""

from functools import lru_cache

import pytest
from hypothesis import HealthCheck, given, settings

from ragkit.contracts import Embedder
from ragkit.settings.ingest_options import SPLITTERS, IngestOptions
from ragkit.types import ParsedText
from ragkit_ingest.split import splitter
from tests.ingest.split.conformance import check
from tests.ingest.split.conftest import EMBEDDERS
from tests.ingest.split.test_structural_properties import parsed_texts


@lru_cache
def embedder(kind: str) -> Embedder:
    fake: Embedder = EMBEDDERS[kind]()
    fake.load()
    return fake


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("kind", EMBEDDERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parsed=parsed_texts())
def test_any_text_is_cut_as_the_contract_says(name: str, kind: str, parsed: ParsedText) -> None:
    options = IngestOptions(splitter=name, chunk_tokens=64, chunk_overlap_tokens=8)
    check(parsed, splitter(options, embedder(kind)), embedder(kind))
