"""What a sentence says that its sources do not hold, by the core's own means of comparison.

It compares quotations, numbers, names and words, not meanings.
"""

from collections.abc import Iterable

from ragkit.answer.names import find_names
from ragkit.answer.numbers import find_numbers
from ragkit.answer.quotations import find_quotations, locate
from ragkit.answer.reading import blank_out
from ragkit.answer.support import Evidence, count_misplaced
from ragkit.types import Hit


def evidence_of(passages: Iterable[Hit]) -> Evidence:
    """Take passages with their titles and headings as one source."""
    pieces: dict[str, None] = {}
    for hit in passages:
        pieces |= dict.fromkeys((hit.text, hit.title, *hit.headings))
    return Evidence(filter(None, pieces))


def missing(sentence: str, source: Evidence) -> int:
    """Count the quotations, numbers and names of a sentence that its source does not hold.

    A number counts too where the source has it but says it of something else.
    """
    quoted = find_quotations(sentence)
    lacking = sum(
        not any(locate(sentence[span.start : span.end], piece) for piece in source.folded)
        for span in quoted
    )
    rest = blank_out(sentence, quoted)  # a quotation answers for the numbers and names in it
    lacking += sum(number not in source.numbers for number in find_numbers(rest))
    lacking += sum(rest[name.start : name.end] not in source.names for name in find_names(rest))
    return lacking + count_misplaced(sentence, [source])
