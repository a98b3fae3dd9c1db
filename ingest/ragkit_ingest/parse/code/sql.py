"""SQL: what is created or altered heads what follows, up to the next such statement."""

from __future__ import annotations

import re

from ragkit_ingest.parse.code.language import Language

_CREATE = re.compile(
    r"(?:create|alter)[ \t]+(?:or[ \t]+replace[ \t]+|temp(?:orary)?[ \t]+|unique[ \t]+"
    r"|materialized[ \t]+|unlogged[ \t]+|global[ \t]+|local[ \t]+){0,4}(?:table|view|function"
    r"|procedure|trigger|index|type|schema|sequence|package(?:[ \t]+body)?|policy|role|domain)"
    r"[ \t]+(?:concurrently[ \t]+|if[ \t]+(?:not[ \t]+)?exists[ \t]+){0,2}[\w.\"`\[\]$]+",
    re.IGNORECASE,
)

parse = Language(_CREATE, ("--", "/*", "*"), flat=True).parse
