"""Details of a sentence that its sources lack: quotations, numbers and names.

They are compared by the core's functions, not by meaning.
"""

from collections.abc import Iterable

from ragkit.answer.check.names import find_names
from ragkit.answer.check.numbers import find_numbers
from ragkit.answer.check.parsed_answer import blank_out
from ragkit.answer.check.quotations import find_quotations, locate
from ragkit.answer.check.support import Evidence, count_misplaced
from ragkit.types import Hit


def evidence_of(passages: Iterable[Hit]) -> Evidence:
    """Combine passages with their titles and headings into a single source."""
    pieces: dict[str, None] = {}
    for hit in passages:
        pieces |= dict.fromkeys((hit.text, hit.title, *hit.headings))
    return Evidence(filter(None, pieces))


def missing(sentence: str, source: Evidence) -> int:
    """Count the quotations, numbers and names of a sentence that its source does not have.

    A number that the source states of something else counts too.
    """
    quoted = find_quotations(sentence)
    lacking = sum(
        not any(locate(sentence[span.start : span.end], piece) for piece in source.folded)
        for span in quoted
    )
    unquoted = blank_out(sentence, quoted)  # numbers and names in quotations are checked with these
    lacking += sum(number not in source.numbers for number in find_numbers(unquoted))
    lacking += sum(
        unquoted[name.start : name.end] not in source.names for name in find_names(unquoted)
    )
    return lacking + count_misplaced(sentence, [source])
