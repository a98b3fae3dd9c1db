"""A made-up collection of any size, for speed alone: clustered unit vectors and Zipf text.

The same seed makes the same collection. A chunk belongs to a topic: its vector lies around the
topic's, and a quarter of its words are the topic's own, so that both legs find related chunks. It
says nothing about quality.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ragkit.types import Chunk, EmbeddingSpace, NewDocument, Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors
    from ragkit.store.postgres import PostgresStore

CHUNKS_PER_DOCUMENT = 10
DOCUMENTS_PER_BATCH = 100  # loaded in one transaction
VOCABULARY = 50_000
ZIPF = 1.07  # the exponent of word frequencies in English text is near 1
TOPIC_WORDS = 40
TOPIC_SHARE = 0.25
WORDS = (50, 150)  # of a chunk, evenly: about the 240 tokens of a real one at most
SPREAD = 0.9  # length of the noise around a topic's unit vector: cosines in a topic are near 0.55
_SYLLABLES = [c + v for c in "bdfgklmnprtvz" for v in "aiou"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query: its words, and the vector that a model would make of it, of shape (dimension,)."""

    text: str
    vector: Vectors


@dataclass(frozen=True)
class Corpus:
    """`chunks` chunks in documents of ten, with unit vectors of `dimension` numbers, float32."""

    chunks: int
    dimension: int = 384
    seed: int = 0

    @property
    def topics(self) -> int:
        return max(10, self.chunks // 200)

    @property
    def space(self) -> EmbeddingSpace:
        return EmbeddingSpace(f"clustered-{self.seed}", "1", self.dimension)

    def documents(self) -> Iterator[tuple[NewDocument, Vectors]]:
        """Make the documents, each with a row of `vectors` per chunk; a metadata key `share` holds
        1, 10 or 100: the percentage of documents that have no higher one.
        """
        for number in range(self.chunks // CHUNKS_PER_DOCUMENT):
            rng = np.random.default_rng([self.seed, 1, number])
            topics = rng.integers(self.topics, size=CHUNKS_PER_DOCUMENT)
            texts = [self._text(rng, topic, int(rng.integers(*WORDS))) for topic in topics]
            vectors = np.stack([self._vector(rng, topic) for topic in topics])
            drawn = rng.random()
            share = "1" if drawn < 0.01 else "10" if drawn < 0.1 else "100"
            yield document(number, texts, {"share": share}), vectors

    def queries(self, count: int, words: int = 5) -> list[Asked]:
        """Make queries about the corpus's topics, of `words` words each."""
        found = []
        for number in range(count):
            rng = np.random.default_rng([self.seed, 2, number])
            topic = int(rng.integers(self.topics))
            text = self._text(rng, topic, words, share=0.6)
            found.append(Asked(text, self._vector(rng, topic)))
        return found

    def _vector(self, rng: np.random.Generator, topic: int) -> Vectors:
        noise = rng.normal(size=self.dimension)
        centre = _centre(self.seed, topic, self.dimension)
        mixed = centre + SPREAD * noise / np.linalg.norm(noise)
        vector: Vectors = (mixed / np.linalg.norm(mixed)).astype(np.float32)
        return vector

    def _text(
        self, rng: np.random.Generator, topic: int, words: int, share: float = TOPIC_SHARE
    ) -> str:
        ranks = _zipf(rng, words)
        own = _own_words(self.seed, topic)
        topical = rng.random(words) < share
        ranks[topical] = own[rng.integers(len(own), size=int(topical.sum()))]
        spelled = _vocabulary()
        return " ".join(spelled[rank] for rank in ranks.tolist())


def load(store: PostgresStore, collection: str, corpus: Corpus) -> None:
    """Put a corpus into a collection by the store's own bulk writes, and build what it builds."""
    store.create_collection(collection)
    documents = corpus.documents()
    while entries := list(islice(documents, DOCUMENTS_PER_BATCH)):
        store.put_documents(collection, entries, corpus.space)
    store.finish_load(collection, corpus.space)


class Precomputed:
    """An embedder that knows the vectors of some queries, and nothing else: it costs no time."""

    max_tokens = 256

    def __init__(self, space: EmbeddingSpace, asked: Sequence[Asked]) -> None:
        self.space = space
        self._vectors = {one.text: one.vector for one in asked}

    def load(self) -> None: ...

    def token_spans(self, text: str) -> Sequence[Span]:
        raise NotImplementedError

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError

    def embed_query(self, text: str) -> Vectors:
        return self._vectors[text]

    def reads(self, text: str) -> float:
        return 1.0


def word(rank: int) -> str:
    """Spell the word of a rank; the more frequent, the shorter.

    >>> word(0), word(51), word(52)
    ('ba', 'zu', 'baba')
    """
    base = len(_SYLLABLES)
    spelled = _SYLLABLES[rank % base]
    while rank := rank // base:
        rank -= 1
        spelled = _SYLLABLES[rank % base] + spelled
    return spelled


@lru_cache(maxsize=10_000)
def _centre(seed: int, topic: int, dimension: int) -> NDArray[np.float64]:
    centre = np.random.default_rng([seed, 3, topic]).normal(size=dimension)
    unit: NDArray[np.float64] = centre / np.linalg.norm(centre)
    return unit


@lru_cache(maxsize=10_000)
def _own_words(seed: int, topic: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, 4, topic]).integers(50, VOCABULARY, TOPIC_WORDS)


@lru_cache
def _vocabulary() -> list[str]:
    return [word(rank) for rank in range(VOCABULARY)]


def _zipf(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw ranks from 0 by inverting the density rank ** -ZIPF over 1..VOCABULARY."""
    power = 1 - ZIPF
    u = rng.random(count)
    ranks: NDArray[np.int64] = ((1 + u * (VOCABULARY**power - 1)) ** (1 / power)).astype(np.int64)
    return np.minimum(ranks - 1, VOCABULARY - 1)


def document(number: int, texts: Sequence[str], metadata: Mapping[str, str]) -> NewDocument:
    """Make a document of its chunks' texts; its number is its file's name."""
    whole = "\n".join(texts)
    chunks = []
    start = 0
    for ordinal, text in enumerate(texts):
        chunks.append(Chunk(ordinal, start, start + len(text), tokens=text.count(" ") + 1))
        start += len(text) + 1
    return NewDocument(
        uri=f"{number:07}.txt",
        content_hash=hashlib.sha256(whole.encode()).hexdigest(),
        fingerprint="made up",
        text=whole,
        chunks=tuple(chunks),
        metadata=metadata,
    )
