"""Every splitter on every text, by the contract; and the ways to ask for one."""

from dataclasses import replace

import pytest

from ragkit.errors import SettingsError
from ragkit.settings.ingest_options import LANGCHAIN, SPLITTERS, IngestOptions, check_splitter
from ragkit.testing import FakeEmbedder
from ragkit_ingest.split import TABLE, splitter
from tests.ingest.split.conformance import TEXTS, check

NAMES = [*SPLITTERS, "langchain:RecursiveCharacterTextSplitter", "langchain:MarkdownTextSplitter"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("tokens", "overlap"), [(64, 0), (80, 20)])
def test_a_splitter_keeps_the_contract(
    name: str, text: str, tokens: int, overlap: int, embedder: FakeEmbedder
) -> None:
    options = IngestOptions(splitter=name, chunk_tokens=tokens, chunk_overlap_tokens=overlap)
    check(TEXTS[text], splitter(options, embedder), embedder)


@pytest.mark.parametrize("name", SPLITTERS)
def test_ragkits_own_splitters_leave_nothing_out(name: str, embedder: FakeEmbedder) -> None:
    assert splitter(IngestOptions(splitter=name), embedder).covers


def test_the_table_has_the_names_that_the_settings_take() -> None:
    assert set(TABLE) == {*SPLITTERS, LANGCHAIN}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("structual", "'structual': did you mean structural?"),
        ("sentence", "'sentence': did you mean sentences?"),
        ("parents", "did you mean parent-child?"),
        ("qwerty", "there are structural, fixed, sentences, parent-child, code and"),
        ("", "there are structural"),
        ("semantic", "'semantic' any more: set RAGKIT_SPLITTER=structural, or for one collection"),
        ("fixed:", "did you mean fixed?"),
        ("langchain", "as in langchain:RecursiveCharacterTextSplitter"),
        ("langchain:", "as in langchain:RecursiveCharacterTextSplitter"),
        ("langchain:os.system", "as in langchain:RecursiveCharacterTextSplitter"),
    ],
)
def test_a_name_that_no_splitter_has_is_refused(name: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=hint):
        check_splitter(name)
    with pytest.raises(SettingsError, match=hint):
        splitter(IngestOptions(splitter=name), FakeEmbedder())


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_splitter_is_returned(name: str) -> None:
    assert check_splitter(name) == name


def test_what_is_reserved_is_kept_free() -> None:
    options, embedder = IngestOptions(), FakeEmbedder(max_tokens=100)
    assert splitter(options, embedder).max_tokens == 100
    assert splitter(options, embedder, reserve=30).max_tokens == 70
    small = replace(options, chunk_tokens=50)
    assert splitter(small, embedder, reserve=30).max_tokens == 50


def test_more_than_the_model_reads_is_refused_unless_it_is_embedded_in_windows() -> None:
    options, embedder = IngestOptions(chunk_tokens=200), FakeEmbedder(max_tokens=100)
    with pytest.raises(
        SettingsError,
        match=r"chunk_tokens is 200, but .* reads 100 tokens: .* RAGKIT_CHUNK_TOKENS to 100 at",
    ):
        splitter(options, embedder)
    assert splitter(replace(options, long_chunks="mean"), embedder).max_tokens == 200
