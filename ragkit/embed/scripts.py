"""The characters that a small vocabulary leaves out, and the name of its tokenizer's file."""

from __future__ import annotations

import re
from typing import Final

SMALL: Final = "tokenizer.small.json"
# Cyrillic to Mongolian, Indic, Hangul, Arabic and whatever NFKC turns into letters of them.
OTHER_SCRIPTS: Final = re.compile(
    "[\u0400-\u1cff\u1d78\u2135-\u2138\u2c00-\u2dff\u3131-\u318e\u3200-\u321e\u3260-\u327e"
    "\ua4d0-\ua71f\ua800-\ud7ff\ufb13-\ufdff\ufe70-\ufefe\uffa0-\uffdc"
    "\U00010000-\U0001cfff\U0001e000-\U0001efff]"
)
