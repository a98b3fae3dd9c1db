"""What a question asks about, however it is typed."""

from __future__ import annotations

import pytest

from ragkit.question.reading import read_question


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("What's the fine if I don't pay?", {"fine", "pay"}),
        ("What’s the fine if I don’t pay?", {"fine", "pay"}),
        ("whats the fine if i dont pay", {"fine", "pay"}),
        ("Doesn't it rain?", {"rain"}),
        ("doesnt it rain", {"rain"}),
        ("I've lost my key, can't I enter?", {"enter", "key", "lost"}),
        ("ive lost my key cant i enter", {"enter", "key", "lost"}),
        ("Aren't they late, and won't we be?", {"late"}),
        ("They're late, you'll see, I'd go, I'm out", {"late", "see", "go", "out"}),
        ("And where then?", set()),
    ],
)
def test_short_forms_of_verbs_are_no_content(text: str, content: set[str]) -> None:
    assert read_question(text).content == content


@pytest.mark.parametrize("text", ["Who designed the Ive chair?", "Were we well?", "What is an IM?"])
def test_words_that_only_look_like_short_forms_stay(text: str) -> None:
    assert read_question(text).text == text


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("whats the rent", "what's the rent"),
        ("whos the chair", "who's the chair"),
        ("wheres the key", "where's the key"),
        ("Whens the gala", "When's the gala"),
        ("hows the weather", "how's the weather"),
    ],
)
def test_a_question_without_its_apostrophe_asks_the_same(typed: str, written: str) -> None:
    assert read_question(typed) == read_question(written)
    assert not read_question(typed).yes_or_no
