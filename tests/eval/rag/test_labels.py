"""Labels that name a collection's documents: by URI, by its end, and what cannot be found."""

from collections.abc import Mapping, Sequence

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document
from ragkit_eval.rag import locate
from ragkit_eval.sets import Excerpt, LabelledSet, Question, file_stem

URIS = ("/docs/a/wings.md", "/docs/b/wings.md", "/docs/leave.md", f"/docs/{file_stem('x/y')}.txt")


@pytest.fixture
def store() -> FakeStore:
    embedder = FakeEmbedder()
    embedder.load()
    made = FakeStore()
    made.create_collection("default")
    fill(made, embedder, [new_document(uri, "A wing lifts.") for uri in URIS])
    return made


def labelled(*names: str, spans: tuple[Excerpt, ...] = ()) -> LabelledSet:
    relevant = dict.fromkeys(names, 1)
    question = Question("1", "what lifts?", relevant=relevant, excerpts=spans, where="set.jsonl:4")
    return LabelledSet("set", {}, (question,))


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("/docs/b/wings.md", "/docs/b/wings.md"),
        ("a/wings.md", "/docs/a/wings.md"),
        ("leave.md", "/docs/leave.md"),
        ("leave", "/docs/leave.md"),
        ("x/y", URIS[3]),
    ],
)
def test_a_document_is_named_by_its_uri_or_an_end_of_it(
    store: FakeStore, name: str, uri: str
) -> None:
    assert locate(labelled(name), store, "default") == {name: uri}


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("wings.md", UsageError, "'wings.md' may be '/docs/a/wings.md', '/docs/b/wings.md' in"),
        ("leaves.md", NotFoundError, "in collection 'default': close are '/docs/leave.md'"),
        ("ave.md", NotFoundError, "there is no document 'ave.md' in collection 'default'"),
        ("zzz", NotFoundError, "'zzz' in collection 'default': ingest it, or correct the label"),
    ],
)
def test_a_label_that_names_none_or_several_is_named_with_its_line(
    store: FakeStore, name: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as raised:
        locate(labelled(name), store, "default")
    assert str(raised.value).startswith("set.jsonl:4: ")
    assert said in str(raised.value)


def test_what_a_set_with_documents_judges_but_does_not_hold_is_left_out(store: FakeStore) -> None:
    own = labelled("leave", "gone")
    own = LabelledSet("set", {"leave": "A wing lifts."}, own.questions)
    assert locate(own, store, "default") == {"leave": "/docs/leave.md"}


def test_a_set_with_documents_says_how_to_ingest_them(store: FakeStore) -> None:
    own = LabelledSet("set", {"gone": "A wing."}, labelled("gone").questions)
    with pytest.raises(NotFoundError, match=r"'gone' in collection 'default': .* with --documents"):
        locate(own, store, "default")


def test_spans_are_checked_against_the_stored_text(store: FakeStore) -> None:
    good = Excerpt("leave.md", 2, 6, "wing")
    assert locate(labelled(spans=(good,)), store, "default") == {"leave.md": "/docs/leave.md"}
    with pytest.raises(UsageError, match=r"^set\.jsonl:4: the span 2-99 of 'leave\.md' ends outsi"):
        locate(labelled(spans=(Excerpt("leave.md", 2, 99),)), store, "default")
    moved = "^set.jsonl:4: the span 0-4 of 'leave.md' holds 'A wi', not 'wing': it stands at 2$"
    with pytest.raises(UsageError, match=moved):
        locate(labelled(spans=(Excerpt("leave.md", 0, 4, "wing"),)), store, "default")
    with pytest.raises(UsageError, match="not 'fins': it stands nowhere in the document"):
        locate(labelled(spans=(Excerpt("leave.md", 0, 4, "fins"),)), store, "default")


class WithCopies(FakeStore):
    """A store in which another file has a document's content."""

    def known(
        self, collection: str, uris: Sequence[str] | None = None
    ) -> Mapping[str, tuple[str, str]]:
        known = dict(super().known(collection, uris))
        return {**known, "/docs/copy.md": known["/docs/leave.md"]}


def test_a_copy_goes_by_the_document_that_has_its_content() -> None:
    embedder = FakeEmbedder()
    embedder.load()
    made = WithCopies()
    made.create_collection("default")
    fill(made, embedder, [new_document("/docs/leave.md", "A wing lifts.")])
    spans = (Excerpt("copy.md", 2, 6, "wing"),)
    assert locate(labelled("copy.md", spans=spans), made, "default") == {
        "copy.md": "/docs/leave.md"
    }


def test_an_unknown_collection_is_named(store: FakeStore) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        locate(labelled("leave"), store, "nowhere")
