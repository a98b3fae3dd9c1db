"""The example of docs/howto/api.md runs as it stands, with OpenAI's client."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.places import ROOT
from tests.serve.api.conftest import Serve

PAGE = ROOT / "docs" / "howto" / "api.md"
QUESTION, OURS = "When can the lease be terminated?", "At how many revolutions does the pump run?"


def test_the_example_runs(serve: Serve) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert QUESTION in example
    with serve() as live:
        code = example.replace("http://127.0.0.1:8080", live.url).replace(QUESTION, OURS)
        code = code.replace('"ragkit"', '"ragkit/manuals"')
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer, source, usage = done.stdout.splitlines()
        assert answer == "The pump runs at 900 revolutions a minute. [1]"
        place = re.escape(f"{live.url}/v1/documents/") + r"\d+/text\?start=0&end=42"
        assert re.fullmatch(rf"\[1\] \[1\] Pump {place}", source)
        assert all(int(count) > 0 for count in usage.split())
