"""What a warm question may take: files, frames, transactions and statements."""

import pytest

from tests.tracing import trace_ask_and_add


def test_a_warm_question_takes_few_transactions_and_statements(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    name, trace = next(trace_ask_and_add())
    assert name == "ask"
    # 2 and 7 where the question is embedded within 50 ms, which recording makes longer
    assert trace.transactions <= 3, trace.statements
    assert len(trace.statements) <= 10, trace.statements
    assert trace.frames <= 16
    assert len(trace.files) <= 80, sorted(trace.files)
