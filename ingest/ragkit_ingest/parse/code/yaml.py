"""YAML as text: each key heads what is indented under it. Nothing in it is loaded or resolved."""

from __future__ import annotations

import re

from ragkit_ingest.parse.code.language import Language

parse = Language(
    re.compile(
        r"(?:[\w./-]{1,100}|\"[^\"\n]{1,100}\"|'[^'\n]{1,100}')"
        r"(?=[ \t]*:[ \t]*(?:[|>&!#][^\n]*)?\Z)"
    ),
    ("#",),
).parse
