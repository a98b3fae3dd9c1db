"""Parse subtitles (.srt, .vtt): cues joined to paragraphs, each with the time at which it begins.

A paragraph lasts a minute at most, and ends where another person speaks or nobody does; so a quote
leads to the spot in the film. Styles and positions are left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import ParseOptions

_TIMES = re.compile(
    r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})[ \t]*-->[ \t]*"
    r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})(?:[ \t].*)?$"
)
_VOICE = re.compile(r"<v(?:\.[^\s>]{0,99})?[ \t]+([^>\n]{1,200})>")
_TAG = re.compile(r"<[^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")
_PARAGRAPH_S, _PAUSE_S = 60.0, 8.0  # arbitrary; short enough to find the spot, long enough to read
_ENDINGS = tuple(".!?…。！？\"'”’)）")


@dataclass(frozen=True, slots=True)
class _Cue:
    start_s: float
    end_s: float
    speaker: str
    text: str


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse subtitles. Raises IngestError for a file without one cue."""
    builder = Builder()
    paragraph: list[_Cue] = []
    any_cue = False
    for cue in _cues(clean(decode(data))):
        any_cue = True
        if paragraph and _is_apart(paragraph, cue):
            builder.paragraph(_written(paragraph))
            paragraph.clear()
        paragraph.append(cue)
    if not any_cue:
        raise IngestError("parse", 'no subtitles in it: no line such as "00:01:05,000 --> ..."')
    builder.paragraph(_written(paragraph))
    return builder.result()


def _cues(text: str) -> Iterator[_Cue]:
    """Give the cues that say something; a line said already, as in rolling captions, goes."""
    times: re.Match[str] | None = None
    lines: list[str] = []
    previous_lines: list[str] = []  # the lines of the cue before
    for line in [*text.split("\n"), "00:00:00.000 --> 00:00:00.000"]:
        match = _TIMES.match(line.strip()) if "-->" in line else None
        if match is None:
            lines.append(line)
            continue
        if times is not None:
            cue, previous_lines = _cue(times, lines, previous_lines)
            if cue.text:
                yield cue
        times, lines = match, []


def _cue(
    times: re.Match[str], lines: list[str], previous_lines: list[str]
) -> tuple[_Cue, list[str]]:
    """Make a cue of the lines below its times; they end at the first empty line."""
    cue_lines = "\n".join(lines).strip("\n").split("\n\n")[0].split("\n")
    voice = _VOICE.search(cue_lines[0])
    spoken = [" ".join(html.unescape(_TAG.sub("", line)).split()) for line in cue_lines]
    spoken = [line for line in spoken if line]
    fresh = spoken
    for size in range(min(len(spoken), len(previous_lines)), 0, -1):
        if previous_lines[-size:] == spoken[:size]:
            fresh = spoken[size:]
            break
    start, end = (_seconds(times.groups()[place : place + 4]) for place in (0, 4))
    speaker = " ".join(voice.group(1).split()) if voice else ""
    return _Cue(start, end, speaker, " ".join(fresh)), spoken or previous_lines


def _is_apart(paragraph: list[_Cue], cue: _Cue) -> bool:
    first, last = paragraph[0], paragraph[-1]
    if cue.speaker != last.speaker or cue.start_s - last.end_s > _PAUSE_S:
        return True
    long = cue.start_s - first.start_s
    return long >= 2 * _PARAGRAPH_S or (long >= _PARAGRAPH_S and last.text.endswith(_ENDINGS))


def _written(paragraph: list[_Cue]) -> str:
    first = paragraph[0]
    minutes, seconds = divmod(int(first.start_s), 60)
    hours, minutes = divmod(minutes, 60)
    lead = f"[{hours:02}:{minutes:02}:{seconds:02}] " + (f"{first.speaker}: " * bool(first.speaker))
    return lead + " ".join(cue.text for cue in paragraph)


def _seconds(groups: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (int(group or 0) for group in groups)
    return hours * 3600 + minutes * 60 + seconds + fraction / 1000
