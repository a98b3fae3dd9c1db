"""Questions with their answers: from thumbs up, labelled sets, and rows of pairs.

An answer cites the question's own places, [1] the first of them; which number each gets in a prompt
is decided where the prompt is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.text.analyse import analyse
from ragkit.text.language import language
from ragkit.text.markers import MARKER, find_markers
from ragkit.text.sentences import sentences
from ragkit.types import Span
from ragkit_tune.data.data_set import read_objects, read_pairs
from ragkit_tune.data.feedback import UNCITED, find_place, rated_question, read_ratings
from ragkit_tune.data.labelled import CHANGED, GONE, SPLIT_UP, Label, read_labels, resolve
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.questions import Place, Question
from ragkit_tune.data.sources import Sources

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.store.people.feedback import Rated, Rating

_CLOSING: Final = " \t\r\n.!?…。！？\"'”’」』）)"


def rated_answers(
    kb: KnowledgeBase, settings: Settings, sources: Sources, rating: Rating, left_out: Counter[str]
) -> list[Question]:
    """Return questions with the answers that users rated so, the oldest first.

    A refusal that was liked is a question that the documents do not answer.
    """
    items = []
    for rated in read_ratings(kb, settings, rating):
        item = _read_rated(rated, sources)
        if isinstance(item, str):
            left_out[item] += 1
        else:
            items.append(item)
    return items[::-1]


def _read_rated(rated: Rated, sources: Sources) -> Question | str:
    if rated.refused:
        return rated_question(rated, (), rated.answer)
    places: dict[int, Place] = {}
    numbers: dict[int, int] = {}
    for citation in rated.citations:
        place = find_place(citation, sources)
        if isinstance(place, str):
            return place
        places.setdefault(place.passage.chunk, place)
        numbers[citation.n] = list(places).index(place.passage.chunk) + 1
    if not places:
        return UNCITED
    return rated_question(rated, places.values(), renumbered(rated.answer, numbers))


def labelled_answers(
    path: Path, sources: Sources, miner: Miner, left_out: Counter[str]
) -> list[Question]:
    """Return the questions of a labelled set with their first reference, else their first answer.

    Raises NotFoundError, and UsageError naming FILE:LINE.
    """
    references = {where: values.get("references") or [] for where, values in read_objects(path)}
    items = []
    for label in read_labels(path):
        if not label.answerable and label.question.strip():
            items.append(_unanswerable(label))
            continue
        for question in resolve([label], sources, miner.best_passage, left_out):
            texts = [str(text) for text in references[label.where]] or list(label.answers)
            answer = cited(texts[0], question.places) if texts else ""
            items.append(replace(question, answer=answer))
    return items


def paired_questions(folder: Path, sources: Sources, left_out: Counter[str]) -> list[Question]:
    """Return the queries of rows of pairs, whose answers are still to be written."""
    items = []
    for name in ("train.jsonl", "dev.jsonl"):
        for pair in read_pairs(folder / name):
            document = sources.at(pair.document)
            source = sources.read(document) if document else None
            if source is None or source.text[pair.start : pair.end] != pair.positive:
                left_out[GONE if source is None else CHANGED] += 1
            elif (passage := source.holding(Span(pair.start, pair.end))) is None:
                left_out[SPLIT_UP] += 1
            else:
                place = Place(passage, Span(pair.start, pair.end))
                items.append(Question(pair.query, (place,), pair.how, pair.language))
    return items


def _unanswerable(label: Label) -> Question:
    detected = language(label.question) or label.tags.get("language", "")
    return Question(label.question, (), "labelled", detected, label.group)


def cited(text: str, places: Sequence[Place]) -> str:
    """Return an answer with a marker in each sentence: of the place that has most of its words.

    >>> from ragkit.types import Hit
    >>> hit = Hit(1, 1, "a", "A", None, 0, 12, "It is red.", 0.0)
    >>> cited("It is red. 白色。", [Place(hit, Span(0, 9))])
    'It is red [1]. 白色[1]。'
    """
    plain = MARKER.sub("", text).strip()
    terms = [set(analyse(place.passage.text)) for place in places]
    written, end = [], 0
    for span in sentences(plain):
        sentence = plain[span.start : span.end]
        terms_of_sentence = set(analyse(sentence))
        best = max(range(len(terms)), key=lambda n: (len(terms_of_sentence & terms[n]), -n))
        body = sentence.rstrip(_CLOSING)
        space = "" if language(sentence) == "zh" else " "
        written.append(plain[end : span.start] + body + f"{space}[{best + 1}]")
        end = span.start + len(body)
    return "".join(written) + plain[end:]


def renumbered(text: str, numbers: Mapping[int, int]) -> str:
    """Return an answer with other numbers in its markers; those without a new one are left out.

    >>> renumbered("Red [1][3], blue [2, 1].", {1: 4, 2: 5})
    'Red [4], blue [5][4].'
    """
    pieces, end = [], 0
    for marker in find_markers(text):
        numbers_here = dict.fromkeys(numbers[n] for n in marker.numbers if n in numbers)
        pieces += [text[end : marker.start], *(f"[{n}]" for n in numbers_here)]
        end = marker.end
    return "".join([*pieces, text[end:]])
