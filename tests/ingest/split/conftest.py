"""The embedders that splitters are tested with: the bundled model's tokens, and a tiny fake's."""

from collections.abc import Sequence

import pytest

from ragkit.embed.find import find_model
from ragkit.embed.tokens import TokenSpans, load_tokens
from ragkit.testing import FakeEmbedder
from ragkit.types import Span

pytest.register_assert_rewrite("tests.ingest.split.conformance")


class RealTokens(FakeEmbedder):
    """The bundled model's tokenizer, and vectors that cost nothing."""

    def __init__(self) -> None:
        super().__init__(max_tokens=254)
        self._tokens = load_tokens(find_model("all-MiniLM-L6-v2").folder)

    def token_spans(self, text: str) -> TokenSpans:
        return self._tokens.spans(text)


class Inseparable(FakeEmbedder):
    """Its pieces have other tokens than the whole: a token is four characters from the start on."""

    def __init__(self) -> None:
        super().__init__(max_tokens=100)

    def token_spans(self, text: str) -> Sequence[Span]:
        return [Span(n, min(n + 4, len(text))) for n in range(0, len(text), 4)]


EMBEDDERS = {"MiniLM's tokens": RealTokens, "inseparable tokens": Inseparable}


@pytest.fixture(scope="session", params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> FakeEmbedder:
    fake: FakeEmbedder = EMBEDDERS[request.param]()
    fake.load()
    return fake
