"""How BIG-Bench Hard's files of worked examples become what stands before a question.

A file holds a notice, a line of dashes, the task's description, and three examples that reason
step by step (Suzgun et al. 2022, arXiv:2210.09261). It knows no other task.
"""

import re
from collections.abc import Callable, Mapping, Sequence

_DASHES = "\n-----\n"
_STEPS = "A: Let's think step by step."
# An example's reasoning, and the answer that its last sentence gives.
_REASONING = re.compile(
    re.escape(_STEPS) + r".*?So the answer is (.*?)\.(?=\n\nQ:|\s*\Z)", re.DOTALL
)

Edits = Sequence[tuple[str, ...]]


def chain_of_thought(text: str, group: str, edits: Edits) -> str:
    """Return description and examples as they stand."""
    return _body(text) + "\n\n"


def direct(text: str, group: str, edits: Edits) -> str:
    """Return description and examples with the answers alone.

    The published direct prompts differ from the published reasoning in three places, which the
    edits (group, old, new) restore. Raises ValueError where one no longer fits.
    """
    body, count = _REASONING.subn(r"A: \1", _body(text))
    if not count or _STEPS in body:
        raise ValueError("an example's reasoning does not end with 'So the answer is ...'")
    for wanted, old, new in edits:
        if wanted == group:
            if body.count(old) != 1:
                raise ValueError(f"the correction of {old[:40]!r} does not fit this file")
            body = body.replace(old, new)
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
