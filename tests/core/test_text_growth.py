"""Functions that read questions, answers and passages take linear time, whatever the text.

Their patterns alone are tried by tests/test_patterns.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Final, get_args

import pytest

from ragkit.answer.check.claim_signals import choose_candidates as prose_candidates
from ragkit.answer.check.claim_signals import claim_signals
from ragkit.answer.check.names import NameSet, find_names
from ragkit.answer.check.numbers import NumberSet, find_numbers, number_values
from ragkit.answer.check.parsed_answer import parse_answer
from ragkit.answer.check.quotations import find_quotations, fold, locate
from ragkit.answer.check.sentence import PreparedSentence, count_denials
from ragkit.answer.check.stray_markers import MarkerFilter, is_json
from ragkit.answer.check.support import Evidence, count_misplaced, coverage, has_content
from ragkit.answer.check.verify import verify
from ragkit.answer.refuse.question_coverage import best_coverage, missing_words
from ragkit.answer.write.candidates import list_candidates
from ragkit.answer.write.citations import cite
from ragkit.answer.write.extract import pick
from ragkit.answer.write.greeting import is_greeting
from ragkit.answer.write.layout import split_units as layout_units
from ragkit.answer.write.links import Cleaning, remove_links
from ragkit.answer.write.llm import refusal_in
from ragkit.embed.find import MINILM, find_model
from ragkit.embed.tokens import Tokens, load_tokens
from ragkit.errors import RagkitError
from ragkit.filters import text as filter_text
from ragkit.prompts.messages import neutralise, prompt_language
from ragkit.question.answer_kinds import (
    Kind,
    demanded_kind,
    expected_kinds,
    has_answer,
    may_answer,
)
from ragkit.question.follow_up_words import add_words
from ragkit.question.inferred_filter import infer_filter
from ragkit.question.reading import read_question
from ragkit.question.standalone import follows_on, may_follow, surely_alone
from ragkit.retrieve.words.marks import read_marks, read_preferences
from ragkit.text.analyse import analyse, units
from ragkit.text.analysers import analyser, analyser_name
from ragkit.text.language import language
from ragkit.text.length import estimate_tokens
from ragkit.text.markers import find_markers, split_statements, without_markers
from ragkit.text.normalise import clean
from ragkit.text.passage import header
from ragkit.text.plain import head_above, list_text, plain, row_text
from ragkit.text.sentences import sentences, starts
from ragkit.text.terms import WordTerms
from ragkit.types import Draft, Fields, Hit
from tests.adversarial import UNITS, slow_text

_FIELDS: Final = Fields(("en", "zh"), ("application/pdf",), {"year": "number"}, {"team": ("A",)})


def passage(text: str) -> Hit:
    return Hit(1, 1, "a.md", "A", None, 0, len(text), text, 1.0)


@cache
def tokenizer() -> Tokens:
    return load_tokens(find_model(MINILM).folder)


def tokens(text: str) -> None:
    """Tokenise a text whose words were not seen before."""
    replace(tokenizer(), _words=[]).spans(text)


def cleaned_in_pieces(text: str) -> None:
    """Clean an answer as it comes from a model, some characters at a time."""
    cleaning = Cleaning([passage("A source.")])
    for first in range(0, len(text), 16):
        cleaning.take(text[first : first + 16])
    cleaning.end()


def sieved_in_pieces(text: str) -> None:
    sieve = MarkerFilter(3)
    for first in range(0, len(text), 16):
        sieve.take(text[first : first + 16])
    sieve.end()


def verified(text: str) -> None:
    """Check an answer of the text, and a short one against a passage of the text."""
    for answer, source in ((f"{text} [1]", "The wing."), ("The 'big wing' has 20 [1].", text)):
        used = [passage(source)]
        draft = Draft(answer, cite(answer, used))
        verify(draft, {1: source}.__getitem__, used)


def compared(text: str) -> None:
    """Compare a claim of the text with a short source, and a short one with a source of it."""
    short = "In 1932 King George opened the 12 bridges."
    for claim, source in ((text, short), (short, text)):
        evidence = [Evidence([source])]
        coverage(claim, evidence)
        count_misplaced(claim, evidence)
    known = NameSet.of([text])
    for name in find_names(text)[:9]:
        assert text[name.start : name.end] in known
    NumberSet.of([text])


def weighed(text: str) -> None:
    """Read the signals of a claim of the text, and of a short one beside the text."""
    short = "In 1932 King George opened the 12 bridges."
    for claim, source in ((PreparedSentence(text), short), (PreparedSentence(short), text)):
        evidence = [Evidence([source])]
        claim_signals(claim, evidence, prose_candidates(claim, evidence))


def with_evidence(text: str) -> None:
    """Look for a question of the text in a short passage, and for a short one in the text."""
    for question, source in ((text, "A short passage."), ("How large is the wing?", text)):
        asked = read_question(question)
        weights = dict.fromkeys(asked.content, 1.0)
        best_coverage(asked, [passage(source)], weights)
        missing_words(asked, [passage(source)], weights)


def filtered(text: str) -> None:
    with suppress(RagkitError):
        filter_text.read(text)
    with suppress(RagkitError):
        filter_text.read(f"tag = '{text}")


FUNCTIONS: Final[Mapping[str, Callable[[str], object]]] = {
    "clean": clean,
    "sentences": sentences,
    "starts": starts,
    "language": language,
    "estimate_tokens": estimate_tokens,
    "analyse": analyse,
    "units": lambda text: units(text, str),
    "rjieba": analyser(analyser_name("english", "rjieba")),
    "terms": lambda text: WordTerms(analyse)([text]),
    "header": lambda text: header(text, [text], lambda line: len(line) < 60),
    "tokens": tokens,
    "markers": find_markers,
    "statements": split_statements,
    "without_markers": without_markers,
    "without_links": remove_links,
    "cleaning": cleaned_in_pieces,
    "sieve": sieved_in_pieces,
    "is_json": is_json,
    "names": find_names,
    "numbers": find_numbers,
    "quotations": find_quotations,
    "fold": fold,
    "locate": lambda text: (locate(text, fold("The wing.")), locate("The … wing", fold(text))),
    "read_answer": lambda text: parse_answer(text, cite(text, [passage("A source.")])),
    "cite": lambda text: cite(f"{text} [1]", [passage(text)]),
    "verify": verified,
    "support": compared,
    "prose": weighed,
    "values": number_values,
    "denials": count_denials,
    "has_content": has_content,
    "refusal_in": refusal_in,
    "expected": lambda text: has_answer(
        text, expected_kinds(text) | frozenset(get_args(Kind)), "Why?"
    ),
    "demanded": lambda text: (
        demanded_kind(f"How much is {text}", frozenset({"money"})),
        [may_answer(text, kind, text) for kind in ("money", "phone", "email")],
    ),
    "plain": lambda text: (plain(text), list_text(text), row_text(text, ["A"])),
    "head_above": lambda text: head_above(text, len(text)),
    "layout": layout_units,
    "evidence": with_evidence,
    "is_greeting": is_greeting,
    "preferred": read_preferences,
    "candidates": lambda text: list_candidates([passage(text)]),
    "pick": lambda text: pick("How large is the wing?", [passage(text)]),
    "read_question": read_question,
    "prompt": lambda text: (neutralise(text), prompt_language(text)),
    "inferred": lambda text: infer_filter(text, _FIELDS),
    "filter_text": filtered,
    "demands": read_marks,
    "follow-ups": lambda text: (
        follows_on(text),
        may_follow(text),
        surely_alone(text),
        add_words(text, "Who is she?"),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    assert slow_text(FUNCTIONS[name], UNITS) == ""


def test_a_quadratic_function_would_be_noticed() -> None:
    def quadratic(text: str) -> int:
        return sum(len(text[place:].split(".")) for place in range(len(text)) if text[place] == ".")

    assert slow_text(quadratic, UNITS).startswith("'.'")
