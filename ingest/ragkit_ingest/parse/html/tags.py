"""HTML elements by the way in which the parser treats them."""

from __future__ import annotations

DROPPED = frozenset(
    "script style noscript template iframe object svg canvas audio video select datalist".split()
)
BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption"
    " figure footer form header hr html legend main nav p search section summary".split()
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset({"ul", "ol", "menu", "dir"})
CELLS = frozenset({"td", "th"})
PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp"})
# What begins and ends a block of its own.
APART = BLOCKS | LISTS | CELLS | PREFORMATTED | {*HEADINGS, "li", "table", "tr", "caption"}
BOLD = frozenset({"b", "strong"})
PRESENTATION = frozenset({"presentation", "none"})
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
HEAD = frozenset({"base", "html", "link", "meta"})  # what they say is of the whole page
# The parser does nothing for them but to note where they begin and end.
PLAIN = (BLOCKS | frozenset("code em font i label small span sub sup time u".split())) - VOID - HEAD
