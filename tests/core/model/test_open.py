"""What RAGKIT_LLM_URL may name."""

from pathlib import Path

import pytest

from ragkit.knowledge import build
from ragkit.model.local import LocalModel
from ragkit.model.provider import ProviderModel
from ragkit.model.served import ServedModel
from ragkit.settings.settings import Settings
from ragkit.testing import FakeLanguageModel, LanguageModelConformance
from ragkit.testing.stub_server.server import StubServer
from ragkit.types import Decoding
from ragkit.upkeep.examine_model import examine_model


class TestFakeLanguageModel(LanguageModelConformance):
    @pytest.fixture
    def model(self) -> FakeLanguageModel:
        return FakeLanguageModel("Two words.", reasoning="Hm.")


def test_nothing_named() -> None:
    assert build.language_model(Settings()) is None


def test_servers() -> None:
    settings = Settings(llm_url="http://a/v1 http://b/v1", llm_model="m")
    model = build.language_model(settings)
    assert isinstance(model, ServedModel)
    assert [server.url for server in model.servers] == ["http://a/v1", "http://b/v1"]
    assert model.name == "m"


def test_a_model_in_process_needs_no_other_name(tiny_llama: Path) -> None:
    model = build.language_model(Settings(llm_url=f"local:{tiny_llama}"))
    assert isinstance(model, LocalModel)
    assert model.name == str(tiny_llama)


def test_a_provider() -> None:
    model = build.language_model(Settings(llm_url="provider:openai", llm_model="m"))
    assert isinstance(model, ProviderModel)
    assert model.name == "m"


def test_decoding_settings() -> None:
    assert build.decoding(Settings()) == Decoding()
    chosen = Settings(llm_temperature=0.7, llm_max_tokens=99, llm_seed=7)
    assert build.decoding(chosen) == Decoding(temperature=0.7, max_tokens=99, seed=7)


def test_examined(tiny_llama: Path, unused_port: int) -> None:
    with StubServer() as server:
        found = examine_model(Settings(llm_url=server.url, llm_model="stub"))
        assert (found.ok, found.found) == (
            True,
            "stub, reachable; context 8192 tokens;"
            f" tokens counted by the tokenizer of {server.url}",
        )
        other = examine_model(Settings(llm_url=server.url, llm_model="other"))
        assert (other.ok, other.found) == (False, f"the server {server.url} has stub, not other")
        both = f"{server.url} http://127.0.0.1:{unused_port}/v1"
        half = examine_model(Settings(llm_url=both, llm_model="stub"))
        assert not half.ok
        assert f":{unused_port}/v1 refuses connections" in half.found
    local = examine_model(Settings(llm_url=f"local:{tiny_llama}"))
    assert local.found == (
        f"{tiny_llama}, in this process; context 256 tokens;"
        f" tokens counted by the tokenizer of {tiny_llama}"
    )
