"""Models are served in turn for as long as they are asked, by `ragkit model serve`."""

import sys
from pathlib import Path

import pytest

from ragkit.errors import ModelError
from ragkit.settings.settings import Settings
from ragkit_eval.quant.cost import costs
from ragkit_eval.quant.models import ToServe, parse
from ragkit_eval.quant.run import Manner, Questions, run_models
from ragkit_eval.quant.serving import serve_model
from tests.eval.run.fake import FakeTask, items

FAKE = Path(__file__).with_name("fake_vllm.py")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models; the interpreter that has vLLM runs the stand-in for it."""
    python = tmp_path / "python"
    python.write_text(
        f"""#!/bin/sh
if [ "$1" = -I ]; then echo '["vllm", "0.32.0"]'; exit; fi
exec {sys.executable} {FAKE} "$@"
"""
    )
    python.chmod(0o755)
    monkeypatch.setenv("RAGKIT_VLLM_PYTHON", str(python))
    monkeypatch.delenv("RAGKIT_LLM_API_KEY", raising=False)
    for name in ("base", "small"):
        for file in ("config.json", "model.safetensors"):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / file).write_text("{}")
    return tmp_path


def test_each_model_is_served_asked_and_ended(model: Path, tmp_path: Path) -> None:
    models = [parse(f"serve:{model / 'base'}"), parse(f"int4=serve:{model / 'small'}")]
    manner = Manner(tmp_path, Settings(home=tmp_path))
    runs = run_models(models, Questions((FakeTask(items(20)),)), manner)
    (cost,) = costs([model_run.run for model_run in runs]).costs
    assert (cost.candidate, cost.items, cost.broken) == ("int4", 20, 10)
    assert runs[1].run.header.model["server_args"] == str(model / "small")
    assert "sk-" not in runs[0].files[0].read_text()


def test_a_server_that_does_not_start_is_told(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model_to_serve = ToServe((str(model / "nowhere"),), "nowhere")
    with (
        pytest.raises(ModelError, match=r"nowhere could not be served \(exit code 2\): see above"),
        serve_model(model_to_serve, api_key=None),
    ):
        pass
    assert "there is no folder" in capfd.readouterr().err
