"""What tests of all that answers share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust no certificates: everything is on this machine, and to read the usual ones takes each

    HTTP client 30 ms, which is longer than most requests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("no-certificates")))
        yield
