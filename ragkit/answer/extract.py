"""The generator without a language model: it answers with at most two sentences of the passages.

Every word of its answer is a source's own. It knows nothing of how the passages were found, and
takes their order for their merit.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ragkit.answer import refusal
from ragkit.answer.candidates import candidates
from ragkit.answer.question import read
from ragkit.answer.scoring import Scored, score
from ragkit.answer.strays import Sieve
from ragkit.text.headings import headings_at
from ragkit.types import Citation, Draft, Hit, Turn

Weigh = Callable[[Collection[str]], Mapping[str, float]]

MAX_SENTENCES = 2
MAX_PASSAGES = 20  # arbitrary; beyond ten the answer gets no better, only slower
SAME = 0.8  # arbitrary; two sentences that share four terms of five say the same


class ExtractiveGenerator:
    """Answer with sentences quoted from the passages, or refuse; fulfils `contracts.Generator`.

    `weigh` gives the idf of terms in the collection, by which a refusal is judged; without it
    every term weighs alike. `min_share` of the question must stand in one passage.
    """

    def __init__(self, weigh: Weigh | None = None, *, min_share: float = refusal.MIN_SHARE) -> None:
        self._weigh = weigh or (lambda terms: dict.fromkeys(terms, 1.0))
        self._min_share = min_share

    def after_gate(self) -> "ExtractiveGenerator":
        """Return one that leaves the judgement of what passed a fitted cut-off to that."""
        return ExtractiveGenerator(self._weigh, min_share=0.0)

    def weighing(self, weigh: Weigh) -> "ExtractiveGenerator":
        """Return one that judges refusals by other weights of terms."""
        return ExtractiveGenerator(weigh, min_share=self._min_share)

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Draft]:
        """Yield `sentence [1]` and ` sentence [2]`, then the Draft; white space is made single.

        A refusal yields one statement in the question's language.
        """
        chosen = pick(question, passages, limit=MAX_SENTENCES)
        reason = self._reason(question, passages, chosen)
        if reason:
            text = refusal.statement(question)
            yield text
            yield Draft(text, refused=True, reason=reason)
            return
        pieces: list[str] = []
        for n, scored in enumerate(chosen, 1):
            sieve = Sieve(0)  # a source's footnotes would look like markers of the answer
            quote = " ".join((sieve.take(scored.candidate.text) + sieve.end()).split())
            pieces.append(f"{' ' if n > 1 else ''}{quote} [{n}]")
            yield pieces[-1]
        citations = tuple(_citation(n, scored) for n, scored in enumerate(chosen, 1))
        yield Draft("".join(pieces), citations, used=tuple(passages[:MAX_PASSAGES]))

    def _reason(self, question: str, passages: Sequence[Hit], chosen: Sequence[Scored]) -> str:
        if not passages:
            return refusal.nothing_found(question)
        asked = read(question)
        weights = self._weigh(asked.content)
        found = [scored.candidate for scored in chosen]
        return refusal.reason_to_refuse(asked, found, weights, min_share=self._min_share)


def pick(question: str, passages: Sequence[Hit], *, limit: int = MAX_SENTENCES) -> list[Scored]:
    """Choose the sentences most likely to answer, best first; none says twice the same.

    The passages stand best first, and may overlap. Only the first 20 are read.

    >>> text = "The bridge is red. It was opened in 1932 by the king."
    >>> hit = Hit(1, 1, "a.txt", "", None, 0, len(text), text, 1.0)
    >>> pick("When was the bridge opened?", [hit], limit=1)[0].candidate.text
    'It was opened in 1932 by the king.'
    """
    chosen: list[Scored] = []
    for scored in score(read(question), candidates(passages[:MAX_PASSAGES])):
        if len(chosen) == limit:
            break
        if not any(_same(scored, other) for other in chosen):
            chosen.append(scored)
    return chosen


def _same(one: Scored, other: Scored) -> bool:
    a, b = one.candidate.terms, other.candidate.terms
    return len(a & b) > SAME * len(a | b)


def _citation(n: int, scored: Scored) -> Citation:
    found = scored.candidate
    return Citation(
        n=n,
        document=found.hit.document,
        uri=found.hit.uri,
        title=found.hit.title,
        page=found.hit.page,
        start=found.start,
        end=found.end,
        quote=found.text,
        version=found.hit.version,
        headings=headings_at(found.hit, found.start),
    )
