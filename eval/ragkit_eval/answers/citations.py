"""Validity of an answer's citations, and the share of its sentences that citations support.

They are checked against the passages retrieved for the answer, by words and not by meaning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragkit.answer.check.parsed_answer import ParsedAnswer as Reading
from ragkit.answer.check.parsed_answer import Sentence
from ragkit.answer.check.parsed_answer import parse_answer as parse_text
from ragkit.answer.check.stray_markers import is_json
from ragkit.answer.check.support import SUPPORTED, Evidence, coverage, has_content
from ragkit.answer.check.verify import Verified, verify
from ragkit.errors import NotFoundError
from ragkit.types import Citation, Draft, Hit
from ragkit_eval.answers.evidence import evidence_of, missing
from ragkit_eval.answers.parsed_answer import ParsedAnswer, parse_answer

Reason = Literal["no source", "not retrieved", "misquoted", "words", "details"]
_NOT_RETRIEVED = -1


@dataclass(frozen=True, slots=True)
class CitationProblem:
    """The reason why the citation of source n in the sentence `start:end` is invalid.

    "no source": the answer lists no such source; "not retrieved": the retrieved passages do not
    cover its span; "misquoted": its quotation is not the text of its span; "words": the cited
    sources hold less than three quarters of the sentence's content words; "details": they lack a
    number, name or quotation of the sentence, or state the number of something else. A source that
    no sentence cites has the span 0:0.
    """

    n: int
    start: int
    end: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class CitationValidity:
    """The numbers of citations and of valid citations of an answer, and the problems."""

    valid: int
    cited: int
    problems: tuple[CitationProblem, ...]

    @property
    def score(self) -> float | None:
        """Return the valid share; None without a citation."""
        return self.valid / self.cited if self.cited else None


def citation_validity(answer: Mapping[str, Any]) -> CitationValidity:
    """Check every citation; a source counts once for each sentence that cites it.

    A citation is valid if the source's span was retrieved, its quotation is exactly the text of
    the span, and the sentence's sources together support the sentence (by
    `ragkit.answer.check.support`); a citation may have several problems. A listed source that no
    sentence cites counts too, as do all sources of a text in JSON, which has no sentences. A
    refusal has no citations. Raises UsageError for malformed JSON of an answer.
    """
    parsed = parse_answer(answer)
    if parsed.refused:
        return CitationValidity(0, 0, ())
    verified = _verified(parsed)
    reading = parse_text(parsed.text, verified.citations)
    sentences = () if is_json(parsed.text) else reading.sentences
    source_problems = _source_problems(parsed, verified)
    problems = []
    for sentence in sentences:
        sentence_problems = _sentence_problems(reading, sentence, parsed, verified)
        problems += [
            CitationProblem(n, sentence.start, sentence.end, reason)
            for n in sentence.cites
            for reason in (*source_problems.get(n, ["no source"]), *sentence_problems)
        ]
    uncited = source_problems.keys() - {n for sentence in sentences for n in sentence.cites}
    problems += [
        CitationProblem(n, 0, 0, reason) for n in sorted(uncited) for reason in source_problems[n]
    ]
    count = sum(len(sentence.cites) for sentence in sentences) + len(uncited)
    invalid = {(problem.n, problem.start) for problem in problems}
    return CitationValidity(count - len(invalid), count, tuple(problems))


def citation_recall(answer: Mapping[str, Any]) -> float | None:
    """Return the share of an answer's sentences that their own citations support.

    Only sentences with content words count; None without one, as in a refusal. These are the
    core's claims; "quoted" and "supported" ones count as supported. Raises UsageError for
    malformed JSON of an answer.
    """
    claims = _verified(parse_answer(answer)).claims
    held = sum(claim.is_supported for claim in claims)
    return held / len(claims) if claims else None


def _verified(answer: ParsedAnswer) -> Verified:
    """Let the core check the answer against its passages, each as a document of its own."""
    stretches = _texts_of(answer)

    def text(number: int) -> str:
        if number == _NOT_RETRIEVED:
            raise NotFoundError("the citation's span was not retrieved")
        return stretches[number].text

    documents = [
        replace(hit, document=i, start=0, end=len(hit.text)) for i, hit in enumerate(stretches)
    ]
    citations = tuple(copy for citation in answer.citations for copy in _copies(citation, answer))
    draft = Draft(answer.text, citations, refused=answer.refused)
    return verify(draft, text, documents)


def _texts_of(answer: ParsedAnswer) -> tuple[Hit, ...]:
    """List the passages, and then the joined passages."""
    return (*answer.passages, *answer.joined)


def _copies(citation: Citation, answer: ParsedAnswer) -> Iterator[Citation]:
    """Copy a citation into every passage that holds it, else into joined passages that do."""
    stretches = _texts_of(answer)
    holding = [i for i, hit in enumerate(stretches) if _holds(hit, citation)]
    passages = [i for i in holding if i < len(answer.passages)]
    for i in passages or holding:
        start, end = (at - stretches[i].start for at in (citation.start, citation.end))
        yield replace(citation, document=i, start=start, end=end)
    if not holding:
        yield replace(citation, document=_NOT_RETRIEVED)


def _holds(hit: Hit, citation: Citation) -> bool:
    return (
        hit.document == citation.document and hit.start <= citation.start <= citation.end <= hit.end
    )


def _source_problems(answer: ParsedAnswer, verified: Verified) -> dict[int, list[Reason]]:
    """List the problems of each source itself; a problem in any copy is one of the source."""
    problems: dict[int, list[Reason]] = {citation.n: [] for citation in answer.citations}
    for citation in verified.citations:
        if citation.verdict == "verified":
            continue
        reason: Reason = "not retrieved" if citation.document == _NOT_RETRIEVED else "misquoted"
        if reason not in problems[citation.n]:
            problems[citation.n].append(reason)
    return problems


def _sentence_problems(
    reading: Reading, sentence: Sentence, answer: ParsedAnswer, verified: Verified
) -> list[Reason]:
    """List the problems of a sentence with its sources; [] if no source can be compared."""
    text = reading.words_of(sentence)
    if sentence.quoted or not has_content(text):
        return []
    source = _source(sentence, answer, verified)
    if not source.pieces:
        return []
    reasons: list[Reason] = ["words"] if coverage(text, [source]) < SUPPORTED else []
    if missing(reading.plain[sentence.start : sentence.end], source):
        reasons.append("details")
    return reasons


def _source(sentence: Sentence, answer: ParsedAnswer, verified: Verified) -> Evidence:
    stretches = _texts_of(answer)
    cited = [
        stretches[citation.document]
        for citation in verified.citations
        if citation.n in sentence.cites and citation.verdict == "verified"
    ]
    return evidence_of(cited)
