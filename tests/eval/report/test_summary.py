"""The Markdown summary, rendered by a Markdown library: what it says, and that it is inert."""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt

from ragkit_eval.compare.compare import Comparison
from ragkit_eval.report import markdown
from ragkit_eval.report.report import compared
from ragkit_eval.run.record import Run
from tests.eval.report import runs
from tests.eval.report.conftest import slim
from tests.eval.report.test_page import hostile


def test_summary_says_the_verdict_every_metric_and_the_coverage(
    answer_runs: list[Run], answer_comparison: Comparison
) -> None:
    text = markdown(answer_runs, answer_comparison, title="Nightly")
    assert text.startswith("## Nightly\n\n- **A** extractive\n- **B** written\n")
    first = answer_comparison.rows[0]
    assert f"| answer_score | {first.a.mean:.3f} [" in text
    assert f"**+{first.difference.mean:.3f} [+" in text
    assert "| answered | 60 of 60, 0 errors | 60 of 60, 0 errors |  |" in text
    assert "Items: " in text
    assert len(text) < 4_000


def test_tables_of_groups_show_those_that_differ_most(
    choice_runs: list[Run], choice_comparison: Comparison
) -> None:
    comparison = choice_comparison
    text = markdown(choice_runs, comparison)
    assert "| group (2 more are not shown) |" in text
    most = max(comparison.groups, key=lambda row: abs(row.difference.mean))
    assert f"{most.difference.mean:+.3f}".replace("-", "−") in text.split("2 more")[1]


def test_hostile_names_are_text(tmp_path: Path) -> None:
    read = slim(hostile(tmp_path, 0.0), hostile(tmp_path, 1.0))
    text = markdown(read, compared(read), title=f"{runs.HOSTILE} @someone www.evil.example")
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert "<script" not in rendered
    assert "<img" not in rendered
    assert "<a " not in rendered
    assert "@someone" not in text
    assert "www.evil" not in text
    assert "http://" not in text
    text.encode()
