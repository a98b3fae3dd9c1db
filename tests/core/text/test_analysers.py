"""The analysers that settings choose: their names, their terms, and what is missing."""

import sys
from collections.abc import Iterator
from typing import Literal

import pytest

from ragkit.errors import SettingsError
from ragkit.text.analyse import ANALYSER, FIRST_ANALYSER, analyse
from ragkit.text.analysers import analyser, analyser_name, newest

TEXT = "The wings of 中国航空公司, 2024年。年度"


@pytest.fixture
def _afresh() -> Iterator[None]:
    analyser.cache_clear()
    yield
    analyser.cache_clear()


def test_the_default_settings_name_the_default_analyser() -> None:
    assert analyser_name("english", "bigrams") == ANALYSER
    assert analyser(ANALYSER)(TEXT) == analyse(TEXT)


def test_words_may_stay_as_they_are_written() -> None:
    name = analyser_name("none", "bigrams")
    assert name == "nfkc-casefold+cjk-bigrams/2"
    assert analyser(name)("Wings RUNNING 银行") == ["wings", "running", "银行"]


def test_chinese_may_be_cut_by_a_segmenter() -> None:
    pytest.importorskip("rjieba")
    by = analyser(analyser_name("english", "rjieba"))
    assert by.name == "nfkc-casefold+english-stem+rjieba/2"
    assert by("wings of 中国航空公司的银行") == ["wing", "of", "中国", "航空公司", "的", "银行"]
    assert not by.pairs


@pytest.mark.parametrize("cjk", ["bigrams", "rjieba"])
def test_traditional_characters_count_as_simplified_ones(cjk: Literal["bigrams", "rjieba"]) -> None:
    if cjk == "rjieba":
        pytest.importorskip("rjieba")
    by = analyser(analyser_name("english", cjk))
    assert by("颱風後的國家圖書館") == by("台风后的国家图书馆")
    assert by.units("「颱風」後") == by.units("“台风”后") == ["台", "风", "", "后"]


def test_an_index_from_before_keeps_the_terms_it_was_made_of() -> None:
    by = analyser(FIRST_ANALYSER)
    assert by("國家 wings") == ["國家", "wing"]
    assert by.units("國家") == ["國", "家"]
    assert newest(FIRST_ANALYSER) == ANALYSER == newest(ANALYSER)


def test_phrases_are_compared_by_words_and_characters() -> None:
    units = analyser(ANALYSER).units("合同。法律 A股 wings")
    assert units == ["合", "同", "", "法", "律", "a", "股", "wing"]


@pytest.mark.usefixtures("_afresh")
def test_a_missing_segmenter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    with pytest.raises(SettingsError, match=r"pip install 'ragkit\[rjieba\]'"):
        analyser(analyser_name("english", "rjieba"))
    assert analyser(ANALYSER)("wings") == ["wing"]


def test_an_analyser_of_a_later_ragkit_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="'klingon/3'"):
        analyser("klingon/3")
