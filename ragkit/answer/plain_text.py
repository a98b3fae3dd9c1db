"""Answers and passages as plain text for a terminal, labelled in the language of the question."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from ragkit.answer.labels import labels
from ragkit.text.places import heading_path
from ragkit.text.printable import printable, printable_line, readable
from ragkit.types import Answer, Citation, Hit, Stage

_SNIPPET_CHARS: Final = 240  # arbitrary: about three lines of a terminal


def place(source: Hit | Citation, words: Mapping[str, str]) -> str:
    """Name a document as people know it: title, file, headings and page, in one line."""
    name = PurePath(source.uri).name
    has_title = source.title and source.title != name
    parts = [words["place"].format(title=source.title, file=name) if has_title else name]
    if path := heading_path(source.title or name, source.headings):
        parts.append(path)
    if source.page is not None:
        parts.append(words["page"].format(page=source.page))
    return printable_line(words["next"].join(parts))


def hits_text(query: str, hits: Sequence[Hit], stages: Sequence[Stage] = ()) -> str:
    """Write passages, after a line where words were searched for and no passage has any of them.

    Where there are no passages, say whether a cut-off left none.
    """
    words = labels(query)
    if not hits:
        return f"{_nothing(stages, words)}\n"
    by_words = any(stage.name.startswith("lexical") for stage in stages)
    has_words = not by_words or any("lexical" in hit.scores for hit in hits)
    text = "" if has_words else f"{words['no words']}\n\n"
    return text + "".join(_hit(n, hit, words) for n, hit in enumerate(hits, start=1))


def notes_text(question: str, answer: Answer) -> str:
    """Write what stands below an answer: its sources, and what in it they do not support."""
    words = labels(question)
    lines = ["", *_search_notes(answer, words)]
    if answer.refused and answer.reason:
        lines.append(words["reason"].format(reason=printable(answer.reason)))
    if answer.citations:
        lines += ["", words["sources"]]
    for citation in answer.citations:
        lines.append(f"[{citation.n}] {place(citation, words)}  {words[citation.verdict]}")
        lines.append(textwrap.indent(printable(readable(citation.quote)), "    "))
    if answer.unverified:
        pieces = words["next"].join(repr(piece) for piece in answer.unverified)
        lines += ["", words["missing"].format(pieces=pieces)]
    lines += _claim_notes(answer, words)
    return "\n".join(lines) + "\n"


def _hit(n: int, hit: Hit, words: Mapping[str, str]) -> str:
    legs = ", ".join(f"{leg} {score:.3f}" for leg, score in hit.scores.items())
    score = words["score"].format(score=f"{hit.score:.3f}")
    snippet = printable(" ".join(hit.text.split()))
    if len(snippet) > _SNIPPET_CHARS:
        snippet = snippet[: _SNIPPET_CHARS - 1] + "…"
    text = f"{n}. {place(hit, words)}  {score} ({legs})\n{textwrap.indent(snippet, '   ')}\n\n"
    if hit.duplicates:
        names = words["next"].join(
            dict.fromkeys(PurePath(copy.uri).name for copy in hit.duplicates)
        )
        text += f"   {printable_line(words['same text'].format(names=names))}\n\n"
    return text


def _nothing(stages: Sequence[Stage], words: Mapping[str, str]) -> str:
    for previous, stage in pairwise(stages):
        if stage.name == "cut-off" and previous.ranked and not stage.ranked:
            return words["below cut-off"].format(count=len(previous.ranked))
    return words["nothing"]


def _search_notes(answer: Answer, words: Mapping[str, str]) -> Iterator[str]:
    """Say which filter was read out of the question, and which phrase stands nowhere."""
    if "filter" in answer.searched:
        note = words["filter"].format(filter=answer.searched["filter"])
        if "dropped" in answer.searched:
            note += words["dropped"].format(dropped=answer.searched["dropped"])
        yield printable(note)
    if "phrase" in answer.searched:
        yield printable(words["phrase"].format(phrase=answer.searched["phrase"]))


def _claim_notes(answer: Answer, words: Mapping[str, str]) -> Iterator[str]:
    """List the sentences that are not supported; without any, say that all are.

    Of an answer that quotes every sentence nothing is said.
    """
    weak = [claim for claim in answer.claims if not claim.is_supported]
    if weak:
        yield f"\n{words['weak']}"
    elif any(claim.support == "supported" for claim in answer.claims):
        yield f"\n{words['all supported']}"
    for claim in weak:
        sentence = printable(" ".join(answer.text[claim.start : claim.end].split()))
        yield textwrap.indent(f"{words[claim.support]}: {sentence}", "    ")
        if claim.reason:
            yield textwrap.indent(printable_line(claim.reason), "        ")
