"""A real, tiny model in this process."""

import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.contracts import LanguageModel
from ragkit.errors import IncompleteAnswerError, ModelError, ModelServerError
from ragkit.model import complete
from ragkit.model.local import LocalModel
from ragkit.model.stops import Stops
from ragkit.testing import LanguageModelConformance
from ragkit.types import Decoding, Finish, Message

ASKED = [Message("user", "Hello?")]
DRAWN = Decoding(temperature=1.5, max_tokens=24, seed=5)


class TestLocalModel(LanguageModelConformance):
    @pytest.fixture
    def model(self, tiny_llama: Path) -> LanguageModel:
        return LocalModel(str(tiny_llama), decoding=Decoding(max_tokens=12))


def finish(model: LocalModel, decoding: Decoding) -> Finish:
    last = list(model.stream(ASKED, decoding))[-1]
    assert isinstance(last, Finish)
    return last


def test_max_tokens_cuts_and_says_so(tiny_llama: Path) -> None:
    found = finish(LocalModel(str(tiny_llama)), Decoding(max_tokens=7))
    assert found.reason == "length"
    assert found.usage is not None
    assert found.usage.completion_tokens == 7
    # The template: <|user|>, "Hello?", a line feed and <|assistant|>, one token a byte.
    assert found.usage.prompt_tokens == 1 + 6 + 1 + 1


def test_the_seed_decides_and_leaves_torchs_own_numbers_alone(tiny_llama: Path) -> None:
    import torch

    model = LocalModel(str(tiny_llama))
    torch.manual_seed(9)
    expected = torch.rand(3).tolist()
    torch.manual_seed(9)
    drawn = complete(model, ASKED, DRAWN)
    assert torch.rand(3).tolist() == expected
    assert complete(model, ASKED, DRAWN) == drawn
    others = {complete(model, ASKED, replace(DRAWN, seed=seed)) for seed in (6, 7)}
    assert drawn not in others


def test_sampling_settings_reach_the_model(tiny_llama: Path) -> None:
    model = LocalModel(str(tiny_llama))
    likeliest = complete(model, ASKED, Decoding(max_tokens=24))
    for narrowed in (
        Decoding(temperature=1.5, max_tokens=24, seed=5, top_k=1),
        Decoding(temperature=1.5, max_tokens=24, seed=5, top_p=0.000001),
        Decoding(temperature=1.5, max_tokens=24, seed=5, min_p=1.0),
    ):
        assert complete(model, ASKED, narrowed) == likeliest
    assert complete(model, ASKED, DRAWN) != likeliest
    assert complete(model, ASKED, Decoding(max_tokens=24, repetition_penalty=5.0)) != likeliest


def test_stop_ends_before_the_text(tiny_llama: Path) -> None:
    model = LocalModel(str(tiny_llama))
    whole = complete(model, ASKED, DRAWN)
    stop = whole[3:5]
    stopped = Decoding(temperature=1.5, max_tokens=24, seed=5, stop=(stop,))
    assert complete(model, ASKED, stopped) == whole.partition(stop)[0]
    assert finish(model, stopped).reason == "stop"


@pytest.mark.parametrize(
    ("pieces", "stops", "said", "met"),
    [
        (["abc"], [], "abc", False),
        (["ab", "cd"], ["bc"], "a", True),
        (["a", "a", "b"], ["aab"], "", True),
        (["xaa", "b"], ["aab", "x"], "", True),
        (["ab"], ["bc"], "ab", False),
        (["a\n", "\nb"], ["\n\n"], "a", True),
        (["abc"], [""], "abc", False),
    ],
)
def test_stops_over_pieces(pieces: list[str], stops: list[str], said: str, met: bool) -> None:
    found = Stops(stops)
    assert "".join([*map(found.feed, pieces), found.end()]) == said
    assert found.met is met


def test_the_models_own_context_is_kept_to(tiny_llama: Path) -> None:
    model = LocalModel(str(tiny_llama))
    assert model.context_tokens() == 256
    with pytest.raises(ModelServerError, match="has 306 tokens and the model's context 256"):
        complete(model, [Message("user", "a" * 303)])
    almost = list(model.stream([Message("user", "a" * 243)], Decoding(max_tokens=99)))[-1]
    assert isinstance(almost, Finish)
    assert almost.usage is not None
    assert (almost.usage.prompt_tokens, almost.reason) == (246, "length")
    assert almost.usage.completion_tokens == 10
    assert LocalModel(str(tiny_llama), context_tokens=100).context_tokens() == 100


def test_tokens_are_the_models_own(tiny_llama: Path) -> None:
    assert LocalModel(str(tiny_llama)).count_tokens(["abc", "航", ""]) == [3, 3, 0]


@pytest.mark.parametrize(
    ("decoding", "name"),
    [
        (Decoding(presence_penalty=1.0), "presence_penalty"),
        (Decoding(json_schema={"type": "object"}), "json_schema"),
        (Decoding(regex="[0-9]+"), "regex"),
    ],
)
def test_what_only_a_server_can_do_is_refused(
    tiny_llama: Path, decoding: Decoding, name: str
) -> None:
    with pytest.raises(ModelError, match=f"takes no {name}: .* `ragkit model serve`"):
        LocalModel(str(tiny_llama)).stream(ASKED, decoding)


def test_closing_stops_the_model(tiny_llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "long"
    shutil.copytree(tiny_llama, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 100_000}))
    model = LocalModel(str(folder))
    loaded = model.load()
    endless = Decoding(max_tokens=90_000, temperature=1.5, repetition_penalty=1.01)
    stream = model.stream(ASKED, endless)
    reader = threading.Thread(target=lambda: list(stream), daemon=True)
    reader.start()
    deadline = time.monotonic() + 60
    while not loaded.turn.locked():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    stream.close()
    assert loaded.turn.acquire(timeout=60)  # the model is free again; the whole would take minutes
    loaded.turn.release()
    reader.join(timeout=60)
    assert not reader.is_alive()
    with pytest.raises((ModelServerError, IncompleteAnswerError), match=r"longer than 0\.2 s"):
        complete(LocalModel(str(folder), total_timeout_s=0.2), ASKED, endless)


def test_what_is_no_chat_model(tmp_path: Path, tiny_llama: Path) -> None:
    with pytest.raises(ModelError, match="language model folder /nowhere does not exist"):
        LocalModel("/nowhere").load()
    with pytest.raises(ModelError, match="'a b' is neither a folder nor a hub name"):
        LocalModel("a b").load()
    with pytest.raises(ModelError, match="cannot be loaded"):
        LocalModel(str(tmp_path)).load()
    pickled = tmp_path / "pickled"
    shutil.copytree(tiny_llama, pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"cannot be loaded .* in safetensors"):
        LocalModel(str(pickled)).load()
    plain = tmp_path / "plain"
    shutil.copytree(tiny_llama, plain)
    (plain / "chat_template.jinja").unlink()
    with pytest.raises(ModelServerError, match=r"no chat template .* instruction-tuned"):
        complete(LocalModel(str(plain)), ASKED)


def test_code_in_the_models_folder_is_never_run(tmp_path: Path, tiny_llama: Path) -> None:
    folder = tmp_path / "remote"
    shutil.copytree(tiny_llama, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.C", "AutoModelForCausalLM": "own.M"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass C: pass\n")
    with pytest.raises(ModelError, match="cannot be loaded"):
        LocalModel(str(folder)).load()
    assert not (tmp_path / "ran").exists()


def test_offline_without_the_model_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="not in the local cache and the hub did not give it") as e:
        LocalModel("nobody/nothing").load()
    assert "\n" not in str(e.value)
