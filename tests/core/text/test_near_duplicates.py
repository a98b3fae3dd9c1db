"""Near duplicates: estimates against counted similarities, bands against their formula."""

import random

import pytest

from ragkit.text import near_duplicates
from ragkit.text.near_duplicates import bands, signature, similarity

WORDS = [f"{a}{b}{c}" for a in "bcdfghklmn" for b in "aeiou" for c in "prstvz"]
HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]


def text(seed: int, words: int) -> list[str]:
    chosen = random.Random(seed)
    return [chosen.choice(WORDS) for _ in range(words)]


def changed(words: list[str], count: int, seed: int) -> list[str]:
    """Put other words in the place of so many."""
    chosen = random.Random(seed)
    result = list(words)
    for at in chosen.sample(range(len(words)), count):
        result[at] = f"other{at}"
    return result


def jaccard(first: list[str], second: list[str], length: int) -> float:
    """Count what the two have in common, run by run."""
    sets = [
        {tuple(units[n : n + length]) for n in range(len(units) - length + 1)}
        for units in (first, second)
    ]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def alike(first: str, second: str) -> float:
    return similarity(signature(first), signature(second))


def test_what_makes_no_difference() -> None:
    sentence = "Filters are changed every second month, or when the lamp is red."
    assert alike(sentence, sentence.upper().replace(",", " –\n")) == 1.0
    assert alike("合同期限为三年，自签字之日起。", "合同期限为三年。自签字之日起！") == 1.0
    assert alike("ＲＬ－４００ ﬁlter ok", "rl-400 filter ok") == 1.0
    assert signature(sentence) == signature(sentence)


def test_other_texts_are_not_alike() -> None:
    assert alike(" ".join(text(1, 500)), " ".join(text(2, 500))) < 0.1
    assert alike("".join(HAN[:500]), "".join(HAN[500:1000])) < 0.05
    words = text(3, 500)
    assert alike(" ".join(words), " ".join(reversed(words))) < 0.1


@pytest.mark.parametrize(
    ("every", "literal"), [(5000, 1.0), (200, 983 / 1013), (50, 938 / 1058), (10, 698 / 1298)]
)
def test_estimates_are_near_what_is_counted(every: int, literal: float) -> None:
    """Of 1,000 words every so manieth is changed: each is in three of 998 runs of either text.

    The error allowed is four standard errors.
    """
    first = [f"word{n}" for n in range(1000)]
    second = [f"other{n}" if n % every == every // 2 else f"word{n}" for n in range(1000)]
    changes = sum(a != b for a, b in zip(first, second, strict=True))
    assert jaccard(first, second, 3) == literal == (998 - 3 * changes) / (998 + 3 * changes)
    allowed = 4 * (literal * (1 - literal) / 256) ** 0.5
    assert abs(alike(" ".join(first), " ".join(second)) - literal) <= allowed


def test_chinese_counts_runs_of_five_characters() -> None:
    chosen = random.Random(6)
    first = [chosen.choice(HAN) for _ in range(1000)]
    second = list(first)
    for at in range(25, 1000, 50):
        second[at] = "改"
    exact = jaccard(first, second, 5)
    assert exact == pytest.approx(0.817, abs=0.002)
    assert abs(alike("".join(first), "".join(second)) - exact) < 4 * (0.817 * 0.183 / 256) ** 0.5


def test_the_mean_error_over_many_texts_is_the_expected_one() -> None:
    errors = []
    for seed in range(60):
        first = text(seed, 300)
        second = changed(first, 10, seed)
        errors.append(alike(" ".join(first), " ".join(second)) - jaccard(first, second, 3))
    expected = (0.82 * 0.18 / 256) ** 0.5
    assert abs(sum(errors) / len(errors)) < 4 * expected / len(errors) ** 0.5
    assert (sum(error**2 for error in errors) / len(errors)) ** 0.5 < 1.5 * expected


@pytest.mark.parametrize(("count", "share"), [(5, 0.9999), (10, 0.947), (44, 0.061)])
def test_bands_are_shared_as_often_as_the_formula_says(count: int, share: float) -> None:
    """Of 300 words so many are changed: similarities of about 0.9, 0.8 and 0.5."""
    shared, expected = 0, 0.0
    for seed in range(100):
        first = text(seed, 300)
        second = changed(first, count, seed)
        keys = [set(bands(signature(" ".join(words)))) for words in (first, second)]
        shared += not keys[0].isdisjoint(keys[1])
        expected += 1 - (1 - jaccard(first, second, 3) ** 8) ** 16
    assert expected / 100 == pytest.approx(share, abs=0.06)
    assert abs(shared - expected) <= 4 * (expected * (1 - expected / 100)) ** 0.5 + 1


def test_bands_are_numbers_that_an_indexed_table_holds() -> None:
    keys = bands(signature("Filters are changed every second month."))
    assert len(keys) == len(set(keys)) == 16
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert len(signature("a")) == 1032


@pytest.mark.parametrize("nothing", ["", " \n", "---- !!! ，。"])
def test_a_text_without_words_is_like_no_other(nothing: str) -> None:
    assert signature(nothing) == b""
    assert bands(signature(nothing)) == []
    assert alike(nothing, nothing) == 0.0
    assert alike(nothing, "word") == 0.0


def test_texts_shorter_than_a_run_are_compared_whole() -> None:
    assert alike("yes", "Yes!") == 1.0
    assert alike("yes", "no") < 0.02
    assert alike("yes please", "please yes") < 0.02
    assert alike("同意", "同意。") == 1.0


def test_a_long_text_is_hashed_in_slices_and_hardly_told_from_a_moved_one() -> None:
    long_text = " ".join(text(7, 300_000))
    assert len(long_text) > 1 << 20
    assert alike(long_text, "moved by some words " + long_text) > 0.99


def test_signatures_of_two_schemes_are_never_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    first = signature("Filters are changed every second month.")
    monkeypatch.setattr(near_duplicates, "SCHEME", "minhash-affine32/256/seed-1+words-3+cjk-5/2")
    second = signature("Filters are changed every second month.")
    assert first[8:] == second[8:]
    assert similarity(first, second) == 0.0
    assert set(bands(first)).isdisjoint(bands(second))
    assert similarity(second, first[8:]) == 0.0, "kept before schemes were"


def test_a_signature_stays_what_it_was() -> None:
    """Signatures are kept: when this changes, the name of the scheme has to."""
    sign = signature("Filters are changed every second month, or when the lamp is red.")
    assert sign[:8].hex() == "f783513cf87d74d5"
    assert bands(sign)[:2] == [3147588114916279259, 7866479744398201589]
