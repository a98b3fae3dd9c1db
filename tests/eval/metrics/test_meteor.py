"""METEOR of 2005 by hand: each expected value is derived in its comment from the paper's formulas.

P = m / words of the prediction, R = m / words of the reference, F = 10PR / (R + 9P),
score = F * (1 - 0.5 * (chunks / m)^3).
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.metrics.alignment import chunks, extend
from ragkit_eval.metrics.crossings import Pairs
from ragkit_eval.metrics.meteor import align, meteor, signature
from ragkit_eval.metrics.wordnet import WordNet, open_wordnet


@pytest.fixture(scope="module")
def wordnet() -> WordNet:
    database = open_wordnet()
    if database is None:
        pytest.skip("there is no WordNet here: apt-get install wordnet-base")
    return database


def test_identical_texts_are_one_chunk() -> None:
    # m = 6, one chunk: 1 * (1 - 0.5 / 6^3)
    assert meteor("the cat sat on the mat", "the cat sat on the mat").score == 1 - 0.5 / 216


def test_fewest_crossings_decide_between_equal_words() -> None:
    # "the" pairs with the "the" that crosses less, so that no two pairs are next to each other:
    # 6 pairs in 6 chunks, 1 * (1 - 0.5)
    score = meteor("on the mat sat the cat", "the cat sat on the mat")
    assert (score.matches, score.chunks, score.score) == (6, 6, 0.5)


def test_a_word_too_many() -> None:
    # P = 6/7, R = 1, F = (60/7) / (1 + 54/7) = 60/61; 2 chunks of 6: 1 - 0.5/27
    score = meteor("the cat was sat on the mat", "the cat sat on the mat")
    assert score.score == pytest.approx(60 / 61 * (1 - 0.5 / 27))


def test_recall_weighs_nine_times_as_much() -> None:
    # m = 2 in one chunk, penalty 0.5/8; P = 1, R = 1/2: F = 5 / 9.5; P = 1/2, R = 1: F = 5 / 5.5
    assert meteor("a b", "a b c d").score == pytest.approx(5 / 9.5 * (1 - 0.5 / 8))
    assert meteor("a b c d", "a b").score == pytest.approx(5 / 5.5 * (1 - 0.5 / 8))


def test_stems_pair_what_is_left() -> None:
    # exact: "the"; stems: dog-dogs, bark-barking; "loudly" and "softly" stay: m = 3, one chunk
    score = meteor("the dogs bark loudly", "the dog barking softly")
    assert (score.matches, score.chunks) == (3, 1)
    assert score.score == pytest.approx(3 / 4 * (1 - 0.5 / 27))


def test_an_equal_word_is_paired_before_a_like_one() -> None:
    # "run" pairs with "run" in the first stage although "runs" stands first in the reference
    assert align(["run"], ["runs", "run"]) == {0: 1}


def test_synonyms_are_looked_up_as_they_stand(wordnet: WordNet) -> None:
    # families-households and happy-glad share synsets, the rest is equal: m = 4, one chunk,
    # 1 - 0.5/4^3 = 0.9922. NLTK 3.10.4 looks the stems "famili", "household", "happi" up and
    # gives 0.25: single_meteor_score(reference.split(), prediction.split(), wordnet=wn).
    score = meteor("the families are happy", "the households are glad", wordnet=wordnet)
    assert score.score == pytest.approx(0.9921875)
    # without synonyms "the" and "are" are left, in two chunks: F = 1/2, * (1 - 0.5)
    assert meteor("the families are happy", "the households are glad").score == 0.25


def test_irregular_forms_are_found(wordnet: WordNet) -> None:
    # purchased-bought, house-home: m = 3, one chunk. NLTK gives 0.17.
    score = meteor("purchased a house", "bought a home", wordnet=wordnet)
    assert score.score == pytest.approx(1 - 0.5 / 27)


def test_a_synonym_chain_pairs_as_many_as_it_can(wordnet: WordNet) -> None:
    """Being synonyms is not transitive, so that the first fit may spoil a second pair."""
    assert wordnet.are_synonyms("dwelling", "home")
    assert wordnet.are_synonyms("family", "home")
    assert wordnet.are_synonyms("family", "household")
    assert not wordnet.are_synonyms("dwelling", "household")
    assert align(["family", "dwelling"], ["home", "household"], wordnet) == {0: 1, 1: 0}


def test_chinese_pairs_equal_characters_alone(wordnet: WordNet) -> None:
    # 高兴 and 开心 mean the same and share no character: m = 2 of 4 each, two chunks? 我, 很 are
    # next to each other: one chunk, F = 1/2, * (1 - 0.5/8)
    assert meteor("我很高兴", "我很开心", wordnet=wordnet).score == pytest.approx(
        0.5 * (1 - 0.5 / 8)
    )
    assert "cjk:exact" in signature(wordnet)


def test_the_signature_says_which_stages_there_are(wordnet: WordNet) -> None:
    assert "synonym" not in signature()
    assert "no-wordnet" in signature()
    assert f"wordnet-{wordnet.revision}" in signature(wordnet)


def test_the_best_reference_counts_in_whatever_order() -> None:
    references = ["something else", "a b c", "a b"]
    best = meteor("a b c", references)
    assert best == meteor("a b c", "a b c") == meteor("a b c", references[::-1])


def test_empty_and_disjoint_texts_score_nothing() -> None:
    assert meteor("", "").score == meteor("", "a").score == meteor("a", "").score == 0
    assert meteor("a b", "c d").score == 0
    with pytest.raises(UsageError, match="at least one reference"):
        meteor("a", [])


@pytest.mark.parametrize("classes", [True, False])
def test_alignments_are_the_best_there_are(classes: bool) -> None:
    """Against all alignments of small lists: most pairs, of those fewest crossings, then chunks.

    Some pairs are fixed before, as the pairs of an earlier stage are.
    """
    drawn = random.Random(3)
    for _ in range(400):
        prediction = drawn.choices("abc", k=drawn.randrange(1, 8))
        reference = drawn.choices("abc", k=drawn.randrange(1, 8))
        count = drawn.randrange(min(len(prediction), len(reference), 4))
        fixed: Pairs = dict(
            zip(
                drawn.sample(range(len(prediction)), count),
                drawn.sample(range(len(reference)), count),
                strict=True,
            )
        )
        free = [target for target in range(len(reference)) if target not in fixed.values()]
        candidates: dict[int, list[int]] = {}
        for place, word in enumerate(prediction):
            equal = [target for target in free if reference[target] == word]
            options = sorted(drawn.sample(free, drawn.randrange(len(free) + 1)))
            candidates[place] = equal if classes else options[:3]
        candidates = {
            place: options
            for place, options in candidates.items()
            if options and place not in fixed
        }
        if candidates:
            best = _best(candidates, fixed)
            assert _judged(extend(candidates, fixed, classes=classes)) == best


def test_texts_of_repeated_words_have_the_fewest_crossings() -> None:
    """A search that keeps any alignment, without a bound on them, finds none with fewer."""
    drawn = random.Random(8)
    words = [*"the of a to in and is for".split(), *(f"w{n}" for n in range(30))]
    for _ in range(8):
        prediction = drawn.choices(words, weights=[4] * 8 + [1] * 30, k=40)
        reference = drawn.choices(words, weights=[4] * 8 + [1] * 30, k=44)
        pairs = align(prediction, reference)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ragkit_eval.metrics.alignment.KEPT_ALIGNMENTS", 10**6)
            patch.setattr("ragkit_eval.metrics.alignment._MAX_STEPS", 10**9)
            assert _judged(pairs) == _judged(align(prediction, reference))


def test_hundreds_of_repeated_words_do_not_take_long() -> None:
    drawn = random.Random(1)
    words = "the of a to in".split()
    prediction, reference = drawn.choices(words, k=300), drawn.choices(words, k=310)
    shared = sum(min(prediction.count(word), reference.count(word)) for word in words)
    score = meteor(" ".join(prediction), " ".join(reference))
    assert score.matches == shared


def _judged(pairs: Pairs) -> tuple[int, int, int]:
    crossings = sum(a > b for (_, a), (_, b) in itertools.combinations(sorted(pairs.items()), 2))
    return -len(pairs), crossings, chunks(pairs)


def _best(candidates: Mapping[int, Sequence[int]], fixed: Pairs) -> tuple[int, int, int]:
    places = sorted(candidates)
    choices = itertools.product(*([*candidates[place], None] for place in places))
    alignments = [
        fixed | {p: target for p, target in zip(places, choice, strict=True) if target is not None}
        for choice in choices
    ]
    return min(_judged(pairs) for pairs in alignments if len(set(pairs.values())) == len(pairs))


def test_wordnet_reads_a_named_folder(tmp_path: Path) -> None:
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"index.{part}").write_text("  1 licence  \n")
        (tmp_path / f"{part}.exc").write_text("")
    (tmp_path / "index.noun").write_text(
        "  1 licence  \ncab n 1 1 @ 1 0 00000007  \nmouse n 2 0 2 0 00000001 00000002  \n"
        "taxi n 1 0 1 1 00000007  \n"
    )
    (tmp_path / "noun.exc").write_text("mice mouse\n")
    wordnet = WordNet(tmp_path)
    assert wordnet.are_synonyms("cabs", "taxi")
    assert wordnet.synsets("mice") == {("noun", b"00000001"), ("noun", b"00000002")}
    assert wordnet.irregular("mice") == "mouse"
    assert not wordnet.are_synonyms("mouse", "taxi")
    assert wordnet.synsets("") == wordnet.synsets("zebra") == frozenset()


def test_a_folder_without_a_wordnet_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"index\.noun.*wordnet-base"):
        open_wordnet(tmp_path)
