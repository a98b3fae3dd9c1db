"""Training on answers: what is learnt, what is trained, and rows and runs that are stopped."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tune.worker.tiny_language_models import (
    CHATML,
    NO_ANSWER,
    OTHER_PROMPT,
    chat_rows,
    losses,
    poisoned,
    run_here,
    stopped,
    weights,
    worker_module,
    write_job,
    write_language_model,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_language_model(tmp_path_factory.mktemp("base"))


def test_answers_are_learnt_and_the_adapter_is_one_that_vllm_loads(
    base: Path, tmp_path: Path
) -> None:
    job = write_job(tmp_path, base, chat_rows(16), steps=12, evaluate_every=6)
    code, output = run_here("sft", job)
    assert code == 0, output
    first, *_, last = losses(tmp_path)
    assert last < 0.75 * first
    config = json.loads((tmp_path / "model/adapter_config.json").read_text("utf-8"))
    assert config["base_model_name_or_path"] == str(base)
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", 8, 16)
    assert not any("lm_head" in name for name in config["target_modules"])
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]


@pytest.mark.long
def test_a_new_process_loads_the_written_adapter(base: Path, tmp_path: Path) -> None:
    code, output = run_here("sft", write_job(tmp_path, base, chat_rows(8), steps=2), reloads=True)
    assert code == 0, output
    script = worker_module("language_model_write")
    job = tmp_path / "job.json"
    compared = tmp_path / "logits.json"
    assert not compared.exists()
    compared.write_text(json.dumps({"ids": [1, 2], "logits": [9.0] * 9, "task": "CAUSAL_LM"}))
    assert script.reload(tmp_path / "model", compared, job).endswith("of the largest apart")


@pytest.mark.long
def test_a_model_trained_in_bfloat16_is_written_as_it_will_be_loaded(
    base: Path, tmp_path: Path
) -> None:
    """It is compared with what a new process loads, which computes in float32."""
    job = write_job(tmp_path, base, chat_rows(8), steps=2, precision="bf16", parameters="full")
    code, output = run_here("sft", job, reloads=True)
    assert code == 0, output


def test_only_the_last_answer_is_trained_and_the_log_shows_it(base: Path, tmp_path: Path) -> None:
    rows = chat_rows(8)
    earlier = {"role": "assistant", "content": "Ask me."}
    rows[0]["messages"][1:1] = [{"role": "user", "content": "Hello"}, earlier]
    assert run_here("sft", write_job(tmp_path, base, rows, steps=1))[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    assert lines[0]["event"] == "trained tokens"
    assert lines[0]["text"] == "It is red [1].<|im_end|>"
    assert 0.1 < lines[0]["share"] < 0.3
    step = next(line for line in lines if "loss" in line)
    assert sorted(step["rows"]) == sorted(row["id"] for row in rows)
    assert step["tokens"] > 300


@pytest.mark.parametrize("template", [CHATML, None])
def test_chinese_and_a_base_without_a_template(template: str | None, tmp_path: Path) -> None:
    base = write_language_model(tmp_path / "base", template=template)
    rows = [row for row in chat_rows(32) if row["messages"][1]["content"].startswith("第")]
    code, output = run_here("sft", write_job(tmp_path / "run", base, rows))
    assert code == 0
    assert "白色。[1]<|im_end|>" in output
    written = tmp_path / "run/model/chat_template.jinja"
    assert written.exists() == (template is None)  # the adapter is served with its template


def test_a_template_that_thinks_trains_its_empty_thought(tmp_path: Path) -> None:
    thinking = CHATML.replace(
        "+ message['content'] +",
        "+ ('<think></think>' if message['role'] == 'assistant' else '') + message['content'] +",
    )
    base = write_language_model(tmp_path / "base", template=thinking)
    code, output = run_here("sft", write_job(tmp_path / "run", base, chat_rows(8), steps=1))
    assert code == 0
    assert "of row r0: '<think></think>It is red [1].<|im_end|>'" in output


@pytest.mark.parametrize("parameters", ["full", "prompt", "prefix"])
def test_all_weights_prompts_and_prefixes(base: Path, tmp_path: Path, parameters: str) -> None:
    job = write_job(tmp_path, base, chat_rows(16), parameters=parameters, learning_rate=3e-2)
    assert run_here("sft", job)[0] == 0
    first, *_, last = losses(tmp_path)
    assert last < first
    files = {path.name for path in (tmp_path / "model").iterdir()}
    if parameters == "full":
        assert {"model.safetensors", "config.json", "tokenizer.json"} <= files
    else:
        assert {"adapter_model.safetensors", "adapter_config.json"} == files


def test_a_resumed_run_ends_with_the_same_weights(base: Path, tmp_path: Path) -> None:
    rows = chat_rows(16)
    assert run_here("sft", write_job(tmp_path / "whole", base, rows, batch=4))[0] == 0
    checkpoint = str(tmp_path / "whole/checkpoints/step-000003")
    resumed = write_job(tmp_path / "resumed", base, rows, batch=4, resume=checkpoint)
    assert run_here("sft", resumed)[0] == 0
    file = "model/adapter_model.safetensors"
    assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "resumed" / file).read_bytes()


def test_micro_batches_make_the_same_steps(base: Path, tmp_path: Path) -> None:
    rows = chat_rows(8)
    for name, micro_batch in (("whole", 8), ("parts", 3)):  # 3 does not divide 8: 2 does
        job = write_job(tmp_path / name, base, rows, steps=2, micro_batch=micro_batch)
        assert run_here("sft", job)[0] == 0
    assert losses(tmp_path / "parts")[-1] == pytest.approx(losses(tmp_path / "whole")[-1], rel=1e-3)


def test_gradient_checkpointing_changes_no_weight(base: Path, tmp_path: Path) -> None:
    for name in ("on", "off"):
        job = write_job(tmp_path / name, base, chat_rows(8), steps=2, checkpointing=name)
        assert run_here("sft", job)[0] == 0
    on, off = (weights(tmp_path / name / "model") for name in ("on", "off"))
    assert all((on[name] - off[name]).abs().max() < 1e-5 for name in on)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (NO_ANSWER, "12 of 12 texts (r0, r1, r2, r3, r4 and others) lose their answer"),
        (OTHER_PROMPT, "are rendered with another prompt than a server sends"),
        ("{{ messages[-1]['content'] if not add_generation_prompt }}", "100% of the tokens would"),
        ("{{ raise_exception('no system') }}", "the chat template cannot render row r0"),
    ],
)
def test_a_template_that_trains_on_other_tokens_is_refused(
    tmp_path: Path, template: str, reason: str
) -> None:
    base = write_language_model(tmp_path / "base", template=template)
    line = stopped("sft", write_job(tmp_path / "run", base, chat_rows(8)))
    assert reason in line
    assert not (tmp_path / "run/model").exists()


def long_row(rows: list[dict[str, Any]]) -> None:
    rows[2]["messages"][-1]["content"] = "It is very long. " * 20


def blank_row(rows: list[dict[str, Any]]) -> None:
    rows[2]["messages"][-1]["content"] = " \n"


def row_of_user(rows: list[dict[str, Any]]) -> None:
    rows[2]["messages"].pop()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (long_row, "1 of 12 texts (r2: 391) have more than 128 tokens: set -o max_tokens=391"),
        (blank_row, "1 of 12 texts (r2) have no token to train"),
        (row_of_user, "1 of 12 texts (r2) have no token to train"),
        (list.clear, "train.jsonl has no rows"),
    ],
)
def test_rows_that_cannot_be_trained_on_are_named_before_the_run(
    base: Path, tmp_path: Path, spoil: Any, reason: str
) -> None:
    rows = chat_rows(8)
    spoil(rows)
    line = stopped("sft", write_job(tmp_path, base, rows, chat_rows(4)))
    assert reason in line


def test_a_weight_that_is_not_finite_stops_the_run_with_its_rows(
    base: Path, tmp_path: Path
) -> None:
    job = write_job(tmp_path, base, chat_rows(16))
    with poisoned("sft", step=3):
        line = stopped("sft", job)
    assert line.startswith("stopped: the loss of step 4 is nan (rows r")
    assert not (tmp_path / "model").exists()
    (checkpoint,) = (tmp_path / "checkpoints").glob("step-*")
    assert checkpoint.name == "step-000003"
    assert all(w.isfinite().all() for w in weights(checkpoint, "trainable").values())


def test_less_memory_halves_the_micro_batch(base: Path, tmp_path: Path) -> None:
    import torch

    language_model = worker_module("language_model")
    load_base, tried = language_model.load_base, []

    def load(job: Any, task: str) -> Any:
        tried.append(task)
        if len(tried) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return load_base(job, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_model, "load_base", load)
        code, output = run_here("sft", write_job(tmp_path, base, chat_rows(8), steps=1))
    assert code == 0
    assert "stage: out of memory, going on from step 0 with 4 rows at once" in output


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"bits": 4}, "bits 4 needs bitsandbytes and a CUDA GPU"),
        ({"precision": "fp16"}, "precision fp16 needs a GPU"),
        ({"parameters": "prefix", "checkpointing": "on"}, "prefixes cannot be trained with"),
    ],
)
def test_what_this_machine_or_method_cannot_do_is_one_line(
    base: Path, tmp_path: Path, settings: dict[str, Any], reason: str
) -> None:
    assert reason in stopped("sft", write_job(tmp_path, base, chat_rows(8), **settings))


def test_a_written_model_that_differs_is_refused(base: Path, tmp_path: Path) -> None:
    write = worker_module("language_model_write")
    compared = {"ids": [1, 2, 3], "logits": [9.0] * 9, "task": "CAUSAL_LM"}
    job = worker_module("job").read_job(write_job(tmp_path, base, chat_rows(8)))
    model = worker_module("language_model").load_base(job, "CAUSAL_LM")
    assert write.difference(model, compared).endswith("of the largest apart")
