"""Passages with the same text shown once, and as many others as were asked for."""

from __future__ import annotations

import json
from dataclasses import replace

from ragkit.cli.render import hit_json
from ragkit.client.values import value
from ragkit.retrieve.pipeline import Pipeline
from ragkit.retrieve.search import HybridRetriever
from ragkit.retrieve.steps.duplicates import Collapse
from ragkit.testing import CORPUS, FakeEmbedder, FakeStore, fill
from ragkit.testing.corpus import new_document, passages
from ragkit.types import Copy, Hit, SearchResult

RULE = "Every employee has 28 days of paid holiday."


def searching(store: FakeStore) -> Pipeline:
    return Pipeline(HybridRetriever(store, FakeEmbedder(), "default"), distinct=Collapse())


def copies(count: int) -> FakeStore:
    """Put the same rule into so many documents, beside four others about holidays."""
    store = FakeStore()
    again = [new_document(f"copy{n}.md", RULE if n % 2 else RULE.upper()) for n in range(count)]
    others = [new_document(f"other{n}.md", f"On holiday {n} days are long.") for n in range(4)]
    fill(store, FakeEmbedder(), [*again, *others])
    return store


def test_the_best_of_the_same_texts_is_kept_and_names_the_others() -> None:
    first, second, third, *rest = passages()
    again = replace(third, text=f"  {first.text.upper()}\n", chunk=98)
    wide = replace(third, text=first.text.replace("wing", "ｗｉｎｇ"), chunk=99)
    kept = Collapse().refine("q", [first, second, again, *rest, wide])
    assert [hit.chunk for hit in kept] == [hit.chunk for hit in (first, second, *rest)]
    places = [Copy(2, n, "leave.md", "Leave", 1, third.start, third.end) for n in (98, 99)]
    assert kept[0] == replace(first, duplicates=tuple(places))
    assert kept[1].duplicates == ()
    assert list(Collapse().refine("q", [])) == []
    assert list(Collapse().refine("q", kept)) == list(kept)


def test_other_words_are_no_duplicate() -> None:
    first, second = passages()[:2]
    near = replace(first, chunk=99, text=first.text.replace("high", "low"))
    assert len(Collapse().refine("q", [first, near, second])) == 3


def test_the_search_goes_deeper_until_there_are_enough_others() -> None:
    found = searching(copies(60)).find("paid holiday days", k=4)
    assert [hit.uri[:5] for hit in found.hits] == ["copy0", "other", "other", "other"]
    assert len(found.hits[0].duplicates) == 59
    assert [s.name for s in found.stages].count("too many duplicates") == 2
    assert found.stages[-1].name == "duplicates"


def test_a_collection_without_so_many_others_gives_what_it_has() -> None:
    store = copies(3)
    assert len(searching(store).search("paid holiday days", k=1000)) == 5
    assert len(searching(store).search("paid holiday days", k=5)) == 5


def test_without_duplicates_nothing_changes() -> None:
    store = FakeStore()
    fill(store, FakeEmbedder(), CORPUS)
    plain = HybridRetriever(store, FakeEmbedder(), "default").search("unused days, wing", k=3)
    assert list(searching(store).search("unused days, wing", k=3)) == list(plain)


def test_json_names_the_others() -> None:
    found: SearchResult = searching(copies(2)).find("paid holiday days", k=1)
    (other,) = hit_json(found.hits[0])["duplicates"]
    assert other["uri"] == "copy1.md"
    assert set(other) == {"document", "uri", "title", "page", "start", "end", "chunk"}
    # The client reads it back.
    sent = json.loads(json.dumps(hit_json(found.hits[0]) | {"chunk": 1, "version": 1}))
    assert value(Hit, sent).duplicates == found.hits[0].duplicates
