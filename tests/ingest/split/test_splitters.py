"""What is particular to each splitter, on small texts, by eye. A word is a token here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ragkit.types import Block, Chunk, ParsedText, Span
from ragkit_ingest.split.code import Code
from ragkit_ingest.split.contract import Splitter
from ragkit_ingest.split.fixed import Fixed
from ragkit_ingest.split.parents import Parents
from ragkit_ingest.split.sentences import Sentences
from ragkit_ingest.split.sizes import Sizes
from ragkit_ingest.split.structural import Structural
from tests.ingest.split.conformance import markdown


def words(text: str) -> Sequence[Span]:
    """One token per word or mark."""
    return [Span(*m.span()) for m in re.finditer(r"\w+|[^\w\s]", text)]


def cut(splitter: Splitter, parsed: ParsedText) -> list[str]:
    chunks = splitter.split(parsed, words(parsed.text))
    return [parsed.text[chunk.start : chunk.end] for chunk in chunks]


def numbers(first: int, last: int) -> str:
    return " ".join(f"w{n}" for n in range(first, last))


def test_fixed_windows_have_so_many_tokens_and_share_so_many() -> None:
    pieces = cut(Fixed(words, Sizes(20, 5)), ParsedText(numbers(0, 45)))
    assert pieces == [numbers(0, 20), numbers(15, 35), numbers(30, 45)]


def test_fixed_windows_end_where_they_fall_and_know_their_heading() -> None:
    parsed = markdown(f"# One\n\n{numbers(0, 20)}\n\n# Two\n\n{numbers(20, 30)}")
    chunks = Fixed(words, Sizes(18, 0)).split(parsed, words(parsed.text))
    assert [parsed.text[c.start : c.end] for c in chunks] == [
        f"# One\n\n{numbers(0, 16)}",
        f"{numbers(16, 20)}\n\n# Two\n\n{numbers(20, 30)}",
    ][:2]
    assert [chunk.headings for chunk in chunks] == [("One",), ()]


def test_sentence_windows_share_whole_sentences() -> None:
    text = "a b c d e. f g h i j. k l m n o. p q r s t. u v w x y."
    assert cut(Sentences(words, Sizes(18, 6)), ParsedText(text)) == [
        "a b c d e. f g h i j. k l m n o.",
        "k l m n o. p q r s t. u v w x y.",
    ]


def test_a_sentence_over_the_size_is_cut_and_the_others_are_whole() -> None:
    text = f"a b c. {numbers(0, 20)}. d e f."
    assert cut(Sentences(words, Sizes(16, 0)), ParsedText(text)) == [
        "a b c.",
        numbers(0, 16),
        f"{numbers(16, 20)}.",
        "d e f.",
    ]


def test_children_lie_in_the_parents_that_structural_makes() -> None:
    text = "\n\n".join(f"{numbers(n, n + 14)}." for n in range(0, 140, 14))
    parsed = ParsedText(text)
    parents = Structural(words, Sizes(64, 0)).split(parsed, words(text))
    children = Parents(words, Sizes(16, 0), 64).split(parsed, words(text))
    assert [text[c.start : c.end] for c in children] == text.split("\n\n")
    assert list(dict.fromkeys(c.parent for c in children)) == [
        Span(parent.start, parent.end) for parent in parents
    ]
    assert len(parents) == 3


def source(text: str) -> ParsedText:
    """Blocks as a parser of source code lays them out: definitions, and the bodies below."""
    blocks = []
    edges = [
        *(m.start() for m in re.finditer(r"^ *(?:def|class)\b", text, re.MULTILINE)),
        len(text),
    ]
    for start, end in pairwise(edges):
        body = text.index("\n", start) + 1
        level = 2 if text[start] == " " else 1
        blocks.append(Block(start, body - 1, "heading", level))
        if text[body:end].strip():
            blocks.append(Block(body, end, "code"))
    return ParsedText(text, tuple(blocks))


PROGRAM = """class A:
    def one(self):
        return 1

    def two(self):
        return 2

class B:
    def three(self):
        first = call(1, 2, 3)
        again = call(4, 5, 6)

        return first + again

    def four(self):
        return call(7, 8, 9)
"""


def test_code_keeps_a_class_whole_that_fits_and_cuts_another_by_methods() -> None:
    assert cut(Code(words, Sizes(40, 0)), source(PROGRAM)) == [
        PROGRAM[: PROGRAM.index("class B")].strip(),
        PROGRAM[PROGRAM.index("class B") : PROGRAM.index("    def four")].strip(),
        PROGRAM[PROGRAM.index("def four") :].strip(),
    ]


def test_a_body_is_cut_where_it_is_least_indented_after_an_empty_line() -> None:
    body = (
        "for x in a:\n    put(x, 1)\n    put(x, 2)\n\nfor y in b:\n    put(y, 1)\n    put(y, 2)\n"
    )
    assert cut(Code(words, Sizes(24, 0)), ParsedText(body * 2))[0] == body[: body.index("\n\n")]


def chunks_of(parsed: ParsedText, size: int) -> tuple[Chunk, ...]:
    return Structural(words, Sizes(size, 0)).split(parsed, words(parsed.text))


TABLE = "| a | b |\n| - | - |\n" + "\n".join(f"| x{n} | y{n} |" for n in range(8))


def test_the_later_pieces_of_a_table_have_its_header_row_as_lead() -> None:
    parsed = markdown(TABLE)
    chunks = chunks_of(parsed, 40)
    # A row has 5 tokens, the header 10: 6 rows below it, then 2 below it again.
    assert [(TABLE[c.start : c.end].count("\n") + 1, c.lead, c.tokens) for c in chunks] == [
        (8, None, 40),
        (2, Span(0, 19), 20),
    ]


def test_a_header_row_alone_ends_no_chunk() -> None:
    parsed = markdown(f"{numbers(0, 30)}\n\n{TABLE}")
    pieces = [parsed.text[c.start : c.end] for c in chunks_of(parsed, 42)]
    assert pieces[0] == numbers(0, 30)
    assert pieces[1].startswith("| a | b |\n| - | - |\n| x0 |")


def test_a_header_row_that_takes_too_much_room_is_not_repeated() -> None:
    assert [c.lead for c in chunks_of(markdown(TABLE), 36)] == [None, None]


def test_a_table_without_a_delimiter_row_has_no_lead() -> None:
    rows = "\n".join(f"| x{n} | y{n} |" for n in range(16))
    assert {c.lead for c in chunks_of(markdown(rows), 48)} == {None}


def test_the_later_pieces_of_code_have_its_signature_as_lead() -> None:
    body = "\n".join(f"    put({n})" for n in range(20))
    text = f"```python\ndef f():\n{body}\n```"
    chunks = chunks_of(markdown(text), 48)
    assert chunks[0].lead is None
    assert {text[c.lead.start : c.lead.end] for c in chunks[1:] if c.lead} == {"def f():"}
    assert all(c.lead for c in chunks[1:])
