"""Showing an answer takes linear time, whatever its text."""

import pytest

from ragkit.types import Claim
from ragkit_serve.page.markdown import plain, to_html
from tests.adversarial import UNITS, slow_text
from tests.serve.page.test_markdown import EN


@pytest.mark.long
@pytest.mark.parametrize("markdown", [True, False])
def test_time_grows_with_the_text_and_no_faster(markdown: bool) -> None:
    def shown(text: str) -> None:
        claims = [Claim(at, at + 8, (1,), "partly") for at in range(0, len(text) - 8, 16)]
        pieces = [text[at : at + 3] for at in range(0, len(text), 100)]
        to_html(text, claims=claims, unverified=pieces, cited={1}, markdown=markdown, words=EN)
        plain(text)

    assert slow_text(shown, UNITS, most=2_048) == ""
