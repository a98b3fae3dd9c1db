"""What a question says of documents, by rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ragkit.filters.tree import parse
from ragkit.question.inferred_filter import infer_filter
from tests.core.fields import FIELDS, PDF, WORD

DATED = replace(FIELDS, keys={"date": None}, values={"date": ("2023-05-01",)})


def titled(name: str) -> dict[str, Any]:
    return {"or": [{"contains": {"title": name}}, {"contains": {"uri": name}}]}


def of_year(*ways: dict[str, Any], year: int | None = None) -> dict[str, Any]:
    named = [] if year is None else titled(str(year))["or"]
    return {"or": [{"and": list(ways)}, *named]}


@pytest.mark.parametrize(
    ("question", "tree"),
    [
        ("How is leave granted in the PDF files?", {"in": {"media_type": [PDF]}}),
        ("What do the tables in the pdf say?", {"in": {"media_type": [PDF]}}),
        ("PDF里怎么说年假？", {"in": {"media_type": [PDF]}}),
        ("Word文档中写了哪些要求？", {"in": {"media_type": [WORD]}}),
        ("What do the Chinese documents say on trains?", {"eq": {"language": "zh"}}),
        ("英文手册里的保修期多长？", {"eq": {"language": "en"}}),
        (
            "Which risks are named from 2023?",
            of_year({"gte": {"metadata.year": 2023}}, {"lt": {"metadata.year": 2024}}, year=2023),
        ),
        (
            "2023年的规定是什么？",
            of_year({"gte": {"metadata.year": 2023}}, {"lt": {"metadata.year": 2024}}, year=2023),
        ),
        ("What do reports after 2020 say?", of_year({"gte": {"metadata.year": 2021}})),
        ("2020年以前的报告怎么说？", of_year({"lt": {"metadata.year": 2020}})),
        (
            "What changed in reports between 2019 and 2021?",
            of_year({"gte": {"metadata.year": 2019}}, {"lt": {"metadata.year": 2022}}),
        ),
        ('How long is parental leave in "Handbook 2"?', titled("Handbook 2")),
        ("What is said of fees in fees-2.pdf?", titled("fees-2.pdf")),
        ("《员工手册》怎么规定试用期？", titled("员工手册")),
        (
            "What are the rules of the human resources department?",
            {"eq": {"metadata.department": "human resources"}},
        ),
        (
            "英文报告中，PDF里怎么说？",
            {"and": [{"in": {"media_type": [PDF]}}, {"eq": {"language": "en"}}]},
        ),
    ],
)
def test_rules_read_what_is_said_of_documents(question: str, tree: dict[str, Any]) -> None:
    assert infer_filter(question, FIELDS) == tree
    parse(tree)


@pytest.mark.parametrize(
    "question",
    [
        "How many days of leave do I have?",
        "How do I export to PDF?",
        "Can I hand the form in in PDF format?",
        "What was the revenue from 2021 to 2023?",
        "Who won in 2023?",
        "2023年谁当选？",
        "In other words, what is a wing?",
        "Please answer in English: what is it?",
        "我有多少天年假？",
        "Which slides are in the pptx?",  # there is none of them
        "",
    ],
)
def test_rules_leave_other_questions_alone(question: str) -> None:
    assert infer_filter(question, FIELDS) is None


def test_values_are_known_in_either_chinese_script() -> None:
    fields = replace(FIELDS, keys={"部门": None}, values={"部门": ("财务处",)})
    assert infer_filter("部門是財務處，怎麼請假？", fields) == {"eq": {"metadata.部门": "财务处"}}


def test_years_are_compared_as_the_key_has_them() -> None:
    tree = infer_filter("What do the reports of 2023 say?", DATED)
    assert tree == of_year(
        {"gte": {"metadata.date": "2023"}}, {"lt": {"metadata.date": "2024"}}, year=2023
    )
    declared = replace(DATED, keys={"date": "date"})
    tree = infer_filter("What do reports since 2023 say?", declared)
    assert tree == of_year({"gte": {"metadata.date": "2023-01-01"}})
