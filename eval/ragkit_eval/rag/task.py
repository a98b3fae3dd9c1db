"""Make items of a labelled set's questions, for both tasks of a knowledge base."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragkit_eval.rag.passages import Labels, labels_of
from ragkit_eval.run.item import Item
from ragkit_eval.sets import LabelledSet, Question

Labelled = tuple[Question, Labels]


def labelled_questions(labelled: LabelledSet, uris: Mapping[str, str] | None) -> Iterator[Labelled]:
    """Yield the questions with their labels, documents named by their URIs in a collection."""
    for question in labelled.questions:
        yield question, labels_of(question, uris or {})


def item_of(question: Question, labels: Labels, targets: tuple[str, ...]) -> Item:
    """Make an item of a question; its labels are the item's `extra`."""
    extra: Mapping[str, Any] = labels
    return Item(
        id=question.id,
        prompt=question.text,
        targets=targets,
        question=question.text,
        group=group_of(question),
        cluster=question.cluster,
        extra=extra,
    )


def group_of(question: Question) -> str:
    """Return the group of a question in reports: its tags, and whether it is answerable."""
    parts = [question.tags[name] for name in sorted(question.tags)]
    if question.answerable is not None:
        parts.append("answerable" if question.answerable else "unanswerable")
    return ", ".join(parts)
