"""The Python example of both READMEs runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEASE = {
    "README.md": "The lease can be terminated with three months' notice to the end of a quarter.",
    "README.zh-CN.md": "租约可以提前终止的情况是：承租人提前三个月书面通知。",
}


@pytest.mark.parametrize("readme", sorted(LEASE))
def test_the_python_example_runs(readme: str, fresh_database: str, tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text("utf-8"), re.DOTALL)
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "lease.txt").write_text(LEASE[readme], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", example],
        env=os.environ | {"RAGKIT_DATABASE_URL": fresh_database, "PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, answer, citation, *_ = done.stdout.splitlines()
    assert first == "1 0 0 ()"
    assert answer == f"{LEASE[readme]} [1]"
    assert citation.startswith(f"1 {tmp_path}/contracts/lease.txt None 0 ")
    assert citation.endswith(" verified")
