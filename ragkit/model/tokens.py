"""Count a model's tokens: with its tokenizer if it is here, else its server's, else an estimate.

It never downloads, and counts rather too many than too few where it must estimate.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelError
from ragkit.model.bridge import run
from ragkit.model.failures import explain, foreign_errors
from ragkit.model.server import PROBE_TIMEOUT_S, ModelServer
from ragkit.text.length import estimate_tokens

if TYPE_CHECKING:
    import openai
    from tokenizers import Tokenizer

_KEPT: Final = 4096  # texts whose counts are remembered; arbitrary, some MB at most
ASK_AGAIN_S: Final = 30.0  # of servers that could not tell; arbitrary


class TokenCounter:
    """Counts as the tokenizer `tokenizer` (a folder or a hub name in the local cache) would.

    Without one, the model's name is looked up in the same places, then `servers` are asked through
    their `client`, again `ASK_AGAIN_S` after they failed. `how` says in words what counted last,
    and why nothing better.
    """

    def __init__(
        self,
        model: str,
        tokenizer: str | None = None,
        servers: Sequence[ModelServer] = (),
        client: Callable[[ModelServer], openai.AsyncOpenAI] = ModelServer.client,
    ) -> None:
        self.how = "not counted yet"
        self._model = model
        self._named = tokenizer
        self._servers = tuple(servers)
        self._client = client
        self._ask_after = 0.0
        self._tokenizer: Tokenizer | None = None
        self._looked = False
        self._kept: dict[str, int] = {}

    def load(self) -> None:
        """Load the tokenizer, if it is here. Raises ModelError."""
        self._own()

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """Count each text's tokens, without special ones.

        Raises ModelError when the tokenizer that the settings name is not there.
        """
        tokenizer = self._own()
        if tokenizer is not None:
            encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
            return [len(encoding.ids) for encoding in encodings]
        if self._servers and texts and time.monotonic() >= self._ask_after:
            counts = self._served(texts)
            if counts is not None:
                return counts
        return [estimate_tokens(text) for text in texts]

    def configured_context(self) -> int | None:
        """Return the context length in the model's configuration, if that is here."""
        file = cached_file(self._model, "config.json")
        if file is None:
            return None
        try:
            config = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        length = config.get("max_position_embeddings") if isinstance(config, dict) else None
        return length if isinstance(length, int) and length > 0 else None

    def _own(self) -> Tokenizer | None:
        if self._looked:
            return self._tokenizer
        self._looked = True
        name = self._named or self._model
        file = cached_file(name, "tokenizer.json")
        if file is not None:
            self._tokenizer = _read(file)
            self.how = f"the tokenizer of {name}"
        elif self._named is not None:
            self._looked = False
            raise ModelError(
                f"tokenizer {self._named} is neither a folder with tokenizer.json nor in the local"
                " cache: correct RAGKIT_LLM_TOKENIZER"
            )
        else:
            self.how = f"an estimate: the tokenizer of {name} is not here"
        return self._tokenizer

    def _served(self, texts: Sequence[str]) -> Sequence[int] | None:
        """Ask one server after the other for what is not remembered; None when all failed."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._kept))
        failures = []
        for server in self._servers:
            try:
                found = run(self._ask(server, missing)) if missing else []
            except foreign_errors() as error:
                failures.append(_reason(error, server))
                continue
            self.how = f"the tokenizer of {server.shown}"
            self._kept |= zip(missing, found, strict=True)
            counts = [self._kept[text] for text in texts]
            if len(self._kept) > _KEPT:
                self._kept = {}
            return counts
        self._ask_after = time.monotonic() + ASK_AGAIN_S
        self.how = f"an estimate: no tokenizer of {self._model} is here, and {failures[-1]}"
        return None

    async def _ask(self, server: ModelServer, texts: Sequence[str]) -> Sequence[int]:
        """Ask vLLM's /tokenize, or that of llama.cpp's Python server, for each text's count."""
        root = server.url.rstrip("/").removesuffix("/v1")
        client = self._client(server)
        # Counting needs no patience: there is the estimate.
        async with asyncio.timeout(min(server.timeout_s, PROBE_TIMEOUT_S)):
            return [await _count(client, root, self._model, text) for text in texts]


def _reason(error: Exception, server: ModelServer) -> str:
    import openai

    if isinstance(error, openai.NotFoundError):  # as Ollama's
        return f"the server {server.shown} counts none"
    return str(run(explain(error, server)))


def cached_file(model: str, name: str) -> Path | None:
    """Find a file of a model in its folder or in the hub's local cache, asking no network."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        file = folder / name
        return file if file.is_file() else None
    from huggingface_hub import errors, try_to_load_from_cache

    try:
        path = try_to_load_from_cache(model, name)
    except errors.HFValidationError:  # no hub name
        return None
    return Path(path) if isinstance(path, str) else None


def _read(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the Rust library raises nothing more exact
        raise ModelError(f"tokenizer {file} cannot be read: {error}") from error


async def _count(client: openai.AsyncOpenAI, root: str, model: str, text: str) -> int:
    import openai

    body: dict[str, Any] = {"model": model, "prompt": text, "add_special_tokens": False}
    try:
        answer = await client.post(f"{root}/tokenize", body=body, cast_to=object)
    except openai.NotFoundError:
        ask = {"model": model, "input": text}
        answer = await client.post(f"{root}/extras/tokenize/count", body=ask, cast_to=object)
    count = answer.get("count") if isinstance(answer, dict) else None
    if not isinstance(count, int) or count < 0:
        raise ValueError("no count")
    return count
