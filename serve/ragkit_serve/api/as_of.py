"""The field `as_of` of what can be asked about a time: a date and time with a zone, as a text.

Pydantic alone would read numbers as well, and a day without its dashes as seconds since 1970.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AwareDatetime, BeforeValidator, Field

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ].*", re.ASCII)


def _text(value: object) -> object:
    if value is None or (isinstance(value, str) and _MOMENT.fullmatch(value)):
        return value
    raise ValueError("write a time with its zone, such as 2026-01-31T15:00:00Z")


AsOf = Annotated[
    AwareDatetime | None,
    BeforeValidator(_text),
    Field(description="Ask what was current then, of versions that were kept."),
]
