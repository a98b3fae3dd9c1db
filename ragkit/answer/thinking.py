"""Keep a thinking model's `<think>...</think>` out of its answer while it streams.

It knows only the tags: thinking that a server sends apart from the content never gets here.
"""

import re
from collections.abc import Iterable, Iterator

OPEN, CLOSE = "<think>", "</think>"
_WHOLE_BLOCKS = re.compile(rf"\A\s*(?:{OPEN}.*?{CLOSE}\s*)*", re.DOTALL)


def without_thinking(pieces: Iterable[str]) -> Iterator[str]:
    """Pass an answer's pieces on without the thinking and the white space before the answer.

    Only what comes before the answer is thinking; the tags may be spread over pieces. Thinking
    that never ends leaves nothing.

    >>> list(without_thinking(["<thi", "nk>hm</", "think>\\n", "Yes", " [1]."]))
    ['Yes', ' [1].']
    """
    held, thinking, answering = "", False, False
    for piece in pieces:
        if answering:
            yield piece
            continue
        held += piece
        if thinking:
            _, closed, rest = held.partition(CLOSE)
            thinking, held = not closed, rest if closed else held[1 - len(CLOSE) :]
        if not thinking:
            held = _WHOLE_BLOCKS.sub("", held)
            if held.startswith(OPEN):
                thinking, held = True, held.removeprefix(OPEN)
            elif held and not OPEN.startswith(held):
                answering = True
                yield held
    if held and not thinking and not answering:  # a stream that ends within what looked like a tag
        yield held
