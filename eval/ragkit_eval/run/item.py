"""Define the values of every evaluation: items, responses, scored responses, and tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from ragkit.types import Usage

TWO_SIDED: Final = "range:-1..1"  # in the signature of a metric of which 0 is best, as of a bias
Method = Literal["letter", "loglikelihood", "generate", "rag"]


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a task; fields that a task does not use are empty.

    `id` is unique in the task and does not depend on the order of the data. `prompt` is the entire
    prompt, byte for byte. `targets` are the right answers; of a multiple choice, the right labels.
    `labels` are the letters of a multiple choice and `choices` the continuations whose likelihood
    is measured, one for each label. `question` is the part of the prompt that a report shows.
    `group` is a subject, `cluster` a passage or document that several items share, so that they are
    not independent. `extra` holds JSON values that only the task's scorer reads. `turns` are the
    user's later messages: each is sent after the model's answer to the one before.
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
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A continuation's log-likelihood (natural logarithm) and its number of tokens.

    `greedy` says that each token was the model's first choice.
    """

    logprob: float
    tokens: int
    greedy: bool


@dataclass(frozen=True, slots=True)
class Response:
    """The response of a model or a knowledge base to one item.

    `top` are the first token's candidates with their log-probabilities, best first; `likelihoods`
    has one entry per choice. `finish` is "stop" or "length". `detail` holds further JSON values
    for a scorer or a report, such as a knowledge base's passages and citations.
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
    """The prediction read from a response, and a value per metric, 0 to 1, of a bias -1 to 1.

    `fallback` says that the prediction was not in its expected place, so that a second rule found
    it or none did. A metric that is undefined for this item is absent.
    """

    prediction: str
    scores: Mapping[str, float]
    fallback: bool = False


class Ask(Protocol):
    """A function that answers items; many calls run concurrently."""

    async def __call__(self, item: Item) -> Response:
        """Answer one item. Raises ModelError, which the runner records as the item's error."""
        ...


class Task(Protocol):
    """A named set of items, and how their responses are scored."""

    @property
    def name(self) -> str:
        """Return the name with its form: "mmlu", "mmlu:lm-eval", "bbh:cot"."""
        ...

    @property
    def version(self) -> str:
        """Return the version, which changes with prompts and scoring and is in every signature."""
        ...

    @property
    def method(self) -> Method:
        """Return how items are asked."""
        ...

    @property
    def metric(self) -> str:
        """Return the first metric, by which a run is judged; every item has it."""
        ...

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Return the parameters of each request: max_tokens, stop, temperature, chat."""
        ...

    @property
    def data_hash(self) -> str:
        """Return 16 hex digits of the sha256 of the data files' bytes, in order of name."""
        ...

    def items(self) -> Iterator[Item]:
        """Read the items, always in the same order. Raises UsageError naming file and line."""
        ...

    def score(self, item: Item, response: Response) -> Scored:
        """Score one response; a pure function except where the task runs programs."""
        ...
