"""A tree of thoughts: next questions to search for, of which the best supported are followed.

Tree of Thoughts (Yao and others, arXiv:2305.10601), breadth first: a language model proposes, a
search tells what the documents hold of each proposal, and the gate's signals score it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Final

from ragkit.agent.bounds import is_over
from ragkit.agent.run import MAX_STEPS, MAX_TOKENS, Step
from ragkit.agent.search import PASSAGES
from ragkit.errors import QueryError
from ragkit.model.tally import tally
from ragkit.prompts.ask_model import ask_model
from ragkit.prompts.messages import neutralise, prompt_language, source_block
from ragkit.system.clock import Clock
from ragkit.types import Answer, Draft, Hit, Query

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.prompts.templates import Templates

KEPT: Final = 2  # branches that are followed; arbitrary, the paper takes 1 to 5
DEPTH: Final = 2  # searches on each way after the first; arbitrary
MAX_SOURCES: Final = 8  # of a branch, shown for the next thoughts; arbitrary
MAX_CHARS: Final = 300  # of a thought: longer is no question; as of a rewritten follow-up
ENOUGH: Final = "ENOUGH"
_REPLY_TOKENS: Final = 512  # more than five questions have, for a thinking model
_REPLY_S: Final = 60.0  # arbitrary; the user waits for it
_NUMBER: Final = re.compile(r"^\s*+(?:[-*•]|\d{1,2}[.)、．])\s*+")


@dataclass(frozen=True, slots=True)
class Branch:
    """What was searched for on one way, what it found, and how well that supports it, 0 to 1.

    `latest` are the hits of the last search.
    """

    queries: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    score: float = 0.0
    latest: tuple[Hit, ...] = ()


class Tree:
    """Answer questions from a knowledge base by following the best supported of several thoughts.

    A step asks the model for `thoughts` next questions of each branch. At most `max_steps` calls of
    the model are made, the answer's included, and none once `max_tokens` have been spent; the
    knowledge base's generator answers from what the best branches found.
    """

    def __init__(
        self,
        knowledge: KnowledgeBase,
        model: LanguageModel,
        *,
        templates: Templates,
        thoughts: int,
        max_steps: int = MAX_STEPS,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self._knowledge = copy(knowledge)
        self._knowledge.plan = Query  # the model words its queries itself
        self._model = model
        self._templates = templates
        self._thoughts = thoughts
        self._max_steps = max_steps
        self._max_tokens = max_tokens

    def stream(self, question: str) -> Iterator[Step | Answer]:
        """Yield each step once it is done, then the verified Answer.

        Raises QueryError for a question without a word, NotFoundError for an unknown collection,
        ModelServerError, and ModelError at once when claims cannot be checked.
        """
        self._knowledge.load_entailment()
        clock = Clock()
        root, seconds = self._search(question, Branch())
        yield _thought(root, seconds, is_kept=True)
        branches, searched = [root], {question}
        calls = spent = 0
        for _ in range(DEPTH):
            grown: list[tuple[Branch, float]] = []
            for branch in branches:
                if is_over(calls + 1, spent, self._max_steps, self._max_tokens):
                    break  # one call is left for the answer
                step, thoughts = self._proposed(question, branch)
                yield step
                calls, spent = calls + 1, spent + step.tokens
                fresh = [text for text in thoughts if text not in searched]
                searched.update(fresh)
                grown += self._searched(fresh, branch)
            ranked = sorted(grown, key=lambda pair: -pair[0].score)
            kept = [branch for branch, _ in ranked[:KEPT] if branch.score > 0]
            for branch, took_s in grown:
                yield _thought(branch, took_s, is_kept=branch in kept)
            if not kept:
                break
            branches = kept
        hits = _merged(branches)
        pieces = self._knowledge.generator.generate(question, hits)
        draft = next(piece for piece in pieces if isinstance(piece, Draft))
        clock.stop("agent")
        yield self._knowledge.verified(draft, hits, clock)

    def _proposed(self, question: str, branch: Branch) -> tuple[Step, list[str]]:
        """Ask the model what to search for next; none where it has enough."""
        started = perf_counter()
        sources = [source_block(n, hit) for n, hit in enumerate(branch.hits[:MAX_SOURCES], 1)]
        prompt = self._templates.render(
            "thoughts",
            prompt_language(question),
            count=self._thoughts,
            question=neutralise(question),
            searched=[neutralise(query) for query in branch.queries],
            sources=sources,
            enough=ENOUGH,
        )
        with tally() as usages:
            reply = ask_model(self._model, prompt, max_tokens=_REPLY_TOKENS, timeout_s=_REPLY_S)
        tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)
        tokens = tokens or sum(self._model.count_tokens([prompt, reply]))
        step = Step("model", reply, (), perf_counter() - started, tokens)
        return step, _questions(reply, self._thoughts)

    def _searched(self, thoughts: Sequence[str], branch: Branch) -> list[tuple[Branch, float]]:
        grown = []
        for thought in thoughts:
            try:
                grown.append(self._search(thought, branch))
            except QueryError:  # it has no word to search for
                continue
        return grown

    def _search(self, query: str, branch: Branch) -> tuple[Branch, float]:
        """Search on from a branch; its score is the mean support of all its searches."""
        started = perf_counter()
        hits = self._knowledge.search(query, k=PASSAGES)
        support = self._knowledge.gate.support(query, hits)
        depth = len(branch.queries)
        grown = Branch(
            (*branch.queries, query),
            _distinct([*branch.hits, *hits]),
            (branch.score * depth + support) / (depth + 1),
            tuple(hits),
        )
        return grown, perf_counter() - started


def _questions(reply: str, count: int) -> list[str]:
    """Read at most `count` questions of a reply, one on each line; those that are too long go.

    >>> _questions("1. How long is it?\\n\\n- Who pays?\\n3) Why?", 2), _questions("ENOUGH", 2)
    (['How long is it?', 'Who pays?'], [])
    """
    lines = [_NUMBER.sub("", line).strip() for line in reply.splitlines()]
    lines = [line for line in lines if 0 < len(line) <= MAX_CHARS]
    if ENOUGH in {line.strip(" .。*").upper() for line in lines}:
        return []
    return list(dict.fromkeys(lines))[:count]


def _thought(branch: Branch, seconds: float, *, is_kept: bool) -> Step:
    """Report the last search of a branch."""
    score = round(branch.score, 4)
    return Step(
        "search", branch.queries[-1], branch.latest, seconds, score=score, is_followed=is_kept
    )


def _merged(branches: Sequence[Branch]) -> tuple[Hit, ...]:
    return _distinct(chain.from_iterable(branch.hits for branch in branches))


def _distinct(hits: Iterator[Hit] | Sequence[Hit]) -> tuple[Hit, ...]:
    return tuple({hit.chunk: hit for hit in reversed(list(hits))}.values())[::-1]
