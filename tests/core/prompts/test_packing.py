"""Packing: nothing twice, whole passages, text that stands where it says, an order that lasts."""

import random

from hypothesis import given
from hypothesis import strategies as st

from ragkit.prompts.packing import (
    RecentOrders,
    choose_fitting,
    cut_to_fit,
    drop_repeated,
    in_stable_order,
)
from ragkit.types import Hit

TEXT = "One is here. Two is there. Three is nowhere. Four is late. Five is early. Six is done."


def hit(start: int, end: int, *, document: int = 1, version: int = 1, chunk: int = 0) -> Hit:
    return Hit(
        document, chunk or 100 * document + start, "u", "", None, start, end, TEXT[start:end], 0.0,
        version=version,
    )  # fmt: skip


def spans(hits: list[Hit]) -> list[tuple[int, int]]:
    return [(one.start, one.end) for one in hits]


def test_of_an_overlap_the_better_passage_keeps_it() -> None:
    assert spans(drop_repeated([hit(13, 44), hit(0, 26), hit(27, 60)])) == [
        (13, 44),
        (0, 13),
        (44, 60),
    ]
    assert spans(drop_repeated([hit(13, 26), hit(0, 26)])) == [(13, 26), (0, 13)]
    assert spans(drop_repeated([hit(0, 13), hit(0, 26)])) == [(0, 13), (13, 26)]


def test_what_another_holds_whole_is_left_out() -> None:
    assert spans(drop_repeated([hit(0, 44), hit(13, 26)])) == [(0, 44)]
    assert spans(drop_repeated([hit(13, 26), hit(0, 44)])) == [(13, 26), (0, 44)]  # not cut in two


def test_the_same_text_of_another_document_is_left_out_another_version_is_not_trimmed() -> None:
    assert spans(drop_repeated([hit(0, 26), hit(0, 26, document=2)])) == [(0, 26)]
    assert spans(drop_repeated([hit(0, 26), hit(13, 44, version=2)])) == [(0, 26), (13, 44)]


def test_what_was_shown_is_not_shown_again() -> None:
    assert spans(drop_repeated([hit(0, 26), hit(13, 44)], previous=[hit(0, 26, chunk=9)])) == [
        (26, 44)
    ]
    assert drop_repeated([hit(0, 26, document=2)], previous=[hit(0, 26)]) == []


def test_blanks_alone_are_nothing() -> None:
    assert spans(drop_repeated([hit(0, 12), hit(0, 13)])) == [(0, 12)]


SPANS = st.tuples(st.integers(0, 80), st.integers(1, 40), st.integers(1, 2))
PASSAGES = st.lists(
    SPANS.map(lambda s: hit(s[0], min(s[0] + s[1], len(TEXT)), document=s[2])), max_size=8
)


@given(PASSAGES, PASSAGES)
def test_trimmed_or_not_a_text_stands_where_it_says(passages: list[Hit], shown: list[Hit]) -> None:
    kept = drop_repeated(passages, shown)
    assert all(one.text == TEXT[one.start : one.end] for one in kept)
    assert all(one.text.strip() for one in kept)
    assert drop_repeated(kept, shown) == kept
    for index, later in enumerate(kept):
        for earlier in (*shown, *kept[:index]):
            if later.document == earlier.document:
                apart = later.end <= earlier.start or earlier.end <= later.start
                assert apart or (later.start < earlier.start and earlier.end < later.end)


def test_a_passage_that_does_not_fit_is_passed_over() -> None:
    hits = [hit(0, 12), hit(13, 26), hit(27, 44)]
    assert choose_fitting(hits, [50, 900, 50], 100) == [0, 2]
    assert choose_fitting(hits, [50, 900, 50], 99) == [0]
    assert choose_fitting([], [], 10) == []


def test_a_beginning_ends_with_a_sentence() -> None:
    cut = cut_to_fit(hit(13, 86), lambda one: len(one.text) <= 40)
    assert cut is not None
    assert (cut.start, cut.text) == (13, "Two is there. Three is nowhere.")
    assert cut.text == TEXT[cut.start : cut.end]
    assert cut_to_fit(hit(13, 86), lambda one: len(one.text) < 5) is None
    assert cut_to_fit(hit(13, 86), lambda one: True) == hit(13, 86)


def test_a_chinese_beginning_ends_with_a_sentence() -> None:
    text = "年假为二十五天。须在五月申请。不可转让。"
    whole = Hit(1, 1, "u", "", None, 5, 5 + len(text), text, 0.0)
    cut = cut_to_fit(whole, lambda one: len(one.text) <= 16)
    assert cut is not None
    assert (cut.text, cut.end) == ("年假为二十五天。须在五月申请。", 20)


def test_place_orders_whatever_the_scores() -> None:
    hits = [hit(27, 44), hit(0, 12, document=2), hit(0, 12)]
    ordered = in_stable_order(hits)
    assert [(one.document, one.start) for one in ordered] == [(1, 0), (1, 27), (2, 0)]
    assert in_stable_order(hits[::-1]) == ordered


def test_a_prompt_begins_as_a_recent_one_did() -> None:
    a, b, c, d, e = (hit(n, n + 5) for n in (0, 10, 20, 30, 40))
    order = RecentOrders()
    assert order([a, b, c]) == [a, b, c]
    assert order([d, b, a]) == [a, b, d]
    assert order([e, c, b, a]) == [a, b, c, e]
    assert order([c, b, a]) == [a, b, c]
    assert order([e, d]) == [e, d]
    assert order([]) == []


def test_the_same_set_stands_the_same_for_as_long_as_it_is_remembered() -> None:
    a, b, c = hit(0, 5), hit(10, 15), hit(20, 25)
    order = RecentOrders(size=2)
    first = order([b, a])
    assert order([a, b]) == first == [b, a]
    order([c])
    assert order([a, b]) == [b, a]
    order([c, a])
    order([c, b])
    assert order([a, b]) == [a, b]  # forgotten


def test_another_version_of_a_document_is_another_passage() -> None:
    order = RecentOrders()
    order([hit(10, 15), hit(0, 5)])
    assert order([hit(0, 5, version=2), hit(10, 15)]) == [hit(10, 15), hit(0, 5, version=2)]


def test_no_passage_is_lost_or_doubled() -> None:
    chance = random.Random(3)
    order, known = RecentOrders(size=8), [hit(n, n + 5) for n in range(0, 80, 8)]
    for _ in range(500):
        some = chance.sample(known, chance.randint(0, 6))
        assert sorted(spans(order(some))) == sorted(spans(some))
