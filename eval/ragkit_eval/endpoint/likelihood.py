"""Read the log-likelihood of a continuation from an echoed prompt.

The border is the one of lm-evaluation-harness 0.4.13: white space at the prompt's end belongs to
the continuation, both are encoded together, and the continuation begins after as many tokens as
the prompt alone has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ragkit_eval.run.item import Likelihood


def at_border(prompt: str, continuation: str) -> tuple[str, str]:
    """Move the white space at the prompt's end to the continuation.

    >>> at_border("Answer: ", "A")
    ('Answer:', ' A')
    """
    stripped = prompt.rstrip()
    return stripped, prompt[len(stripped) :] + continuation


def of_tokens(choice: dict[str, Any], start: int, end: int) -> Likelihood:
    """Sum the tokens `start` to `end` (not included) of an echoed prompt.

    Raises ValueError if the server did not return all of them.
    """
    echoed = choice.get("logprobs") or {}
    logprobs: Sequence[float | None] = echoed.get("token_logprobs") or ()
    if len(logprobs) < end or not 0 < start < end:
        raise ValueError(f"{len(logprobs)} log-probabilities for tokens {start} to {end}")
    chosen = [
        logprob
        for logprob in logprobs[start:end]
        if logprob is not None and not math.isnan(logprob)
    ]
    if len(chosen) != end - start:
        raise ValueError("a token has no log-probability")
    tops: Sequence[dict[str, float] | None] = echoed.get("top_logprobs") or ()
    greedy = len(tops) >= end and all(
        logprob >= max((top or {}).values(), default=math.inf)
        for logprob, top in zip(chosen, tops[start:end], strict=True)
    )
    return Likelihood(math.fsum(chosen), len(chosen), greedy)


def of_text(choice: dict[str, Any], prompt: str, continuation: str, written: int) -> Likelihood:
    """Sum the tokens of an echoed text that end after the prompt; `written` tokens are generated.

    A token across the border counts, because a part of it is the continuation's. Offsets are
    counted from the end, because servers differ in counting a token that they put first.
    """
    echoed = choice.get("logprobs") or {}
    tokens: Sequence[str] = echoed.get("tokens") or ()
    offsets: Sequence[int] = echoed.get("text_offset") or ()
    end = len(tokens) - written
    if not 0 < end <= len(offsets):
        raise ValueError("the prompt was not echoed with its log-probabilities")
    finish = offsets[end] if end < len(offsets) else offsets[end - 1] + len(tokens[end - 1])
    border = finish - len(continuation)
    if border <= 0 or finish < len(prompt) + len(continuation):
        raise ValueError("the echoed prompt is shorter than the sent one")
    past = [n for n in range(end) if (offsets[n + 1] if n + 1 < end else finish) > border]
    return of_tokens(choice, past[0], end)
