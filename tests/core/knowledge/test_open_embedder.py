"""Collections and the models of a server: which model is taken, and what is refused."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragkit.errors import ModelError, OtherModelError, SettingsError
from ragkit.knowledge.embedders import Embedders, embed_model
from ragkit.model.served_embedder import ServedEmbedder
from ragkit.settings.settings import Settings
from ragkit.store.vectors.active_space import KeptSpace
from ragkit.testing.stub_server.server import StubServer
from ragkit.types import EmbeddingSpace
from tests.core.embed.tiny_model import write_model


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer(models=["m"]) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "m", seed=1)


def kept(space: EmbeddingSpace, source: str) -> KeptSpace:
    now = datetime.now(UTC)
    return KeptSpace(1, space, source, None, "active", now, now, None)


SERVED = kept(EmbeddingSpace("m", "served", 256), "served:m")


def local(folder: Path) -> KeptSpace:
    embedders = Embedders(Settings(embed_model=str(folder)))
    return kept(embedders.default.space, str(folder))


def test_the_settings_model_is_the_servers(stub: StubServer) -> None:
    settings = Settings(embed_url=stub.url, embed_model="m")
    embedders = Embedders(settings)
    assert embed_model(settings) == "served:m"
    assert stub.requests == []  # nothing is asked before it is used
    assert embedders.of(SERVED, "c") is embedders.default
    assert embedders.to_ingest(SERVED, "c") is embedders.default
    assert embedders.default.space == SERVED.space


def test_a_model_without_a_name_is_asked_for_and_keeps_it(stub: StubServer) -> None:
    settings = Settings(embed_url=stub.url)
    embedders = Embedders(settings)
    embedder = embedders.to_ingest(SERVED, "c")
    stub.models = ("n", "m")
    assert embedder.space == SERVED.space  # the collection's, not the server's first
    assert embed_model(settings) == "served:n"


def test_the_key_is_sent(stub: StubServer) -> None:
    stub.api_key = "secret"
    settings = Settings(embed_url=stub.url, embed_api_key=SecretStr("secret"))
    assert Embedders(settings).default.space == SERVED.space
    assert embed_model(settings) == "served:m"


def test_a_local_collection_beside_a_server_keeps_its_model(stub: StubServer, folder: Path) -> None:
    of_folder = local(folder)
    embedder = Embedders(Settings(embed_url=stub.url)).of(of_folder, "c")
    assert embedder.space == of_folder.space
    assert stub.requests == []


@pytest.mark.parametrize("named", [True, False])
def test_ingestion_never_mixes_a_servers_model_with_a_local_one_of_its_name(
    stub: StubServer, folder: Path, named: bool
) -> None:
    of_folder = local(folder)
    assert of_folder.space.model == SERVED.space.model == "m"
    model = {"embed_model": "m"} if named else {}
    settings = Settings(embed_url=stub.url, **model)  # type: ignore[arg-type]
    with pytest.raises(OtherModelError) as caught:
        Embedders(settings).to_ingest(of_folder, "c")
    assert "`ragkit index reembed --to served:" in str(caught.value)
    with pytest.raises(OtherModelError, match="revision 'served'"):
        Embedders(Settings(embed_model=str(folder), embed_url=None)).to_ingest(
            kept(SERVED.space, str(folder)), "c"
        )


def test_a_collection_of_a_server_needs_its_address(folder: Path) -> None:
    with pytest.raises(ModelError) as caught:
        Embedders(Settings(embed_model=str(folder))).check(SERVED, "c")
    assert str(caught.value) == (
        "collection 'c' is embedded with m of a server: set RAGKIT_EMBED_URL to its address, or"
        " move the collection with `ragkit index reembed --to MODEL`"
    )


def test_a_model_is_made_by_its_name(stub: StubServer, folder: Path) -> None:
    embedders = Embedders(Settings(embed_url=stub.url, embed_model="m"))
    assert isinstance(embedders.made("served:m", None), ServedEmbedder)
    assert embedders.made(str(folder), None).space == local(folder).space
    with pytest.raises(ModelError, match="served:m is a server's model, but there is no server"):
        Embedders(Settings()).made("served:m", None)
    with pytest.raises(
        SettingsError, match=r"RAGKIT_EMBED_MODEL \(\[embed\] model\) = served:m is"
    ):
        Settings(embed_model="served:m")
