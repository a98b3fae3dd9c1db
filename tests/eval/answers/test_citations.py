"""Citations of an answer given as JSON: which hold, and why the others do not."""

from typing import Any

import pytest

from ragkit.cli.render import answer_json, hit_json
from ragkit.errors import UsageError
from ragkit.types import Answer, Citation, Hit
from ragkit_eval.answers import CitationProblem, citation_recall, citation_validity

PUMP = "The pump needs 230 volts when it runs. Its dry weight is 40 kg in all. Never open its lid."
LEAVE = "员工每年享有二十五天年假。申请须提前三个工作日提交。"
DOCUMENTS = {"pump.md": PUMP, "年假.md": LEAVE}


def passage(uri: str, start: int = 0, end: int | None = None) -> dict[str, Any]:
    text = DOCUMENTS[uri][start:end]
    return {"document": uri, "uri": uri, "start": start, "end": start + len(text), "text": text}


def cite(n: int, uri: str, quote: str) -> dict[str, Any]:
    start = DOCUMENTS[uri].index(quote)
    return {"n": n, "document": uri, "start": start, "end": start + len(quote), "quote": quote}


VOLTS = cite(1, "pump.md", "The pump needs 230 volts when it runs.")
DAYS = cite(2, "年假.md", "员工每年享有二十五天年假。")


def answer(text: str, *citations: dict[str, Any], hits: Any = None) -> dict[str, Any]:
    hits = [passage("pump.md"), passage("年假.md")] if hits is None else hits
    return {"answer": text, "citations": list(citations), "hits": hits}


def test_citations_that_hold() -> None:
    text = "The pump needs 230 volts [1]. 员工每年享有二十五天年假[2]。Its weight is 40 kg [1]."
    validity = citation_validity(answer(text, VOLTS, DAYS))
    assert (validity.valid, validity.cited, validity.problems) == (3, 3, ())
    assert validity.score == 1.0
    assert citation_recall(answer(text, VOLTS, DAYS)) == 1.0


def test_a_sentence_quoted_word_for_word_counts_like_a_supported_one() -> None:
    text = "The pump needs 230 volts when it runs. [1] 员工每年享有二十五天年假。[2]"
    assert citation_recall(answer(text, VOLTS, DAYS)) == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The pump needs 110 volts [1].", "details"),  # a number that is not there
        ("The pump needs 40 volts [1].", "details"),  # one that is said of something else
        ("The Bosch pump needs 230 volts [1].", "details"),
        ('The pump needs "three phase current" [1].', "words"),
        ("The moon orbits our planet slowly [1].", "words"),
        ("员工每年享有三十五天年假[2]。", "details"),
        ("月亮绕着地球缓慢运行[2]。", "words"),
        ("The pump needs 230 volts [7].", "no source"),
        ("员工每年享有二十五天年假[7]。", "no source"),
    ],
)
def test_each_failure_has_a_name(text: str, reason: str) -> None:
    validity = citation_validity(answer(text, VOLTS, DAYS))
    problem = next(p for p in validity.problems if p.end)
    assert problem.reason == reason
    assert text[problem.start : problem.end].rstrip(".。 ")[:4] == text[:4]
    cited_besides = 1 if problem.n in (1, 2) else 2  # the other source is listed and holds
    assert (validity.valid, validity.cited) == (cited_besides, cited_besides + 1)
    assert citation_recall(answer(text, VOLTS, DAYS)) == 0.0


def test_a_place_that_was_not_retrieved() -> None:
    only_weight = [passage("pump.md", 39, 71)]
    values = answer("The pump needs 230 volts [1].", VOLTS, hits=only_weight)
    assert citation_validity(values).problems == (CitationProblem(1, 0, 29, "not retrieved"),)
    other_passage = answer("The pump needs 230 volts [1].", VOLTS, hits=[passage("年假.md")])
    assert citation_validity(other_passage).problems == (
        CitationProblem(1, 0, 29, "not retrieved"),
    )
    none = answer("The pump needs 230 volts [1].", VOLTS, hits=[])
    assert citation_validity(none).score == 0.0
    assert citation_recall(none) == 0.0


@pytest.mark.parametrize(
    ("uri", "quote", "statement", "pieces"),
    [
        # overlapping, touching, and three in a row
        ("pump.md", "230 volts when it runs. Its dry weight is 40 kg", None, [(0, 40), (30, 95)]),
        ("pump.md", "230 volts when it runs. Its dry weight is 40 kg", None, [(0, 35), (35, 95)]),
        ("pump.md", PUMP, None, [(0, 35), (30, 60), (60, 200)]),
        ("年假.md", "二十五天年假。申请须提前三个工作日", None, [(0, 16), (10, 40)]),
        (
            "年假.md",
            LEAVE,
            "员工每年享有二十五天年假，申请须提前三个工作日提交",
            [(0, 12), (12, 40)],
        ),
    ],
)
def test_a_quotation_over_several_passages_was_retrieved(
    uri: str, quote: str, statement: str | None, pieces: list[tuple[int, int]]
) -> None:
    hits = [passage(uri, start, min(end, len(DOCUMENTS[uri]))) for start, end in pieces]
    text = (statement or quote.rstrip(".。")) + (" [1]." if uri == "pump.md" else "[1]。")
    for order in (hits, hits[::-1]):
        validity = citation_validity(answer(text, cite(1, uri, quote), hits=order))
        assert validity.problems == ()
        assert validity.valid == validity.cited >= 1


def test_what_lies_between_passages_was_not_retrieved() -> None:
    separate = [passage("pump.md", 0, 36), passage("pump.md", 40, 95)]
    values = answer("The pump needs 230 volts [1].", VOLTS, hits=separate)
    assert [p.reason for p in citation_validity(values).problems] == ["not retrieved"]
    torn = passage("pump.md", 30, 95)
    torn["text"] = torn["text"].replace("runs", "rusts")[: 95 - 30]
    torn["end"] = torn["start"] + len(torn["text"])
    torn_values = answer(
        "The pump needs 230 volts [1].", VOLTS, hits=[passage("pump.md", 0, 36), torn]
    )
    assert [p.reason for p in citation_validity(torn_values).problems] == ["not retrieved"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"quote": "The pump needs 231 volts when it runs."},
        {"start": 1, "end": 39},
        {"start": 5, "end": 5, "quote": ""},
    ],
)
def test_a_quotation_that_does_not_stand_there(wrong: dict[str, Any]) -> None:
    validity = citation_validity(answer("The pump needs 230 volts [1].", {**VOLTS, **wrong}))
    assert [(p.n, p.reason) for p in validity.problems] == [(1, "misquoted")]
    assert (validity.valid, validity.cited) == (0, 1)


@pytest.mark.parametrize(("start", "end"), [(-9, 3), (80, 10**15), (9, 2)])
def test_a_place_outside_of_its_document(start: int, end: int) -> None:
    values = answer("The pump needs 230 volts [1].", {**VOLTS, "start": start, "end": end})
    assert citation_validity(values).valid == 0
    assert citation_recall(values) == 0.0


def test_a_verdict_that_came_with_the_answer_is_not_believed() -> None:
    wrong = {**VOLTS, "quote": "Anything.", "verdict": "verified"}
    assert citation_validity(answer("The pump needs 230 volts [1].", wrong)).valid == 0
    right = {**VOLTS, "verdict": "unverified"}
    assert citation_validity(answer("The pump needs 230 volts [1].", right)).valid == 1


def test_a_wrong_source_does_not_spoil_the_right_one_beside_it() -> None:
    validity = citation_validity(answer("The pump needs 230 volts [1][9].", VOLTS))
    assert validity.problems == (CitationProblem(9, 0, 32, "no source"),)
    assert (validity.valid, validity.cited) == (1, 2)


def test_several_sources_hold_a_sentence_together() -> None:
    weight = cite(2, "pump.md", "Its dry weight is 40 kg in all.")
    hits = [passage("pump.md", 0, 38), passage("pump.md", 39, 71)]
    text = "The pump needs 230 volts, its dry weight is 40 kg [1][2]."
    assert citation_validity(answer(text, VOLTS, weight, hits=hits)).score == 1.0
    alone = citation_validity(answer(text.replace("[2]", ""), VOLTS, weight, hits=hits))
    assert [(p.n, p.reason) for p in alone.problems] == [(1, "words"), (1, "details")]


def test_a_quoted_sentence_holds_with_whatever_it_says() -> None:
    text = "Its dry weight is 40 kg in all. [1]"
    weight = cite(1, "pump.md", "Its dry weight is 40 kg in all.")
    assert citation_validity(answer(text, weight)).score == 1.0


def test_a_place_in_two_overlapping_passages() -> None:
    hits = [passage("pump.md", 0, 45), passage("pump.md", 0, 71)]
    values = answer("The pump needs 230 volts [1]. Its weight is 40 kg [1].", VOLTS, hits=hits)
    assert citation_validity(values).score == 1.0


def test_recall_counts_sentences_without_a_citation() -> None:
    text = "The pump needs 230 volts [1]. It is painted green. It is."
    assert citation_recall(answer(text, VOLTS)) == pytest.approx(1 / 2)
    assert citation_validity(answer(text, VOLTS)).score == 1.0
    assert citation_recall(answer("水泵很重。员工享有年假[2]。", DAYS)) == pytest.approx(1 / 2)


@pytest.mark.parametrize("text", ["", "  \n", "[1]", "?!", "[[["])
def test_an_answer_that_says_nothing(text: str) -> None:
    assert citation_recall(answer(text)) is None
    assert citation_validity(answer(text)).score is None
    assert citation_validity(answer(text, VOLTS)).cited == 1  # listed, though nothing cites it


def test_a_refusal_cites_nothing() -> None:
    refusal = {**answer("I could not find that [1].", VOLTS), "refused": True}
    assert citation_recall(refusal) is None
    assert citation_validity(refusal).score is None


def test_of_a_text_in_json_only_the_sources_are_checked() -> None:
    values = answer('{"volts": 110, "source": [1]}', VOLTS, {**DAYS, "quote": "x"})
    assert [(p.n, p.reason) for p in citation_validity(values).problems] == [(2, "misquoted")]
    assert citation_validity(values).cited == 2


def test_the_json_that_ragkit_prints_is_read() -> None:
    hit = Hit(3, 9, "pump.md", "Pump", 1, 0, len(PUMP), PUMP, 0.5, {}, ("Manual", "Power"))
    citation = Citation(1, 3, "pump.md", "Pump", 1, 0, 38, PUMP[:38], "verified")
    core_answer = Answer(
        "The manual: 230 volts [1].", False, "", (citation,), hits=(hit,), used=(hit,)
    )
    printed = {**answer_json(core_answer), "hits": [hit_json(hit)]}
    assert citation_validity(printed).score == 1.0  # "manual" stands in a heading
    with pytest.raises(UsageError, match='has no "text": keep the passages with their text'):
        citation_validity(answer_json(core_answer))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"answer": None}, "answer of the answer is None, not a string"),
        ({"refused": "no"}, "refused of the answer is 'no', not true or false"),
        ({"citations": {}}, "citations of the answer is {}, not a list"),
        ({"citations": [3]}, r"citations\[0\] of the answer is not a JSON object"),
        ({"citations": [{**VOLTS, "n": "1"}]}, r"citations\[0\].n of the answer is '1', not a"),
        ({"citations": [{**VOLTS, "start": True}]}, r"citations\[0\].start of the answer is True"),
        ({"citations": [{"n": 1}]}, r"citations\[0\] of the answer names no document"),
        ({"hits": [{"document": 1, "start": 0}]}, r'the answer has no "hits\[0\].end": keep'),
        (
            {"hits": [{"document": 1, "start": 0, "end": 12, "text": "员工每年"}]},
            r"hits\[0\] of the answer says 0-12, but its text has 4 characters: offsets count",
        ),
    ],
)
def test_json_that_is_no_answer_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        citation_validity({**answer("Yes.", VOLTS), **wrong})
