"""A natural-language-inference model: does a passage entail a sentence?

Any sequence classifier with an entailment label will do. The model comes from a folder or the
local cache; it is never downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ragkit.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragkit.answer.check.verify import Entails

BATCH = 8  # arbitrary: pairs of passage length that fit beside an embedding model
_MAX_TOKENS = 512  # where a model's tokenizer does not say; the usual limit of such models


class EntailmentModel:
    """Give the probability that a premise entails a hypothesis; `model` is a folder or a hub name.

    The constructor reads nothing; the first call loads the model.
    """

    def __init__(self, model: str, *, device: str | None = None) -> None:
        self._name = model
        self._device = device
        self._loaded: _Loaded | None = None
        self._loading = Lock()

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError when it cannot be
        loaded.
        """
        with self._loading:
            if self._loaded is None:
                self._loaded = _Loaded(self._name, self._device)

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return P(entailment) for each (premise, hypothesis), in the given order.

        A pair that is too long for the model is cut at the end of the longer text.
        """
        if self._loaded is None:
            self.load()
        assert self._loaded is not None
        loaded = self._loaded
        batches = (pairs[i : i + BATCH] for i in range(0, len(pairs), BATCH))
        return [likely for batch in batches for likely in loaded.entailed(batch)]


def load_entailment(entails: Entails | None) -> None:
    """Load the model that checks claims, if it has to be loaded; None needs nothing.

    Raises ModelError when it cannot be loaded: an answer that nobody could check should not begin.
    """
    if isinstance(entails, EntailmentModel):
        entails.load()


def open_entailment(model: str | None) -> Entails | None:
    """Return the model that the settings name, not yet loaded; None when they name none."""
    return None if model is None else EntailmentModel(model)


def entailment_label(labels: Mapping[int, str], model: str) -> int:
    """Find the label that means entailment among a configuration's; raises ModelError.

    >>> entailment_label({0: "contradiction", 1: "neutral", 2: "ENTAILMENT"}, "m")
    2
    """
    matches = [number for number, name in labels.items() if name.casefold() == "entailment"]
    if len(matches) != 1:
        names = ", ".join(labels.values())
        raise ModelError(
            f"entailment model {model!r} has the labels {names}, none of them entailment: name a"
            " natural-language-inference model in RAGKIT_NLI_MODEL"
        )
    return matches[0]


class _Loaded:
    def __init__(self, name: str, device: str | None) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self._name = name
        try:
            model: Any = AutoModelForSequenceClassification.from_pretrained(
                name,
                local_files_only=True,
                use_safetensors=True,
                # Where peft is installed, transformers asks the hub for an adapter, too.
                adapter_kwargs={"local_files_only": True},
            )
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(_unusable(name, error)) from error
        self._entailment = entailment_label(model.config.id2label, name)
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model = model.eval().to(self._device)
        declared = int(self._tokenizer.model_max_length)  # a huge number if unset
        position = int(getattr(model.config, "max_position_embeddings", _MAX_TOKENS))
        self._limit = min(declared, position if position > 0 else _MAX_TOKENS, _MAX_TOKENS)

    def entailed(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Classify one batch; logits have the shape (pairs, labels)."""
        import torch

        premises, hypotheses = [p for p, _ in pairs], [h for _, h in pairs]
        encoded = self._tokenizer(
            premises,
            hypotheses,
            truncation="longest_first",
            max_length=self._limit,
            padding=True,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            logits = self._model(**encoded).logits
        return [float(p) for p in torch.softmax(logits.float(), dim=1)[:, self._entailment]]


def _unusable(name: str, error: Exception) -> str:
    """Say in one line why the model of the setting cannot be used, and what to do."""
    if Path(name).is_dir():
        why, remedy = _line(error), "put such a model there"
    elif Path(name).is_absolute() or name.startswith((".", "~")):
        why, remedy = "there is no such folder", "name one that is there"
    elif isinstance(error, OSError):  # its text blames a network that was not used
        why, remedy = "it is not on this machine", f"fetch it with `hf download {name}`"
    else:
        why, remedy = _line(error), f"fetch it again with `hf download {name}`"
    return (
        f"the entailment model {name!r} that RAGKIT_NLI_MODEL names cannot be loaded: {why}:"
        f" {remedy}, or unset RAGKIT_NLI_MODEL, and answers are checked by words alone"
    )


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(". ")
