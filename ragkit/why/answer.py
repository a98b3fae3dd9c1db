"""What became of a document that was found: refused before, left out of the prompt, or cited.

It generates the answer as `ask` would, and reads from the draft what was shown and what is cited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ragkit.why.steps import Step

if TYPE_CHECKING:
    from ragkit.answer.gate import Decision
    from ragkit.types import Draft, Hit, Mode
    from ragkit.why.seen import Seen

    Judge = Callable[[str, Sequence[Hit], Mode], Decision]
    Draw = Callable[[Decision, str, Sequence[Hit]], Draft]


@runtime_checkable
class Budgeted(Protocol):
    """A generator whose passages have to fit into a prompt."""

    def costs(self, passages: Sequence[Hit]) -> tuple[int, Sequence[int]]:
        """Return how many tokens passages may take in all, and how many each takes."""
        ...


def answered(
    seen: Seen,
    generator: object,
    judge: Judge,
    draft: Draw | None,
) -> Iterator[Step]:
    """Yield the stages after a search that found the document."""
    decision = judge(seen.question, seen.found.hits, seen.mode)
    if decision.reason:
        remedy = (
            "Fit the cut-off with `ragkit eval calibrate`, or ask with a refusal threshold of 0."
        )
        yield Step("gate", False, decision.reason, remedy=remedy)
        return
    how = "a fitted cut-off" if decision.calibrated else "the default"
    yield Step("gate", True, f"what was found may be answered from, by {how}")
    if draft is None:
        return
    made = draft(decision, seen.question, seen.found.hits)
    yield _packed(seen, generator, made)
    yield _cited(seen, made)


def _packed(seen: Seen, generator: object, made: Draft) -> Step:
    """Tell whether a passage of the document was shown to whatever wrote the answer."""
    used = [hit for hit in made.used if hit.chunk in seen.own]
    numbers: dict[str, float | str] = {"shown": len(made.used), "found": len(seen.found.hits)}
    costs = f"{len(made.used)} of {len(seen.found.hits)} passages were shown"
    if isinstance(generator, Budgeted):
        budget, each = generator.costs(seen.shown)
        numbers |= {"budget": budget, "tokens": each[0]}
        costs += f"; it takes {each[0]:,} tokens, all may take {budget:,}"
    if used or not made.used:  # a refusal may show nothing, and says why itself
        return Step("budget", True, costs, numbers)
    remedy = "Raise RAGKIT_LLM_BUDGET_TOKENS, show less around each, or ask for fewer passages."
    return Step("budget", False, f"not shown: {costs}", numbers, remedy)


def _cited(seen: Seen, made: Draft) -> Step:
    if made.refused:
        remedy = "Read the reason: the passages were shown, and were not thought to answer."
        return Step("answer", False, f"the answer is a refusal: {made.reason}", remedy=remedy)
    documents = {hit.document for hit in seen.shown}
    cited = [citation for citation in made.citations if citation.document in documents]
    numbers: dict[str, float | str] = {"citations": len(made.citations), "of it": len(cited)}
    if cited:
        marks = ", ".join(f"[{citation.n}]" for citation in cited)
        return Step("answer", True, f"cited as {marks}", numbers)
    says = f"shown, but none of the {len(made.citations)} citations is of it"
    remedy = "The answer rests on other passages: ask for what stands in this one."
    return Step("answer", False, says, numbers, remedy)
