"""A language model that returns a scripted text, word by word."""

import re
from collections.abc import Callable, Iterator, Sequence

from ragkit.types import Decoding, Finish, Message, Reasoning, Usage


class FakeLanguageModel:
    """Say `script(messages)`, or an exception that it raises; a plain text is said every time.

    A token is a word with the space before it. `asked` keeps the messages and the decoding of each
    call. `max_tokens` and `stop` are obeyed, the rest of a decoding is not.
    """

    def __init__(
        self,
        script: str | Callable[[Sequence[Message]], str] = "Yes.",
        *,
        reasoning: str = "",
        context_tokens: int | None = 4096,
    ) -> None:
        self.asked: list[tuple[tuple[Message, ...], Decoding | None]] = []
        self._script = script
        self._reasoning = reasoning
        self._context_tokens = context_tokens

    @property
    def name(self) -> str:
        return "fake"

    def stream(
        self, messages: Sequence[Message], decoding: Decoding | None = None
    ) -> Iterator[str | Reasoning | Finish]:
        self.asked.append((tuple(messages), decoding))
        requested = decoding or Decoding()
        text = self._script if isinstance(self._script, str) else self._script(messages)
        for stop in requested.stop:
            text = text.partition(stop)[0]
        tokens = _tokens(text)
        output = tokens[: requested.max_tokens]
        prompt = sum(self.count_tokens([message.content for message in messages]))
        if self._reasoning:
            yield Reasoning(self._reasoning)
        yield from output
        yield Finish("stop" if output == tokens else "length", Usage(prompt, len(output)))

    def context_tokens(self) -> int | None:
        return self._context_tokens

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        return [len(_tokens(text)) for text in texts]


def _tokens(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)
