"""How well retrieved passages fit a question's labels: documents, spans, accepted answers.

Labels and passages are JSON values, as a run keeps them: scores can be computed again from there.
Knows nothing of how the passages were found.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit_eval import retrieval
from ragkit_eval.metrics.contains import contains
from ragkit_eval.rag.asking import TEXTS, named, ranked
from ragkit_eval.sets import Excerpt, Question

Labels = Mapping[str, Any]
Passages = Sequence[Mapping[str, Any]]

SPANS: Final = ("span_recall", "span_precision", "span_iou")
ANSWER: Final = "answer_found"
_OWN = re.compile(rf"({'|'.join((*SPANS, ANSWER))})(?:@([1-9]\d{{0,8}}))?")


def labels_of(question: Question, uris: Mapping[str, str]) -> Labels:
    """Write a question's labels as JSON values, documents named by `uris` where it has them."""
    return {
        "answerable": question.answerable,
        "answers": list(question.answers),
        "references": list(question.expected),
        "relevant": {uris.get(name, name): grade for name, grade in question.relevant.items()},
        "spans": [
            {"document": uris.get(one.document, one.document), "start": one.start, "end": one.end}
            for one in question.excerpts
        ],
        "tags": dict(question.tags),
    }


def judgements(labels: Labels) -> dict[str, int]:
    """Return the graded documents; without any, those that the spans are in are relevant."""
    return dict(labels["relevant"]) or {span["document"]: 1 for span in labels["spans"]}


def applies(measure: str, labels: Labels) -> bool:
    """Tell whether a measure says something of a question with these labels."""
    own = _OWN.fullmatch(measure)
    if own is None:
        return any(grade > 0 for grade in judgements(labels).values())
    return bool(labels["answers"] if own[1] == ANSWER else labels["spans"])


def check_measures(names: Iterable[str]) -> None:
    """Raise UsageError for an unknown measure, naming close ones."""
    for name in names:
        if _OWN.fullmatch(name):
            continue
        try:
            retrieval.measures([name], {"a": 1}, {"a": 1.0})
        except UsageError as error:
            known = ", ".join(f"{own}@5" for own in (*SPANS, ANSWER))
            raise UsageError(f"{error}; besides {known}") from error


def check_depths(names: Iterable[str]) -> None:
    """Raise UsageError for a measure that needs the text of more passages than a search keeps."""
    for name in names:
        own = _OWN.fullmatch(name)
        if own and own[1] == ANSWER and not (own[2] and int(own[2]) <= TEXTS):
            raise UsageError(
                f"the measure {name!r} reads the texts of more than {TEXTS} passages, which a run"
                f" of a search does not keep: use {ANSWER}@{TEXTS} or less"
            )


def passage_scores(measures: Iterable[str], labels: Labels, passages: Passages) -> dict[str, float]:
    """Score passages, best first, by each measure that applies to the labels.

    A document stands where its best passage does, and one that says the same right after it.
    Measures of spans count the characters that the first k passages name, so that they do not
    depend on how text was cut; "answer_found" is 1 when an accepted answer stands in one of them.
    """
    names = [name for name in measures if applies(name, labels)]
    standard = [name for name in names if not _OWN.fullmatch(name)]
    run = {uri: -float(rank) for rank, uri in enumerate(ranked(passages))}
    scores = dict(retrieval.measures(standard, judgements(labels), run)) if standard else {}
    for name in names:
        if own := _OWN.fullmatch(name):
            first = passages[: int(own[2])] if own[2] else passages
            scores[name] = _own_score(own[1], labels, first)
    return {name: scores[name] for name in names}


def _own_score(metric: str, labels: Labels, passages: Passages) -> float:
    if metric == ANSWER:
        return float(any(contains(one["text"], labels["answers"]) for one in passages))
    labelled = [Excerpt(one["document"], one["start"], one["end"]) for one in labels["spans"]]
    found = [Excerpt(one["uri"], one["start"], one["end"]) for one in named(passages)]
    scores = retrieval.span_scores(labelled, found)
    return float(getattr(scores, metric.removeprefix("span_")))
