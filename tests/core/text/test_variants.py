"""Variants of Chinese characters: what counts as the same, and what stays apart."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.text.analyse import CJK
from ragkit.text.variants import _GROUPS, fold_variants


@pytest.mark.parametrize(
    "forms",
    [
        ("颱風", "台風", "台风", "臺風"),
        ("裡面", "裏面", "里面"),
        ("頭髮", "头发"),
        ("以後", "以后"),
        ("看著", "看着"),
        ("瞭解", "了解"),
        ("藉由", "借由"),
        ("乾燥", "干燥"),
        ("什麼", "什麽", "什么"),
        ("爲了", "為了", "为了"),
    ],
)
def test_traditional_simplified_and_regional_forms_are_one(forms: tuple[str, ...]) -> None:
    assert len({fold_variants(form) for form in forms}) == 1


def test_other_characters_stay_apart() -> None:
    for left, right in [("日", "曰"), ("未", "末"), ("土", "士"), ("已", "己"), ("买", "卖")]:
        assert fold_variants(left) != fold_variants(right)


@given(st.text())
def test_every_character_keeps_its_place(text: str) -> None:
    folded = fold_variants(text)
    assert len(folded) == len(text)
    assert fold_variants(folded) == folded
    assert folded == "".join(map(fold_variants, text))


def test_characters_become_characters_and_no_group_shares_any() -> None:
    lines = _GROUPS.read_text(encoding="utf-8").splitlines()
    groups = [group for line in lines if not line.startswith("#") for group in line.split()]
    characters = "".join(groups)
    assert re.fullmatch(f"[{CJK}]+", characters)
    assert len(set(characters)) == len(characters) > 5000
    assert min(map(len, groups)) == 2
