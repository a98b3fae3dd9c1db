"""Settings in sections (.ini, .cfg, .toml, .properties): a section reaches to the next."""

from __future__ import annotations

import re

from ragkit_ingest.parse.code.language import Language

parse = Language(re.compile(r"\[{1,2}[^\]\n]{1,200}\]{1,2}"), ("#", ";"), flat=True).parse
