"""Cut a parsed text into chunks that the embedder takes whole.

Every character that is not white space is in some chunk; a chunk stays within its section,
unless sections are tiny. One pass, so that the time grows with the text only. It knows nothing
of files, models or the database.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragkit.errors import SettingsError
from ragkit.text.pages import page_at
from ragkit.types import Block, Chunk, ParsedText
from ragkit_ingest.breaks import Breaks, latest
from ragkit_ingest.ruler import Ruler, Tokenise

# Most models embed passages of a few hundred tokens best, whatever they could take; the figure
# is arbitrary. The default model's limit (254) is below it.
_LARGEST_DEFAULT = 512
_SMALLEST = 16  # a single character can be several tokens
_TINY = 8  # a section under an eighth of a chunk is joined to the next one


def default_sizes(limit: int) -> tuple[int, int]:
    """Choose chunk size and overlap for an embedder that takes `limit` tokens.

    >>> default_sizes(254)
    (254, 25)
    """
    size = min(limit, _LARGEST_DEFAULT)
    return size, size // 10


def chunk(
    parsed: ParsedText, token_spans: Tokenise, *, max_tokens: int, overlap_tokens: int
) -> tuple[Chunk, ...]:
    """Cut a text into chunks of at most `max_tokens` tokens, in order, trimmed of white space.

    `token_spans` is the embedder's: each chunk's count is what it gives for that very text.
    Neighbours within a section share up to about `overlap_tokens`, whole sentences where they
    fit. Raises SettingsError for sizes that make no sense.
    """
    if max_tokens < _SMALLEST or not 0 <= overlap_tokens <= max_tokens // 4:
        raise SettingsError(
            f"chunks of {max_tokens} tokens with an overlap of {overlap_tokens} make no sense: "
            f"take at least {_SMALLEST}, and at most a quarter of it as overlap"
        )
    return tuple(_Chunker(parsed, token_spans, max_tokens, overlap_tokens).chunks())


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with its text up to the next heading; `body` is where the heading's line ends."""

    start: int
    body: int
    path: tuple[str, ...]
    end: int


class _Chunker:
    """One run over one text."""

    def __init__(self, parsed: ParsedText, token_spans: Tokenise, size: int, overlap: int) -> None:
        self.text = parsed.text
        self.pages = parsed.pages
        self.size = size
        self.overlap = overlap
        self.ruler = Ruler(parsed.text, token_spans)
        self.breaks = Breaks(parsed.text, parsed.blocks)
        self.sections = _sections(parsed)
        self.section_starts = [section.start for section in self.sections]

    def chunks(self) -> Iterator[Chunk]:
        ordinal = 0
        for start, end in self._groups():
            for first, last, tokens in self._pieces(start, end):
                yield Chunk(
                    ordinal,
                    first,
                    last,
                    tokens,
                    page_at(self.pages, first),
                    self._path(first, last),
                )
                ordinal += 1

    def _groups(self) -> Iterator[tuple[int, int]]:
        """Join each tiny section to the ones that follow while all fit; give the ranges."""
        start, bare = 0, True  # bare: headings only, so far
        for section, following in zip(self.sections, [*self.sections[1:], None], strict=True):
            bare = bare and not self.text[section.body : section.end].strip()
            if following and (bare or self._joins(start, section.end, following.end)):
                continue
            yield start, section.end
            start, bare = section.end, True

    def _joins(self, start: int, end: int, next_end: int) -> bool:
        tokens = self.ruler.index(end) - self.ruler.index(start)
        together = self.ruler.index(next_end) - self.ruler.index(start)
        return tokens < self.size // _TINY and together <= self.size

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Cut one range into (start, end, tokens)."""
        start, end = self._trimmed(start, end)
        done = start  # everything before it is in a chunk
        while done < end:
            cut, tokens = self._fit(start, done, end)
            if cut <= done:  # the overlap left no room for what must stay whole
                start = done
                continue
            yield start, self._trimmed(start, cut)[1], tokens
            done = self._trimmed(cut, end)[0]
            if done < end:
                start = self._trimmed(self._resume(start, done), end)[0]

    def _fit(self, start: int, done: int, end: int) -> tuple[int, int]:
        """Choose the end of a chunk; count it, and choose a nearer one while it is too large."""
        budget = self.size
        cut = self._cut(start, done, end, budget)
        while True:
            tokens = self.ruler.count(*self._trimmed(start, cut))
            if tokens <= self.size or cut - start <= 1:
                return cut, tokens
            if budget > 1:
                budget = max(1, min(budget - 1, budget * self.size // tokens))
                cut = self._cut(start, done, end, budget)
            else:
                cut = start + (cut - start) // 2
            if cut <= done:
                return done, 0

    def _cut(self, start: int, done: int, end: int, budget: int) -> int:
        """Choose where a chunk that begins at `start` ends: after `done`, or there if it cannot."""
        left = self.ruler.index(end) - self.ruler.index(start)
        if left <= budget:
            return end
        # What is left over should be no crumb; and a character can be several tokens.
        most = min(budget, max(left - self.size // 4, budget // 2))
        high = max(self.ruler.reach(start, most), start + 1)
        solid = self.breaks.solid_at(high)
        if solid and solid.start >= done and self._fits(solid):
            if solid.start > done:
                return solid.start
            if start < done:
                return done
        low = max(done, min(self.ruler.reach(start, budget // 2), high - 1))
        return self.breaks.best(low, high) if low < high else done

    def _resume(self, start: int, cut: int) -> int:
        """Choose where the next chunk begins: never before a heading, nor in a table or code."""
        if not self.overlap:
            return cut
        low = max(
            start + 1,
            self.ruler.back(cut, self.overlap),
            latest(self.section_starts, cut),
            self.breaks.solid_end(cut),
        )
        return self.breaks.resume(low, cut) if low < cut else cut

    def _fits(self, block: Block) -> bool:
        return self.ruler.index(block.end) - self.ruler.index(block.start) <= self.size

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        while start < end and self.text[start].isspace():
            start += 1
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return start, end

    def _path(self, start: int, end: int) -> tuple[str, ...]:
        """Return the headings that all of a chunk's text stands under."""
        first = bisect_right(self.section_starts, start) - 1
        last = bisect_right(self.section_starts, end - 1)
        touched = self.sections[first:last]
        paths = [
            section.path
            for section in touched
            if self.text[max(section.body, start) : min(section.end, end)].strip()
        ]
        return _common(paths or [touched[-1].path])


def _sections(parsed: ParsedText) -> list[_Section]:
    """Divide a text at its headings; the first section begins with the text."""
    path: list[tuple[int, str]] = []
    heads: list[tuple[int, int, tuple[str, ...]]] = []
    for block in parsed.blocks:
        if block.kind == "heading":
            heading = " ".join(parsed.text[block.start : block.end].strip().strip("#").split())
            path = [*(outer for outer in path if outer[0] < block.level), (block.level, heading)]
            heads.append((block.start, block.end, tuple(text for _, text in path)))
    if not heads or heads[0][0] > 0:
        heads.insert(0, (0, 0, ()))
    ends = [*(start for start, _, _ in heads[1:]), len(parsed.text)]
    return [_Section(*head, end) for head, end in zip(heads, ends, strict=True)]


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    shared = 0
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return paths[0][:shared]
