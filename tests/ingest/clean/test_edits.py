"""Edits move what lies over a text truly: literal cases, and properties over made-up documents."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.types import Block, Page, ParsedText
from ragkit_ingest.clean.edits import Edit, edited, replaced

TEXT = "# Title\n\nfirst part\n\nsecond part\n"
PARSED = ParsedText(
    TEXT,
    (Block(0, 7, "heading", 1), Block(9, 19, "paragraph"), Block(21, 32, "paragraph")),
    (Page(0, 1, "i"), Page(21, 2)),
    title="Title",
    metadata={"author": "Ann"},
    notes={"hidden text": 1},
)


def blocks(parsed: ParsedText) -> list[str]:
    return [parsed.text[block.start : block.end] for block in parsed.blocks]


def test_blocks_and_pages_move_with_the_text() -> None:
    result = edited(PARSED, [Edit(2, 7, "A longer title"), Edit(9, 15), Edit(28, 32, "p")])
    assert result.text == "# A longer title\n\npart\n\nsecond p\n"
    assert blocks(result) == ["# A longer title", "part", "second p"]
    assert result.blocks[0] == Block(0, 16, "heading", 1)
    assert result.pages == (Page(0, 1, "i"), Page(24, 2))
    assert (result.title, result.metadata, result.notes) == (
        "Title",
        {"author": "Ann"},
        PARSED.notes,
    )


def test_a_replacement_over_two_blocks_belongs_to_the_first() -> None:
    result = edited(PARSED, [Edit(15, 28, "[X]")])
    assert blocks(result) == ["# Title", "first [X]", "part"]
    assert result.pages == (Page(0, 1, "i"), Page(18, 2))


@pytest.mark.parametrize(
    ("edit", "remaining"),
    [
        (Edit(9, 19), ["# Title", "second part"]),
        (Edit(9, 21), ["# Title", "second part"]),
        (Edit(9, 19, "  "), ["# Title", "second part"]),
        (Edit(9, 32, "[KEY]"), ["# Title", "[KEY]"]),
        (Edit(0, 33, ""), []),
    ],
)
def test_a_block_without_text_goes(edit: Edit, remaining: list[str]) -> None:
    assert blocks(edited(PARSED, [edit])) == remaining


def test_a_page_that_loses_its_text_goes_and_one_that_had_none_stays() -> None:
    empty = ParsedText("ab\ncd\n", pages=(Page(0, 1), Page(3, 2), Page(3, 3), Page(6, 4)))
    assert edited(empty, [Edit(0, 1)]).pages == (Page(0, 1), Page(2, 2), Page(2, 3), Page(5, 4))
    assert edited(empty, [Edit(0, 3)]).pages == (Page(0, 2), Page(0, 3), Page(3, 4))


def test_insertions_and_neighbouring_edits() -> None:
    edits = [Edit(0, 0, ">"), Edit(9, 14, "1st"), Edit(14, 15, "_"), Edit(19, 19, "!")]
    result = edited(PARSED, edits)
    assert result.text == "># Title\n\n1st_part!\n\nsecond part\n"
    assert blocks(result) == ["># Title", "1st_part", "second part"]


def test_without_edits_it_is_the_same() -> None:
    assert edited(PARSED, []) is PARSED


def test_edits_that_overlap_or_go_backwards_are_a_programmers_mistake() -> None:
    for wrong in ([Edit(0, 5), Edit(4, 6)], [Edit(5, 6), Edit(0, 1)], [Edit(3, 99)]):
        with pytest.raises(AssertionError):
            replaced(TEXT, wrong)


@st.composite
def documents(draw: st.DrawFn) -> tuple[ParsedText, list[Edit]]:
    text = draw(st.text(alphabet="ab \n", max_size=40))
    offset = st.integers(0, len(text))
    cuts = sorted(draw(st.lists(offset, max_size=12)))
    blocks = [
        Block(a, b, "paragraph") for a, b in zip(cuts[::2], cuts[1::2], strict=False) if a < b
    ]
    pages = [
        Page(start, n) for n, start in enumerate(sorted(draw(st.lists(offset, max_size=5))), 1)
    ]
    cuts = sorted(draw(st.lists(offset, max_size=12)))
    replacement = st.text(alphabet="XY", max_size=3)
    edits = [Edit(a, b, draw(replacement)) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    return ParsedText(text, tuple(blocks), tuple(pages)), edits


@given(documents())
def test_structure_stays_in_order_within_the_text_and_apart(
    case: tuple[ParsedText, list[Edit]],
) -> None:
    parsed, edits = case
    result = edited(parsed, edits)
    assert all(0 <= block.start < block.end <= len(result.text) for block in result.blocks)
    assert all(first.end <= second.start for first, second in pairwise(result.blocks))
    assert all(0 <= page.start <= len(result.text) for page in result.pages)
    assert all(first.start <= second.start for first, second in pairwise(result.pages))


@given(documents())
def test_each_character_that_stays_stays_in_its_block_and_on_its_page(
    case: tuple[ParsedText, list[Edit]],
) -> None:
    """Follow every kept character through the edits one by one, as nothing clever would."""
    parsed, edits = case
    result = edited(parsed, edits)
    gone = {at for edit in edits for at in range(edit.start, edit.end)}
    position = 0
    inserted = {edit.start: edit for edit in edits}
    for at, character in enumerate(parsed.text):
        position += sum(len(e.text) for e in edits if e.start == at)
        if at in gone:
            continue
        assert result.text[position] == character
        expected = [b for b in parsed.blocks if b.start <= at < b.end]
        blocks = [b for b in result.blocks if b.start <= position < b.end]
        if not character.isspace():
            assert len(expected) == len(blocks)
        assert page_of(parsed, at) == page_of(result, position)
        position += 1
    assert inserted or result is parsed or result == parsed


def page_of(parsed: ParsedText, offset: int) -> int:
    return max((page.number for page in parsed.pages if page.start <= offset), default=0)
