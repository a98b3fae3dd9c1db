"""The OpenAPI document is complete, and schemathesis finds nothing that it does not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS

from tests.serve.api.conftest import Serve

EXAMPLES = 6  # of each of some forty operations


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
@pytest.mark.parametrize("with_key", [True, False])
def test_nothing_is_answered_that_is_not_declared(
    serve: Serve, key: Callable[..., str], with_key: bool
) -> None:
    secret = key("read", "write", "admin", "metrics")
    headers = {"authorization": f"Bearer {secret}"}
    with serve(serve_key_rate=1_000_000) as live:
        schema: Any = schemathesis.openapi.from_url(f"{live.url}/openapi.json", headers=headers)
        checks = [
            CHECKS.get_one(name)
            for name in (
                "not_a_server_error",
                "status_code_conformance",
                "content_type_conformance",
                "response_schema_conformance",
            )
        ]
        statuses: set[int] = set()
        for result in schema.get_all_operations():
            operation = result.ok()
            if not with_key and operation.path in {"/livez", "/readyz"}:
                continue

            @settings(
                max_examples=EXAMPLES if with_key else 2,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given_case(operation)
            def check(case: Any) -> None:
                sent = headers if with_key else {}
                response = case.call(headers=sent, timeout=60)
                statuses.add(response.status_code)
                case.validate_response(response, checks=checks)
                if not with_key:
                    assert response.status_code in {400, 401, 413, 429}, case.path

            check()
    assert 200 in statuses or not with_key
    assert with_key or 401 in statuses


def given_case(operation: Any) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    return given(case=operation.as_strategy())
