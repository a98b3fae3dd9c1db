"""Terms of many texts at once: the analyser's own, from whatever was remembered."""

import random
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ragkit.text import terms
from ragkit.text.analyse import ANALYSER, analyse
from ragkit.text.analysers import analyser, analyser_name, terms_by
from ragkit.text.terms import Terms, WordTerms

TEXTS = [
    "The Wings of 航空公司, 2024.",
    "running_wings don’t “stop” — naïve café №5 1½ x" + "y" * 100,
    "航空公司。Boeing 737 的机翼（wings）",
    "Крылья самолёта",
    "",
    " \n\t",
    "wings" * 30,
    "a" * 70 + "'s",
]


def test_terms_of_texts_are_the_analysers() -> None:
    of = WordTerms(analyse)
    expected = [analyse(text) for text in TEXTS]
    assert list(of(TEXTS)) == expected
    assert list(of(TEXTS)) == expected  # now they are remembered
    assert expected[0] == ["the", "wing", "of", "航空", "空公", "公司", "2024"]
    assert of(TEXTS).lengths.tolist() == [len(one) for one in expected]
    assert list(of([])) == []


@pytest.mark.parametrize("between", ["", " ", "-", "<", "="])
def test_no_character_beside_ascii_makes_other_terms(between: str) -> None:
    """Characters that a normal form composes, reorders or takes apart, and all kinds of others."""
    of = WordTerms(analyse)
    points = [
        chr(point) for point in range(128, sys.maxunicode, 41) if not 0xD800 <= point < 0xE000
    ]
    points += [chr(point) for point in range(0x300, 0x370)]
    points = [one for one in points if unicodedata.category(one) not in ("Cn", "Co")]
    plain = " zz" * 20  # so that it is taken apart, not left to the analyser
    for first in range(0, len(points), 500):
        texts = [f"aB{between}{one}{between}H1{plain}" for one in points[first : first + 500]]
        assert list(of(texts)) == [analyse(text) for text in texts]


def test_random_texts_have_the_analysers_terms() -> None:
    drawn = random.Random(7)
    signs = [chr(point) for point in range(128)] * 9 + list("éß’“—航空\u0301\u0338\u212b\ufb01½")
    texts = ["".join(drawn.choices(signs, k=60)) for _ in range(2000)]
    assert list(WordTerms(analyse)(texts)) == [analyse(text) for text in texts]


def test_each_analyser_has_its_own() -> None:
    plain = analyser_name("none", "bigrams")
    assert list(terms_by(ANALYSER)(["Running wings"])) == [["run", "wing"]]
    assert list(terms_by(plain)(["Running wings"])) == [["running", "wings"]]
    assert terms_by(plain) is terms_by(plain)
    assert analyser(plain)("Running wings") == ["running", "wings"]


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "MAX_WORDS", 100)
    of = WordTerms(analyse)
    earlier = of(["wings and tails"])
    for number in range(50):
        text = " ".join(f"word{number}x{n}" for n in range(10))
        assert list(of([text, "航空公司"])) == [analyse(text), analyse("航空公司")]
    assert len(of._words) <= 100 + 13
    assert list(earlier) == [["wing", "and", "tail"]]  # what was given keeps its names


def test_an_error_leaves_nothing_half_known() -> None:
    fails = True

    def analysing(text: str) -> list[str]:
        if fails:
            raise RuntimeError("not now")
        return analyse(text)

    of = WordTerms(analysing)
    with pytest.raises(RuntimeError):
        of(["the wings"])
    fails = False
    assert list(of(["the wings"])) == [["the", "wing"]]


def test_several_threads_ask_at_once() -> None:
    of = WordTerms(analyse)
    texts = [f"alpha beta{n} {n % 7} gamma\n" * 50 for n in range(64)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: list(of([text])), texts))
    assert found == [[analyse(text)] for text in texts]


def test_some_of_the_texts_can_be_kept() -> None:
    of = Terms.of([["b", "a", "b"], [], ["c"], ["a"]])
    kept = of.only(np.array([True, True, False, True]))
    assert list(kept) == [["b", "a", "b"], [], ["a"]]
    assert kept.lengths.tolist() == [3, 0, 1]
