"""The command line's texts in Chinese, by their English: see `ragkit.words`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, str]] = {}
