"""Open detectors of unsupported sentences beside ragkit's check, where they are on this machine.

Both need the hub, so that they are looked for in its local cache alone; what is absent is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ragkit.answer.check.entailment import EntailmentModel
from ragkit.errors import ModelError

# What it is called, and its name on the hub.
PEERS: Final = (
    ("LettuceDetect", "KRLabsOrg/lettucedect-base-modernbert-en-v1"),
    ("HHEM 2.1", "vectara/hallucination_evaluation_model"),
    ("mDeBERTa, entailment", "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"),
)


def detectors() -> Iterator[str]:
    """Say of each detector whether it is on this machine."""
    absent = []
    for name, model in PEERS:
        try:
            EntailmentModel(model).load()
        except ModelError:
            absent.append(f"{name} ({model})")
        else:
            yield f"{name} is here: name it in RAGKIT_NLI_MODEL to check with it."
    if absent:
        yield f"Not measured, as they are not on this machine: {', '.join(absent)}."
