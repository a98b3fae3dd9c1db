"""A small language model in this process, through transformers, on CPU or GPU.

One answer at a time, from safetensors and without code from the model's folder. For more than a
laptop's own questions a server is the better place.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence

from ragkit.errors import ModelError, ModelServerError
from ragkit.model.bridge import Pieces
from ragkit.model.limits import Piece, bounded
from ragkit.model.local_generate import Loaded, generate, load, place
from ragkit.model.stops import Stops
from ragkit.model.thinking import Thinking
from ragkit.types import Decoding, Finish, Message


class LocalModel:
    """Continue chats with a model from a folder, the hub's local cache or the hub.

    Loading happens at the first use, once for each model and process. `total_timeout_s` bounds an
    answer, waiting for its turn included.
    """

    def __init__(
        self,
        model: str,
        *,
        decoding: Decoding | None = None,
        total_timeout_s: float = 600.0,
        context_tokens: int | None = None,
        device: str | None = None,
    ) -> None:
        self._model = model
        self._decoding = decoding or Decoding()
        self._total_timeout_s = total_timeout_s
        self._context = context_tokens
        self._device = device

    @property
    def name(self) -> str:
        return self._model

    @property
    def counting(self) -> str:
        """Say how `count_tokens` counts."""
        return f"the tokenizer of {self._model}"

    @property
    def on_gpu(self) -> bool:
        """Tell whether the model will run on a GPU."""
        return place(self._device) != "cpu"

    def load(self) -> Loaded:
        """Load the model; a second call is quick. Raises ModelError when it cannot be had."""
        return load(self._model, self._device)

    def stream(
        self, messages: Sequence[Message], decoding: Decoding | None = None
    ) -> Pieces[Piece]:
        """Yield the answer as it is made; see `ragkit.contracts.LanguageModel`.

        Raises ModelError for a prompt beyond the model's context, and for what only a server can
        do: presence_penalty, a JSON schema, a regex.
        """
        chosen = decoding or self._decoding
        for name in ("presence_penalty", "json_schema", "regex"):
            if getattr(chosen, name) is not None:
                raise ModelError(
                    f"a model in this process takes no {name}: take it away, or serve"
                    f" {self._model} with `ragkit model serve`"
                )
        answer = self._answer(messages, chosen)
        return Pieces(bounded(answer, self._total_timeout_s, f"model {self._model!r}"))

    def context_tokens(self) -> int | None:
        """Return the context length in the model's configuration, or the settings' if less."""
        limits = [n for n in (self._context, self.load().context_tokens) if n is not None]
        return min(limits, default=None)

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        """Count with the model's own tokenizer, without special tokens."""
        if not texts:
            return []
        return [len(ids) for ids in self.load().encode(texts)]

    async def _answer(
        self, messages: Sequence[Message], decoding: Decoding
    ) -> AsyncGenerator[Piece, None]:
        loaded = await asyncio.to_thread(self.load)
        prompt = loaded.prompt([{"role": m.role, "content": m.content} for m in messages])
        length, limit = prompt.shape[1], self.context_tokens()
        if limit is not None and length >= limit:
            raise ModelServerError(
                f"model {self._model!r}: the prompt has {length} tokens and the model's context"
                f" {limit}: use a smaller RAGKIT_LLM_BUDGET_TOKENS or a model with a longer context"
            )
        room = decoding.max_tokens if limit is None else min(decoding.max_tokens, limit - length)
        loop, stop = asyncio.get_running_loop(), threading.Event()
        queue: asyncio.Queue[str | Finish | ModelServerError] = asyncio.Queue()

        def say(item: str | Finish | ModelServerError) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, item)

        work = threading.Thread(
            target=generate, args=(loaded, prompt, decoding, room, say, stop), daemon=True
        )
        work.start()
        try:
            stops, thinking = Stops(decoding.stop), Thinking()
            while not isinstance(item := await queue.get(), Finish):
                if isinstance(item, ModelServerError):
                    raise item
                for part in thinking.feed(stops.feed(item)):
                    yield part
                if stops.met:
                    stop.set()
            for part in [*thinking.feed(stops.end()), *thinking.end()]:
                yield part
            yield Finish("stop", item.usage) if stops.met else item
        finally:
            stop.set()
