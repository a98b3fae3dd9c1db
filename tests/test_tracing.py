"""What a warm question may take: files, frames, transactions and statements."""

import os
import re
import subprocess
import sys

import pytest

from ragkit.embed.precision import is_int8_fastest
from tests.places import ROOT

LINE = re.compile(
    r"(?P<name>[a-z ]+?) +(?P<files>\d+) files, \d+ functions, (?P<frames>\d+) frames,"
    r" (?P<transactions>\d+) transactions, (?P<statements>\d+) statements"
)


@pytest.mark.long
def test_a_warm_question_takes_few_transactions_and_statements(fresh_database: str) -> None:
    """2 and 7 where the question is embedded within 50 ms; recording may make it longer."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.tracing"],
        env=os.environ | {"RAGKIT_DATABASE_URL": fresh_database},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    matches = filter(None, map(LINE.fullmatch, done.stdout.splitlines()))
    traced = {match["name"]: match for match in matches}
    assert traced.keys() == {"ask", "one changed file", "chat request"}
    assert int(traced["ask"]["frames"]) <= 16
    # Where the processor is fastest in 8 bits, the model runs in a file more.
    assert int(traced["ask"]["files"]) <= 81 + is_int8_fastest()
    for name in ("ask", "chat request"):
        assert int(traced[name]["transactions"]) <= 3
        assert int(traced[name]["statements"]) <= 10
