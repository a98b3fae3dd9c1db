"""POST /v1/rerank: texts of the request put in order for a query, as Cohere and vLLM have it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragkit.access.library import Caller
from ragkit.knowledge.cosine_reranker import CosineReranker
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import RESPONSES
from ragkit_serve.api.lengths import at_most
from ragkit_serve.api.threads import admitted

router = APIRouter()
MAX_DOCUMENTS: Final = 256  # arbitrary: seconds of work on a CPU
# As many texts of 2,000 characters: most rerankers read 512 tokens, some 2,000 characters of
# English, and score a longer text in parts of that.
MAX_CHARS: Final = MAX_DOCUMENTS * 2000

Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class RerankRequest(BaseModel):
    """A query, and the texts to put in order."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "query": "How many days of leave?",
                    "documents": ["Leave is 28 days a year.", "The canteen opens at noon."],
                    "top_n": 1,
                }
            ]
        },
    )
    query: Annotated[str, Field(min_length=1, max_length=32_000)]
    documents: Annotated[
        list[Text],
        Field(min_length=1, max_length=MAX_DOCUMENTS),
        AfterValidator(at_most(MAX_CHARS)),
    ]
    model: Annotated[str, Field(max_length=500)] | None = None
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool = True


class Ranked(BaseModel):
    """A text's place among those of the request, and how well it fits, higher is better."""

    index: int
    relevance_score: float
    document: dict[str, str] | None = None


class Ranking(BaseModel):
    """The texts, best first."""

    id: str
    model: str
    results: list[Ranked]


@router.post("/v1/rerank", responses=RESPONSES, response_model=Ranking, summary="Rerank texts")
async def rerank(
    request: Request, body: RerankRequest, caller: Annotated[Caller, needs("read")]
) -> Response:
    """Put texts in order for a query, the best first."""
    return await admitted(request, caller, lambda: _ranked(request, body))


def _ranked(request: Request, body: RerankRequest) -> dict[str, Any]:
    from uuid import uuid4

    library = request.app.state.services.library
    reranker = library.reranker or CosineReranker(library.embedder)
    reranker.load()
    scores = reranker.rerank(body.query, body.documents)
    order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))[: body.top_n]
    results = [
        Ranked(
            index=n,
            relevance_score=round(float(scores[n]), 6),
            document={"text": body.documents[n]} if body.return_documents else None,
        )
        for n in order
    ]
    settings = request.app.state.services.settings
    model = library.embedder.space.model if settings.embed_url else settings.embed_model
    name = body.model or (model if library.reranker is None else library.reranker.name)
    return Ranking(id=f"rerank-{uuid4().hex}", model=name, results=results).model_dump()
