"""What is shown around a hit: over the fake store, and once over the database."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from ragkit.answer.check.verify import verify
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.filters.tree import parse
from ragkit.prompts.packing import drop_repeated
from ragkit.retrieve.steps.expand import Kind, Widen
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing import FakeEmbedder, FakeStore, fill
from ragkit.types import Chunk, Citation, Draft, Hit, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Store

TEXT = "zero one two three four,  five\n\nsix seven 航空 nine ten"
WORDS = [match.span() for match in re.finditer(r"\w+,?", TEXT)]
PATHS = (("A",), ("A", "B"), ("A", "B"), ("A", "C"), ("D",))


def made(uri: str = "a.md") -> NewDocument:
    """Make a document of five chunks of three words, each beginning with the last one's last."""
    chunks = tuple(
        Chunk(n, WORDS[2 * n][0], WORDS[2 * n + 2][1], tokens=3, page=n + 1, headings=path)
        for n, path in enumerate(PATHS)
    )
    return NewDocument(uri, f"hash of {uri}", "test", TEXT, chunks, title="Numbers")


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    fill(store, FakeEmbedder(), [made(), made("b.md")])
    return store


def hits(store: Store, *ordinals: int, uri: str = "a.md") -> list[Hit]:
    with store.snapshot() as reader:
        chunks = reader.matching("default", parse({"eq": {"uri": uri}}))
        found = reader.hits([chunks[n] for n in ordinals])
    return [replace(hit, score=9.0 - n) for n, hit in enumerate(found)]


def widened(store: Store, kind: Kind, found: list[Hit], max_tokens: int = 1024) -> list[Hit]:
    return list(Widen(store, kind, max_tokens=max_tokens).refine("q", found))


@pytest.mark.parametrize(
    ("kind", "ordinal", "max_tokens", "text"),
    [
        ("neighbours", 2, 1024, TEXT),
        ("neighbours", 2, 9, "two three four,  five\n\nsix seven 航空"),
        ("neighbours", 2, 8, "four,  five\n\nsix seven 航空"),  # what follows goes first
        ("neighbours", 2, 5, "four,  five\n\nsix"),
        ("neighbours", 2, 1, "four,  five\n\nsix"),
        ("neighbours", 0, 6, "zero one two three four,"),
        ("neighbours", 4, 6, "six seven 航空 nine ten"),
        ("section", 0, 1024, "zero one two three four,  five\n\nsix seven 航空"),
        ("section", 1, 1024, "two three four,  five\n\nsix"),
        ("section", 3, 1024, "six seven 航空"),
        ("parent", 3, 1024, "zero one two three four,  five\n\nsix seven 航空"),
        ("parent", 3, 6, "four,  five\n\nsix seven 航空"),
        ("parent", 4, 1024, TEXT),
    ],
)
def test_a_hit_grows_to_what_belongs_to_it_and_fits(
    store: FakeStore, kind: Kind, ordinal: int, max_tokens: int, text: str
) -> None:
    (hit,) = hits(store, ordinal)
    (wide,) = widened(store, kind, [hit], max_tokens)
    assert wide.text == TEXT[wide.start : wide.end] == text
    assert (wide.chunk, wide.score, wide.document) == (hit.chunk, hit.score, hit.document)


def test_it_begins_on_its_first_page_under_the_headings_that_all_of_it_has(
    store: FakeStore,
) -> None:
    (hit,) = hits(store, 2)
    (near,) = widened(store, "section", [hit])
    assert (near.page, near.headings) == (2, ("A", "B"))
    (far,) = widened(store, "parent", [hit])
    assert (far.page, far.headings) == (1, ("A",))
    (whole,) = widened(store, "neighbours", [hit])
    assert (whole.page, whole.headings) == (1, ())


def test_hits_that_overlap_become_one_in_the_place_of_the_best(store: FakeStore) -> None:
    found = [*hits(store, 4), *hits(store, 0, uri="b.md"), *hits(store, 3, 0)]
    shown = widened(store, "neighbours", found, 3)
    assert [(hit.uri, hit.text) for hit in shown] == [
        ("a.md", "six seven 航空 nine ten"),
        ("b.md", "zero one two"),
        ("a.md", "zero one two"),
    ]
    assert [hit.chunk for hit in shown] == [found[0].chunk, found[1].chunk, found[3].chunk]
    # A later one that reaches over two earlier ones joins them.
    (joined, _) = widened(store, "neighbours", [*hits(store, 0, 4, 2), found[1]], 9)
    assert (joined.text, joined.chunk) == (TEXT, hits(store, 0)[0].chunk)
    assert drop_repeated(shown[:2]) == shown[:2]  # nothing is left for a prompt to say twice


def test_a_document_that_changed_meanwhile_stays_as_it_was_found(store: FakeStore) -> None:
    found = [*hits(store, 2), *hits(store, 2, uri="b.md")]
    fill(store, FakeEmbedder(), [replace(made(), content_hash="another")])
    gone, there = widened(store, "neighbours", found)
    assert gone == found[0]
    assert there.text == TEXT
    assert widened(store, "neighbours", []) == []


def test_what_is_quoted_from_around_a_hit_is_verified(store: FakeStore) -> None:
    shown = widened(store, "section", hits(store, 1))
    start = TEXT.index("five")
    quote = TEXT[start : start + 9]
    cited = Citation(1, shown[0].document, "a.md", "", None, start, start + len(quote), quote)
    answered = Draft(f"“{quote}” [1]", (cited,))
    checked = verify(answered, store.text, shown)
    assert checked.citations[0].verdict == "verified"
    assert (checked.unverified, checked.claims[0].support) == ((), "quoted")


def test_in_the_database(fresh_database: str) -> None:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        store = database.store("default")
        fill(store, FakeEmbedder(), [made(), made("b.md")])
        found = [*hits(store, 2), *hits(store, 3, uri="b.md")]
        wide, section = widened(store, "section", found)
        assert (wide.text, section.text) == ("two three four,  five\n\nsix", "six seven 航空")
        assert store.text(wide.document)[wide.start : wide.end] == wide.text
        *_, draft = ExtractiveGenerator().generate("Is it seven 航空?", [section])
        assert isinstance(draft, Draft)
        assert {c.verdict for c in verify(draft, store.text, [section]).citations} == {"verified"}
        fill(store, FakeEmbedder(), [replace(made(), content_hash="another")])
        assert widened(store, "section", found)[0] == found[0]
