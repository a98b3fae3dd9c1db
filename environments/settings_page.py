"""Write the tables of docs/settings.md: what the code says of every setting.

What stands before the mark in that page is written by hand and stays.
"""

from __future__ import annotations

from pathlib import Path

from ragkit.settings.reference import TABLES, TITLES
from ragkit.settings.settings import Settings
from ragkit.settings.sources import secrets
from ragkit.settings.tables import place

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
MARK = "<!-- `make settings` writes everything below this line from the code. -->\n"


def page() -> str:
    """Return the page as it should be."""
    by_hand = PAGE.read_text("utf-8").partition(MARK)[0]
    return by_hand + MARK + "".join(_section(table) for table in TABLES)


def _section(table: str) -> str:
    title = f"{TITLES[table]}: `[{table}]`" if table else TITLES[table]
    head = "| variable | key | default | meaning |\n|---|---|---|---|\n"
    return f"\n## {title}\n\n{head}{''.join(_row(name) for name in TABLES[table])}"


def _row(name: str) -> str:
    table, key = place(name)
    entry = TABLES[table][name]
    secret = " (secret)" if name in secrets() else ""
    field = Settings.model_fields[name]
    default = entry.default or ("none" if field.default is None else str(field.default))
    return f"| `RAGKIT_{name.upper()}` | `{key}` | {default} | {entry.meaning}{secret} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
