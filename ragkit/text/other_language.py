"""Count questions in another language than the documents, and say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.text.language import language

NAMES: Final = {"en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean"}
# Of the questions; fewer may well ask about a page in another language than its document's most.
LEAST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's text, and the languages of the documents that it is asked of, "" unknown."""

    text: str
    documents: Sequence[str]


def languages_of(texts: Sequence[str]) -> list[str]:
    """Name each short text's language; where one is too short to tell, that of those like it.

    >>> languages_of(["Who sells honey?", "The mill is the oldest of the valley.", "谁卖蜂蜜？"])
    ['en', 'en', 'zh']
    """
    names = [language(text) for text in texts]
    together = language(" ".join(text for text, name in zip(texts, names, strict=True) if not name))
    counts = Counter(name for name in names if name and name not in {"zh", "ja", "ko"})
    fallback = together or (counts.most_common(1)[0][0] if counts else "")
    return [name or fallback for name in names]


def crossing_note(
    questions: Sequence[Asked],
    documents: Sequence[str],
    *,
    model: str,
    reads: Callable[[str], bool | None],
) -> str:
    """Say how many questions ask documents in another language; "" where hardly any does.

    A question counts when its language is known, none of its documents is in it, and most of them
    are in a language that is known. `documents` has the language of each of the collection's.
    `model` is the embedding model, "" where words alone are searched; `reads` says whether it was
    trained for a language, None where that is not known.
    """
    pairs = _pairs(questions)
    if pairs.total() < LEAST * len(questions) or not pairs:
        return ""
    parts = [
        f"{count} in {_named(of)} of documents in {_named(language_there)}"
        for (of, language_there), count in sorted(
            pairs.items(), key=lambda pair: (-pair[1], pair[0])
        )
    ]
    names = sorted({name for pair in pairs for name in pair})
    held = ", ".join(f"{documents.count(name):,} in {_named(name)}" for name in names)
    return (
        f"{pairs.total():,} of {len(questions):,} questions are asked in another language than that"
        f" of the documents: {', '.join(parts)} (the collection has {held})."
        f" {_of_model(model, [reads(name) for name in names])}"
        " A low score may show no more than that."
    )


def _named(language: str) -> str:
    return NAMES.get(language, language)


def _pairs(questions: Sequence[Asked]) -> Counter[tuple[str, str]]:
    names = languages_of([question.text for question in questions])
    return Counter(
        (name, other_language)
        for question, name in zip(questions, names, strict=True)
        if name and (other_language := _other_language(name, question.documents))
    )


def _other_language(name: str, documents: Sequence[str]) -> str:
    """Return the commonest language of documents, none of which is in the one of this name."""
    counts = Counter(documents)
    if name in counts or 2 * counts.pop("", 0) >= len(documents):
        return ""
    return counts.most_common(1)[0][0]


def _of_model(model: str, reads: Sequence[bool | None]) -> str:
    if not model:
        return "Words are searched as they stand, and two languages share few."
    if False in reads:
        return f"The embedding model {model} was not trained for all of these languages."
    return f"Whether the embedding model {model} reads across languages is not known."
