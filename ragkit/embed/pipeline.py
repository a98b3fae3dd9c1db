"""Any other architecture, run by sentence-transformers: token ids in, sentence vectors out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.errors import ModelError

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class PipelineEncoder:
    """Encode batches of token ids with a model's own modules, whatever they are."""

    model: Any

    def __call__(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        import torch

        real = torch.ones_like(ids) if mask is None else mask.long()
        vectors: Tensor = self.model({"input_ids": ids, "attention_mask": real})[
            "sentence_embedding"
        ]
        return vectors.float()


def load_pipeline(folder: Path, device: str, dtype: torch.dtype) -> PipelineEncoder:
    """Load a folder without network, remote code or pickled weights."""
    from sentence_transformers import SentenceTransformer

    loaded = load_offline(SentenceTransformer, folder, device, "model", "embedding model")
    return PipelineEncoder(loaded.to(dtype).eval())


def load_offline(kind: Any, folder: Path, device: str, purpose: str, instead: str) -> Any:
    """Load a folder as one of sentence-transformers' kinds of model.

    Without network, remote code or pickled weights. Raises ModelError, which calls the folder
    `purpose` and asks for another `instead`.
    """
    try:
        with quiet_loading():
            return kind(
                str(folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{purpose} folder {folder} cannot be loaded ({reason}): name another {instead}"
        ) from error


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Silence the library's bars and reports while loading, and leave it as it was."""
    from transformers.utils import logging as library_logging

    logging: Any = library_logging  # partly unannotated
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
