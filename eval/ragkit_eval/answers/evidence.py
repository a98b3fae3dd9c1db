"""What a sentence says that its sources do not hold, by the core's own means of comparison.

It compares quotations, numbers, names and words, not meanings.
"""

from collections.abc import Iterable

from ragkit.answer.names import names
from ragkit.answer.numbers import numbers
from ragkit.answer.quotations import locate, quotations
from ragkit.answer.reading import blanked
from ragkit.answer.support import Evidence, misplaced
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
    quoted = quotations(sentence)
    lacking = sum(
        not any(locate(sentence[span.start : span.end], piece) for piece in source.folded)
        for span in quoted
    )
    rest = blanked(sentence, quoted)  # a quotation answers for the numbers and names in it
    lacking += sum(number not in source.numbers for number in numbers(rest))
    lacking += sum(rest[name.start : name.end] not in source.names for name in names(rest))
    return lacking + misplaced(sentence, [source])
