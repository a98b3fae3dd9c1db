"""One analyser for index, query and evidence: words, English stems, CJK pairs."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.text.analyse import MAX_TERM_CHARS, analyse, nfkc, stem_english


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running RUNS runner's", ["run", "run", "runner", "s"]),
        ("café naïve", ["café", "naïve"]),
        ("Straße", ["strass"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("snake_case v2.0", ["snake", "case", "v2", "0"]),
        ("银行", ["银行"]),
        ("中国银行", ["中国", "国银", "银行"]),
        ("他", ["他"]),
        ("在2008年", ["在", "2008", "年"]),
        ("國家圖書館", ["国家", "家图", "图书", "书馆"]),
        ("机に學ぶ", ["机に", "に学", "学ぶ"]),
        ("ワイン", ["ワイ", "イン"]),
        ("서울", ["서울"]),
        ("。，！ —", []),
        ("", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


def test_a_long_run_is_cut() -> None:
    assert analyse("1" * 500) == ["1" * MAX_TERM_CHARS]


@given(st.text(max_size=80))
def test_takes_any_text_and_makes_bounded_terms_of_it(text: str) -> None:
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in analyse(text))


@given(st.text(st.characters() | st.sampled_from("中国颱，ｶﾞ\u3099\u0301\u0316aΩ豈")))
def test_the_normal_form_is_unicodes(text: str) -> None:
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("after", ["", "\u3099", "\u0338"])
def test_no_han_character_has_another_normal_form(after: str) -> None:
    text = after.join(map(chr, range(0x4E00, 0xA000)))
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@given(st.text(alphabet="ab中国 ", max_size=30), st.text(alphabet="ab中国 ", max_size=30))
def test_a_full_stop_separates(left: str, right: str) -> None:
    assert analyse(f"{left}。{right}") == analyse(left) + analyse(right)


def test_threads_do_not_stem_each_others_words() -> None:
    """A stemmer keeps its word in itself: one for all threads gave wrong stems and errors."""
    letters = "abcdefghijklmnopqrst"
    words = [f"{a}{b}{c}nationaliveness" for a in letters for b in letters for c in letters]
    alone = [analyse(word) for word in words]
    stem_english.cache_clear()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(analyse, words, chunksize=100))
    finally:
        sys.setswitchinterval(interval)
        stem_english.cache_clear()
    assert together == alone
