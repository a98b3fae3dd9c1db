"""Texts that would control, reorder or flood a page."""

from ragkit.report.safe_text import inert, line


def test_inert_text_shows_what_would_act() -> None:
    assert inert("a\x00\x1b[1m\r\nb\tc\ud800") == "a\ufffd\ufffd[1m\nb\tc\ufffd"
    assert inert("\u202egnp") == "⟨U+202E⟩gnp"
    assert line("a\n b" + "x" * 300, 10) == "a bxxxxxx…"
    assert line("short") == "short"
