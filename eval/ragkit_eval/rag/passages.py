"""Score retrieved passages by a question's labels: documents, spans, accepted answers.

Labels and passages are JSON values, as in a run file, so that scores can be computed again.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit_eval import retrieval
from ragkit_eval.metrics.contains import contains
from ragkit_eval.rag.ask import TEXTS, list_places, rank_documents
from ragkit_eval.sets import Excerpt, Question

Labels = Mapping[str, Any]
Passages = Sequence[Mapping[str, Any]]

SPANS: Final = ("span_recall", "span_precision", "span_iou")
ANSWER: Final = "answer_found"
_OWN_MEASURE = re.compile(rf"({'|'.join((*SPANS, ANSWER))})(?:@([1-9]\d{{0,8}}))?")


def labels_of(question: Question, uris: Mapping[str, str]) -> Labels:
    """Return a question's labels as JSON values, documents named by `uris` where it has them."""
    return {
        "answerable": question.answerable,
        "answers": list(question.answers),
        "references": list(question.expected),
        "relevant": {uris.get(name, name): grade for name, grade in question.relevant.items()},
        "spans": [
            {
                "document": uris.get(span.document, span.document),
                "start": span.start,
                "end": span.end,
            }
            for span in question.excerpts
        ],
        "tags": dict(question.tags),
    }


def judgements(labels: Labels) -> dict[str, int]:
    """Return the graded documents; without any, the documents of the spans."""
    return dict(labels["relevant"]) or {span["document"]: 1 for span in labels["spans"]}


def applies(measure: str, labels: Labels) -> bool:
    """Tell whether a measure is defined for a question with these labels."""
    match = _OWN_MEASURE.fullmatch(measure)
    if match is None:
        return any(grade > 0 for grade in judgements(labels).values())
    return bool(labels["answers"] if match[1] == ANSWER else labels["spans"])


def check_measures(names: Iterable[str]) -> None:
    """Raise UsageError for an unknown measure, naming close ones."""
    for name in names:
        if _OWN_MEASURE.fullmatch(name):
            continue
        try:
            retrieval.measures([name], {"a": 1}, {"a": 1.0})
        except UsageError as error:
            measures = ", ".join(f"{name}@5" for name in (*SPANS, ANSWER))
            raise UsageError(f"{error}; besides {measures}") from error


def check_depths(names: Iterable[str]) -> None:
    """Raise UsageError for a measure that needs more passages' texts than a search stores."""
    for name in names:
        match = _OWN_MEASURE.fullmatch(name)
        if match and match[1] == ANSWER and not (match[2] and int(match[2]) <= TEXTS):
            raise UsageError(
                f"the measure {name!r} reads the texts of more than {TEXTS} passages, which a run"
                f" of a search does not keep: use {ANSWER}@{TEXTS} or less"
            )


def passage_scores(measures: Iterable[str], labels: Labels, passages: Passages) -> dict[str, float]:
    """Score passages, best first, by each measure that applies to the labels.

    A document has the rank of its best passage, and a duplicate the next one. Measures of spans
    count the characters of the first k passages, so that they do not depend on the splitting;
    "answer_found" is 1 when an accepted answer stands in one of them.
    """
    names = [name for name in measures if applies(name, labels)]
    standard = [name for name in names if not _OWN_MEASURE.fullmatch(name)]
    ranking = {uri: -float(rank) for rank, uri in enumerate(rank_documents(passages))}
    scores = dict(retrieval.measures(standard, judgements(labels), ranking)) if standard else {}
    for name in names:
        if match := _OWN_MEASURE.fullmatch(name):
            first = passages[: int(match[2])] if match[2] else passages
            scores[name] = _score_measure(match[1], labels, first)
    return {name: scores[name] for name in names}


def _score_measure(metric: str, labels: Labels, passages: Passages) -> float:
    if metric == ANSWER:
        return float(any(contains(passage["text"], labels["answers"]) for passage in passages))
    labelled = [
        Excerpt(passage["document"], passage["start"], passage["end"])
        for passage in labels["spans"]
    ]
    retrieved = [
        Excerpt(passage["uri"], passage["start"], passage["end"])
        for passage in list_places(passages)
    ]
    scores = retrieval.span_scores(labelled, retrieved)
    return float(getattr(scores, metric.removeprefix("span_")))
