"""Draft an answer: refuse where the gate does, else let a generator write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ragkit.answer.check.stray_markers import remove_stray_markers
from ragkit.answer.refuse import refusal
from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.contracts import Generator
from ragkit.types import Decoding, Draft, Hit, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.answer.refuse.gate import Decision
    from ragkit.prompts.prompting import Prompting


@runtime_checkable
class Adaptable(Protocol):
    """A generator with a language model, whose decoding a question may choose."""

    def adapted(
        self, *, decoding: Decoding | None, instructions: str, prompting: Prompting | None = None
    ) -> Generator:
        """Return the generator with these; None for its default decoding and plain prompting."""
        ...


def draft_answer(
    generator: Generator,
    decision: Decision,
    question: str,
    hits: Sequence[Hit],
    history: Sequence[Turn] = (),
    *,
    query: str = "",
) -> Iterator[str | Reasoning | Draft]:
    """Refuse, or generate: yield the text in pieces, then its Draft.

    `query` was searched for in the question's place, "" if the question was.

    Every marker in the text has a source: a language model's markers count the passages, those of
    a generator that quotes count its quotations.
    """
    if decision.reason:
        text = refusal.statement(question)
        return iter((text, Draft(text, refused=True, reason=decision.reason)))
    if isinstance(generator, ExtractiveGenerator):
        generator = generator.searching(query)
        if decision.calibrated:
            generator = generator.after_gate()
    pieces = generator.generate(question, hits, history=history)
    if writes_data(generator) or isinstance(generator, ExtractiveGenerator):
        return pieces
    return remove_stray_markers(pieces, len(hits) + sum(len(turn.used) for turn in history))


def writes_data(generator: Generator) -> bool:
    """Tell whether a generator's output is bound to a schema, so that nothing may change it."""
    return bool(getattr(generator, "writes_data", False))
