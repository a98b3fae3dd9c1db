"""What every `Embedder` must do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.errors import ModelError

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors

# Half precision in the model, and its rounding in batches of another shape.
TOLERANCE = 2e-2
TEXTS = (
    "Cats sleep for most of the day.",
    "a",
    "股票市场今天下跌。",
    "The stock market fell today, and so did the price of oil and of wheat.",
    "x",
    "אבג and 🛩 café, cafe\u0301, ｆｕｌｌ ｗｉｄｔｈ",
)


class EmbedderConformance:
    """Needs a fixture `embedder`, which may be of any scope; the suite loads it.

    The model must hold "cats" and "the cat" for closer than "cats" and "the stock market".
    """

    @pytest.fixture(autouse=True)
    def _loaded(self, embedder: Embedder) -> None:
        embedder.load()

    def test_loading_again_changes_nothing(self, embedder: Embedder) -> None:
        space, limit, vector = embedder.space, embedder.max_tokens, embedder.embed_query("cats")
        embedder.load()
        assert (embedder.space, embedder.max_tokens) == (space, limit)
        assert np.allclose(embedder.embed_query("cats"), vector, atol=1e-6)

    def test_space_is_named(self, embedder: Embedder) -> None:
        assert embedder.space.model
        assert embedder.space.revision
        assert embedder.space.dimension > 0
        assert embedder.max_tokens > 0

    def test_passages_have_shape_type_and_norm(self, embedder: Embedder) -> None:
        _check(embedder.embed_passages(TEXTS), (len(TEXTS), embedder.space.dimension))

    def test_query_has_shape_type_and_norm(self, embedder: Embedder) -> None:
        for text in TEXTS:
            _check(embedder.embed_query(text), (embedder.space.dimension,))

    def test_no_passages(self, embedder: Embedder) -> None:
        vectors = embedder.embed_passages([])
        assert vectors.shape == (0, embedder.space.dimension)
        assert vectors.dtype == np.float32

    @pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "?", "\u200b"])
    def test_text_without_words(self, embedder: Embedder, text: str) -> None:
        _check(embedder.embed_query(text), (embedder.space.dimension,))
        _check(embedder.embed_passages([text, "a"]), (2, embedder.space.dimension))

    def test_order_is_kept(self, embedder: Embedder) -> None:
        together = embedder.embed_passages(TEXTS)
        for row, text in enumerate(TEXTS):
            alone = embedder.embed_passages([text])[0]
            assert float(together[row] @ alone) > 1 - TOLERANCE
        backwards = embedder.embed_passages(TEXTS[::-1])
        assert (np.sum(together * backwards[::-1], axis=1) > 1 - TOLERANCE).all()

    def test_many_passages_of_mixed_length(self, embedder: Embedder) -> None:
        words = [(i * 7919) % 23 + 1 for i in range(100)]
        texts = [f"{'word ' * n}{i}" for i, n in enumerate(words) if n < embedder.max_tokens // 2]
        vectors = embedder.embed_passages(texts)
        _check(vectors, (len(texts), embedder.space.dimension))
        for row in range(0, len(texts), 17):
            alone = embedder.embed_passages([texts[row]])[0]
            assert float(vectors[row] @ alone) > 1 - TOLERANCE

    def test_equal_texts_have_equal_vectors(self, embedder: Embedder) -> None:
        vectors = embedder.embed_passages(["the same", "another one", "the same"])
        assert float(vectors[0] @ vectors[2]) > 1 - 1e-3
        assert float(vectors[0] @ vectors[1]) < float(vectors[0] @ vectors[2])

    def test_related_is_closer_than_unrelated(self, embedder: Embedder) -> None:
        query = embedder.embed_query("where do the cats sleep")
        near, far = embedder.embed_passages(["cats sleep in the sun", "stock market prices fell"])
        assert float(query @ near) > float(query @ far)

    def test_passage_of_exactly_the_limit(self, embedder: Embedder) -> None:
        limit = embedder.max_tokens
        texts = [_tokens(embedder, limit), _tokens(embedder, limit, last="b")]
        vectors = embedder.embed_passages(texts)
        _check(vectors, (2, embedder.space.dimension))
        assert not np.array_equal(vectors[0], vectors[1]), "the last token was cut"

    def test_passage_over_the_limit_is_refused(self, embedder: Embedder) -> None:
        long = _tokens(embedder, embedder.max_tokens + 1)
        for texts in ([long], ["a", long, "b"]):
            with pytest.raises(ModelError) as raised:
                embedder.embed_passages(texts)
            assert "\n" not in str(raised.value)

    @pytest.mark.parametrize("text", ["", "wings", "机翼 wings", "？！", "\ud800"])
    def test_readable_share_lies_between_0_and_1(self, embedder: Embedder, text: str) -> None:
        assert 0.0 <= embedder.reads(text) <= 1.0

    def test_long_query_is_cut(self, embedder: Embedder) -> None:
        long = _tokens(embedder, 3 * embedder.max_tokens)
        _check(embedder.embed_query(long), (embedder.space.dimension,))

    @pytest.mark.parametrize("text", [*TEXTS, "\ufffd \u202e rtl", "a\u0301" * 50, "👩‍👩‍👧 family"])
    def test_token_spans_lie_in_order_within_the_text(self, embedder: Embedder, text: str) -> None:
        spans = embedder.token_spans(text)
        assert spans
        assert all(0 <= span.start <= span.end <= len(text) for span in spans)
        starts = [span.start for span in spans]
        assert starts == sorted(starts)

    @pytest.mark.parametrize(
        "text", ["The quick brown fox; jumps: twice!", "航空公司 的 2024 年报。"]
    )
    def test_token_spans_cover_all_but_white_space(self, embedder: Embedder, text: str) -> None:
        covered = {i for span in embedder.token_spans(text) for i in range(span.start, span.end)}
        assert {i for i, char in enumerate(text) if not char.isspace()} <= covered

    def test_token_spans_count_in_code_points(self, embedder: Embedder) -> None:
        text = "🛩🛩🛩 cats"
        last = embedder.token_spans(text)[-1]
        assert last.end == len(text) == 8
        assert last.start >= 4

    def test_no_tokens_in_no_text(self, embedder: Embedder) -> None:
        assert list(embedder.token_spans("")) == []

    def test_token_spans_of_a_long_text(self, embedder: Embedder) -> None:
        sentence = "Cats sleep. "
        per_piece = len(embedder.token_spans(sentence))
        spans = embedder.token_spans(sentence * 20_000)
        assert len(spans) == 20_000 * per_piece
        assert spans[-1].end == len(sentence) * 20_000 - 1


def _check(vectors: Vectors, shape: Sequence[int]) -> None:
    assert vectors.shape == tuple(shape)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=-1), 1, atol=1e-3)


def _tokens(embedder: Embedder, count: int, last: str = "a") -> str:
    """Make a text of exactly that many tokens."""
    text = "a " * (count - 1) + last
    assert len(embedder.token_spans(text)) == count
    return text
