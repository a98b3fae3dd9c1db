"""The generator without a language model: it answers with at most two sentences of the passages.

Every word of its answer is a source's own. It takes the passages' order for their merit.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from ragkit.answer import refusal
from ragkit.answer.candidates import Candidate, Listed, candidates
from ragkit.answer.cutoff import QUOTED_FROM, Signals, signals
from ragkit.answer.meaning import Meaning
from ragkit.answer.question import Question, read
from ragkit.answer.rescore import by_meaning
from ragkit.answer.scoring import Scored, score
from ragkit.answer.strays import Sieve
from ragkit.text.headings import headings_at
from ragkit.types import Citation, Draft, Hit, Turn

Weigh = Callable[[Collection[str]], Mapping[str, float]]

MAX_SENTENCES = 2
MAX_PASSAGES = 20  # arbitrary; beyond ten the answer gets no better, only slower
SAME = 0.8  # arbitrary; two sentences that share four terms of five say the same
# A second sentence is quoted where its score is as near as this to the first one's, so that either
# may be meant, or where it covers this much of the question that the first does not.
NEAR = 1.5
NEAR_ELSEWHERE = 0.5  # of a sentence of another document
ADDS = 0.25
ASKS_THE_SAME = 0.6  # of the question's words stand in one that the document answers
LEAST_COVERAGE = 0.6  # of the first one's; else it is only like it

# A question that wants steps or several things gets a whole list.
_WANTS_LIST = re.compile(
    r"\b(?:how (?:do|does|to|can|should|is|are)|what (?:are|should|must|do|shall)|which (?:are|of)"
    r"|steps?|list|procedure|instructions?|everything|what all)\b"
    r"|怎么|怎麼|如何|怎样|怎樣|步骤|步驟|流程|哪些|有什么|有什麼|要带什么|要帶什麼|要做什么|要做什麼|注意什么|注意什麼",
    re.IGNORECASE,
)


def _alike(terms: Collection[str]) -> Mapping[str, float]:
    return dict.fromkeys(terms, 1.0)


@dataclass(frozen=True, slots=True)
class ExtractiveGenerator:
    """Answer with sentences quoted from the passages, or refuse; fulfils `contracts.Generator`.

    `weigh` gives the idf of terms in the collection, by which a refusal is judged; without it
    every term weighs alike. `meaning` compares sentences with the question, or with `query` where
    the passages were searched for with more than the question says; without it words alone do. An
    answer less probable than `least` is refused.
    """

    weigh: Weigh = _alike
    _: KW_ONLY
    meaning: Meaning | None = None
    least: float = QUOTED_FROM
    query: str = ""

    def after_gate(self) -> "ExtractiveGenerator":
        """Return one that leaves the judgement of what passed a fitted cut-off to that."""
        return replace(self, least=0.0)

    def weighing(self, weigh: Weigh) -> "ExtractiveGenerator":
        """Return one that judges refusals by other weights of terms."""
        return replace(self, weigh=weigh)

    def searching(self, query: str) -> "ExtractiveGenerator":
        """Return one whose passages were searched for with `query`."""
        return replace(self, query=query)

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Draft]:
        """Yield `sentence [1]` and ` sentence [2]`, then the Draft; marks of Markdown are left out.

        A refusal yields one statement in the question's language.
        """
        chosen = pick(question, passages, query=self.query, meaning=self.meaning)
        reason = self._reason(question, passages, chosen)
        if reason:
            text = refusal.statement(question)
            yield text
            yield Draft(text, refused=True, reason=reason)
            return
        pieces: list[str] = []
        for n, scored in enumerate(chosen, 1):
            apart = any(_stands_alone(chosen[place].candidate) for place in (n - 2, n - 1))
            gap = "" if n == 1 else "\n\n" if apart else " "
            pieces.append(f"{gap}{_without_footnotes(scored.candidate.shown)} [{n}]")
            yield pieces[-1]
        citations = tuple(_citation(n, scored) for n, scored in enumerate(chosen, 1))
        yield Draft("".join(pieces), citations, used=tuple(passages[:MAX_PASSAGES]))

    def _reason(self, question: str, passages: Sequence[Hit], chosen: Sequence[Scored]) -> str:
        if not passages:
            return refusal.nothing_found(question)
        asked = read(question)
        weights = self.weigh(asked.content)
        found = answer_signals(asked, passages, weights, chosen, self.meaning)
        if found.share is None:
            return refusal.nothing_asked(question)
        if found.probability < self.least or not chosen:
            return refusal.too_little(asked, passages, weights)
        return ""


def answer_signals(
    question: Question,
    passages: Sequence[Hit],
    weights: Mapping[str, float],
    chosen: Sequence[Scored],
    meaning: Meaning | None,
) -> Signals:
    """Read what speaks for an answer of the chosen sentences; `weights` as in `signals`."""
    quoted = [(s.candidate.shown, s.cosine) for s in chosen if s.cosine is not None]
    return signals(
        question,
        passages[:MAX_PASSAGES],
        weights,
        model=meaning.model() if meaning else "",
        quoted=quoted,
    )


def pick(
    question: str,
    passages: Sequence[Hit],
    *,
    limit: int = MAX_SENTENCES,
    query: str = "",
    meaning: Meaning | None = None,
) -> list[Scored]:
    """Choose the sentences most likely to answer, best first; none says twice the same.

    The passages stand best first, and may overlap. Only the first 20 are read. An item of a list
    stands for the whole list where the question wants that. A second sentence is chosen only where
    it may be what is meant, or adds to the first. `query` has the question's whole meaning, where
    the question itself leaves something out.

    >>> text = "The bridge is red. It was opened in 1932 by the king."
    >>> hit = Hit(1, 1, "a.txt", "", None, 0, len(text), text, 1.0)
    >>> pick("When was the bridge opened?", [hit])[0].candidate.text
    'It was opened in 1932 by the king.'
    """
    asked = read(question)
    ranked = score(asked, candidates(passages[:MAX_PASSAGES]))
    if meaning is not None:
        ranked = by_meaning(query or question, ranked, meaning)
    chosen: list[Scored] = []
    for scored in ranked:
        if len(chosen) == limit:
            break
        if any(_same(scored, other) or _overlap(scored, other) for other in chosen):
            continue
        if chosen and (scored.candidate.is_title or not _is_wanted(asked, scored, chosen[0])):
            continue
        listed = scored.candidate.listed
        if chosen and listed == chosen[0].candidate.listed and _is_paragraph(listed):
            chosen[0] = _whole(chosen[0])
            break
        whole = _whole_list(asked, scored)
        if not any(_overlap(whole, other) for other in chosen):
            chosen.append(whole)
    return _with_steps(asked, chosen, ranked, limit) if chosen else chosen


def _with_steps(
    question: Question, chosen: list[Scored], ranked: Sequence[Scored], limit: int
) -> list[Scored]:
    """Put the list of the first sentence's section after it where steps are asked for."""
    first = chosen[0].candidate
    if limit < MAX_SENTENCES or question.kinds or not _WANTS_LIST.search(question.text):
        return chosen
    if not first.section or any("\n" in other.candidate.shown for other in chosen):
        return chosen
    for scored in ranked:
        found = scored.candidate
        same = (found.hit.document, found.section) == (first.hit.document, first.section)
        if same and found.listed is not None and not _is_paragraph(found.listed):
            whole = _whole_list(question, scored)
            return chosen if _overlap(whole, chosen[0]) else [chosen[0], whole]
    return chosen


def _is_wanted(question: Question, second: Scored, first: Scored) -> bool:
    """Tell whether a second sentence may be what is meant, or adds what the question asks for."""
    if second.beside:
        return True
    elsewhere = second.candidate.hit.document != first.candidate.hit.document
    if elsewhere:
        return second.coverage >= first.coverage and first.score - second.score <= NEAR_ELSEWHERE
    asked = question.units
    added = asked & second.candidate.terms - first.candidate.reach
    if len(added) >= ADDS * len(asked) > 0:
        return True
    if second.coverage < LEAST_COVERAGE * first.coverage:
        return False
    return first.score - second.score <= NEAR and (second.is_of_kind or not first.is_of_kind)


def _whole_list(question: Question, scored: Scored) -> Scored:
    """Put a list in its item's or introduction's place where the question wants all of it."""
    listed = scored.candidate.listed
    if listed is None or not (listed.intro or _wants_list(question, scored.candidate)):
        return scored
    return _whole(scored)


def _whole(scored: Scored) -> Scored:
    listed = scored.candidate.listed
    assert listed is not None, "it has a list or an answer"
    whole = replace(
        scored.candidate,
        start=listed.start,
        end=listed.end,
        text=listed.text,
        shown=listed.shown,
        terms=listed.terms,
        listed=None,
    )
    return replace(scored, candidate=whole)


def _wants_list(question: Question, candidate: Candidate) -> bool:
    """Tell whether steps are asked for, or the item has no word of the question for itself."""
    if candidate.asked:
        shared = len(question.units & candidate.asked)
        if candidate.after and shared:  # the answer began with "Yes" or "No"
            return True
        return shared >= ASKS_THE_SAME * len(question.units)
    if question.kinds:
        return False
    if _WANTS_LIST.search(question.text):
        return True
    return not question.content & candidate.terms


def _is_paragraph(listed: Listed | None) -> bool:
    """Tell whether it is an answer to a question of the document, and no list."""
    return listed is not None and "\n" not in listed.shown


def _stands_alone(candidate: Candidate) -> bool:
    """Tell whether it is a list or a table's row, which is no part of running text."""
    return "\n" in candidate.shown or candidate.text.startswith("|")


def _same(one: Scored, other: Scored) -> bool:
    a, b = one.candidate.terms, other.candidate.terms
    return len(a & b) > SAME * len(a | b)


def _overlap(one: Scored, other: Scored) -> bool:
    a, b = one.candidate, other.candidate
    return a.hit.document == b.hit.document and a.start < b.end and b.start < a.end


def _without_footnotes(text: str) -> str:
    """Take a source's footnotes out, which would look like markers of the answer."""
    sieve = Sieve(0)
    return sieve.take(text) + sieve.end()


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
