"""Load a transformers model and let it write: the part of `local` that touches torch.

It runs wherever it is called, knows no event loop and no timeouts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.errors import ModelError, ModelServerError
from ragkit.types import Decoding, Finish, Usage

if TYPE_CHECKING:
    import torch

_WANTED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
_ENDLESS = 10**12  # what transformers writes for a tokenizer whose length it does not know
_ETAG_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model with its tokenizer; `turn` is held by the answer being written."""

    name: str
    model: Any
    tokenizer: Any
    context_tokens: int | None
    turn: threading.Lock = field(default_factory=threading.Lock)

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """Turn texts into token ids, without special tokens."""
        encodings: Sequence[Sequence[int]] = self.tokenizer(
            list(texts), add_special_tokens=False, verbose=False
        )["input_ids"]
        return encodings

    def prompt(self, messages: Sequence[Mapping[str, str]]) -> torch.Tensor:
        """Write messages as the model's chat template wants them: ids of shape (1, tokens)."""
        from jinja2 import TemplateError

        try:
            ids: torch.Tensor = self.tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, return_tensors="pt", return_dict=True
            )["input_ids"]
        except (ValueError, TemplateError) as error:
            raise ModelServerError(
                f"model {self.name!r} has no chat template for these messages"
                f" ({' '.join(str(error).split())[:200]}): use an instruction-tuned model"
            ) from error
        return ids.to(self.model.device)


def place(device: str | None) -> str:
    """Return the torch device that a model will be on: the named one, else a GPU, else the CPU."""
    import torch

    return device or ("cuda" if torch.cuda.is_available() else "cpu")


_loading = threading.Lock()


def load(model: str, device: str | None) -> Loaded:
    """Load a model once. Raises ModelError naming the model and the remedy."""
    with _loading:  # two at once would need twice the memory
        return _load(model, device)


@lru_cache(maxsize=2)
def _load(model: str, device: str | None) -> Loaded:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ragkit.embed.precision import torch_dtype

    folder = _folder(model)
    device = place(device)
    try:
        with _no_progress_bars():
            tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            network: Any = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch_dtype(device), use_safetensors=True, trust_remote_code=False
            )
            network.to(torch.device(device)).eval()
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        words = " ".join(str(error).split())[:300]
        raise ModelError(
            f"language model {model} cannot be loaded ({words}): it must be a chat model that"
            " transformers knows, in safetensors"
        ) from error
    return Loaded(model, network, tokenizer, _context_tokens(network, tokenizer))


def generate(
    loaded: Loaded,
    prompt: torch.Tensor,
    decoding: Decoding,
    max_tokens: int,
    say: Callable[[str | Finish | ModelServerError], None],
    stop: threading.Event,
) -> None:
    """Write one answer, saying each piece and then a Finish or an error, until `stop` is set."""
    while not loaded.turn.acquire(timeout=0.1):
        if stop.is_set():
            return
    try:
        say(_generate(loaded, prompt, decoding, max_tokens, say, stop))
    except (RuntimeError, ValueError) as error:  # out of memory, or settings at odds
        words = " ".join(str(error).split())[:300]
        say(ModelServerError(f"model {loaded.name!r} failed: {words}"))
    finally:
        loaded.turn.release()


def _generate(
    loaded: Loaded,
    prompt: torch.Tensor,
    decoding: Decoding,
    max_tokens: int,
    say: Callable[[str], None],
    stop: threading.Event,
) -> Finish:
    import torch
    from transformers import TextStreamer

    class Streamer(TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
            if text:
                say(text)

    def stopped(input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        return torch.full((input_ids.shape[0],), stop.is_set(), device=input_ids.device)

    devices = [loaded.model.device] if loaded.model.device.type == "cuda" else []
    with torch.inference_mode(), torch.random.fork_rng(devices):
        if decoding.seed is not None:
            torch.manual_seed(decoding.seed)
        written = loaded.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=max_tokens,
            streamer=Streamer(loaded.tokenizer, skip_prompt=True, skip_special_tokens=True),
            stopping_criteria=[stopped],
            pad_token_id=loaded.tokenizer.pad_token_id or loaded.tokenizer.eos_token_id,
            **_sampling(decoding),
        )
    count = written.shape[1] - prompt.shape[1]
    ended = int(written[0, -1]) in _end_tokens(loaded)
    reason = "length" if count >= max_tokens and not ended else "stop"
    return Finish(reason, Usage(prompt.shape[1], count))


def _sampling(decoding: Decoding) -> dict[str, Any]:
    """Name the settings as transformers does; the model's own defaults must not come through."""
    options: dict[str, Any] = {"do_sample": decoding.temperature > 0}
    if decoding.temperature > 0:
        options["temperature"] = decoding.temperature
        for name in ("top_p", "top_k", "min_p"):
            if getattr(decoding, name) is not None:
                options[name] = getattr(decoding, name)
    else:
        options |= {"temperature": None, "top_p": None, "top_k": None, "min_p": None}
    if decoding.repetition_penalty is not None:
        options["repetition_penalty"] = decoding.repetition_penalty
    return options


def _end_tokens(loaded: Loaded) -> set[int]:
    ends = loaded.model.generation_config.eos_token_id
    listed = ends if isinstance(ends, list) else [ends]
    return {token for token in [*listed, loaded.tokenizer.eos_token_id] if token is not None}


def _context_tokens(network: Any, tokenizer: Any) -> int | None:
    config = network.config.get_text_config()
    length = getattr(config, "max_position_embeddings", None)
    limits = [n for n in (length, tokenizer.model_max_length) if isinstance(n, int)]
    return min((n for n in limits if 0 < n < _ENDLESS), default=None)


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    from transformers.utils import logging as library_logging

    logging: Any = library_logging  # partly unannotated
    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def _folder(model: str) -> Path:
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_absolute() or model.startswith((".", "~")):
        raise ModelError(f"language model folder {model} does not exist: name one that does")
    from huggingface_hub import errors, snapshot_download

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except errors.HFValidationError as error:
        raise ModelError(
            f"language model {model!r} is neither a folder nor a hub name: name one of them"
        ) from error
    except OSError:  # not in the cache
        pass
    try:
        found = snapshot_download(model, allow_patterns=list(_WANTED), etag_timeout=_ETAG_TIMEOUT_S)
    except (OSError, errors.HTTPError) as error:  # type: ignore[attr-defined]
        raise ModelError(
            f"language model {model} is not in the local cache and the hub did not give it: check"
            " the name and the network, or put a folder after local:"
        ) from error
    return Path(found)
