"""Passages of any length, by texts and by ids, on small real models and the fake one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.embed.contract import TokenEmbedder, by_ids
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.passages import LongPassages, embed_rows, embed_texts
from ragkit.embed.windows import weigh
from ragkit.errors import ModelError
from ragkit.testing.embedder import FakeEmbedder
from ragkit.types import Span
from tests.core.embed.tiny_model import write_model

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

SHORT, LONG = "one two three", " ".join(f"word{n % 7} and" for n in range(20))


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> TokenEmbedder:
    """A model that reads ten tokens besides "passage: "."""
    folder = tmp_path_factory.mktemp("models") / "e5-small-v2"
    return LocalEmbedder(str(write_model(folder, seed=3, dimension=16, max_tokens=14)))


def unit(vector: Vectors) -> list[float]:
    return list(vector / np.linalg.norm(vector))


def test_short_passages_are_embedded_as_they_are(short: TokenEmbedder) -> None:
    assert (short.max_tokens, len(short.prefix_ids())) == (10, 2)
    expected = short.embed_passages([SHORT, "four"])
    ways: list[LongPassages] = ["refuse", "mean", "max", "weighted"]
    for long in ways:
        vectors, count = embed_texts(short, [SHORT, "four"], long)
        assert count == 0
        assert np.array_equal(vectors, expected)


def test_nothing_gives_nothing(short: TokenEmbedder) -> None:
    assert embed_texts(short, [], "mean")[0].shape == (0, 16)
    assert embed_rows(short, [], "mean")[0].shape == (0, 16)


def test_a_long_passage_is_refused_unless_it_may_be_pooled(short: TokenEmbedder) -> None:
    with pytest.raises(ModelError, match="takes 14: make chunks of at most 10 tokens"):
        embed_texts(short, [SHORT, LONG])


@pytest.mark.parametrize("long", ["mean", "max", "weighted"])
def test_a_long_passage_is_pooled_over_its_windows(
    short: TokenEmbedder, long: LongPassages
) -> None:
    text = "a b c d e f g h i j k l m n o p q r s t"  # 20 tokens: three windows of ten
    parts = [text[:19], text[10:29], text[20:]]
    each = short.embed_passages(parts)
    weights = weigh([np.array([ord(c) for c in part[::2]], np.int32) for part in parts])
    expected = {
        "refuse": [],
        "mean": unit(each.mean(axis=0)),
        "max": unit(each.max(axis=0)),
        "weighted": unit((each * weights[:, None]).sum(axis=0)),
    }[long]
    vectors, count = embed_texts(short, [SHORT, text], long)
    assert count == 1
    assert vectors[1].tolist() == pytest.approx(expected, abs=1e-5)
    assert vectors[0].tolist() == pytest.approx(short.embed_passages([SHORT])[0].tolist(), abs=1e-6)
    by_row, _ = embed_rows(short, short.passage_ids([SHORT, text]), long)
    assert np.array_equal(by_row, vectors)


def test_an_embedder_that_takes_texts_only_is_given_windows_of_the_text() -> None:
    fake = FakeEmbedder(max_tokens=4)
    fake.load()
    assert by_ids(fake) is None
    vectors, count = embed_texts(fake, ["a1 b2", "a1 b2 c3 d4 e5 f6"], "mean")
    assert count == 1
    each = fake.embed_passages(["a1 b2 c3 d4", "c3 d4 e5 f6"])
    assert vectors[1].tolist() == pytest.approx(unit(each.mean(axis=0)), abs=1e-6)
    assert np.array_equal(vectors[0], fake.embed_passages(["a1 b2"])[0])
    assert embed_texts(fake, ["a1"])[1] == 0


class Growing(FakeEmbedder):
    """Counts one token more in a text that does not begin with a."""

    def token_spans(self, text: str) -> Sequence[Span]:
        spans = list(super().token_spans(text))
        return spans if text.startswith("a") else [*spans[:1], *spans]


def test_windows_that_grow_when_cut_out_are_made_smaller() -> None:
    growing = Growing(max_tokens=8)
    growing.load()
    text = " ".join(f"a{n}" if n % 2 == 0 else f"b{n}" for n in range(30))
    vectors, count = embed_texts(growing, [text], "mean")
    assert (vectors.shape, count) == ((1, 256), 1)
