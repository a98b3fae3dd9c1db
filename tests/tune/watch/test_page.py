"""Runs as one page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ragkit_tune.watch.compare import compare
from ragkit_tune.watch.page import render
from ragkit_tune.watch.summary import summarise
from tests.tune.watch.run_folders import dev, long_log, make_run, step, verdict

HOSTILE = "</style><script>alert(1)</script>\u202e\x00<img src=x>"


class Tags(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def page_of(home: Path, *names: str) -> str:
    proven = [verdict(0.031, 0.012, 0.05), verdict(0.003, -0.01, 0.017), None]
    runs = [
        make_run(home, name, long_log(200, best=60 + 20 * n), verdict=found, recipe={"seed": n})
        for n, (name, found) in enumerate(zip(names, proven, strict=False))
    ]
    return render(compare([summarise(run) for run in runs]))


def test_a_page_compares_runs(tmp_path: Path) -> None:
    page = page_of(tmp_path, "first", "second", "third")
    for text in (
        "Training runs: first and 2 others",
        "better by 0.031 (95% 0.012 to 0.050)",
        "ndcg@10 of 113 questions that were not trained on",
        "third is not proven: ragkit tune prove third",
        '<th scope="row">seed</th>',
        'step 200: <span dir="auto">the best is step 60</span>',
    ):
        assert text in page
    assert '<th scope="row">batch</th>' not in page
    assert page.count("checkpoint</span>") == 0


def test_every_figure_has_a_title_and_words(tmp_path: Path) -> None:
    tags = Tags(page_of(tmp_path, "first", "second")).tags
    pictures = [attributes for tag, attributes in tags if tag == "svg" and "role" in attributes]
    idents = {attributes.get("id") for _, attributes in tags}
    assert len(pictures) == 5
    for attributes in pictures:
        assert set((attributes["aria-labelledby"] or "").split()) <= idents
    assert all(a.get("aria-hidden") for t, a in tags if t == "svg" and "role" not in a)
    headings = [tag for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert headings[:4] == ["h1", "h2", "h2", "h2"]


def test_one_run_has_its_whole_recipe(tmp_path: Path) -> None:
    page = page_of(tmp_path, "first")
    assert "<title>Training run: first</title>" in page
    assert '<th scope="row">batch</th>' in page
    assert "Side by side" not in page


def test_equal_recipes_and_runs_without_steps_are_said(tmp_path: Path) -> None:
    runs = [summarise(make_run(tmp_path, name, [])) for name in ("a", "b")]
    page = render(compare(runs))
    assert "The recipes are the same." in page
    assert "No step was made yet." in page


def test_a_page_loads_and_runs_nothing_whatever_its_texts(tmp_path: Path) -> None:
    lines = [step(1), dev(1, 0.5, HOSTILE), {"step": 1, "event": HOSTILE, "texts": ["secret"]}]
    made = make_run(
        tmp_path,
        "a",
        lines,
        state="failed",
        failure=HOSTILE,
        base={"name": HOSTILE},
        recipe={"teacher": HOSTILE},
        verdict=verdict(0.1, 0.01, 0.2, sentence=HOSTILE),
    )
    page = render(compare([summarise(made)]))
    names = {tag for tag, _ in Tags(page).tags}
    assert not names & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert not re.search(r"\x00|\u202e|secret", page)
    (policy,) = (
        attributes["content"]
        for _, attributes in Tags(page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-\S+'; base-uri 'none'; form-action 'none'",
        policy or "",
    )


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_phone_and_asks_for_nothing(
    tmp_path: Path, browser: Any, scheme: str
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(tmp_path, "first", "second", "third"), "utf-8")
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, offline=True, color_scheme=scheme
    )
    asked: list[str] = []
    messages: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("console", lambda message: messages.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 20, 18)"}[scheme]
    # The drawings take their colours from the same style: a curve is visible on this ground.
    stroke = page.evaluate("getComputedStyle(document.querySelector('polyline.s0')).stroke")
    assert stroke == {"light": "rgb(0, 103, 168)", "dark": "rgb(98, 184, 242)"}[scheme]
    context.close()
    assert (asked, messages) == ([path.as_uri()], [])
