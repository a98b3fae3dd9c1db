"""What ragkit adds to a streamed answer over calling the server directly with httpx."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import median
from time import perf_counter

import httpx

from benchmarks.data import cmrc, knowledge_base
from benchmarks.serving_stub import PACE_S, PIECES, running
from ragkit import KnowledgeBase, Settings
from ragkit.answer.write.llm import ChatGenerator
from ragkit.contracts import LanguageModel
from ragkit.knowledge import build
from ragkit.model.wire import request_body
from ragkit.types import Answer, Decoding, Finish, Message, Reasoning

DOCUMENTS = 40
QUESTIONS = 60
ROUNDS = {"at once": 5, "paced": 3}
_WARM_UP = 10


@dataclass(frozen=True, slots=True)
class Seen:
    """When the first piece of an answer came, and the mean time to each further one, in seconds."""

    first: float
    per_piece: float


def _seen(began: float, times: Sequence[float]) -> Seen:
    # ragkit may hold a marker back, to pass it on with what follows.
    assert any(abs(len(times) - count) <= 1 for count in PIECES.values()), len(times)
    return Seen(times[0] - began, (times[-1] - times[0]) / (len(times) - 1))


class Recorded:
    """A language model that keeps the messages it was last asked with."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.asked: Sequence[Message] = ()

    @property
    def name(self) -> str:
        return self.model.name

    def stream(
        self, messages: Sequence[Message], decoding: Decoding | None = None
    ) -> Iterator[str | Reasoning | Finish]:
        self.asked = messages
        return self.model.stream(messages, decoding)

    def context_tokens(self) -> int | None:
        return self.model.context_tokens()

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        return self.model.count_tokens(texts)


def section() -> str:
    """Measure all three ways in turns, and write the table."""
    labelled = cmrc()
    few = dict(list(labelled.documents.items())[:DOCUMENTS])
    asked = [q.text for q in labelled.questions if set(q.relevant) <= few.keys()][:QUESTIONS]
    seen = {}
    with running() as urls, knowledge_base(replace(labelled, documents=few)) as filled:
        for kind, url in urls.items():
            seen[kind] = _all_ways(filled, url, [*asked[:_WARM_UP], *asked * ROUNDS[kind]])
    return _table(seen)


def _all_ways(filled: KnowledgeBase, url: str, questions: Sequence[str]) -> dict[str, list[Seen]]:
    model = build.language_model(Settings(llm_url=url, llm_model="stub"))
    assert model is not None
    recorded = Recorded(model)
    kb = KnowledgeBase(
        filled.store, filled.embedder, ChatGenerator(recorded), collection=filled.collection
    )
    with httpx.Client(timeout=30, trust_env=False) as client:
        return _measure(kb, recorded, lambda messages: _directly(client, url, messages), questions)


def _measure(
    kb: KnowledgeBase,
    recorded: Recorded,
    directly: Callable[[Sequence[Message]], Seen],
    questions: Sequence[str],
) -> dict[str, list[Seen]]:
    seen: dict[str, list[Seen]] = {"directly": [], "model": [], "knowledge base": []}
    random = Random(0)
    for number, question in enumerate(questions):
        recorded.asked = ()
        whole = _knowledge_base(kb, question)
        if whole is None:  # refused: the server was not asked
            continue
        messages = recorded.asked
        ways = {
            "directly": lambda: directly(messages),  # noqa: B023  called at once
            "model": lambda: _model(recorded.model, messages),  # noqa: B023
        }
        found = {"knowledge base": whole}
        for name in random.sample(sorted(ways), 2):
            found[name] = ways[name]()
        if number >= _WARM_UP:
            for name, one in found.items():
                seen[name].append(one)
    return seen


def _directly(client: httpx.Client, url: str, messages: Sequence[Message]) -> Seen:
    """Do the least that a program can: write JSON, read lines, read each one's text."""
    began, times = perf_counter(), []
    body = request_body("stub", messages, Decoding())
    with client.stream("POST", f"{url}/chat/completions", json=body) as reply:
        for line in reply.iter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            choices = json.loads(line[6:])["choices"]
            if choices and choices[0]["delta"].get("content"):
                times.append(perf_counter())
    return _seen(began, times)


def _model(model: LanguageModel, messages: Sequence[Message]) -> Seen:
    began, times = perf_counter(), []
    for piece in model.stream(messages):
        if isinstance(piece, str):
            times.append(perf_counter())
    return _seen(began, times)


def _knowledge_base(kb: KnowledgeBase, question: str) -> Seen | None:
    """Ask, and take away what searching and judging took, which no direct call does."""
    began, times, answer = perf_counter(), [], None
    for piece in kb.stream(question):
        if isinstance(piece, Answer):
            answer = piece
        elif isinstance(piece, str):
            times.append(perf_counter())
    assert answer is not None
    if answer.refused:
        return None
    before = began + answer.timings["retrieve"] + answer.timings["gate"]
    return _seen(before, times)


def _table(seen: Mapping[str, Mapping[str, Sequence[Seen]]]) -> str:
    names = {
        "directly": "httpx, each line's JSON read",
        "model": "`LanguageModel.stream`",
        "knowledge base": "`KnowledgeBase.stream`, less search and cut-off",
    }
    counts = {kind: len(ways["directly"]) for kind, ways in seen.items()}
    lines = [
        "### Added to the server's own time\n",
        "A stub server in a process of its own, asked in turns with the same messages: questions of"
        f" CMRC 2018 about {DOCUMENTS} paragraphs. First piece: the server sends one piece in"
        f" {1000 * PACE_S:.0f} ms ({counts['paced']} questions), as a model does; per further"
        f" piece: it sends {PIECES['at once']} at once ({counts['at once']} questions). Medians,"
        " and medians of the differences to the direct call of the same messages, in milliseconds."
        " The knowledge base packs the prompt, with the server counting its tokens, and takes links"
        " and markers without a source out of what comes.\n",
        "| way | first piece | added | per piece | added |",
        "|---|---|---|---|---|",
    ]
    for name, shown in names.items():
        first, more = _medians(seen["paced"], name, lambda one: one.first)
        piece, each = _medians(seen["at once"], name, lambda one: one.per_piece)
        added = ("", "") if name == "directly" else (f"{more:+.2f}", f"{each:+.3f}")
        lines.append(f"| {shown} | {first:.2f} | {added[0]} | {piece:.3f} | {added[1]} |")
    return "\n".join(lines) + "\n"


def _medians(
    ways: Mapping[str, Sequence[Seen]], name: str, of: Callable[[Seen], float]
) -> tuple[float, float]:
    """Return the median and that of the differences to the direct call, in milliseconds."""
    own, base = map(of, ways[name]), map(of, ways["directly"])
    pairs = list(zip(own, base, strict=True))
    return 1000 * median(x for x, _ in pairs), 1000 * median(x - y for x, y in pairs)
