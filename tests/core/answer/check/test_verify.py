"""Citations, quotations and numbers of an answer against the stored text."""

from dataclasses import replace

import pytest

from ragkit.answer.check.verify import Verified, verify
from ragkit.answer.write.citations import cite
from ragkit.types import Citation, Draft, Hit

HANDBOOK = (
    "# Leave\n\nFull-time staff have 25 days of annual leave. Up to 1,000 euros, or 12.5% of "
    "the fee, is refunded since 2019. Room 13 is locked. “Ask early”, says Dr. Wu."
)
RULES_ZH = (
    "第三章 请假\n\n员工每年享有二十五天年假。申请须提前３个工作日\n提交。"
    "预算为1.5亿元，增长百分之八。"
)
MANUAL = "The pump weighs 40 kg. It needs 230 volts. Never open the lid while it runs."
TEXTS = {1: HANDBOOK, 2: RULES_ZH, 3: "Preface. " + MANUAL}


def hit(document: int, start: int = 0, **more: str) -> Hit:
    text = TEXTS[document]
    return Hit(
        document=document, chunk=document, uri=f"d{document}", title=more.get("title", ""),
        page=None, start=start, end=len(text), text=text[start:], score=1.0,
    )  # fmt: skip


PASSAGES = (hit(1), hit(2), hit(3, start=9))


def check(text: str) -> Verified:
    return verify(Draft(text, cite(text, PASSAGES)), TEXTS.__getitem__, PASSAGES)


@pytest.mark.parametrize(
    "text",
    [
        "They have 25 days [1].",
        "They have ２５ days［1］.",
        "Up to 1000 euros [1].",
        "Up to １，０００ euros【1】。",
        "It refunds 12.5 % [1]. It refunds 12.50 percent.[1]",
        "Since 2019 they refund “up to 1,000  euros” [1].",
        'The manual says "never open the lid ... while it runs" [3].',
        "It weighs 40 kg and staff get 25 days [1][3].",
        "It weighs 40 kg [1, 3]. It weighs 40 kg [1-3].",
        "员工有25天年假【2】。须提前3个工作日[2]。",
        "规定写明「申请须提前3个工作日提交」[2]。",
        "预算1.5亿元，即150,000,000元，增长8%[2]。",
        "1. It weighs 40 kg [3].\n2. It needs 230 volts [3].",
        "- Weight: 40 kg [3]\n- Voltage: 230 volts [3]",
        "It weighs 40 kg. [3] They have 25 days. [1]",
        '"Ask early", it says [1].',
        "《员工请假管理规定》规定了年假[2]。",
        "They speak of a “perk” [1].",
        "It weighs 40 kg [3]. The two paragraphs end here.",
        "员工有二十五天年假[2]，",
    ],
)  # fmt: skip
def test_supported_answers(text: str) -> None:
    assert check(text).unverified == ()


@pytest.mark.parametrize(
    ("text", "unverified"),
    [
        ("They have 26 days [1].", ("26",)),
        ("They have 2.5 days [1].", ("2.5",)),
        ("They have ２６ days [1].", ("２６",)),
        ("Room 3 is locked [1].", ("3",)),
        ("Room 1 is locked [1].", ("1",)),
        ("Up to 10000 euros [1].", ("10000",)),
        ("Up to 1,000 million euros [1].", ("1,000 million",)),
        ("It refunds 12.6% [1].", ("12.6%",)),
        ("They have 25% of leave [1].", ("25%",)),
        ("Since 2018, not 2019 [1].", ("2018",)),
        ("They have 25 days [3].", ("25",)),
        ("They have 25 days.", ("25",)),
        ("They have 25 days. It weighs 40 kg [3].", ("25",)),
        ("It weighs 40 kg. [3] They have 25 days. [2]", ()),
        ("It weighs 40 kg. [1] They have 25 days. [3]", ("40", "25")),
        ("They have 25 days [9].", ("25", "[9]")),
        ("They have 25 days [1][9].", ("[9]",)),
        ("They have 25 days [1, 9]. Also [0].", ("[1, 9]", "[0]")),
        ('It says "never open the door" [3].', ("never open the door",)),
        ('It says "never open the lid while it runs" [1].', ("never open the lid while it runs",)),
        ('It says "open the lid while it run" [3].', ("open the lid while it run",)),
        ('It says "lid ... never open" [3].', ("lid ... never open",)),
        ('"Never open the lid", it says.', ("Never open the lid",)),
        ("规定写明「申请须提前五个工作日提交」[2]。", ("申请须提前五个工作日提交",)),
        ("规定写明“申请应提前3个工作日提交”[2]。", ("申请应提前3个工作日提交",)),
        ("员工有三十天年假[2]，预算15亿元[2]。", ("三十", "15亿")),
        ("增长百分之九[2]。增长9%[2]。", ("百分之九", "9%")),
        ("5. It weighs 40 kg [3].", ("5",)),
        ("1. It weighs 40 kg [3].\n3. It needs 230 volts [3].", ("3",)),
        ("26 [1].", ("26",)),
        ("26. [1]", ("26",)),
        ("It is 26 or 26, or 27 [1].", ("26", "27")),
    ],
)  # fmt: skip
def test_unsupported_parts_are_named_as_they_stand(text: str, unverified: tuple[str, ...]) -> None:
    assert check(text).unverified == unverified
    assert all(part in text for part in unverified)


def test_citation_quotes_the_nearest_sentence_with_document_offsets() -> None:
    (citation,) = check("The pump must not be opened while it runs [3].").citations
    assert citation.quote == "Never open the lid while it runs."
    assert TEXTS[3][citation.start : citation.end] == citation.quote
    assert citation.start == 52
    assert citation.verdict == "verified"


def test_citation_quotes_what_the_answer_quotes() -> None:
    found = check('It "needs 230 volts" [3]. 规定：「须提前3个工作日提交」[2]').citations
    assert [citation.quote for citation in found] == ["needs 230 volts", "须提前３个工作日\n提交"]
    assert [citation.verdict for citation in found] == ["verified", "verified"]


def test_citation_without_a_common_term_is_the_passage() -> None:
    (citation,) = check("Urlaub gibt es auch [2].").citations
    assert (citation.start, citation.end, citation.quote) == (0, len(RULES_ZH), RULES_ZH)


def test_each_citing_sentence_has_its_citation_once() -> None:
    found = check(
        "It needs 230 volts [3]. It weighs 40 kg [3]. So it needs 230 volts [3][3]."
    ).citations
    assert [(c.n, c.quote) for c in found] == [
        (3, "It needs 230 volts."),
        (3, "The pump weighs 40 kg."),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"quote": "They have 26 days."},
        {"start": 10},
        {"start": -20},
        {"end": 10_000},
        {"start": 60, "end": 60, "quote": ""},
        {"document": 99},
    ],
)  # fmt: skip
def test_citation_that_is_not_in_the_stored_text(change: dict[str, int | str]) -> None:
    text = "They have 25 days [1]."
    (true,) = cite(text, PASSAGES)
    false = replace(true, **change)  # type: ignore[arg-type]
    found = verify(Draft(text, (false,)), TEXTS.__getitem__, PASSAGES)
    assert (found.citations, found.unverified) == ((false,), ("25",))
    assert [claim.support for claim in found.claims] == ["not found"]
    assert false.verdict == "unverified"


def test_changed_document_supports_nothing() -> None:
    text = "They have 25 days [1]."
    found = verify(Draft(text, cite(text, PASSAGES)), {1: "Rewritten."}.__getitem__, PASSAGES)
    assert [citation.verdict for citation in found.citations] == ["unverified"]
    assert found.unverified == ("25",)


def test_title_and_headings_count_as_the_source() -> None:
    titled = (hit(1, title="Handbook 2031"),)
    text = "The Handbook 2031 grants leave [1]."
    assert verify(Draft(text, cite(text, titled)), TEXTS.__getitem__, titled).unverified == ()


def test_extractive_draft_is_its_own_evidence_where_it_is_marked() -> None:
    start = HANDBOOK.index("since 2019. Room 13")
    citation = Citation(
        n=1, document=1, uri="d1", title="", page=None,
        start=start, end=len(HANDBOOK), quote=HANDBOOK[start:],
    )  # fmt: skip
    draft = Draft(f"{citation.quote} [1]", (citation,))
    assert verify(draft, TEXTS.__getitem__, PASSAGES).unverified == ()
    elsewhere = Draft(f"{citation.quote} Nothing else [1].", (citation,))
    assert verify(elsewhere, TEXTS.__getitem__, PASSAGES).unverified == (
        "2019", "13", "Ask early", "Wu"
    )  # fmt: skip


def test_footnotes_inside_a_quoted_sentence_are_not_markers() -> None:
    stored = "Founded in 1901.[7] It grew."
    quote = "Founded in 1901.[7]"
    citation = Citation(
        n=1, document=5, uri="w", title="", page=None, start=0, end=len(quote), quote=quote
    )
    passage = replace(hit(1), document=5, end=len(stored), text=stored)
    found = verify(Draft(f"{quote} [1]", (citation,)), {5: stored}.__getitem__, (passage,))
    assert found.citations == (replace(citation, verdict="verified"),)
    assert found.unverified == ()
    assert [(c.start, c.end, c.cites) for c in found.claims] == [(0, 19, (1,))]


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("It needs 230 volts. [3]", ["quoted"]),
        ("员工每年享有二十五天年假。[2]", ["quoted"]),
        ("It needs 230 volts. [3] 员工每年享有二十五天年假。[2]", ["quoted", "quoted"]),
        ("The pump needs 230 volts [3].", ["supported"]),
        ("每年员工享有25天年假[2]。", ["supported"]),
        ("It needs 230 volts. [3] The pump still weighs 40 kg [3].", ["quoted", "supported"]),
        ("It needs 110 volts. [3]", ["partly"]),
    ],
)
def test_only_what_stands_in_the_source_word_for_word_is_quoted(
    text: str, support: list[str]
) -> None:
    claims = check(text).claims
    assert [claim.support for claim in claims] == support
    assert [claim.is_supported for claim in claims] == [one != "partly" for one in support]


def test_refusal_needs_no_evidence() -> None:
    draft = Draft("None of 5 passages answers it.", refused=True, reason="none")
    assert verify(draft, TEXTS.__getitem__, PASSAGES) == Verified((), ())


def test_empty_answer() -> None:
    assert verify(Draft(""), TEXTS.__getitem__, ()) == Verified((), ())


@pytest.mark.parametrize(
    ("sentence", "support", "reason"),
    [
        ("The pump's weight is 40 kg.", "supported", ""),
        ("The pump weighs 70 kg.", "partly", "“70” stands in none of the sources"),
        (
            "The pump never weighs 40 kg.",
            "partly",
            "it denies something that its source does not deny",
        ),
        ("水泵的重量是四十公斤。", "supported", ""),
        ("水泵的重量不是四十公斤。", "partly", "it denies something that its source does not deny"),
    ],
)
def test_a_sentence_that_is_not_supported_says_why(
    sentence: str, support: str, reason: str
) -> None:
    text = "The pump weighs 40 kg. 水泵重量为四十公斤。"
    hit = Hit(1, 1, "d", "", None, 0, len(text), text, 1.0)
    answer = f"{sentence} [1]"
    draft = Draft(answer, cite(answer, [hit]), used=(hit,))
    (claim,) = verify(draft, {1: text}.__getitem__, [hit]).claims
    assert (claim.support, claim.reason) == (support, reason)
