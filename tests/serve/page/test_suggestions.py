"""Suggested questions: made of the documents, in their language, and answered from them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest
from fastapi import FastAPI

from ragkit.access.library import Caller
from ragkit.contracts import Embedder
from ragkit.store.documents.sharing import Change, Shares
from ragkit.testing.corpus import fill, new_document
from ragkit_serve.api.services import Services
from ragkit_serve.page import suggested_en, suggested_zh
from ragkit_serve.page.suggestions import Suggestions, drafts, quoting
from tests.serve.page.test_page import client

GUIDE = """# Harbour guide

How do ships register?

Ships register by radio, two days before they arrive.

## Quay

The quay is 310 metres long. In 2024, the harbour crane lifted less. A lighter is a flat boat.

## When a ship is late

1. Call the harbour office.
"""


def test_questions_are_made_of_lines_figures_definitions_and_headings() -> None:
    made = drafts(GUIDE, "Harbour guide", "en")
    assert made.asked == ("How do ships register?",)
    assert made.figures == ("How long is the quay?",)
    assert made.definitions == ("What is a lighter?",)
    assert made.headings == (
        "What does “Harbour guide” say about quay?",
        "What should I do when a ship is late?",
    )
    assert next(made.mixed()) == "How do ships register?"
    assert drafts("Das Kai ist 310 Meter lang.", "Kai", "").figures == ()


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("A library card costs 12 euros a year.", "How much does a library card cost?"),
        ("The warranty lasts 24 months.", "How long does the warranty last?"),
        ("The office opens at 9:30.", "When does the office open?"),
        (
            "In 2026, full-time employees in Galway have 26 days of annual leave.",
            "How many days of annual leave do full-time employees in Galway have?",
        ),
        ("The valve carries at most 3 bars.", "How many bars does the valve carry?"),
        ("It lifts 42 tonnes.", ""),
        ("This manual has 40 pages.", ""),
        ("If it rains, the crane lifts 10 tonnes.", ""),
        ("The crane is yellow.", ""),
    ],
)
def test_english_sentences_with_a_figure(sentence: str, question: str) -> None:
    assert suggested_en.from_sentence(sentence, sentence) == (question, "")


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("普通图书的借阅期限为30天，到期前可以续借一次。", "普通图书的借阅期限为多少天？"),
        ("自2026年起，入职满一年的员工每年享有8天年假。", "入职满一年的员工每年享有多少天年假？"),
        ("厂区有三条班车线路。", "厂区有多少条班车线路？"),
        ("员工承担费用的30%。", "员工承担费用的百分之多少？"),
        ("该设备重30千克。", ""),
        ("会议于2026年3月召开。", ""),
        ("办公室在三楼。", ""),
    ],
)
def test_chinese_sentences_with_a_figure(sentence: str, question: str) -> None:
    assert suggested_zh.from_sentence(sentence) == (question, "")


def test_chinese_headings_lose_their_numbers_and_dull_ones_are_left_out() -> None:
    text = "# 机房管理规定\n\n## 一、环境要求\n\n## 附则\n"
    assert drafts(text, "机房管理规定", "zh").headings == ("关于环境要求有什么规定？",)


@pytest.fixture
def harbour(services: Services, loaded_embedder: Embedder) -> Iterator[None]:
    store = services.database.store("default")
    guide = new_document("guide.md", *GUIDE.split("\n\n"), title="Harbour guide")
    rules = new_document(
        "规则.md", "普通图书的借阅期限为30天，到期前可以续借一次。", title="图书规则"
    )
    documents = [replace(guide, language="en"), replace(rules, language="zh")]
    fill(store, loaded_embedder, documents, collection="harbour")
    yield
    store.delete_collection("harbour")


@pytest.mark.usefixtures("harbour")
def test_each_is_answered_and_the_readers_language_comes_first(
    services: Services, caller: Caller
) -> None:
    suggestions = Suggestions()
    english = suggestions.of(services.library, caller, "harbour", "en")
    chinese = suggestions.of(services.library, caller, "harbour", "zh")
    assert len(english) == len(chinese) == 3
    assert english[0].isascii()
    assert chinese[0] == "普通图书的借阅期限为多少天？"
    kb = quoting(services.library, caller, "harbour")
    for question in (*english, *chinese):
        answer = kb.ask(question)
        assert not answer.refused, question
        assert answer.citations


@pytest.mark.usefixtures("harbour")
def test_they_are_made_anew_when_documents_change_and_of_none_that_is_hidden(
    services: Services, caller: Caller
) -> None:
    suggestions = Suggestions()
    assert "普通图书的借阅期限为多少天？" in suggestions.of(
        services.library, caller, "harbour", "zh"
    )
    store = services.database.store("default")
    (rules,) = (one for one in store.documents("harbour") if one.uri == "规则.md")
    shares = Shares(services.database.pool, "default")
    shares.document(rules.id, Change(readers=("user:somebody",)))
    after = suggestions.of(services.library, caller, "harbour", "zh")
    assert after
    assert not any("图书" in question for question in after)


@pytest.mark.usefixtures("harbour")
def test_who_waits_gets_what_was_made_meanwhile(
    services: Services, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page asks again when the next file is searchable, while its first request is at work."""
    begun, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def slowly(*args: Any) -> tuple[tuple[str, ...], bool]:
        made.append(1)
        begun.set()
        assert go_on.wait(60)
        return ("How long is the quay?",), True

    monkeypatch.setattr("ragkit_serve.page.suggestions.answered", slowly)
    monkeypatch.setattr("ragkit_serve.page.suggestions.MAX_S", 0.01)
    suggestions = Suggestions()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(suggestions.of, services.library, caller, "harbour", "en")
        assert begun.wait(60)
        second = pool.submit(suggestions.of, services.library, caller, "harbour", "en")
        with pytest.raises(TimeoutError):
            second.result(timeout=0.2)
        go_on.set()
        assert first.result() == second.result() == ("How long is the quay?",)
    assert made == [1]


@pytest.mark.usefixtures("harbour")
def test_what_time_cuts_off_is_not_kept_and_the_first_try_may_take_long(
    services: Services, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = chain([0.0, 100.0], repeat(200.0))  # read first when the first try is answered
    monkeypatch.setattr("ragkit_serve.page.suggestions.monotonic", lambda: next(clock))
    suggestions = Suggestions()
    few = suggestions.of(services.library, caller, "harbour", "en")
    assert len(few) == 1, "the second try would have come a hundred seconds later"
    again = suggestions.of(services.library, caller, "harbour", "en")
    assert len(again) == 3


def test_the_route_knows_only_what_is_there(app: FastAPI, services: Services) -> None:
    page = client(app)
    assert page.get("/ui/suggestions/nowhere").status_code == 404
    store = services.database.store("default")
    store.create_collection("bare")
    try:
        assert page.get("/ui/suggestions/bare").json() == {"questions": []}
    finally:
        store.delete_collection("bare")
