"""What is written beside an adapter: how its base is named, and the prompts it was trained with."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from safetensors import SafetensorError

from tests.tune.worker.tiny_language_models import (
    chat_rows,
    run_here,
    stopped,
    worker_module,
    write_job,
    write_language_model,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_base_of_the_hub_is_named_as_it_is_there_and_loaded_by_that_name(tmp_path: Path) -> None:
    from peft import AutoPeftModelForCausalLM

    cache = tmp_path / "hub"
    base = write_language_model(cache / "models--org--tiny" / "snapshots" / COMMIT)
    code, output = run_here("sft", write_job(tmp_path / "run", base, chat_rows(8), steps=1))
    assert code == 0, output
    adapter = tmp_path / "run/model"
    config = json.loads((adapter / "adapter_config.json").read_text("utf-8"))
    assert (config["base_model_name_or_path"], config["revision"]) == ("org/tiny", COMMIT)
    loaded = AutoPeftModelForCausalLM.from_pretrained(
        str(adapter), cache_dir=str(cache), local_files_only=True
    )
    assert loaded.peft_config["default"].r == 8


def test_a_base_in_another_folder_is_named_by_its_path(tmp_path: Path) -> None:
    """Its README may name another model, of which it was made: that is not the base."""
    base = write_language_model(tmp_path / "base")
    (base / "README.md").write_text("---\nbase_model: org/other\n---\n", "utf-8")
    assert run_here("sft", write_job(tmp_path / "run", base, chat_rows(8), steps=1))[0] == 0
    config = json.loads((tmp_path / "run/model/adapter_config.json").read_text("utf-8"))
    assert (config["base_model_name_or_path"], config["revision"]) == (str(base), None)


def test_an_adapter_keeps_the_version_of_its_prompts(tmp_path: Path) -> None:
    base = write_language_model(tmp_path / "base")
    job = write_job(tmp_path / "run", base, chat_rows(8), steps=1)
    card = {"format": 1, "collection": "c", "prompts": ["0123456789ab-1"], "counts": {}}
    (tmp_path / "run" / "card.json").write_text(json.dumps(card), "utf-8")
    assert run_here("sft", job)[0] == 0
    kept = json.loads((tmp_path / "run/model/card.json").read_text("utf-8"))
    assert kept == {"format": 1, "collection": "c", "prompts": ["0123456789ab-1"]}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"prompts": []}'])
def test_rows_that_name_no_prompts_leave_no_card(tmp_path: Path, text: str) -> None:
    card = tmp_path / "card.json"
    card.write_text(text, "utf-8")
    assert worker_module("language_model_write").describe_prompts(card) == {}
    assert worker_module("language_model_write").describe_prompts(tmp_path / "none.json") == {}


def test_a_full_disk_is_named_and_leaves_no_half_model(tmp_path: Path) -> None:
    """The library that writes weights raises an error of its own."""
    base = write_language_model(tmp_path / "base")
    job = write_job(tmp_path / "run", base, chat_rows(8), steps=1)

    def save(self: Any, folder: str, **options: Any) -> None:
        Path(folder).mkdir()
        raise SafetensorError("Error while serializing: I/O error: No space left on device")

    with patch("peft.PeftModel.save_pretrained", save):
        line = stopped("sft", job)
    model = tmp_path / "run/model"
    assert line.startswith(f"stopped: {model} cannot be written (Error while serializing: I/O")
    assert line.endswith("): make room, then resume")
    assert not model.with_name("model.writing").exists()
