"""POST /v1/embeddings: the embedding model that the documents are searched with."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragkit.access.library import Caller
from ragkit.contracts import Embedder
from ragkit.errors import ModelError
from ragkit_serve.api.access import needs
from ragkit_serve.api.errors import RESPONSES, ApiError
from ragkit_serve.api.lengths import at_most
from ragkit_serve.api.model_names import RAGKIT
from ragkit_serve.api.threads import admitted

router = APIRouter()
MAX_TEXTS: Final = 256  # arbitrary: seconds of work on a CPU
# Some 250,000 tokens of English; OpenAI's own bound on a request is 300,000 tokens.
MAX_CHARS: Final = 1_000_000

Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class EmbeddingRequest(BaseModel):
    """Texts to embed; `kind` says whether they are passages or what is asked of them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"model": "all-MiniLM-L6-v2", "input": ["How many days of leave?"]}]
        },
    )
    model: Annotated[str, Field(min_length=1, max_length=500)]
    input: Annotated[
        Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)],
        AfterValidator(at_most(MAX_CHARS)),
    ]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1, le=100_000)] | None = None
    user: str | None = None
    kind: Literal["passage", "query"] = "passage"


class EmbeddingOut(BaseModel):
    """One text's vector: numbers, or little-endian float32 in base64."""

    object: str = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingList(BaseModel):
    """The vectors in the order of the texts."""

    object: str = "list"
    data: list[EmbeddingOut]
    model: str
    usage: dict[str, int]


@router.post(
    "/v1/embeddings", responses=RESPONSES, response_model=EmbeddingList, summary="Embed texts"
)
async def embeddings(
    request: Request, body: EmbeddingRequest, caller: Annotated[Caller, needs("read")]
) -> Response:
    """Embed texts with the model that the documents are searched with; nothing is ever cut."""
    return await admitted(request, caller, lambda: _embedded(request, body))


def _embedded(request: Request, body: EmbeddingRequest) -> dict[str, Any]:
    embedder: Embedder = request.app.state.services.library.embedder
    embedder.load()
    space = embedder.space
    settings = request.app.state.services.settings
    named = space.model if settings.embed_url else settings.embed_model
    if body.model not in {space.model, named, RAGKIT}:
        raise ApiError(
            404,
            f"there is no embedding model {body.model[:100]!r}: this server has {space.model}",
            code="model_not_found",
            param="model",
        )
    if body.dimensions not in {None, space.dimension}:
        raise ApiError(
            400,
            f"{space.model} has {space.dimension} dimensions: leave `dimensions` out",
            param="dimensions",
            code="invalid_value",
        )
    texts = [body.input] if isinstance(body.input, str) else body.input
    tokens = _counted(embedder, texts)
    if body.kind == "query":
        vectors = [embedder.embed_query(text) for text in texts]
    else:
        vectors = list(embedder.embed_passages(texts))
    data = [
        EmbeddingOut(index=n, embedding=_encoded(vector, body.encoding_format))
        for n, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return EmbeddingList(data=data, model=space.model, usage=usage).model_dump()


def _counted(embedder: Embedder, texts: list[str]) -> int:
    """Count all tokens. Raises ApiError for a text that the model cannot read whole."""
    total = 0
    for n, text in enumerate(texts):
        try:
            count = len(embedder.token_spans(text))
        except ModelError as error:
            raise ApiError(400, str(error), param=f"input.{n}", code="invalid_value") from error
        if count > embedder.max_tokens:
            raise ApiError(
                400,
                f"input {n} has {count} tokens, the model reads {embedder.max_tokens}: split it",
                param=f"input.{n}",
                code="context_length_exceeded",
            )
        total += count
    return total


def _encoded(vector: Any, form: str) -> list[float] | str:
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [float(value) for value in vector]
