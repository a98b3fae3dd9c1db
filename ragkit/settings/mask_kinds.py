"""The kinds of private data that ragkit can mask, by the names that the setting `mask` takes."""

from __future__ import annotations

from typing import Final

# What stands in the text in place of each.
PLACEHOLDERS: Final = {
    "email": "[EMAIL]",
    "phone": "[PHONE]",
    "cn_id": "[ID]",
    "card": "[CARD]",
    "iban": "[IBAN]",
    "api_key": "[KEY]",
    "private_key": "[PRIVATE KEY]",
}
ALL: Final = "all"


def mask_kinds(text: str | None) -> frozenset[str]:
    """Read the setting `mask`: None, "all", or kinds with spaces between them.

    Raises ValueError, with the kinds that there are, for another word.

    >>> sorted(mask_kinds("email phone")), mask_kinds(None)
    (['email', 'phone'], frozenset())
    """
    requested = frozenset((text or "").split())
    unknown = sorted(requested - PLACEHOLDERS.keys() - {ALL})
    if unknown:
        raise ValueError(
            f"there is no kind {unknown[0][:40]!r}: write {ALL}, or any of"
            f" {' '.join(PLACEHOLDERS)} with spaces between them"
        )
    return frozenset(PLACEHOLDERS) if ALL in requested else requested
