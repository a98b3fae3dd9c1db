"""Subtitles: paragraphs that say when they begin, speakers, captions that roll."""

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import parse_bytes


def test_cues_become_paragraphs_with_their_time() -> None:
    srt = (
        "\ufeff1\r\n00:00:01,000 --> 00:00:04,000\r\n<i>Welcome</i> to\r\nthe lens course.\r\n\r\n"
        "2\r\n00:00:05,000 --> 00:00:08,000\r\n{\\an8}Today: 显微镜。\r\n\r\n"
        "3\r\n00:00:30,000 --> 00:00:32,000\r\nAfter a pause.\r\n\r\n"
        "4\r\n01:01:05,500 --> 01:01:07,000 X1:1\r\nAn hour later &amp; more.\r\n"
    )
    parsed = parse_bytes(srt.encode(), ".srt")
    assert parsed.text == (
        "[00:00:01] Welcome to the lens course. Today: 显微镜。\n\n"
        "[00:00:30] After a pause.\n\n[01:01:05] An hour later & more.\n"
    )
    assert [block.kind for block in parsed.blocks] == ["paragraph"] * 3


def test_a_paragraph_lasts_about_a_minute_and_ends_with_a_sentence() -> None:
    moments = [f"00:{n // 6:02}:{n % 6}" for n in range(30)]
    cues = [
        f"{n}\n{moment}0,000 --> {moment}9,000\nline {n}{'.' * (n == 7)}\n"
        for n, moment in enumerate(moments)
    ]
    parsed = parse_bytes("\n".join(cues).encode(), ".srt")
    starts = [line[:10] for line in parsed.text.splitlines() if line]
    # The first sentence to end after a minute is the eighth cue; then none ends for two minutes.
    assert starts == ["[00:00:00]", "[00:01:20]", "[00:03:20]"]


def test_webvtt_speakers_notes_and_styles() -> None:
    vtt = (
        "WEBVTT - A talk\nKind: captions\n\nSTYLE\n::cue { color: red }\n\n"
        "NOTE a remark\nof two lines\n\n"
        "intro\n00:01.000 --> 00:03.000 align:start\n<v Ann Lee>Hello <c.loud>Bob</c>.\n\n"
        "00:03.000 --> 00:04.000\n<v.quiet Ann Lee>Sit down.\n\nNOTE another\n\n"
        "00:04.000 --> 00:06.000\n<v Bob>Thank <00:05.000>you.\n"
    )
    parsed = parse_bytes(vtt.encode(), ".vtt")
    assert parsed.text == (
        "[00:00:01] Ann Lee: Hello Bob. Sit down.\n\n[00:00:04] Bob: Thank you.\n"
    )


def test_rolling_captions_are_said_once() -> None:
    vtt = (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nwe begin\n\n00:02.000 --> 00:03.000\n"
        "we begin\nwith glass\n\n"
        "00:03.000 --> 00:04.000\nwith glass\nand sand\n\n00:04.000 --> 00:05.000\nand sand\n"
    )
    assert parse_bytes(vtt.encode(), ".vtt").text == "[00:00:01] we begin with glass and sand\n"


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "utf-16"])
def test_chinese_encodings(encoding: str) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\n我們今天要說的是如何使用這個東西，謝謝大家。\n"
    assert "謝謝大家" in parse_bytes(srt.encode(encoding), ".srt").text


def test_a_file_without_cues_is_named() -> None:
    with pytest.raises(IngestError) as caught:
        parse_bytes(b"hello\n\nyou", ".srt")
    assert caught.value.reason == 'no subtitles in it: no line such as "00:01:05,000 --> ..."'
    with pytest.raises(IngestError) as caught:
        parse_bytes(b"1\n00:00:01,000 --> 00:00:02,000\n\n", ".srt")
    assert caught.value.reason.startswith("no subtitles") or "no text" in caught.value.reason
