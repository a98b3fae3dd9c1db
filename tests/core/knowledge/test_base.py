"""Search and ask as a whole, over the fakes: what a knowledge base adds to its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit import Answer, KnowledgeBase, Settings
from ragkit.answer.check.entailment import EntailmentModel
from ragkit.answer.refuse.gate import Gate
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.answer.write.llm import ChatGenerator
from ragkit.contracts import Generator
from ragkit.errors import ModelError, NotFoundError, SettingsError
from ragkit.question.reading import read_question
from ragkit.retrieve.words.weights import term_weights
from ragkit.stats.cutoff import Cutoff
from ragkit.store.open import Database
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore, fill, new_document
from ragkit.types import Chunk, Decoding, Draft, Hit, NewDocument, Page, Reasoning

FIRST = "The bridge is painted grey."
SECOND = "It was opened in 1932 by the king."


@pytest.fixture
def store() -> FakeStore:
    """One document of two pages in one chunk."""
    text = f"{FIRST}\n\n{SECOND}"
    embedder = FakeEmbedder()
    embedder.load()
    document = NewDocument(
        uri="bridge.pdf",
        content_hash="1",
        fingerprint="f",
        text=text,
        chunks=(Chunk(0, 0, len(text), 14, page=1),),
        title="Bridge",
        pages=(Page(0, 1), Page(len(FIRST) + 2, 2)),
    )
    made = FakeStore()
    made.create_collection("default")
    made.put_document("default", document, embedder.space, embedder.embed_passages([text]))
    return made


def knowledge_base(store: FakeStore, generator: Generator) -> KnowledgeBase:
    return KnowledgeBase(store, FakeEmbedder(), generator, collection="default")


def test_a_citation_names_the_page_of_its_quotation_not_of_its_passage(store: FakeStore) -> None:
    answer = knowledge_base(store, ExtractiveGenerator()).ask("When was the bridge opened?")
    first = answer.citations[0]
    assert (first.quote, first.page, first.verdict) == (SECOND, 2, "verified")
    assert store.text(first.document)[first.start : first.end] == SECOND


@pytest.mark.parametrize("question", ["When was the bridge opened?", "这座桥是哪一年开放的？"])
def test_nothing_is_generated_that_a_missing_model_could_not_check(
    store: FakeStore, question: str
) -> None:
    model = FakeLanguageModel("It was opened in 1932 [1].")
    kb = KnowledgeBase(
        store,
        FakeEmbedder(),
        ChatGenerator(model),
        collection="default",
        entails=EntailmentModel("nobody/nothing"),
    )
    with pytest.raises(ModelError, match="that RAGKIT_NLI_MODEL names cannot be loaded"):
        next(kb.stream(question))
    assert model.asked == []
    assert kb.search(question)  # which checks nothing


class Once(FakeStore):
    """A store that was another one before."""

    def __init__(self, before: FakeStore) -> None:
        super().__init__()
        self._before = before

    def as_of(self, moment: datetime) -> FakeStore:
        return self._before


def test_quoted_answers_as_of_a_time_are_judged_by_the_words_of_then() -> None:
    """The rare word of then is common now, and the common one rare: by now's it is a refusal."""
    before, embedder = FakeStore(), FakeEmbedder()
    now = Once(before)
    said = new_document("bird.md", "The kestrel flies over the hill.")
    for store, common in ((before, "warranty"), (now, "kestrel")):
        others = [new_document(f"{n}.md", f"The {common} has part {n}.") for n in range(30)]
        fill(store, embedder, [said, *others])
    generator = ExtractiveGenerator(partial(term_weights, now, "default"))
    kb = knowledge_base(now, generator)
    then = kb.adapted(as_of=datetime(2026, 1, 31, tzinfo=UTC), passages=1)
    question = "kestrel warranty?"
    assert not then.ask(question).refused
    assert kb.adapted(passages=1).ask(question).refused


def test_a_stream_is_the_text_in_pieces_and_then_the_answer(store: FakeStore) -> None:
    *pieces, answer = knowledge_base(store, ExtractiveGenerator()).stream("When was it opened?")
    assert isinstance(answer, Answer)
    assert "".join(_texts(pieces)) == answer.text
    assert list(answer.timings) == ["retrieve", "gate", "generate", "verify"]


def test_a_language_models_wrong_number_is_marked(store: FakeStore) -> None:
    model = FakeLanguageModel("It was opened in 1933 [1]. It is painted grey [1].")
    answer = knowledge_base(store, ChatGenerator(model)).ask("When was the bridge opened?")
    assert answer.unverified == ("1933",)
    assert [citation.verdict for citation in answer.citations] == ["verified", "verified"]
    assert [(answer.text[c.start : c.end], c.support) for c in answer.claims] == [
        ("It was opened in 1933 [1].", "partly"),
        ("It is painted grey [1].", "supported"),
    ]
    assert [hit.uri for hit in answer.used] == ["bridge.pdf"]


def test_a_marker_without_a_source_is_neither_streamed_nor_kept(store: FakeStore) -> None:
    model = FakeLanguageModel("It was opened in 1932 [1][9]. By the king [ 7 ].")
    kb = knowledge_base(store, ChatGenerator(model))
    *pieces, answer = kb.stream("When was the bridge opened?")
    assert isinstance(answer, Answer)
    assert answer.text == "It was opened in 1932 [1]. By the king."
    assert "".join(_texts(pieces)) == answer.text
    assert [(answer.text[c.start : c.end], c.cites, c.support) for c in answer.claims] == [
        ("It was opened in 1932 [1].", (1,), "supported"),
        ("By the king.", (), "not found"),
    ]
    assert answer.unverified == ()


def test_data_is_left_as_it_is(store: FakeStore) -> None:
    generator = ChatGenerator(FakeLanguageModel("[9]"), decoding=Decoding(regex=r"\[\d\]"))
    answer = knowledge_base(store, generator).ask("When was the bridge opened?")
    assert (answer.text, answer.claims, answer.unverified) == ("[9]", (), ())


@pytest.mark.parametrize(
    ("question", "text", "reason"),
    [
        (
            "How much are bananas?",
            "The sources do not answer this question.",
            "Nothing that was found in the documents mentions “bananas”.",
        ),
        (
            "香蕉多少钱？",
            "所给资料无法回答这个问题。",
            "在文档中找到的内容似乎都没有回答这个问题。",  # they are in English
        ),
    ],
)
def test_what_is_not_there_is_refused_before_a_language_model_is_asked(
    store: FakeStore, question: str, text: str, reason: str
) -> None:
    model = FakeLanguageModel("Bananas are free [1].")
    *pieces, answer = knowledge_base(store, ChatGenerator(model)).stream(question)
    assert isinstance(answer, Answer)
    assert model.asked == []
    assert (_texts(pieces), answer.text, answer.refused) == ([text], text, True)
    assert answer.reason == reason
    assert (answer.citations, answer.claims, answer.used) == ((), (), ())
    assert len(answer.hits) == 1


def test_an_empty_collection_is_refused_alike() -> None:
    store = FakeStore()
    store.create_collection("default")
    model = FakeLanguageModel("Forty-two.")
    for generator in (ChatGenerator(model), ExtractiveGenerator()):
        answer = knowledge_base(store, generator).ask("How many?")
        assert (answer.text, answer.refused) == ("The sources do not answer this question.", True)
        assert answer.reason == "Nothing was found in the documents."
    assert model.asked == []


def test_the_reason_for_a_language_models_own_refusal(
    store: FakeStore,
) -> None:
    model = FakeLanguageModel("The sources do not answer this question.")
    answer = knowledge_base(store, ChatGenerator(model)).ask("Who painted the bridge?")
    assert answer.refused
    assert answer.reason == (
        "The language model found no answer in the passages that it was given."
    )


@pytest.mark.parametrize(("threshold", "refused"), [(0.9, True), (0.0, False)])
def test_a_fitted_cutoff_decides_for_every_generator(
    store: FakeStore, threshold: float, refused: bool
) -> None:
    """The extractive generator's own measure is not asked besides: the words are not there."""
    cutoff = Cutoff(bias=0.0, weights=(0.0,) * 3, means=(0.0,) * 3, threshold=threshold)
    gate = Gate(lambda terms: dict.fromkeys(terms, 1.0), lambda mode, reader=None: cutoff)
    question = "Which king of the lost ancient golden southern empires?"
    assert knowledge_base(store, ExtractiveGenerator()).ask(question).refused
    for generator in (ExtractiveGenerator(), ChatGenerator(FakeLanguageModel("The king [1]."))):
        kb = KnowledgeBase(store, FakeEmbedder(), generator, collection="default", gate=gate)
        answer = kb.ask(question)
        assert answer.refused is refused
        assert ("It scores 0.500, below the cut-off 0.900" in answer.reason) is refused


def test_passages_from_before_are_considered_too(store: FakeStore) -> None:
    (hit,) = knowledge_base(store, ExtractiveGenerator()).search("bridge", k=1)
    earlier = replace(hit, chunk=99, text="Bananas cost two euros.", start=0, end=23)
    model = FakeLanguageModel("Two euros [2].")
    kb = knowledge_base(store, ChatGenerator(model))
    answer = kb.ask("How much are bananas?")
    assert answer.refused
    *_, last = kb.stream("And bananas?", query="How much are bananas?", candidates=[earlier])
    assert isinstance(last, Answer)
    assert not last.refused
    assert [h.chunk for h in last.hits] == [hit.chunk, 99]


def test_a_database_that_cannot_be_searched_is_closed_again(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Database] = []

    def note(self: Database) -> None:
        closed.append(self)

    monkeypatch.setattr(Database, "close", note)
    settings = Settings(database_url=SecretStr(fresh_database), reranker="late:")
    with pytest.raises(SettingsError, match="'late:' without a model"):
        KnowledgeBase.open(settings)
    monkeypatch.undo()
    for database in closed:
        database.close()
    assert len(closed) == 1


def test_an_unknown_collection_is_named(store: FakeStore) -> None:
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="nowhere")
    with pytest.raises(NotFoundError, match="nowhere"):
        kb.ask("When?")


def _texts(pieces: Sequence[str | Reasoning | Answer]) -> list[str]:
    assert all(isinstance(piece, str) for piece in pieces)
    return [piece for piece in pieces if isinstance(piece, str)]


def test_a_question_is_judged_by_the_collection_that_was_searched(store: FakeStore) -> None:
    """What is written after the search counts neither for the gate nor for the generator."""
    asked = "When was the bridge opened?"
    expected = knowledge_base(store, ExtractiveGenerator()).ask(asked)
    weighed: list[dict[str, float]] = []

    class Watched(ExtractiveGenerator):
        def generate(self, *given: Any, **options: Any) -> Iterator[str | Draft]:
            weighed.append(dict(self.weigh(read_question(asked).content)))
            return super().generate(*given, **options)

    def write(hits: Sequence[Hit]) -> None:
        new = [new_document(f"{n}.md", "The bridge opened, when?") for n in range(30)]
        fill(store, FakeEmbedder(), new)

    before = term_weights(store, "default", read_question(asked).content)
    kb = KnowledgeBase(store, FakeEmbedder(), Watched(), collection="default")
    answer = kb.adapted(on_found=write).ask(asked)
    assert weighed == [before]
    assert term_weights(store, "default", read_question(asked).content) != before
    assert answer.text == expected.text
