"""The example of docs/howto/gpu-80gb.md that writes a workload file runs as it stands."""

import json
import re
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.contracts import Embedder
from ragkit.store.open import open_database
from ragkit.testing import CORPUS, fill
from tests.places import ROOT

PAGE = ROOT / "docs/howto/gpu-80gb.md"
QUESTIONS = ("Who approves travel?", "How long is the notice period?")


def test_the_example_writes_a_line_for_each_question(
    fresh_database: str,
    loaded_embedder: Embedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", fresh_database)
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS, collection="contracts")
    Path("questions.txt").write_text("\n".join(QUESTIONS) + "\n", encoding="utf-8")
    exec(compile(example, str(PAGE), "exec"), {})  # noqa: S102  an example of our own page
    lines = Path("workload.jsonl").read_text("utf-8").splitlines()
    requests = [json.loads(line) for line in lines]
    assert [request["prompt"].splitlines()[-1] for request in requests] == list(QUESTIONS)
    assert all('<source id="1">' in request["prompt"] for request in requests)
    assert {request["output_tokens"] for request in requests} == {256}
