"""Rows of language models as tokens: which of them are trained, and what is wrong with a row.

A prompt is rendered and encoded as a server does it; the answer's tokens follow. No row is cut or
left out: rows that cannot be trained on whole end the run before it begins.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from job import Log, StopError  # beside this script

MAX_SHARE: Final = 0.9  # of trained tokens: above it, the prompts are trained on too
SHOWN_CHARS: Final = 300  # of the first row's trained text, in the log; arbitrary
NAMED: Final = 5  # rows that a message names

# For a base without a template: as plain as a template can be. The result's folder keeps it.
PLAIN_TEMPLATE: Final = (
    "{% if bos_token %}{{ bos_token }}{% endif %}"
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ message['content'] + eos_token + '\n' }}"
    "{% else %}{{ message['content'] + '\n\n' }}{% endif %}"
    "{% endfor %}"
)

Message = dict[str, str]


@dataclass(frozen=True)
class Encoded:
    """A row's tokens: those of the prompt are read, those of the answer are trained."""

    row: str
    prompt: list[int]
    answer: list[int]

    @property
    def ids(self) -> list[int]:
        """Return all tokens."""
        return self.prompt + self.answer


class Encoder:
    """Renders rows by the tokenizer's chat template and collects what is wrong with them."""

    def __init__(self, tokenizer: Any, stops: frozenset[int], max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self._stops = stops
        self._max_tokens = max_tokens
        self._faults: dict[str, list[str]] = defaultdict(list)
        self._longest = 0
        self._count = 0

    def encode(self, row: str, prompt: Sequence[Message], answer: str) -> Encoded:
        """Encode a row; what is wrong with it is raised by `check`, with all others."""
        self._count += 1
        beginning = self._render(row, prompt, is_prompt=True)
        rendered = self._render(row, [*prompt, {"role": "assistant", "content": answer}])
        if not rendered.startswith(beginning):
            fault = "are rendered with another prompt than a server sends: mend the chat template"
            self._faults[fault].append(row)
            return Encoded(row, [], [])
        read, trained = self._split(beginning, rendered)
        encoded = Encoded(row, read, self._cut_after_stop(trained))
        if not answer.strip() or not encoded.answer:
            self._faults["have no token to train: fill in their answers"].append(row)
        elif not self._holds(encoded.answer, answer):
            self._faults["lose their answer in the chat template: mend it"].append(row)
        if len(encoded.ids) > self._max_tokens:
            self._longest = max(self._longest, len(encoded.ids))
            self._faults[_LONG].append(f"{row}: {len(encoded.ids)}")
        return encoded

    def check(self, encoded: Sequence[Encoded], log: Log) -> None:
        """Raise StopError for what is wrong; else log the first row's trained text and the share.

        Raises it also when the share of trained tokens says that prompts are trained on.
        """
        if self._faults:
            raise StopError("; ".join(self._describe(*fault) for fault in self._faults.items()))
        trained = sum(len(row.answer) for row in encoded)
        share = trained / sum(len(row.ids) for row in encoded)
        first = encoded[0]
        text = self.tokenizer.decode(first.answer)[:SHOWN_CHARS]
        if share > MAX_SHARE:
            raise StopError(
                f"{share:.0%} of the tokens would be trained, those of row {first.row} are"
                f" {text[:80]!r}: prompts must not be trained on: mend the chat template, or the"
                " rows"
            )
        log.write(step=0, event="trained tokens", row=first.row, text=text, share=round(share, 4))
        log.tell(f"stage: {share:.1%} of the tokens are trained; of row {first.row}: {text!r}")

    def _describe(self, fault: str, rows: Sequence[str]) -> str:
        named = ", ".join(rows[:NAMED]) + (" and others" if len(rows) > NAMED else "")
        remedy = fault.format(limit=self._max_tokens, longest=self._longest)
        return f"{len(rows)} of {self._count} texts ({named}) {remedy}"

    def _render(self, row: str, messages: Sequence[Message], *, is_prompt: bool = False) -> str:
        from jinja2 import TemplateError

        try:
            text: str = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=is_prompt
            )
        except (TemplateError, TypeError, KeyError) as error:
            raise StopError(
                f"the chat template cannot render row {row} ({error}): take a base with another"
            ) from error
        return text

    def _split(self, beginning: str, rendered: str) -> tuple[list[int], list[int]]:
        """Encode the prompt alone, as a server does, and then the rest."""
        read, together = self._ids(beginning), self._ids(rendered)
        if together[: len(read)] == read:
            return read, together[len(read) :]
        return read, self._ids(rendered[len(beginning) :])  # a token would span the border

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _cut_after_stop(self, answer: list[int]) -> list[int]:
        """End an answer with the token that a server stops at; a template may go on, or end before.

        A model that is never trained to stop never does.
        """
        for n in range(len(answer) - 1, -1, -1):
            if answer[n] in self._stops:
                return answer[: n + 1]
        return [*answer, self.tokenizer.eos_token_id] if answer else answer

    def _holds(self, ids: list[int], answer: str) -> bool:
        """Tell whether tokens hold an answer, as far as this tokenizer can write it."""
        expected = self.tokenizer.decode(self._ids(answer.strip())).split()
        return "".join(expected) in "".join(self.tokenizer.decode(ids).split())


_LONG: Final = (
    "have more than {limit} tokens: set -o max_tokens={longest}, or make the rows with fewer"
    " passages"
)


def load_tokenizer(base: str) -> Any:
    """Load a base's tokenizer. Raises StopError where it cannot end a text."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            base, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise StopError(f"{base} has no tokenizer that can be read ({_line(error)})") from error
    if tokenizer.eos_token_id is None:
        raise StopError(f"the tokenizer of {base} has no token that ends a text: set eos_token")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if not tokenizer.chat_template:
        tokenizer.chat_template = PLAIN_TEMPLATE
    return tokenizer


def stop_tokens(base: str, tokenizer: Any) -> frozenset[int]:
    """Return the tokens at which a server ends an answer."""
    try:
        values = json.loads((Path(base) / "generation_config.json").read_text("utf-8"))
    except (OSError, ValueError):
        values = {}
    ids = values.get("eos_token_id")
    named = ids if isinstance(ids, list) else [ids]
    return frozenset({tokenizer.eos_token_id, *(n for n in named if isinstance(n, int))})


def _line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:200]
