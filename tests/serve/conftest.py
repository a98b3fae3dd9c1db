"""What tests of all that answers share."""

import inspect
from collections.abc import Iterator

import httpx
import pytest

# Without a timeout of its own a request waits 5 seconds, which a busy machine can take.
inspect.signature(httpx.get).parameters["timeout"].default.read = 60.0


@pytest.fixture(scope="module", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust no certificates: everything is on this machine, and to read the usual ones takes each

    HTTP client 30 ms, which is longer than most requests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("no-certificates")))
        yield
