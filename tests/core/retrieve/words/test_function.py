"""What a query's words weigh beside a model: function words nothing, codes twice."""

import pytest

from ragkit.retrieve.words.function_words import with_codes_twice, without_function_words
from ragkit.text.analyse import analyse


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


@pytest.mark.parametrize(
    ("query", "repeated"),
    [
        ("What does fault code E17 mean?", ["e17"]),
        ("ISO9001和0x80070005", ["iso9001", "0x80070005"]),
        ("故障代码E11是什么意思", ["e11"]),
        ("rooms for 12 people in 2026", []),
        ("leave", []),
    ],
)
def test_codes_count_twice(query: str, repeated: list[str]) -> None:
    terms = analyse(query)
    assert with_codes_twice(terms) == [*terms, *repeated]
