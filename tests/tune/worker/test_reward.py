"""Training a reward model: it scores the chosen answer above the rejected."""

import json
from pathlib import Path

import pytest

from tests.tune.worker.tiny_language_models import (
    losses,
    poisoned,
    preference_rows,
    run_here,
    stopped,
    weights,
    write_job,
    write_language_model,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_language_model(tmp_path_factory.mktemp("base"))


@pytest.mark.parametrize("parameters", ["lora", "full"])
def test_the_chosen_answer_scores_higher(base: Path, tmp_path: Path, parameters: str) -> None:
    rows = preference_rows(16)
    job = write_job(tmp_path, base, rows, kind="reward", parameters=parameters)
    assert run_here("reward", job)[0] == 0
    assert losses(tmp_path)[-1] < 0.3
    assert losses(tmp_path, "accuracy")[-1] == 1.0
    if parameters == "lora":
        # The output layer is new, so that it is trained and saved whole.
        assert any("score" in name for name in weights(tmp_path / "model"))
    else:
        config = json.loads((tmp_path / "model/config.json").read_text("utf-8"))
        assert config["architectures"] == ["LlamaForSequenceClassification"]


def test_a_weight_that_is_not_finite_stops_the_run(base: Path, tmp_path: Path) -> None:
    job = write_job(tmp_path, base, preference_rows(16), kind="reward")
    with poisoned("reward", step=3):
        assert "of step 4 is nan (rows r" in stopped("reward", job)
