"""A chat completion's answer in OpenAI's wire format, whole or in chunks, with its citations.

The citations stand beside the text, in `context`; clients that know nothing of them lose nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from ragkit.cli.render import claim_json
from ragkit.json_values import copy_as, to_json
from ragkit.types import Answer, Citation, Hit, Usage
from ragkit_serve.api.annotations import url_citations


@dataclass(frozen=True)
class CitationOut(Citation):
    """A place in a document that an answer points to, with the score of its passage."""

    __pydantic_config__ = ConfigDict(json_schema_serialization_defaults_required=True)
    score: float | None = None


class ChatCompletion(BaseModel):
    """An answer; of what is described elsewhere, any field may be there."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "id": "chatcmpl-5f0c",
                    "object": "chat.completion",
                    "created": 1790000000,
                    "model": "ragkit",
                    "choices": [
                        {
                            "index": 0,
                            "message": {
                                "role": "assistant",
                                "content": "You have 28 days of leave a year [1].",
                                "annotations": [
                                    {
                                        "type": "url_citation",
                                        "url_citation": {
                                            "start_index": 33,
                                            "end_index": 36,
                                            "title": "[1] Handbook",
                                            "url": "http://127.0.0.1:8080/v1/documents/7/text"
                                            "?start=210&end=251",
                                        },
                                    }
                                ],
                                "context": {
                                    "citations": [
                                        {
                                            "n": 1,
                                            "document": 7,
                                            "version": 1,
                                            "uri": "upload:handbook.md",
                                            "title": "Handbook",
                                            "headings": ["Handbook", "Leave"],
                                            "page": None,
                                            "start": 210,
                                            "end": 251,
                                            "quote": "Everybody has 28 days of leave a year.",
                                            "score": 4.2,
                                            "verdict": "verified",
                                        }
                                    ],
                                    "refused": False,
                                },
                            },
                            "finish_reason": "stop",
                        }
                    ],
                    "usage": {"prompt_tokens": 15, "completion_tokens": 12, "total_tokens": 27},
                }
            ]
        },
    )
    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """The passages that an answer will be made from."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """What is the same in everything that is sent of one completion.

    `server` is the address that links to documents begin with.
    """

    model: str
    server: str
    conversation: str | None = None
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answers: Sequence[Answer], usage: Sequence[Usage]) -> dict[str, Any]:
        """Return the answer to a request that is not streamed, with the sum of its tokens."""
        choices = [
            {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": answer.text,
                    "refusal": None,
                    **({"reasoning": answer.reasoning} if answer.reasoning else {}),
                    **self.checked(answer),
                },
                "logprobs": None,
                "finish_reason": finish_reason(answer),
            }
            for index, answer in enumerate(answers)
        ]
        return self._head("chat.completion") | {"choices": choices, "usage": usage_json(usage)}

    def chunk(
        self, index: int, delta: dict[str, Any], finish_reason: str | None = None
    ) -> dict[str, Any]:
        """Return one chunk of a stream."""
        choice = {
            "index": index,
            "delta": delta,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        return self._head("chat.completion.chunk") | {"choices": [choice]}

    def usage_chunk(self, usage: Sequence[Usage]) -> dict[str, Any]:
        """Return the last chunk of a stream that was asked to tell its tokens."""
        head = self._head("chat.completion.chunk")
        return head | {"choices": [], "usage": usage_json(usage)}

    def checked(self, answer: Answer) -> dict[str, Any]:
        """Return what stands beside an answer's text: OpenAI's annotations, ragkit's context."""
        return {
            "annotations": url_citations(answer, self.server),
            "context": self.context(answer),
        }

    def context(self, answer: Answer) -> dict[str, Any]:
        """Return what was checked of an answer."""
        return {
            "citations": [_cited(citation, answer.hits) for citation in answer.citations],
            "refused": answer.refused,
            "reason": answer.reason,
            "unverified": list(answer.unverified),
            "claims": [claim_json(claim) for claim in answer.claims],
            "timings": to_json(answer.timings, digits=4),
            "prompt": answer.prompt,
            "conversation": self.conversation,
        }

    def found(self, hits: Sequence[Hit]) -> dict[str, Any]:
        """Return the passages found, as citations that nobody has checked yet."""
        return {"citations": [_passage(n, hit) for n, hit in enumerate(hits, 1)]}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def finish_reason(answer: Answer) -> str:
    """Return "length" for an answer that was cut off, else "stop"."""
    return "length" if answer.reason and not answer.refused else "stop"


def usage_json(usages: Sequence[Usage]) -> dict[str, Any]:
    """Add up the tokens of several calls."""
    prompt = sum(usage.prompt_tokens for usage in usages)
    completion = sum(usage.completion_tokens for usage in usages)
    counted = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    cached = [usage.cached_tokens for usage in usages if usage.cached_tokens is not None]
    if cached:
        counted["prompt_tokens_details"] = {"cached_tokens": sum(cached)}  # type: ignore[assignment]
    return counted


def _cited(citation: Citation, hits: Sequence[Hit]) -> dict[str, Any]:
    score = next(_scores(citation, hits), None)
    fields: dict[str, Any] = to_json(copy_as(CitationOut, citation, score=score))
    return fields


def _scores(citation: Citation, hits: Sequence[Hit]) -> Iterator[float]:
    """Yield the scores of the passages that a citation lies in."""
    for hit in hits:
        if hit.document == citation.document and hit.start <= citation.start < hit.end:
            yield round(hit.score, 6)


def _passage(n: int, hit: Hit) -> dict[str, Any]:
    citation = copy_as(CitationOut, hit, n=n, quote=hit.text, score=round(hit.score, 6))
    fields: dict[str, Any] = to_json(citation)
    return fields
