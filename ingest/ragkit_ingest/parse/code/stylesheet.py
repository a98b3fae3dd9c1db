"""Style sheets (.css, .scss, .less): a rule's selector heads it."""

from __future__ import annotations

import re

from ragkit_ingest.parse.code.language import Language

parse = Language(re.compile(r"[^{};\n]{1,200}[^{};\s](?=\s*\{)"), ("//", "/*", "*")).parse
