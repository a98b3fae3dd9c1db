"""The OpenAPI document is complete, and schemathesis finds nothing that it does not say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from tests.serve.api.conftest import Serve

EXAMPLES: Final = 50  # of each of some forty operations
SHARES: Final = 4
NAMES: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_says_what_it_does_needs_and_answers(serve: Serve) -> None:
    with serve() as live:
        document = httpx.get(f"{live.url}/openapi.json").json()
    found = operations(document)
    assert len(found) > 25
    for path, method, operation in found:
        where = f"{method} {path}"
        assert operation.get("summary"), where
        assert operation.get("description"), where
        if path not in {"/livez", "/readyz"}:
            assert operation.get("security") == [{"key": []}], where
            assert {"400", "401", "403", "429"} <= set(operation["responses"]), where
        assert "422" not in operation["responses"], where
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body is not None:
            name = body["schema"]["$ref"].rpartition("/")[2]
            assert document["components"]["schemas"][name].get("examples"), where


@pytest.mark.long
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("with_key", [True, False])
def test_nothing_is_answered_that_is_not_declared(
    serve: Serve, key: Callable[..., str], with_key: bool, share: int
) -> None:
    """Requests as they are declared, and such as are not."""
    secret = key("read", "write", "admin", "metrics")
    headers = {"authorization": f"Bearer {secret}"}
    with serve(serve_key_rate=1_000_000) as live:
        schema: Any = schemathesis.openapi.from_url(f"{live.url}/openapi.json", headers=headers)
        every = [result.ok() for result in schema.get_all_operations()]
        assert len(every) > 25
        statuses: set[int] = set()
        for operation in every[share::SHARES]:
            if not with_key and operation.path in {"/livez", "/readyz"}:
                continue
            for mode in GenerationMode:
                statuses |= answered(operation, mode, headers if with_key else {})
    assert {401} & statuses if not with_key else {200, 400} <= statuses


def answered(operation: Any, mode: GenerationMode, headers: dict[str, str]) -> set[int]:
    """Send examples of an operation, and check each answer; return their statuses."""
    statuses: set[int] = set()

    @settings(
        max_examples=EXAMPLES if headers else EXAMPLES // 10,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        response = case.call(headers=headers, timeout=60)
        statuses.add(response.status_code)
        case.validate_response(response, checks=[CHECKS.get_one(name) for name in NAMES])
        if response.status_code >= 400:
            error = response.json()["error"]
            assert error.keys() == {"message", "type", "param", "code"}
            assert "\n" not in error["message"]
        if not headers:
            assert response.status_code in {400, 401, 413, 429}, case.path

    with suppress(Unsatisfiable):  # what takes nothing cannot be asked wrongly
        check()
    return statuses
