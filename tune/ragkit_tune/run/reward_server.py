"""Score answers by ragkit's own check, for a worker that knows nothing of ragkit.

`python -m ragkit_tune.run.reward_server` reads JSON lines {"reference", "sources", "answers"}, with
sources as rows of chats have them, and writes a line for each: {"scores"}, or {"error"}.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

SUPPORTED: Final = frozenset({"quoted", "supported"})


def main(lines: TextIO, answers: TextIO) -> None:
    """Answer requests until their end."""
    for line in lines:
        try:
            request = json.loads(line)
            reply: dict[str, Any] = {"scores": score_all(request)}
        except (ValueError, KeyError, TypeError) as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def score_all(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Score each answer of a request."""
    return [score(text, request["reference"], request["sources"]) for text in request["answers"]]


def score(answer: str, reference: str, sources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Score an answer to a question whose right answer is known.

    Where the reference refuses, a refusal gets 1 and all else 0; elsewhere a refusal gets 0, and an
    answer `supported * (1 + covered) / 2`: the share of its sentences that the sources support,
    halved as far as it lacks the reference's words. The sources alone would reward a sentence that
    is copied from them, whatever was asked.
    """
    from ragkit.answer.write.llm import refusal_in

    refused = bool(refusal_in(answer))
    if refused or refusal_in(reference):
        right = refused and bool(refusal_in(reference))
        return {"reward": float(right), "supported": 0.0, "covered": 0.0, "refused": refused}
    supported, covered = supported_share(answer, sources), covered_share(answer, reference)
    return {
        "reward": supported * (1 + covered) / 2,
        "supported": supported,
        "covered": covered,
        "refused": False,
    }


def supported_share(answer: str, sources: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of an answer's sentences that its cited sources support; 0 without any."""
    from ragkit.answer.check.verify import verify
    from ragkit.answer.write.citations import cite
    from ragkit.types import Draft

    hits = [_hit(n, source) for n, source in enumerate(sources, 1)]
    texts = {hit.document: hit.text for hit in hits}
    draft = Draft(answer, cite(answer, hits), refused=False, reason="")
    claims = verify(draft, texts.__getitem__, hits).claims
    return sum(claim.support in SUPPORTED for claim in claims) / max(1, len(claims))


def covered_share(answer: str, reference: str) -> float:
    """Return the share of the reference's terms that an answer has; 1 for a reference without."""
    from ragkit.text.analyse import analyse
    from ragkit.text.markers import without_markers

    terms = set(analyse(without_markers(reference)))
    return len(terms & set(analyse(without_markers(answer)))) / len(terms) if terms else 1.0


def _hit(number: int, source: Mapping[str, Any]) -> Any:
    from ragkit.types import Hit

    text = str(source["text"])
    headings = tuple(map(str, source.get("headings", ())))
    title = str(source.get("title", ""))
    uri = str(source["document"])
    return Hit(number, number, uri, title, None, 0, len(text), text, 0.0, headings=headings)


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
