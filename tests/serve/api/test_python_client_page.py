"""The examples of docs/howto/python-client.md run as they stand, against a server on its port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.serve.api.conftest import Serve, Site
from tests.serve.api.test_client_live import worker

PAGE = ROOT / "docs" / "howto" / "python-client.md"
LEASE = "The lease can be terminated with three months' notice to the end of a quarter."


@pytest.mark.long
@pytest.mark.usefixtures("alone")
def test_the_examples_run(serve: Serve, site: Site, tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(examples) == 2
    (tmp_path / "lease.txt").write_text(LEASE, encoding="utf-8")
    printed = []
    with serve(serve_auth="none") as live, worker(site.url):
        for example in examples:
            assert "http://127.0.0.1:8080" in example
            done = subprocess.run(
                [sys.executable, "-c", example.replace("http://127.0.0.1:8080", live.url)],
                env=os.environ | {"PYTHONIOENCODING": "utf-8"},
                cwd=tmp_path,
                capture_output=True,
                encoding="utf-8",
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout.splitlines())
    assert printed[0][0] == f"{LEASE} [1]"
    assert printed[0][1].endswith(f"None {LEASE} verified")
    assert printed[1][0].startswith(f"{LEASE} [1]")
    assert printed[1][0].endswith(" sources")
    assert printed[1][1].startswith("How can the lease be terminated? was searched for as How can")
    assert printed[1][2].startswith("And with what notice? was searched for as And with what")
