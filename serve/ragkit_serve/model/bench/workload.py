"""The questions that a benchmark asks: a system prompt for all, passages shared by a few, short
answers; made up by a seed, or read from a file. It knows nothing of servers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

from ragkit.errors import NotFoundError, UsageError
from ragkit.types import Message
from ragkit_serve.model.bench.text import Language, chars, passage, rules

PASSAGES: Final = 5  # in a prompt; arbitrary
_ROLES: Final = ("system", "user", "assistant")
_WARM_UP: Final = "[warm-up]\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat to be continued; those of one group share their passages."""

    messages: tuple[Message, ...]
    group: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the made-up prompts are like; sizes in about so many tokens.

    The defaults are about what `ragkit ask` sends where there is no GPU.
    """

    requests: int = 64
    prefix_tokens: int = 256
    prompt_tokens: int = 1536
    questions: int = 4
    languages: tuple[Language, ...] = ("en", "zh")
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Prompts in the order they are asked, and how long their answers may be.

    With `ignore_eos` each answer has exactly `answer_tokens` tokens, where the server heeds it.
    """

    prompts: tuple[Prompt, ...]
    answer_tokens: int = 64
    ignore_eos: bool = False

    @property
    def hash(self) -> str:
        """Name everything that is asked: two runs of the same workload can be compared."""
        asked = [[(m.role, m.content) for m in prompt.messages] for prompt in self.prompts]
        text = json.dumps([asked, self.answer_tokens, self.ignore_eos])
        return sha256(text.encode()).hexdigest()


def make_prompts(shape: Shape) -> tuple[Prompt, ...]:
    """Make prompts up: the same for the same shape, the groups in one random order.

    Raises UsageError for a prompt that is shorter than its prefix.
    """
    if shape.prompt_tokens <= shape.prefix_tokens:
        raise UsageError(
            f"a prompt of {shape.prompt_tokens} tokens cannot begin with {shape.prefix_tokens}"
            " shared ones: raise --prompt-tokens"
        )
    system = {
        language: Message(
            "system",
            rules(chars(shape.prefix_tokens, language), language, Random(f"{shape.seed} rules")),  # noqa: S311  repeatable, no secret
        )
        for language in shape.languages
    }
    prompts: list[Prompt] = []
    for group in range(-(-shape.requests // shape.questions)):
        language = shape.languages[group % len(shape.languages)]
        asked = _group(shape, language, Random(f"{shape.seed} group {group}"))  # noqa: S311  repeatable, no secret
        prompts += [Prompt((system[language], message), group) for message in asked]
    prompts = prompts[: shape.requests]
    Random(f"{shape.seed} order").shuffle(prompts)  # noqa: S311  repeatable, no secret
    return tuple(prompts)


def _group(shape: Shape, language: Language, random: Random) -> list[Message]:
    size = chars(shape.prompt_tokens - shape.prefix_tokens, language) // PASSAGES
    blocks, questions = [], []
    for n in range(1, PASSAGES + 1):
        text, about = passage(size, language, random)
        blocks.append(f'<source id="{n}">\n{text}\n</source>')
        questions += about
    chosen = [questions[random.randrange(len(questions))] for _ in range(shape.questions)]
    # Two of a group must differ, or the second would be a repetition and no question of its own.
    numbered = [f"{n}. {question}" for n, question in enumerate(chosen, start=1)]
    return [Message("user", "\n\n".join([*blocks, question])) for question in numbered]


def read_prompts(path: Path, requests: int) -> tuple[Prompt, ...]:
    """Read the first prompts of a JSON-lines file, {"messages": [...]} or {"prompt": "..."} each.

    Raises NotFoundError, UsageError naming the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: save it as UTF-8") from error
    prompts: list[Prompt] = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and len(prompts) < requests:
            prompts.append(Prompt(_messages(line, f"{path}, line {number}"), len(prompts)))
    if not prompts:
        raise UsageError(f'{path} holds no prompts: write lines like {{"prompt": "..."}}')
    return tuple(prompts)


def _messages(line: str, where: str) -> tuple[Message, ...]:
    wrong = (
        f'{where}: write {{"prompt": "..."}} or {{"messages": [{{"role": ..., "content": ...}}]}}'
    )
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(wrong) from error
    if not isinstance(value, dict):
        raise UsageError(wrong)
    given = value.get("messages", [{"role": "user", "content": value.get("prompt")}])
    if not isinstance(given, list) or not given or not all(_is_message(one) for one in given):
        raise UsageError(wrong)
    return tuple(Message(one["role"], one["content"]) for one in given)


def _is_message(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in _ROLES
        and isinstance(value.get("content"), str)
        and bool(value["content"].strip())
    )


def marked(prompt: Prompt, mark: str) -> Prompt:
    """Put a mark before everything, so that no prefix cache knows the prompt from an earlier run.

    Marks of one length make prompts of one length, give or take a token.
    """
    first, *rest = prompt.messages
    return Prompt((Message(first.role, f"[{mark}]\n{first.content}"), *rest), prompt.group)


def warm_ups(prompts: Sequence[Prompt], count: int) -> tuple[Prompt, ...]:
    """Make prompts like these to warm a server up with: the system prompt's, but of other words.

    What follows the system prompt begins differently, so that no passage is cached by them.
    """
    chosen = [prompts[n % len(prompts)] for n in range(count)]
    made = []
    for prompt in chosen:
        *first, last = prompt.messages
        made.append(Prompt((*first, Message(last.role, _WARM_UP + last.content)), prompt.group))
    return tuple(made)


def body(prompt: Prompt, workload: Workload, model: str) -> Mapping[str, Any]:
    """Write the request that asks a prompt, greedily and streamed, as ragkit does."""
    from ragkit.model.wire import request_body
    from ragkit.types import Decoding

    asked = request_body(model, prompt.messages, Decoding(max_tokens=workload.answer_tokens))
    return asked | ({"ignore_eos": True} if workload.ignore_eos else {})
