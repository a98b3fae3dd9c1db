"""Whether an answer's citations hold: each by itself, and how much of the answer they cover.

They are checked against the passages retrieved for the answer, by words and not by meanings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragkit.answer.reading import ParsedAnswer, Sentence, parse_answer
from ragkit.answer.strays import is_json
from ragkit.answer.support import SUPPORTED, Evidence, coverage, has_content
from ragkit.answer.verify import Verified, verify
from ragkit.errors import NotFoundError
from ragkit.types import Citation, Draft, Hit
from ragkit_eval.answers.evidence import evidence_of, missing
from ragkit_eval.answers.given import Given, read_given

Reason = Literal["no source", "not retrieved", "misquoted", "words", "details"]
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class CitationProblem:
    """Why the source number n, cited by the sentence `start:end`, does not hold there.

    "no source": the answer lists no such source; "not retrieved": its place is not in what the
    retrieved passages cover together; "misquoted": its quotation is not what stands there; "words":
    the sources cited hold less than three quarters of the sentence's content words; "details": they
    lack a number, name or quotation of it, or say the number of something else. A source that no
    sentence cites has the place 0:0.
    """

    n: int
    start: int
    end: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class CitationValidity:
    """How many citations hold of those an answer makes, and why each of the others does not."""

    valid: int
    cited: int
    problems: tuple[CitationProblem, ...]

    @property
    def score(self) -> float | None:
        """Return the share that holds; None where nothing is cited."""
        return self.valid / self.cited if self.cited else None


def citation_validity(answer: Mapping[str, Any]) -> CitationValidity:
    """Check every citation: a source's number in a sentence counts once for each sentence.

    It holds when the source's place was retrieved, its quotation is exactly what stands there, and
    all that the sentence cites, taken together, holds the sentence (as `ragkit.answer.support`
    does it); a citation with several problems is told of each. A source that is listed but cited by
    no sentence counts as well, as do all sources of a text in JSON, which has no sentences. A
    refusal cites nothing. Raises UsageError for JSON that is no such answer.
    """
    given = read_given(answer)
    if given.refused:
        return CitationValidity(0, 0, ())
    verified = _verified(given)
    reading = parse_answer(given.text, verified.citations)
    sentences = () if is_json(given.text) else reading.sentences
    flaws = _flaws(given, verified)
    problems = []
    for sentence in sentences:
        lacks = _lacks(reading, sentence, given, verified)
        problems += [
            CitationProblem(n, sentence.start, sentence.end, reason)
            for n in sentence.cites
            for reason in (*flaws.get(n, ["no source"]), *lacks)
        ]
    silent = flaws.keys() - {n for sentence in sentences for n in sentence.cites}
    problems += [CitationProblem(n, 0, 0, reason) for n in sorted(silent) for reason in flaws[n]]
    cited = sum(len(sentence.cites) for sentence in sentences) + len(silent)
    broken = {(problem.n, problem.start) for problem in problems}
    return CitationValidity(cited - len(broken), cited, tuple(problems))


def citation_recall(answer: Mapping[str, Any]) -> float | None:
    """Return the share of an answer's sentences that are held by what they cite themselves.

    Only sentences with content words count; None where there is none, as in a refusal. Like the
    core's claims, of which it counts those that are "quoted" or "supported". Raises UsageError for
    JSON that is no such answer.
    """
    claims = _verified(read_given(answer)).claims
    held = sum(claim.is_supported for claim in claims)
    return held / len(claims) if claims else None


def _verified(given: Given) -> Verified:
    """Let the core check the answer against its passages, each taken as a document by itself."""

    stretches = _stretches(given)

    def text(number: int) -> str:
        if number == _NOWHERE:
            raise NotFoundError("the citation's place was not retrieved")
        return stretches[number].text

    alone = [
        replace(hit, document=i, start=0, end=len(hit.text)) for i, hit in enumerate(stretches)
    ]
    citations = tuple(copy for one in given.citations for copy in _copies(one, given))
    draft = Draft(given.text, citations, refused=given.refused)
    return verify(draft, text, alone)


def _stretches(given: Given) -> tuple[Hit, ...]:
    """List the passages, and after them what several of them make up together."""
    return (*given.passages, *given.joined)


def _copies(citation: Citation, given: Given) -> Iterator[Citation]:
    """Put a citation into every passage that it lies in; only without one, where several join."""
    stretches = _stretches(given)
    holding = [i for i, hit in enumerate(stretches) if _holds(hit, citation)]
    alone = [i for i in holding if i < len(given.passages)]
    for i in alone or holding:
        start, end = (at - stretches[i].start for at in (citation.start, citation.end))
        yield replace(citation, document=i, start=start, end=end)
    if not holding:
        yield replace(citation, document=_NOWHERE)


def _holds(hit: Hit, citation: Citation) -> bool:
    return (
        hit.document == citation.document and hit.start <= citation.start <= citation.end <= hit.end
    )


def _flaws(given: Given, verified: Verified) -> dict[int, list[Reason]]:
    """Tell what is wrong with each source itself: it is no better than the worst place of it."""
    flaws: dict[int, list[Reason]] = {citation.n: [] for citation in given.citations}
    for citation in verified.citations:
        if citation.verdict == "verified":
            continue
        reason: Reason = "not retrieved" if citation.document == _NOWHERE else "misquoted"
        if reason not in flaws[citation.n]:
            flaws[citation.n].append(reason)
    return flaws


def _lacks(
    reading: ParsedAnswer, sentence: Sentence, given: Given, verified: Verified
) -> list[Reason]:
    """Tell what a sentence lacks in its sources; nothing where these are not there to compare."""
    said = reading.words_of(sentence)
    if sentence.quoted or not has_content(said):
        return []
    source = _source(sentence, given, verified)
    if not source.pieces:
        return []
    reasons: list[Reason] = ["words"] if coverage(said, [source]) < SUPPORTED else []
    if missing(reading.plain[sentence.start : sentence.end], source):
        reasons.append("details")
    return reasons


def _source(sentence: Sentence, given: Given, verified: Verified) -> Evidence:
    stretches = _stretches(given)
    cited = [
        stretches[citation.document]
        for citation in verified.citations
        if citation.n in sentence.cites and citation.verdict == "verified"
    ]
    return evidence_of(cited)
