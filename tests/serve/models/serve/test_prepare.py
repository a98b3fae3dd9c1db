"""What is refused before minutes are spent: keys, models, adapters, options after --."""

import json
import stat
from pathlib import Path

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit_models.serve import prepare
from ragkit_models.serve.address import free_port, require_free_port, require_local
from ragkit_models.serve.find import find_vllm, release, require_safe
from ragkit_models.serve.options import Adapter


def test_a_key_is_long_and_another_each_time() -> None:
    assert len(prepare.make_key()) == 43  # 256 bits in base64
    assert prepare.make_key() != prepare.make_key()


def test_a_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "key"
    key = prepare.key_in(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert prepare.key_in(file) == key == file.read_text().strip()
    file.write_text("two words\n")
    with pytest.raises(UsageError, match="must hold one key"):
        prepare.key_in(file)
    with pytest.raises(UsageError, match="cannot be written"):
        prepare.key_in(tmp_path / "no" / "key")


def model(folder: Path, *files: str) -> str:
    folder.mkdir()
    for name in files:
        (folder / name).write_text("{}")
    return str(folder)


def test_models_that_would_fail_later(tmp_path: Path) -> None:
    good = model(tmp_path / "good", "config.json", "model.safetensors")
    pickled = model(tmp_path / "pickled", "config.json", "pytorch_model.bin")
    prepare.check_model(good, load_format="safetensors")
    prepare.check_model("Qwen/Qwen3-8B", load_format="safetensors")
    prepare.check_model(pickled, load_format="pt")
    for named, said in {
        pickled: "no safetensors weights, and other formats can run code",
        model(tmp_path / "empty"): "no config.json",
        str(tmp_path / "none"): "there is no folder",
        f"{good}/config.json": "is a file",
    }.items():
        with pytest.raises(UsageError, match=said):
            prepare.check_model(named, load_format="safetensors")


@pytest.mark.parametrize("part", ["--api-key", "--api_key=x", "--api-k", "--port=1", "--uds"])
def test_what_ragkit_must_know_itself_cannot_stand_after_the_dashes(part: str) -> None:
    with pytest.raises(UsageError, match="cannot stand after --"):
        prepare.check_extra(["--seed", "1", part])


def test_other_options_may_stand_there() -> None:
    prepare.check_extra(["--seed", "1", "--model-impl", "vllm", "-q", "x", "--no-async-scheduling"])


def adapter(folder: Path, config: object) -> Path:
    model(folder, "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def test_adapters_and_their_ranks(tmp_path: Path) -> None:
    law = adapter(tmp_path / "law", {"r": 32})
    assert prepare.adapters([f"law={law}", "hub=org/name"], model_name="m") == (
        Adapter(name="law", path=str(law), rank=32),
        Adapter(name="hub", path="org/name", rank=None),
    )


def test_adapters_that_cannot_be(tmp_path: Path) -> None:
    law = adapter(tmp_path / "law", {"r": 32})
    plain = model(tmp_path / "plain", "adapter_model.bin")
    for pairs, said in (
        ([f"{law}"], "write it as NAME=FOLDER"),
        (["=x"], "write it as NAME=FOLDER"),
        ([f"law={law}", f"law={law}"], "names 'law' twice"),
        ([f"m={law}"], "names 'm' twice"),
        (["a=/nowhere"], "there is no folder"),
        ([f"a={plain}"], "no adapter_model.safetensors"),
    ):
        with pytest.raises(UsageError, match=said):
            prepare.adapters(pairs, model_name="m")
    for name, config in (("text", {"r": "8"}), ("list", []), ("none", {})):
        with pytest.raises(ModelError, match="rank: save the adapter again"):
            prepare.adapters([f"a={adapter(tmp_path / name, config)}"], model_name="m")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "example.org"])
def test_an_address_that_others_reach_must_be_allowed(host: str) -> None:
    with pytest.raises(UsageError, match="put nginx in front"):
        require_local(host, allow_remote=False)
    require_local(host, allow_remote=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_fine(host: str) -> None:
    require_local(host, allow_remote=False)


def test_a_taken_port_is_found_before_anything_starts() -> None:
    import socket

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as vLLM does
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="choose another --port"):
            require_free_port("127.0.0.1", taken.getsockname()[1])
    require_free_port("127.0.0.1", free_port("127.0.0.1"))


def test_a_version_below_the_floor_is_refused(tmp_path: Path) -> None:
    require_safe((0, 22), "it")
    require_safe((), "a build without a number")
    with pytest.raises(ModelError, match=r"too old to be safe \(CVE-2026-48746\)"):
        require_safe((0, 21), "it")
    assert [release(one) for one in ("0.32.0", "0.22.1rc1+cpu", "1.0", "dev", "0.0.0")] == [
        (0, 32),
        (0, 22),
        (1, 0),
        (),
        (),
    ]


def test_where_vllm_is_not(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="vLLM is not installed in this environment: make one"):
        find_vllm(None)
    with pytest.raises(ModelError, match="does not run: set RAGKIT_VLLM_PYTHON"):
        find_vllm(tmp_path / "python")
