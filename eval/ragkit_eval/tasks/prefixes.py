"""Prompt prefixes from BIG-Bench Hard's files of worked examples.

A file has a notice, a line of dashes, the task's description, and three examples that reason step
by step (Suzgun et al. 2022, arXiv:2210.09261).
"""

import re
from collections.abc import Callable, Mapping, Sequence

_DASHES = "\n-----\n"
_STEPS = "A: Let's think step by step."
# An example's reasoning, and the answer in its last sentence.
_REASONING = re.compile(
    re.escape(_STEPS) + r".*?So the answer is (.*?)\.(?=\n\nQ:|\s*\Z)", re.DOTALL
)

Edits = Sequence[tuple[str, ...]]


def chain_of_thought(text: str, group: str, edits: Edits) -> str:
    """Return description and examples unchanged."""
    return _body(text) + "\n\n"


def direct(text: str, group: str, edits: Edits) -> str:
    """Return description and examples with the answers only.

    The published direct prompts differ from the published reasoning in three places, which the
    edits (group, text, replacement) restore. Raises ValueError for an edit that does not fit.
    """
    body, count = _REASONING.subn(r"A: \1", _body(text))
    if not count or _STEPS in body:
        raise ValueError("an example's reasoning does not end with 'So the answer is ...'")
    for edited_group, original, replacement in edits:
        if edited_group == group:
            if body.count(original) != 1:
                raise ValueError(
                    f"the edit of {original[:40]!r} does not fit this file: it must occur once"
                )
            body = body.replace(original, replacement)
    return body + "\n\n"


def _body(text: str) -> str:
    _, dashes, body = text.partition(_DASHES)
    if not dashes:
        raise ValueError("no line of five dashes before the examples")
    return body.rstrip("\n")


PREFIX_RULES: Mapping[str, Callable[[str, str, Edits], str]] = {
    "chain-of-thought": chain_of_thought,
    "direct": direct,
}
