"""Title a document by the only heading at its top level.

One rule for every format.
"""

from __future__ import annotations

from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import title_line
from ragkit_ingest.parse.formats import MODULES
from ragkit_ingest.parse.titles import first_title
from ragkit_ingest.split.outline import heading_text

# What these modules call headings are names of a file's parts: definitions, sheets.
_PARTS_ONLY = ("code.", "office.xls")  # and .xlsx


def only_heading(parsed: ParsedText, suffix: str) -> str:
    """Return the first heading, if every other one is below it; "" where there is no such heading.

    A file with several top headings has as many subjects, and none of them is its title; nor is a
    heading that any document may have, such as "Introduction" or "Untitled".

    >>> from ragkit.types import Block
    >>> text = "# Leave\\n\\nrules\\n\\n# Meals\\n"
    >>> headings = (Block(0, 7, "heading", 1), Block(16, 23, "heading", 1))
    >>> only_heading(ParsedText(text, headings), ".md")
    ''
    >>> only_heading(ParsedText(text, headings[:1]), ".md")
    'Leave'
    """
    if MODULES.get(suffix, "").startswith(_PARTS_ONLY):
        return ""
    headings = [block for block in parsed.blocks if block.kind == "heading"]
    if not headings or any(heading.level <= headings[0].level for heading in headings[1:]):
        return ""
    return first_title(title_line(heading_text(parsed.text, headings[0])))
