"""`ragkit tune runs plot`, `compare` and `export` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Result
from tests.commands import run as run_command
from tests.tune.watch.run_folders import dev, make_run, step, verdict


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    lines = [dev(0, 0.25), step(1, 2.5), step(2, 1.5), dev(2, 0.5)]
    make_run(home, "first", lines, verdict=verdict(0.03, 0.01, 0.05))
    make_run(home, "second", lines[:2], recipe={"batch": 64})
    return home


def runs(home: Path, *words: str) -> Result:
    return run_command("tune", "runs", *words, environment={"RAGKIT_HOME": str(home)})


def test_curves_are_drawn_into_a_page_and_a_picture(home: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "plot.svg"
    result = runs(home, "plot", "first", "--out", str(page))
    assert (result.returncode, result.stdout) == (0, f"Wrote {page}\n")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    result = runs(home, "plot", "first", "second", "--out", str(picture), "--json")
    assert json.loads(result.stdout) == {"written": [str(picture)]}
    assert picture.read_text("utf-8").startswith("<svg ")


def test_runs_are_compared_in_a_table_a_page_and_json(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = runs(home, "compare", "first", "second", "--out", str(page))
    assert (result.returncode, result.stderr) == (0, f"Wrote {page}\n")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "first second"
    assert "best dev measure ndcg@10 0.5000 at step 2, 0.2500 before –" in lines
    assert "verdict better by 0.030 (95% 0.010 to 0.050) not proven" in lines
    assert lines[-2:] == ["batch 32 64", "Note: second is not proven: `ragkit tune prove second`."]
    assert "Side by side" in page.read_text("utf-8")
    values = json.loads(runs(home, "compare", "first", "second", "--json").stdout)
    assert values["recipe_differences"] == {"batch": [32, 64]}
    assert [run["name"] for run in values["runs"]] == ["first", "second"]
    assert values["runs"][0]["verdict"]["outcome"] == "better"


@pytest.mark.parametrize("program", ["tensorboard", "mlflow"])
def test_runs_are_exported(home: Path, tmp_path: Path, program: str) -> None:
    out = tmp_path / "out"
    result = runs(home, "export", "first", "second", "--to", program, "--out", str(out))
    assert result.returncode == 0
    written = [line.removeprefix("Wrote ") for line in result.stdout.splitlines()]
    assert len(written) == 2
    assert all(Path(path).is_relative_to(out) and Path(path).exists() for path in written)
    assert program in result.stderr
    again = runs(home, "export", "first", "--to", program, "--out", str(out), "--json")
    assert json.loads(again.stdout) == {"written": written[:1]}


def test_list_and_show_name_the_next_step(home: Path) -> None:
    assert runs(home, "list").stderr == "Compare runs: ragkit tune runs compare first second\n"
    result = runs(home, "show", "first")
    assert result.stderr == "Its curves: ragkit tune runs plot first --out first.html\n"


def test_mistakes_are_one_line(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words, message in (
        (("plot", "frist", "--out", "x.html"), "there is no run frist: do you mean first?"),
        (("plot", "first", "--out", "x.pdf"), "use one of .html, .htm, .svg"),
        (("plot", "first", "--out", f"{tmp_path}/no/x.svg"), "make it first"),
        (("compare", "first"), "one run is no comparison: name 2 or more"),
        (("compare", "first", "second", "--out", "x.svg"), "use one of .html, .htm"),
        (("export", "first", "--to", "mlflow", "--out", f"{tmp_path}/file/x"), "name another"),
        (("export", "first", "--to", "tensorboard", "--out", f"{tmp_path}/file"), "name another"),
    ):
        result = runs(home, *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.strip().endswith(message)
        assert len(result.stderr.splitlines()) == 1
