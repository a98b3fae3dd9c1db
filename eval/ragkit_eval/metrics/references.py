"""The check of references that all text metrics share."""

from collections.abc import Sequence

from ragkit.errors import UsageError


def check_references(references: Sequence[str], metric: str) -> None:
    """Raise UsageError for an empty list, and for a single text, whose characters would count as
    references; `metric` names the metric in the message."""
    if isinstance(references, str):
        raise UsageError(f"the references of {metric} are a list, not one text: give [text]")
    if not references:
        raise UsageError(f"{metric} needs at least one reference: give one")
