"""What keeps a server from starting."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import OtherModelError
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing.corpus import CORPUS, fill
from ragkit_serve.web.supervise import serve
from tests.core.embed.tiny_model import write_model


def test_a_model_that_is_another_by_now_is_refused_at_the_start(
    fresh_database: str, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model", seed=1)
    settings = Settings(
        database_url=SecretStr(fresh_database), embed_model=str(folder), serve_port=0
    )
    with open_database(settings) as database:
        store = database.store("default")
        fill(store, LocalEmbedder(str(folder)), CORPUS)
        before = store.active_space("default")
    folder.rename(tmp_path / "old")
    write_model(folder, seed=1, prefix="query: ")
    with pytest.raises(OtherModelError, match=r"that model is now model .query prefix 'query: '"):
        serve(settings)
    assert before is not None
    assert before.query_prefix == ""
