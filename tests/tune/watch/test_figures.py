"""The curves as they are drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from ragkit_tune.watch.figures import figures, stretches
from ragkit_tune.watch.picture import draw
from ragkit_tune.watch.series import Point
from ragkit_tune.watch.summary import summarise
from tests.tune.watch.run_folders import dev, long_log, make_run, step

SVG = "{http://www.w3.org/2000/svg}"


def test_a_long_curve_hides_no_spike() -> None:
    points = [Point(n, 9.0 if n == 500 else 1.0, 0.0) for n in range(1, 1001)]
    line, band = stretches(points)
    assert len(line) == len(band) == 112  # of 9 steps each
    assert (line[0], line[-1]) == ((1.0, 1.0), (1000.0, 1.0))
    assert {value for _, value in line} == {1.0}
    assert max(high for _, _, high in band) == 9.0
    assert min(low for _, low, _ in band) == 1.0
    assert stretches(points[:3]) == (((1.0, 1.0), (2.0, 1.0), (3.0, 1.0)), ())


def test_every_curve_has_a_figure_in_order(tmp_path: Path) -> None:
    rewards = [{"step": 1, "reward": 0.5}]
    lines = [step(1), step(2), {"step": 2, "dev": {"mrr@10": 0.5, "ndcg@10": 0.5}}, *rewards]
    drawn = figures([summarise(make_run(tmp_path, "a", lines))])
    assert [figure.title for figure in drawn] == [
        "Loss",
        "Dev ndcg@10",
        "Dev mrr@10",
        "Reward",
        "Gradient norm",
        "Learning rate",
        "Tokens a second",
    ]


def test_a_figure_says_in_words_what_it_shows(tmp_path: Path) -> None:
    first = make_run(tmp_path, "first", [step(1, 2.5), step(2, 0.5), step(3, 1.0)])
    second = make_run(tmp_path, "second", [step(1, 2.0), step(2, "nan"), step(3, "nan")])
    loss = figures([summarise(first), summarise(second)])[0]
    assert loss.description == (
        "A first: 2.5 at step 1, 1 at step 3, least 0.5 at step 2, greatest 2.5 at step 1;"
        " B second: 2 at step 1"
    )
    assert loss.note == "B has nan at step 2 and 1 more"
    assert ">Loss</title>" in loss.picture("x")


def test_the_mark_stands_at_the_best_checkpoint(tmp_path: Path) -> None:
    lines = [dev(0, 0.0), *(step(n) for n in range(1, 11)), dev(5, 1.0), dev(10, 0.5)]
    shown = next(
        figure
        for figure in figures([summarise(make_run(tmp_path, "a", lines))])
        if figure.title == "Dev ndcg@10"
    )
    (x,) = re.findall(r'<circle cx="([\d.]+)"', shown.drawn)
    assert x == "196"  # half-way between 48 and 344


def test_steps_are_whole_and_a_wide_norm_is_logarithmic(tmp_path: Path) -> None:
    lines = [step(1, grad_norm=0.01), step(2, grad_norm=100.0)]
    drawn = {f.title: f.drawn for f in figures([summarise(make_run(tmp_path, "a", lines))])}
    labels = re.findall(r'text-anchor="middle" class="tick">([^<]+)<', drawn["Loss"])
    assert labels == ["0", "1", "2"]
    assert "logarithmic" in drawn["Gradient norm"]
    assert "logarithmic" not in drawn["Loss"]


def test_a_picture_is_one_svg_that_loads_nothing(tmp_path: Path) -> None:
    runs = [summarise(make_run(tmp_path, name, long_log(200))) for name in ("first", "second")]
    text = draw(runs)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == "Training runs first, second"
    assert "Loss: A first: " in (root.findtext(f"{SVG}desc") or "")
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")
    assert len(root.findall(f".//{SVG}polyline")) == 2 * 5
    assert not re.search(r"href|url\(|@import|<script", text)


def test_a_run_without_steps_has_an_empty_picture(tmp_path: Path) -> None:
    root = ElementTree.fromstring(draw([summarise(make_run(tmp_path, "a", []))]))
    assert root.findtext(f"{SVG}desc") == "No step was made."


def test_a_hostile_name_is_text(tmp_path: Path) -> None:
    base = {"name": "</text><script>alert(1)</script>\u202e\x00", "revision": "", "folder": ""}
    text = draw([summarise(make_run(tmp_path, "a", [step(1)], base=base))])
    ElementTree.fromstring(text)
    assert "<script" not in text
    assert "⟨U+202E⟩" in text
