"""The count of names that say nothing, which `make lint` bounds."""

import ast
from pathlib import Path

import pytest

from tests import vague_names

SOURCE = """
def found(one, document):
    for said in one:
        _kept = said
    self = document
"""


def test_functions_parameters_and_variables_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "names.py"
    file.write_text(SOURCE)
    count, vague = vague_names.count_names(file)
    assert count == 5
    assert sorted(vague) == ["found", "kept", "one", "said"]
    assert sorted(vague_names.bound_names(ast.parse("import other\nother.one = 1"))) == []


@pytest.mark.parametrize(("limit", "code"), [("79", 1), ("80", 0)])
def test_a_share_above_the_limit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, code: int
) -> None:
    (tmp_path / "names.py").write_text(SOURCE)
    monkeypatch.setattr("sys.argv", ["vague_names", "--limit", limit, str(tmp_path)])
    assert vague_names.main() == code
