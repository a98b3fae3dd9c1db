"""Parse JSON strictly: Python's parser also accepts NaN and Infinity as numbers."""

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError, also for NaN and Infinity, and RecursionError."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
