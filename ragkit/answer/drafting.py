"""A draft by a generator, whichever it is: asked only when the gate opens, its markers kept honest.

It knows nothing of how passages are found, or of how a draft's claims are checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ragkit.answer import refusal
from ragkit.answer.extract import ExtractiveGenerator
from ragkit.answer.strays import without_strays
from ragkit.contracts import Generator
from ragkit.types import Decoding, Draft, Hit, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.answer.gate import Decision


@runtime_checkable
class Adaptable(Protocol):
    """A generator with a language model behind it, whose decoding one question may choose."""

    def adapted(self, *, decoding: Decoding | None, instructions: str) -> Generator:
        """Return the generator with other decoding, None for its own, and more instructions."""
        ...


def drafted(
    generator: Generator,
    decision: Decision,
    question: str,
    hits: Sequence[Hit],
    history: Sequence[Turn] = (),
    *,
    query: str = "",
) -> Iterator[str | Reasoning | Draft]:
    """Refuse, or generate: yield the text in pieces, then its Draft.

    `query` is what was searched for in the question's place, "" where nothing was.

    Every marker in the text has a source: a language model's markers count the passages, those of
    a generator that quotes count its own quotations.
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
    return without_strays(pieces, len(hits) + sum(len(turn.used) for turn in history))


def writes_data(generator: Generator) -> bool:
    """Tell whether a generator's output is bound to a schema: nothing of it may be changed."""
    return bool(getattr(generator, "writes_data", False))
