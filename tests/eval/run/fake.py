"""A task of made-up items, for tests of who asks and keeps: not a benchmark."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragkit_eval.run.item import Item, Method, Response, Scored


def by_top(item: Item, response: Response) -> Scored:
    """Take the likeliest first token for the letter."""
    letter = response.top[0][0].strip() if response.top else response.text.strip()
    return Scored(letter, {"acc": float(letter in item.targets)}, fallback=not response.top)


@dataclass(frozen=True)
class FakeTask:
    """Some items, and a function that scores."""

    made: Sequence[Item]
    name: str = "fake"
    version: str = "1"
    method: Method = "letter"
    metric: str = "acc"
    sampling: Mapping[str, Any] = field(default_factory=lambda: {"max_tokens": 1, "stop": ()})
    data_hash: str = "0123456789abcdef"
    scorer: Callable[[Item, Response], Scored] = by_top

    def items(self) -> Iterator[Item]:
        return iter(self.made)

    def score(self, item: Item, response: Response) -> Scored:
        return self.scorer(item, response)


def items(count: int, **more: Any) -> list[Item]:
    """Make so many questions whose right answer is always A."""
    return [
        Item(f"q{n}", f"Question {n}?\nAnswer:", ("A",), labels=tuple("ABCD"), **more)
        for n in range(count)
    ]
