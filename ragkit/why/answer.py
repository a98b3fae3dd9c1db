"""The stages after a search that found the document: gate, prompt, citations.

It generates the answer as `ask` would, and reads the draft's passages and citations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ragkit.answer.write.drafting import draft_answer
from ragkit.types import Draft
from ragkit.why.steps import Step

if TYPE_CHECKING:
    from ragkit.answer.refuse.gate import Gate
    from ragkit.contracts import Generator
    from ragkit.types import Hit
    from ragkit.why.explained_search import ExplainedSearch


@runtime_checkable
class Budgeted(Protocol):
    """A generator whose passages have to fit into a prompt."""

    def costs(self, passages: Sequence[Hit]) -> tuple[int, Sequence[int]]:
        """Return the tokens that passages may take in all, and the tokens of each."""
        ...


def answer_steps(
    explained: ExplainedSearch, gate: Gate, generator: Generator | None
) -> Iterator[Step]:
    """Yield the stages after a search that found the document; without a generator, the gate's."""
    decision = gate.judge(explained.question, explained.result.hits, explained.mode)
    if decision.reason:
        remedy = (
            "Fit the cut-off with `ragkit eval calibrate`, or ask with a refusal threshold of 0."
        )
        yield Step("gate", False, decision.reason, remedy=remedy)
        return
    how = "a fitted cut-off" if decision.calibrated else "the default"
    yield Step("gate", True, f"what was found may be answered from, by {how}")
    if generator is None:
        return
    question, hits = explained.question, explained.result.hits
    *_, written = draft_answer(generator, decision, question, hits)
    assert isinstance(written, Draft), "a generator ends with a Draft"
    yield _packed(explained, generator, written)
    yield _cited(explained, written)


def _packed(explained: ExplainedSearch, generator: object, written: Draft) -> Step:
    """Tell whether a passage of the document was in the prompt."""
    used = [hit for hit in written.used if hit.chunk in explained.chunk_set]
    numbers: dict[str, float | str] = {
        "shown": len(written.used),
        "found": len(explained.result.hits),
    }
    costs = f"{len(written.used)} of {len(explained.result.hits)} passages were shown"
    if isinstance(generator, Budgeted):
        budget, costs_of = generator.costs(explained.hits)
        numbers |= {"budget": budget, "tokens": costs_of[0]}
        costs += f"; it takes {costs_of[0]:,} tokens, all may take {budget:,}"
    if used or not written.used:  # a refusal may show nothing, and says why itself
        return Step("budget", True, costs, numbers)
    remedy = "Raise RAGKIT_LLM_BUDGET_TOKENS, show less around each, or ask for fewer passages."
    return Step("budget", False, f"not shown: {costs}", numbers, remedy)


def _cited(explained: ExplainedSearch, written: Draft) -> Step:
    if written.refused:
        remedy = "Read the reason: the passages were shown, and were not thought to answer."
        return Step("answer", False, f"the answer is a refusal: {written.reason}", remedy=remedy)
    documents = {hit.document for hit in explained.hits}
    cited = [citation for citation in written.citations if citation.document in documents]
    numbers: dict[str, float | str] = {"citations": len(written.citations), "of it": len(cited)}
    if cited:
        marks = ", ".join(f"[{citation.n}]" for citation in cited)
        return Step("answer", True, f"cited as {marks}", numbers)
    says = f"shown, but none of the {len(written.citations)} citations is of it"
    remedy = "The answer rests on other passages: ask for what stands in this one."
    return Step("answer", False, says, numbers, remedy)
