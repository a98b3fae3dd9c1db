"""What every metric of texts refuses as references. Knows no metric."""

from collections.abc import Sequence

from ragkit.errors import UsageError


def check_references(references: Sequence[str], what: str) -> None:
    """Raise UsageError without a reference, and for a text, whose characters would be taken for
    references, where a list of texts is meant."""
    if isinstance(references, str):
        raise UsageError(f"the references of {what} are a list, not one text: give [text]")
    if not references:
        raise UsageError(f"{what} needs at least one reference: give one")
