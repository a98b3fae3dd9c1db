"""Errors as the OpenAI wire format has them, each with the status that makes clients raise rightly.

{"error": {"message", "type", "param", "code"}}.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from starlette.responses import JSONResponse

from ragkit.errors import (
    BusyError,
    DatabaseError,
    IncompleteAnswerError,
    ModelServerBusyError,
    ModelServerError,
    NotFoundError,
    RagkitError,
    UsageError,
)

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import Request

_NAME: Final = re.compile(r"\w+")
log = logging.getLogger("ragkit.serve")

# OpenAI's names where it has one for the status.
_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
RETRY_AFTER_S: Final = 5  # arbitrary: a database or model server that failed is asked again then


class ErrorBody(BaseModel):
    """What went wrong, on which field, and what to do about it."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(BaseModel):
    """Every answer that is no success."""

    model_config = {
        "json_schema_extra": {
            "examples": [
                {
                    "error": {
                        "message": "there is no collection 'manuals'",
                        "type": "not_found_error",
                        "param": None,
                        "code": "not_found",
                    }
                }
            ]
        }
    }
    error: ErrorBody


class ApiError(RagkitError):
    """An answer with this status; `retry_after_s` is told to the client."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.headers = dict(headers or {})
        if retry_after_s is not None:
            self.headers["retry-after"] = str(retry_after_s)


_SAID: Final = {
    400: "The request cannot be used.",
    401: "There is no valid key with the request.",
    403: "The key may not do this.",
    404: "There is no such thing.",
    405: "This address does not know the method.",
    408: "The body of the request came too slowly.",
    409: "What is asked for is in use at the moment.",
    413: "The request is larger than the server takes.",
    415: "The body is of another type than the address takes.",
    421: "The server does not go by the name that the request has in Host.",
    429: "The key's quota, or the model server's, is used up; Retry-After says when to ask again.",
    500: "The server has a defect; its log says which, by the x-request-id.",
    502: "The language-model server failed.",
    503: "The server or the model server is full, or it is shutting down or without its database;"
    " see Retry-After.",
}
_OF_ROUTES: Final = {
    "Not Found": "there is nothing at this address: /openapi.json lists those that there are",
    "Method Not Allowed": "this address does not take the method: Allow names those that it takes",
}
# What any route may answer beside its success, for the OpenAPI document.
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorAnswer, "description": said} for status, said in _SAID.items()
}


def body(
    status: int, message: str, *, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """Return an error's JSON."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    line = " ".join(message.split())
    return {"error": {"message": line, "type": kind, "param": param, "code": code}}


# The first that an error is decides. A line stands for errors whose own words are the owner's to
# read: they name addresses, and quote what other servers said.
_SEE: Final = "see the server's log, by this x-request-id"
_FAILED: Final = "the model server failed"
_STATUSES: Final[tuple[tuple[type[RagkitError], int, str | None, str], ...]] = (
    (NotFoundError, 404, "not_found", ""),
    (BusyError, 409, "busy", ""),
    (UsageError, 400, "invalid_value", ""),
    (DatabaseError, 503, "database", f"the database failed or cannot be reached: {_SEE}"),
    (IncompleteAnswerError, 502, "model_server", f"{_FAILED} in the middle of its answer: {_SEE}"),
    (ModelServerError, 502, "model_server", f"{_FAILED}: {_SEE}"),
    (RagkitError, 500, None, f"the server failed: {_SEE}"),
)
request_id: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)


def api_error(error: RagkitError) -> ApiError:
    """Give one of ragkit's errors its status.

    What the server could not do is logged; clients get a message without its own parts.
    """
    if isinstance(error, ApiError):
        return error
    status, code, line = next((s, c, t) for kind, s, c, t in _STATUSES if isinstance(error, kind))
    if status >= 500:
        log.warning("%s", error, extra={"fields": {"request": request_id.get()}})
    if isinstance(error, ModelServerBusyError):
        return _busy(error)
    retry = RETRY_AFTER_S if status in {409, 503} else None
    return ApiError(status, line or str(error), code=code, retry_after_s=retry)


def _busy(error: ModelServerBusyError) -> ApiError:
    wait_s = max(1, math.ceil(error.retry_after_s)) if error.retry_after_s else RETRY_AFTER_S
    message = f"the model server takes no more requests now: ask again in {wait_s} s"
    return ApiError(error.status, message, code="model_server_full", retry_after_s=wait_s)


def answer(error: ApiError) -> JSONResponse:
    """Make the response of an error."""
    content = body(error.status, str(error), code=error.code, param=error.param)
    return JSONResponse(content, error.status, headers=error.headers)


def install(app: FastAPI) -> None:
    """Have every failure of the app's routes answered in this format."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    async def expected(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RagkitError)
        return answer(api_error(error))

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        return answer(_invalid(error))  # type: ignore[arg-type]

    async def plain(request: Request, error: Exception) -> JSONResponse:
        return answer(of_http(error))  # type: ignore[arg-type]

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        return answer(ApiError(500, f"the server failed: {_SEE}"))

    app.add_exception_handler(RagkitError, expected)
    app.add_exception_handler(Exception, unexpected)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)


def _invalid(error: RequestValidationError) -> ApiError:
    """Name the first field that is wrong; what stood there may be private and is not repeated."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        message = f"the body is no JSON from character {first['loc'][-1]} on"
        return ApiError(400, message, code="json_invalid")
    if first["loc"] == ("body",) and first["type"] in {"missing", "model_attributes_type"}:
        message = "the body must be a JSON object, sent as content-type: application/json"
        return ApiError(400, message, code=first["type"])
    # First comes where it stood; a union names its member by a type, which is no field.
    name = ".".join(str(part) for part in first["loc"][1:] if _NAME.fullmatch(str(part)))
    reason = first["msg"].removeprefix("Value error, ")
    message = f"{name}: {reason}" if name else reason
    status = 413 if first["type"] == "too_large" else 400
    return ApiError(status, message, code=str(first["type"]), param=name or None)


def of_http(error: HTTPException) -> ApiError:
    """Make an error of one of Starlette's."""
    codes = {404: "not_found", 405: "method_not_allowed", 408: "slow", 413: "too_large"}
    code = codes.get(error.status_code)
    # Starlette's own are the status's name.
    message = _OF_ROUTES.get(str(error.detail), str(error.detail))
    return ApiError(error.status_code, message, code=code, headers=error.headers)
