"""JSON as its standard has it: Python's own reader takes NaN and Infinity for numbers too."""

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError, also for NaN and Infinity, and RecursionError."""
    return json.loads(text, parse_constant=_no_number)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
