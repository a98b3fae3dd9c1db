"""Answer a question several times, and keep the answer that most others agree with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.answer.check.agreement import vote
from ragkit.answer.write.llm import ChatGenerator
from ragkit.system.clock import Clock
from ragkit.types import Answer, Draft, Usage

if TYPE_CHECKING:
    from ragkit.contracts import Generator
    from ragkit.types import Hit, Reasoning

    Drafting = Callable[[Generator], Iterator[str | Reasoning | Draft]]

AT_ONCE: Final = 4  # arbitrary: requests to a model server; they share their prompt


def sample(
    generator: ChatGenerator,
    drafting: Drafting,
    hits: Sequence[Hit],
    verified: Callable[[Draft, Sequence[Hit], Clock], Answer],
    clock: Clock,
) -> Answer:
    """Draft as many answers as the generator's prompting says, check all, and return one.

    `Answer.prompting` says which and how many of the others agree with each; its usage is that of
    all. Raises what drafting raises, for any of them.
    """
    with ThreadPoolExecutor(AT_ONCE, "ragkit-sample") as threads:
        futures = [
            threads.submit(copy_context().run, _draft, drafting, generator.sample(number))
            for number in range(generator.samples)
        ]
        drafts = [future.result() for future in futures]
    clock.stop("generate")
    answers = [verified(draft, hits, Clock()) for draft in drafts]
    votes = vote(answers)
    clock.stop("verify")
    chosen = answers[votes.chosen]
    record = {"chosen": votes.chosen + 1, "agreeing": list(votes.agreeing)}
    return replace(
        chosen,
        timings=clock.seconds,
        usage=_total([answer.usage for answer in answers]),
        prompting={**chosen.prompting, **record},
    )


def _draft(drafting: Drafting, generator: Generator) -> Draft:
    *_, draft = drafting(generator)
    assert isinstance(draft, Draft), "a generator ends with a Draft"
    return draft


def _total(usages: Sequence[Usage | None]) -> Usage | None:
    counted = [usage for usage in usages if usage is not None]
    if not counted:
        return None
    cached = [usage.cached_tokens for usage in counted if usage.cached_tokens is not None]
    return Usage(
        sum(usage.prompt_tokens for usage in counted),
        sum(usage.completion_tokens for usage in counted),
        sum(cached) if cached else None,
    )
