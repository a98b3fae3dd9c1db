"""Split a prompt and a continuation into tokens, and read a continuation's log-likelihood.

The border is put as lm-evaluation-harness 0.4.13 puts it: white space at the prompt's end goes to
the continuation, both are encoded together, and the continuation is what stands past the number of
tokens that the prompt has alone. It asks nobody itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ragkit_eval.item import Likelihood


def at_border(prompt: str, continuation: str) -> tuple[str, str]:
    """Move the white space at the prompt's end to the continuation.

    >>> at_border("Answer: ", "A")
    ('Answer:', ' A')
    """
    kept = prompt.rstrip()
    return kept, prompt[len(kept) :] + continuation


def of_tokens(choice: dict[str, Any], start: int, end: int) -> Likelihood:
    """Sum the tokens `start` to `end` (not included) of an echoed prompt.

    Raises ValueError when the server did not tell them all.
    """
    told = choice.get("logprobs") or {}
    logprobs: Sequence[float | None] = told.get("token_logprobs") or ()
    if len(logprobs) < end or not 0 < start < end:
        raise ValueError(f"{len(logprobs)} log-probabilities for tokens {start} to {end}")
    chosen = [one for one in logprobs[start:end] if one is not None and not math.isnan(one)]
    if len(chosen) != end - start:
        raise ValueError("a token has no log-probability")
    tops: Sequence[dict[str, float] | None] = told.get("top_logprobs") or ()
    greedy = len(tops) >= end and all(
        one >= max((top or {}).values(), default=math.inf)
        for one, top in zip(chosen, tops[start:end], strict=True)
    )
    return Likelihood(math.fsum(chosen), len(chosen), greedy)


def of_text(choice: dict[str, Any], prompt: str, continuation: str, written: int) -> Likelihood:
    """Sum the tokens of an echoed text that reach past the prompt; `written` were made, not echoed.

    A token across the border counts, as part of it is the continuation's. Offsets are counted from
    the end, as what a server puts in front of a text counts in some servers' and not in others'.
    """
    told = choice.get("logprobs") or {}
    tokens: Sequence[str] = told.get("tokens") or ()
    offsets: Sequence[int] = told.get("text_offset") or ()
    end = len(tokens) - written
    if not 0 < end <= len(offsets):
        raise ValueError("the prompt was not echoed with its log-probabilities")
    finish = offsets[end] if end < len(offsets) else offsets[end - 1] + len(tokens[end - 1])
    border = finish - len(continuation)
    if border <= 0 or finish < len(prompt) + len(continuation):
        raise ValueError("the echoed prompt is shorter than what was sent")
    past = [n for n in range(end) if (offsets[n + 1] if n + 1 < end else finish) > border]
    return of_tokens(choice, past[0], end)
