"""The process that draws a page: its limits, its end, and what is made of nonsense from it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from ragkit.errors import NotFoundError
from ragkit_serve.api.errors import ApiError
from ragkit_serve.original.quote_matching import Quote
from ragkit_serve.original.renderer import PageLimits, PageRenderer
from tests.ingest.hostile_pdfs import PDFS
from tests.ingest.pdfs import text
from tests.serve.original.misbehaving import WAYS
from tests.serve.original.pages import one_page

PAGE: Final = one_page(text(72, 700, "Leave is 28 days."))
QUICK: Final = PageLimits(cpu_s=3, wall_s=6)


_RUN: Final = (
    f"import sys; sys.path.insert(0, {os.getcwd()!r})\n"
    "from tests.serve.original.misbehaving import WAYS\n"
    "WAYS[{!r}]()\nsys.stdout.flush()"
)


def command(way: str) -> Sequence[str]:
    return (sys.executable, "-P", "-c", _RUN.format(way))


def test_a_page_is_drawn_and_marked_by_a_process() -> None:
    page = PageRenderer().draw(PAGE, 1, quotes=[Quote("leaveis28days")])
    assert (page.pages, page.width, page.height, len(page.marks)) == (1, 612.0, 792.0, 1)
    assert page.picture.startswith(b"\x89PNG")
    assert PageRenderer().draw(PAGE, 1, picture=False).picture == b""


@pytest.mark.parametrize(
    ("data", "page", "reason"),
    [
        (b"no PDF", 1, "Page 1 of the original cannot be shown: its file is damaged."),
        (PAGE, 7, "Page 7 of the original cannot be shown: the file has 1 pages."),
        (PAGE[:200], 1, "Page 1 of the original cannot be shown: its file is damaged."),
    ],
)
def test_what_cannot_be_shown_is_said_in_plain_words(data: bytes, page: int, reason: str) -> None:
    with pytest.raises(NotFoundError) as refused:
        PageRenderer().draw(data, page)
    assert str(refused.value) == reason


@pytest.mark.parametrize("name", PDFS)
def test_a_hostile_file_is_drawn_or_refused(name: str) -> None:
    assert outcome(PDFS[name], QUICK).startswith(("Page 1 of the original cannot be", "drawn"))


def test_a_page_of_a_million_objects_ends_in_time() -> None:
    objects = one_page("".join(f"{n % 600} {n % 700} 5 5 re S\n" for n in range(1_000_000)))
    limits = PageLimits(cpu_s=1, wall_s=1)
    assert outcome(objects, limits).endswith(("it takes too long to draw.", "drawn"))


def outcome(data: bytes, limits: PageLimits) -> str:
    try:
        PageRenderer(limits).draw(data, 1, quotes=[Quote("sometext")])
    except NotFoundError as refused:
        return str(refused)
    return "drawn"


def test_memory_is_limited() -> None:
    limits = PageLimits(memory_mb=200)
    with pytest.raises(NotFoundError, match=r"200 MB of memory|damaged"):
        PageRenderer(limits).draw(PAGE + b"\0" * (300 << 20), 1)


@pytest.mark.parametrize("way", sorted(WAYS.keys() - {"hang", "environment"}))
def test_nonsense_is_refused(way: str) -> None:
    renderer = PageRenderer(QUICK, command=command(way))
    with pytest.raises(NotFoundError, match="its file is damaged"):
        renderer.draw(PAGE, 1)


def test_a_process_that_hangs_is_killed() -> None:
    renderer = PageRenderer(replace(QUICK, wall_s=1.5), command=command("hang"))
    with pytest.raises(NotFoundError, match="it takes too long to draw"):
        renderer.draw(PAGE, 1)


def test_the_process_has_none_of_the_servers_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name != "PATH":
            monkeypatch.delenv(name)
    monkeypatch.setenv("RAGKIT_DATABASE_URL", "postgresql://me:secret@host/db")
    with pytest.raises(NotFoundError, match="the file has 1 pages"):  # PATH alone
        PageRenderer(command=command("environment")).draw(PAGE, 1)


def test_who_waits_too_long_for_a_place_is_told_to_ask_again() -> None:
    renderer = PageRenderer(PageLimits(at_once=1, wait_s=0.05))
    with renderer._place(), pytest.raises(ApiError, match="too many pages") as refused:
        renderer.draw(PAGE, 1)
    assert (refused.value.status, refused.value.code) == (503, "overload")
    assert refused.value.headers == {"retry-after": "5"}
    assert renderer.draw(PAGE, 1).pages == 1


def test_a_process_that_is_killed_costs_its_page_and_frees_its_place() -> None:
    renderer = PageRenderer(PageLimits(at_once=1, wait_s=0.05), command=command("die"))
    for _ in range(2):
        with pytest.raises(NotFoundError, match="its file is damaged"):
            renderer.draw(PAGE, 1)
