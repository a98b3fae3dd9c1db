"""Log lines as JSON on standard error, one object each; set up by programs, never on import.

Texts of documents, questions and answers are nobody's to log but the audit's, by setting.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

_LEVELS: Final = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "openai": logging.WARNING}


class JsonLines(logging.Formatter):
    """Write a record as one line; its `fields` are added as they are."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure() -> None:
    """Have this process log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name, level in _LEVELS.items():
        logging.getLogger(name).setLevel(level)
