"""What a warm question may take: files, frames, transactions and statements."""

import pytest

from tests.tracing import trace_ask_and_add, trace_chat


def test_a_warm_question_takes_few_transactions_and_statements(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2 and 7 where the question is embedded within 50 ms; recording may make it longer."""
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    name, ask = next(trace_ask_and_add())
    assert name == "ask"
    assert ask.frames <= 16
    assert len(ask.files) <= 80, sorted(ask.files)
    ((_, chat),) = trace_chat()
    for trace in (ask, chat):
        assert trace.transactions <= 3, trace.statements
        assert len(trace.statements) <= 10, trace.statements
