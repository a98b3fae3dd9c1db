"""Clean a parsed text before it is split: make characters uniform, mask private data.

Everything moves blocks and pages truly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragkit.types import ParsedText
    from ragkit_ingest.parse.options import ParseOptions


def cleaned(parsed: ParsedText, options: ParseOptions) -> ParsedText:
    """Make a parsed text's characters uniform, then mask what is private in it, as the options say.

    In this order, so that an invisible character hides nothing from the mask.
    Raises ValueError for a kind to mask that there is not.
    """
    from ragkit.settings.mask_kinds import mask_kinds
    from ragkit_ingest.clean.unicode import normalised

    uniform = normalised(parsed, options.unicode)
    kinds = mask_kinds(options.mask)
    if not kinds:
        return uniform
    from ragkit_ingest.clean.mask import masked

    return masked(uniform, kinds)
