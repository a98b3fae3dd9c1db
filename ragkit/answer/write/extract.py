"""The generator without a language model: it quotes at most two sentences of the passages."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from ragkit.answer.check.stray_markers import MarkerFilter
from ragkit.answer.meaning import Meaning
from ragkit.answer.refuse import refusal
from ragkit.answer.refuse.cutoff import QUOTED_FROM, Signals, signals
from ragkit.answer.refuse.question_coverage import text_with_context
from ragkit.answer.write.candidates import Candidate, Listed, list_candidates
from ragkit.answer.write.semantic_scores import rescore_by_meaning
from ragkit.answer.write.sentence_scores import Scored, score_candidates
from ragkit.answer.write.spelling import respell
from ragkit.question.answer_kinds import Kind, demanded_kind, may_answer
from ragkit.question.reading import Question, distinct_terms, read_question
from ragkit.text.places import headings_at
from ragkit.types import Citation, Draft, Hit, Turn

Weigh = Callable[[Collection[str]], Mapping[str, float]]

MAX_SENTENCES = 2
MAX_PASSAGES = 20  # arbitrary; beyond ten the answer gets no better, only slower
SAME = 0.8  # arbitrary: two sentences that share four terms of five count as the same
# A second sentence is quoted where its score is this near to the first one's, so that either may be
# meant, or where it covers this much of the question that the first does not.
NEAR = 1.5
NEAR_ELSEWHERE = 0.5  # of a sentence of another document
ADDS = 0.25
NAMED_SHARE = 0.5  # of the question's terms, by which it names a section; arbitrary
ASKS_THE_SAME = 0.6  # of the question's words stand in a question that the document answers
LEAST_COVERAGE = 0.6  # of the first one's; below, it only resembles the first

# A question for steps or for several items gets a complete list.
_WANTS_LIST = re.compile(
    r"\b(?:how (?:do|does|to|can|should|is|are)|what (?:are|should|must|do|shall)|which (?:are|of)"
    r"|steps?|list|procedure|instructions?|everything|what all)\b"
    r"|怎么|怎麼|如何|怎样|怎樣|步骤|步驟|流程|哪些|有什么|有什麼|要带什么|要帶什麼|要做什么|要做什麼|注意什么|注意什麼",
    re.IGNORECASE,
)
# A question that compares rows gets the whole of a small table.
_COMPARES = re.compile(r"\b(?:most|least|best|worst|[a-z]{2,12}est)\b|最", re.IGNORECASE)


def _equal_weights(terms: Collection[str]) -> Mapping[str, float]:
    return dict.fromkeys(terms, 1.0)


@dataclass(frozen=True, slots=True)
class ExtractiveGenerator:
    """Answer with sentences quoted from the passages, or refuse; fulfils `contracts.Generator`.

    `weigh` gives the idf of terms in the collection, by which a refusal is judged; without it
    all terms weigh the same. `meaning` compares sentences with the question, or with `query` where
    the passages were searched for with more than the question says; without it words alone do. An
    answer less probable than `least` is refused.
    """

    weigh: Weigh = _equal_weights
    _: KW_ONLY
    meaning: Meaning | None = None
    least: float = QUOTED_FROM
    query: str = ""

    def after_gate(self) -> "ExtractiveGenerator":
        """Return a generator that does not judge again what passed a fitted cut-off."""
        return replace(self, least=0.0)

    def weighing(self, weigh: Weigh) -> "ExtractiveGenerator":
        """Return a generator that judges refusals by other weights of terms."""
        return replace(self, weigh=weigh)

    def searching(self, query: str) -> "ExtractiveGenerator":
        """Return a generator for passages that were searched for with `query`."""
        return replace(self, query=query)

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Draft]:
        """Yield `sentence [1]` and ` sentence [2]`, then the Draft, without marks of Markdown.

        A refusal yields one statement in the question's language. What the last turn of `history`
        quoted is not added to an answer.
        """
        spelt = respell(question, passages)
        query = respell(self.query, passages)
        chosen = pick(spelt, passages, query=query, meaning=self.meaning)
        chosen = chosen[:1] + [second for second in chosen[1:] if not _is_quoted(second, history)]
        reason = self._reason(question, spelt, passages, chosen)
        if reason:
            text = refusal.statement(question)
            yield text
            yield Draft(text, refused=True, reason=reason)
            return
        pieces: list[str] = []
        for n, scored in enumerate(chosen, 1):
            on_lines = any(_stands_alone(chosen[place].candidate) for place in (n - 2, n - 1))
            gap = "" if n == 1 else "\n\n" if on_lines else " "
            pieces.append(f"{gap}{_without_footnotes(scored.candidate.display)} [{n}]")
            yield pieces[-1]
        citations = tuple(_citation(n, scored) for n, scored in enumerate(chosen, 1))
        yield Draft("".join(pieces), citations, used=tuple(passages[:MAX_PASSAGES]))

    def _reason(
        self, question: str, spelt: str, passages: Sequence[Hit], chosen: Sequence[Scored]
    ) -> str:
        """Return why a question, which is also given as the passages spell it, is refused."""
        if not passages:
            return refusal.nothing_found(question)
        parsed, respelt = read_question(question), read_question(spelt)
        weights = self.weigh(parsed.content)
        most = max(weights.values(), default=1.0)
        weights = dict.fromkeys(respelt.content, most) | dict(weights)
        evidence = answer_signals(respelt, passages, weights, chosen, self.meaning)
        if evidence.share is None:
            return refusal.nothing_asked(question)
        if evidence.probability < self.least or not chosen:
            return refusal.too_little(parsed, passages, weights)
        return ""


def answer_signals(
    question: Question,
    passages: Sequence[Hit],
    weights: Mapping[str, float],
    chosen: Sequence[Scored],
    meaning: Meaning | None,
) -> Signals:
    """Read the signals of an answer of the chosen sentences; `weights` as in `signals`."""
    quoted = [(s.candidate.display, s.cosine) for s in chosen if s.cosine is not None]
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
    """Choose the sentences most likely to answer, best first, without repetition.

    The passages stand best first, and may overlap. Only the first 20 are read. An item of a list
    becomes the complete list where the question asks for that. Where only an amount, a phone number
    or an e-mail address answers, what cannot hold one is left out. A second sentence is chosen only
    where it may be the one that is meant, or adds to the first. `query` has the question's full
    meaning, where the question itself leaves something out.

    >>> text = "The bridge is red. It was opened in 1932 by the king."
    >>> hit = Hit(1, 1, "a.txt", "", None, 0, len(text), text, 1.0)
    >>> pick("When was the bridge opened?", [hit])[0].candidate.text
    'It was opened in 1932 by the king.'
    """
    parsed = read_question(question)
    ranked = score_candidates(parsed, list_candidates(passages[:MAX_PASSAGES]))
    if kind := demanded_kind(parsed.text, parsed.kinds):
        ranked = [scored for scored in ranked if _may_be(scored.candidate, kind)]
    if meaning is not None:
        ranked = rescore_by_meaning(query or question, ranked, meaning)
    chosen: list[Scored] = []
    for scored in ranked:
        if len(chosen) == limit:
            break
        if any(_says_same(scored, picked) or _overlap(scored, picked) for picked in chosen):
            continue
        if chosen and (scored.candidate.is_title or not _adds_to(parsed, scored, chosen[0])):
            continue
        listed = scored.candidate.listed
        if chosen and listed == chosen[0].candidate.listed and _is_paragraph(listed):
            chosen[0] = _with_list(chosen[0])
            break
        extended = _expand_list(parsed, scored)
        if not any(_overlap(extended, picked) for picked in chosen):
            chosen.append(extended)
    return _with_steps(parsed, chosen, ranked, limit) if chosen else chosen


def _may_be(candidate: Candidate, kind: Kind) -> bool:
    """Tell whether a candidate, or the list that it may become, may hold an answer of a kind."""
    texts = [candidate.text, candidate.display]  # a row with its bars, and with its columns' names
    if candidate.listed is not None:
        texts.append(candidate.listed.display)
    return may_answer("\n".join(texts), kind, text_with_context(candidate.hit))


def _with_steps(
    question: Question, chosen: list[Scored], ranked: Sequence[Scored], limit: int
) -> list[Scored]:
    """Add the list of the first sentence's section where the question asks for steps."""
    first = chosen[0].candidate
    if limit < MAX_SENTENCES or question.kinds or not _WANTS_LIST.search(question.text):
        return chosen
    if not first.section or any("\n" in picked.candidate.display for picked in chosen):
        return chosen
    for scored in ranked:
        candidate = scored.candidate
        same_section = (candidate.hit.document, candidate.section) == (
            first.hit.document,
            first.section,
        )
        if same_section and candidate.listed is not None and not _is_paragraph(candidate.listed):
            extended = _expand_list(question, scored)
            return chosen if _overlap(extended, chosen[0]) else [chosen[0], extended]
    return chosen


def _adds_to(question: Question, second: Scored, first: Scored) -> bool:
    """Tell whether a second sentence may be the one that is meant, or adds to the answer."""
    if second.in_addition:
        return True
    elsewhere = second.candidate.hit.document != first.candidate.hit.document
    if elsewhere:
        return second.coverage >= first.coverage and first.score - second.score <= NEAR_ELSEWHERE
    units = question.units
    if _is_of_other_section(units, second.candidate, first.candidate):
        return False
    added = units & second.candidate.terms - first.candidate.reach
    if len(added) >= ADDS * len(units) > 0:
        return True
    if second.coverage < LEAST_COVERAGE * first.coverage:
        return False
    return first.score - second.score <= NEAR and (second.is_of_kind or not first.is_of_kind)


def _is_of_other_section(units: frozenset[str], second: Candidate, first: Candidate) -> bool:
    """Tell whether a question names the first sentence's section, and the second is of another."""
    if second.section == first.section:
        return False
    named = units & distinct_terms(" ".join(first.section))
    return len(named - second.reach) >= NAMED_SHARE * len(units) > 0


def _expand_list(question: Question, scored: Scored) -> Scored:
    """Replace an item or introduction by its list where the question asks for all of it."""
    listed = scored.candidate.listed
    if listed is None or not (listed.intro or _wants_list(question, scored.candidate)):
        return scored
    return _with_list(scored)


def _with_list(scored: Scored) -> Scored:
    """Replace a sentence by its list or answer."""
    listed = scored.candidate.listed
    assert listed is not None, "it has a list or an answer"
    extended = replace(
        scored.candidate,
        start=listed.start,
        end=listed.end,
        text=listed.text,
        display=listed.display,
        terms=listed.terms,
        listed=None,
    )
    return replace(scored, candidate=extended)


def _wants_list(question: Question, candidate: Candidate) -> bool:
    """Tell whether all is asked for, or the item or row has no word of the question itself."""
    if candidate.question_terms:
        shared = len(question.units & candidate.question_terms)
        if candidate.distance and shared:  # the answer began with "Yes" or "No"
            return True
        return shared >= ASKS_THE_SAME * len(question.units)
    if candidate.text.startswith("|"):
        if _COMPARES.search(question.text):
            return True
    elif question.kinds:
        return False
    elif _WANTS_LIST.search(question.text):
        return True
    return not question.content & candidate.terms


def _is_paragraph(listed: Listed | None) -> bool:
    """Tell whether a list is in fact a paragraph that answers a question of the document."""
    return listed is not None and "\n" not in listed.display


def _is_quoted(scored: Scored, history: Sequence[Turn]) -> bool:
    """Tell whether the answer of the last turn holds a sentence."""
    return any(scored.candidate.display in turn.answer for turn in history[-1:])


def _stands_alone(candidate: Candidate) -> bool:
    """Tell whether a candidate is a list or a table's row, and so no running text."""
    return "\n" in candidate.display or candidate.text.startswith("|")


def _says_same(first: Scored, second: Scored) -> bool:
    a, b = first.candidate.terms, second.candidate.terms
    return len(a & b) > SAME * len(a | b)


def _overlap(first: Scored, second: Scored) -> bool:
    a, b = first.candidate, second.candidate
    return a.hit.document == b.hit.document and a.start < b.end and b.start < a.end


def _without_footnotes(text: str) -> str:
    """Remove a source's footnotes, which would look like markers of the answer."""
    marker_filter = MarkerFilter(0)
    return marker_filter.take(text) + marker_filter.end()


def _citation(n: int, scored: Scored) -> Citation:
    candidate = scored.candidate
    return Citation(
        n=n,
        document=candidate.hit.document,
        uri=candidate.hit.uri,
        title=candidate.hit.title,
        page=candidate.hit.page,
        start=candidate.start,
        end=candidate.end,
        quote=candidate.text,
        version=candidate.hit.version,
        headings=headings_at(candidate.hit, candidate.start),
    )
