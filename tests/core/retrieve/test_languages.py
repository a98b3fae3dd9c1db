"""Passages in several languages: each is compared with its own, and function words do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ragkit.embed.models import model_card, reads_all
from ragkit.filters import parse
from ragkit.retrieve.languages import parts
from ragkit.retrieve.search import HybridRetriever
from ragkit.retrieve.words.function import without_function_words
from ragkit.testing import FakeEmbedder, FakeStore, fill
from ragkit.testing.corpus import new_document
from ragkit.text.language import language
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.types import NewDocument

TOPICS = ("rent", "heating", "parking", "lift", "garden", "laundry")
CHINESE = ("房租", "供暖", "停车", "电梯", "花园", "洗衣")


class Bilingual(FakeEmbedder):
    """An embedder to which the language of a text says more than what it is about."""

    def __init__(self, model: str = "multilingual-e5-small", reads_chinese: float = 1.0) -> None:
        super().__init__(dimension=8)
        self._space = EmbeddingSpace(model, "1", 8)
        self._reads_chinese = reads_chinese

    def reads(self, text: str) -> float:
        return self._reads_chinese if language(text) == "zh" else 1.0

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        import numpy as np

        vector = np.zeros(8, np.float32)
        vector[7 if any(word in text for word in CHINESE) else 6] = 3.0
        for n, words in enumerate(zip(TOPICS, CHINESE, strict=True)):
            vector[n] = float(any(word in text for word in words))
        unit: Vectors = vector / np.linalg.norm(vector)
        return unit


def documents() -> list[NewDocument]:
    english = [
        new_document(f"{t}.txt", f"About the {t} of this house, see page 7.") for t in TOPICS
    ]
    chinese = [new_document(f"{t}.txt", f"本楼的{t}说明在第七页。") for t in CHINESE]
    english += [new_document(f"house {n}.txt", f"This is house {n} of the row.") for n in range(20)]
    chinese += [new_document(f"楼{n}.txt", f"这是本区的花园第{n}号。") for n in range(20)]
    return [replace(new, language=language(new.text)) for new in (*english, *chinese)]


@pytest.mark.parametrize(
    ("query", "name"),
    [("What is the rent?", "房租.txt"), ("房租是多少?", "rent.txt")],
)
def test_a_question_finds_what_is_in_another_language(query: str, name: str) -> None:
    store = FakeStore()
    own = {"房租.txt", "rent.txt"} - {name}
    fill(store, Bilingual(), [new for new in documents() if new.uri not in own])
    hits = HybridRetriever(store, Bilingual(), "default").search(query, k=3)
    assert hits[0].uri == name


def test_few_passages_of_a_language_are_compared_with_all() -> None:
    store = FakeStore()
    few = [
        new for new in documents() if new.uri in ("rent.txt", "lift.txt", "花园.txt", "房租.txt")
    ]
    fill(store, Bilingual(), few)
    hits = HybridRetriever(store, Bilingual(), "default").search("房租是多少?", k=4)
    assert hits[0].uri == "房租.txt"


def test_what_the_model_does_not_read_has_no_cosine() -> None:
    store = FakeStore()
    fill(store, Bilingual(), documents())
    embedder = Bilingual("all-MiniLM-L6-v2", reads_chinese=0.0)
    fill(store, embedder, documents(), collection="english")
    hits = HybridRetriever(store, embedder, "english").search("What is the rent? 房租", k=12)
    chinese = [hit for hit in hits if hit.uri == "房租.txt"]
    assert [set(hit.scores) for hit in chinese] == [{"lexical"}]


def test_a_collection_of_one_language_is_searched_as_a_whole() -> None:
    where = parse({"eq": {"uri": "a"}})
    for counts in ({}, {"zh": 3}, {"en": 2, "": 1}):
        (part,) = parts(counts, where, Bilingual())
        assert (part.where, part.share) == (where, 1.0)


def test_the_parts_of_a_mixed_collection_keep_the_filter() -> None:
    where = parse({"eq": {"uri": "a"}})
    others, chinese = parts({"zh": 1, "en": 2, "": 1}, where, Bilingual())
    assert (others.share, chinese.share) == (0.75, 0.25)
    assert chinese.where == parse({"and": [{"eq": {"uri": "a"}}, {"eq": {"language": "zh"}}]})
    assert chinese.language == parse({"eq": {"language": "zh"}})
    (only,) = parts({"zh": 1, "en": 2}, None, Bilingual(reads_chinese=0.0))
    assert only.where == others.language


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("When does the IT desk open in May?", "When IT desk open May?"),
        ("The cost of this", "cost"),
        ("Can I have a refund", "refund"),
        ("to be or not to be", "to be or not to be"),
        ("a", "a"),
        ("房租 the 多少", "房租 多少"),
        ("don't", "don't"),
    ],
)
def test_function_words_are_dropped_where_enough_is_left(query: str, left: str) -> None:
    assert " ".join(without_function_words(query).split()) == left


def test_only_a_model_of_many_languages_is_trusted_whatever_the_words_say() -> None:
    assert reads_all(model_card("multilingual-e5-small"))
    assert not reads_all(model_card("all-MiniLM-L6-v2"))
    assert not reads_all(model_card("unheard-of"))
