"""The verdict on sentences that a language model wrote, by the signals of plain cases."""

import pytest

from ragkit.answer.check.claim_signals import (
    BY_MODEL,
    BY_WORDS,
    Signals,
    choose_candidates,
    claim_signals,
)
from ragkit.answer.check.exchanged_parts import is_passive, measure_exchange
from ragkit.answer.check.numbers import number_values
from ragkit.answer.check.reasons import list_reasons
from ragkit.answer.check.sentence import PreparedSentence, count_denials
from ragkit.answer.check.support import Evidence

LEASE = Evidence(
    [
        "The rent is 985 euros a month. Harriet Dunmore lets the flat to Tobias Fenwick. The"
        " deposit of 1130 euros is returned within ten days. Smoking is not allowed anywhere in"
        " the flat, but the tenant may keep one cat. Ada Moss repairs the boiler."
    ]
)
CONTRACT = Evidence(
    [
        "月租金为4800元，按季度支付。贺兰芝将房屋出租给杜一帆居住。押金9600元在七日内退还。"
        "未经书面同意，乙方不得转租。空调由甲方负责维修。"
    ]
)


def read(text: str) -> Signals:
    claim = PreparedSentence(text)
    evidence = [CONTRACT if any("\u4e00" <= c <= "\u9fff" for c in text) else LEASE]
    return claim_signals(claim, evidence, choose_candidates(claim, evidence))


@pytest.mark.parametrize(
    "text",
    [
        "The monthly rent is 985 euros.",
        "Within ten days the deposit of 1130 euros is returned.",
        "The tenant may keep a cat.",
        "It is not allowed to smoke in the flat.",
        "每月的租金为4800元。",
        "押金9600元七日内退还。",
        "乙方未经书面同意，不得转租。",
        "空调维修由甲方负责。",
    ],
)
def test_a_true_sentence_in_other_words_is_supported(text: str) -> None:
    assert BY_WORDS.passes(read(text)), read(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The rent is 1200 euros a month.", "one of its numbers stands in none of the sources"),
        ("Harriet Dunmore never lets the flat.", "it denies something that its source does not"),
        ("Smoking is allowed anywhere in the flat.", "its source denies something"),
        ("Tobias Fenwick lets the flat to Harriet Dunmore.", "two parts of it have changed places"),
        ("Elephants dance on Sundays.", "no sentence of the sources has most of its words"),
        ("月租金为5200元，按季度支付。", "one of its numbers stands in none of the sources"),
        ("空调不由甲方负责维修。", "it denies something that its source does not deny"),
        ("未经书面同意，乙方可以转租。", "its source denies something that it does not deny"),
        ("杜一帆将房屋出租给贺兰芝居住。", "two parts of it have changed places"),
        ("大象星期天跳舞。", "no sentence of the sources has most of its words"),
    ],
)
def test_a_changed_sentence_is_told_why(text: str, reason: str) -> None:
    assert reason in "; ".join(list_reasons(read(text), []))


@pytest.mark.parametrize(
    "text",
    [
        "The rent is 1200 euros a month.",
        "The rent is never 985 euros.",
        "Brigitte Kowalski lets the flat to Tobias Fenwick.",
        "Elephants dance on Sundays.",
        "月租金为5200元，按季度支付。",
        "大象星期天跳舞。",
    ],
)
def test_a_false_sentence_is_not_supported(text: str) -> None:
    assert not BY_WORDS.passes(read(text)), read(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The summer rent of 31 euros is paid to Anna.", "one of its numbers for something else"),
        (
            "Now Anna keeps the summer house and the long garden.",
            "one of its names for something else",
        ),
        ("每年的租金总额是31元，按月支付。", "one of its numbers for something else"),
    ],
)
def test_what_stands_only_in_sentences_about_something_else_is_told(text: str, reason: str) -> None:
    sources = [
        "The summer rent of 40 euros is paid to Bruno. The summer rent is paid in June. The rent is"
        " paid in summer. The summer house and the long garden are for Bruno. The summer house has"
        " a garden. The long garden keeps a house. Trams cost 31 cents, says Anna.",
        "每年的租金总额是40元，按月支付。每年的租金按月支付。租金总额按月支付。电车票31分。",
    ]
    claim, evidence = PreparedSentence(text), [Evidence(sources)]
    chosen = choose_candidates(claim, evidence)
    assert reason in "; ".join(list_reasons(claim_signals(claim, evidence, chosen), []))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("twenty minutes", {"2e1"}),
        ("Twenty-five of 25", {"25e0"}),
        ("ninety one", {"91e0"}),
        ("a hundred seats", {"1e2"}),
        ("one of them", set()),
        ("weight and often", set()),
        ("三个人", {"3e0"}),
        ("十天", {"1e1"}),
        ("六成", {"6e1"}),
        ("第二天", set()),
        ("三明治", set()),
        ("一百人", {"1e2"}),
        ("", set()),
    ],
)
def test_numbers_in_words_have_values(text: str, found: set[str]) -> None:
    assert number_values(text) == found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It may be used.", 0),
        ("It may not be used.", 1),
        ("It can't and won’t.", 2),
        ("Notice the knot.", 0),
        ("Dogs are FORBIDDEN without a leash.", 2),
        ("可以转租", 0),
        ("不得转租", 1),
        ("严禁吸烟，不许带宠物", 2),
        ("不仅如此，非常特别", 0),
        ("并非如此", 1),
        ("未来没有", 1),
        ("不得不去", 0),
    ],
)
def test_denials_are_counted(text: str, count: int) -> None:
    assert count_denials(text) == count


@pytest.mark.parametrize(
    ("claim", "source", "share"),
    [
        ("a b c", "a b c", 0.0),
        ("c b a", "a b c", 1.0),
        ("x b y c z", "p b q", 0.0),
        ("d e a b c", "a b c d e", 0.0),  # clauses in another order
        ("whole 31 half 58", "whole 58 half 31", 1.0),
        ("", "a b", 0.0),
        ("a b", "", 0.0),
    ],
)
def test_two_parts_that_changed_places(claim: str, source: str, share: float) -> None:
    assert measure_exchange(claim.split(), source.split()) == share


def test_the_passive_voice_turns_the_order_by_itself() -> None:
    assert is_passive("Jones was sued by Smith.")
    assert is_passive("琼斯被史密斯起诉。")
    assert not is_passive("Smith sued Jones.")
    evidence = [Evidence(["Anna Smith sued Carla Jones in Leeds."])]
    claim = PreparedSentence("Carla Jones was sued by Anna Smith in Leeds.")
    assert claim_signals(claim, evidence, choose_candidates(claim, evidence)).exchanged == 0.0


def test_a_claim_without_sources_has_signals_too() -> None:
    claim = PreparedSentence("The pump weighs 40 kg.")
    assert choose_candidates(claim, []) == []
    read = claim_signals(claim, [], [])
    assert (read.clause, read.cosine, read.numbers_missing) == (0.0, None, 1)
    assert not BY_WORDS.passes(read)


def test_a_cosine_counts_only_with_weights_that_know_it() -> None:
    far, near = Signals(clause=0.4, cosine=0.85), Signals(clause=0.4, cosine=0.95)
    assert BY_WORDS.probability(far) == BY_WORDS.probability(near)
    for weights in BY_MODEL.values():
        assert weights.probability(far) < weights.probability(near)


@pytest.mark.parametrize("weights", [BY_WORDS, *BY_MODEL.values()])
def test_each_signal_speaks_the_way_it_means(weights: object) -> None:
    against = "numbers_missing numbers_elsewhere names_missing names_elsewhere denies affirms"
    assert all(getattr(weights, name) < 0 for name in [*against.split(), "exchanged"])
    assert getattr(weights, "clause") > 0  # noqa: B009  the others are read alike


def test_what_is_missing_is_named() -> None:
    assert list(list_reasons(Signals(1.0, None, numbers_missing=1), ["40", "Rome"])) == [
        "“40” stands in none of the sources",
        "“Rome” stands in none of the sources",
    ]
    assert list(list_reasons(Signals(1.0, None), [])) == []
