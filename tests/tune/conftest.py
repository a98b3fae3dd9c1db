"""What tests of training share: a database and a home for a module."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from ragkit.settings.settings import Settings
from tests.databases import Databases


@pytest.fixture(scope="module")
def settings(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with databases.take() as url:
        yield Settings(database_url=SecretStr(url), home=tmp_path_factory.mktemp("home"))
