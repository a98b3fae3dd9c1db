"""New tokens by joining pairs: gains, ties, limits, and the same choice as by counting anew."""

import random
from collections import Counter
from itertools import pairwise

from ragkit_tune.vocabulary.pairs import Joined, Word, choose_pairs


def join(first: str, second: str) -> str | None:
    return first + second


def slow(words: dict[Word, int], count: int) -> list[Joined]:
    """Choose by counting everything anew at each step."""
    state = {place: list(word) for place, word in enumerate(words)}
    times = list(words.values())
    chosen: list[Joined] = []
    blocked: set[tuple[str, str]] = set()
    while len(chosen) < count:
        gains: Counter[tuple[str, str]] = Counter()
        for place, word in state.items():
            for pair in pairwise(word):
                gains[pair] += times[place]
        open_gains = {pair: gain for pair, gain in gains.items() if pair not in blocked}
        if not open_gains or max(open_gains.values()) < 2:
            break
        pair = min(open_gains, key=lambda pair: (-open_gains[pair], pair))
        if "".join(pair) in {joined.token for joined in chosen}:
            blocked.add(pair)
            continue
        gain = 0
        for number, word in state.items():
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == pair:
                    word[place : place + 2] = ["".join(pair)]
                    gain += times[number]
                place += 1
        chosen.append(Joined("".join(pair), pair, gain))
    return chosen


def test_the_most_frequent_pair_goes_first_and_ties_by_the_alphabet() -> None:
    words = {("x", "y"): 4, ("b", "c"): 4, ("a", "b", "c"): 1}
    assert choose_pairs(words, 5, join=join) == [
        Joined("bc", ("b", "c"), 5),
        Joined("xy", ("x", "y"), 4),
    ]


def test_a_pair_within_itself_is_joined_from_the_left() -> None:
    assert choose_pairs({("a", "a", "a", "a", "a"): 2}, 2, join=join) == [
        Joined("aa", ("a", "a"), 4),
        Joined("aaa", ("aa", "a"), 2),
    ]


def test_pairs_that_may_not_be_joined_are_not() -> None:
    words: dict[Word, int] = {("a", "b", "c"): 3}
    chosen = choose_pairs(words, 5, join=lambda a, b: None if a == "a" else a + b)
    assert [joined.token for joined in chosen] == ["bc"]
    assert choose_pairs({}, 5, join=join) == []
    assert choose_pairs({("a", "b"): 1}, 5, join=join) == []


def test_the_choice_is_that_of_counting_anew() -> None:
    generator = random.Random(5)
    for _ in range(30):
        words = {
            tuple(generator.choices("abcd", k=generator.randint(2, 9))): generator.randint(1, 9)
            for _ in range(20)
        }
        assert choose_pairs(words, 12, join=join) == slow(words, 12)
