"""What every evaluation is made of: items that are asked, responses, and how these scored.

Plain values; they know nothing of who answers, how it is scored, or where it is written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ragkit.types import Usage

Method = Literal["letter", "loglikelihood", "generate", "rag"]


@dataclass(frozen=True, slots=True)
class Item:
    """One question as it is asked; what a task does not have is empty.

    `id` is unique in the task and does not change with the order of the data. `prompt` is the whole
    prompt, byte for byte. `targets` are the right answers; of a multiple choice, the right labels.
    `labels` are the letters of a multiple choice and `choices` the continuations whose likelihood
    is asked, one for each label. `question` is what a report shows of the prompt. `group` is a
    subject, `cluster` a passage or document that several items share, so that they are not
    independent. `extra` holds what only the task's own scorer reads, as JSON values.
    """

    id: str
    prompt: str
    targets: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    question: str = ""
    group: str = ""
    cluster: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A continuation's log-likelihood (natural logarithm), its tokens, and whether each was the
    model's first choice."""

    logprob: float
    tokens: int
    greedy: bool


@dataclass(frozen=True, slots=True)
class Response:
    """What a model or a knowledge base made of one item.

    `top` are the first token's candidates with their log-probabilities, best first; `likelihoods`
    has one entry per choice. `finish` is "stop" or "length". `detail` holds JSON values that a
    scorer or a report reads besides: a knowledge base's passages and citations.
    """

    text: str = ""
    finish: str = ""
    top: tuple[tuple[str, float], ...] = ()
    likelihoods: tuple[Likelihood, ...] = ()
    usage: Usage | None = None
    latency_s: float = 0.0
    first_token_s: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scored:
    """How a response did: the prediction read out of it, and a value per metric, 0 to 1.

    `fallback` says that the prediction was not where it should have been and was found by a
    second rule, or not at all. A metric that cannot be told of this item is absent.
    """

    prediction: str
    scores: Mapping[str, float]
    fallback: bool = False


class Ask(Protocol):
    """Answers items; many calls run at once."""

    async def __call__(self, item: Item) -> Response:
        """Answer one item. Raises ModelError, which the runner records as the item's error."""
        ...


class Task(Protocol):
    """A named set of items and how their responses are scored."""

    @property
    def name(self) -> str:
        """The name it is run by, with its form: "mmlu", "mmlu:lm-eval", "bbh:cot"."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever prompts or scoring do; goes into every signature."""
        ...

    @property
    def method(self) -> Method:
        """How items are asked."""
        ...

    @property
    def metric(self) -> str:
        """The metric that a run is first judged by; each item's scores have it."""
        ...

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Return what goes with each request: max_tokens, stop, temperature, chat."""
        ...

    @property
    def data_hash(self) -> str:
        """The first 16 hex digits of the sha256 of the data files' bytes, in order of name."""
        ...

    def items(self) -> Iterator[Item]:
        """Read the items, always in the same order. Raises UsageError naming file and line."""
        ...

    def score(self, item: Item, response: Response) -> Scored:
        """Score one response; pure, except where the task runs programs."""
        ...
