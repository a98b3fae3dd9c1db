"""Finding tasks by name, and what is said when they or their data are not there."""

from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.tasks.registry import names, open_task


def test_names() -> None:
    assert names() == (
        *("advbench", "agieval", "agieval:letter", "arc-challenge", "arc-easy", "bbh", "bbh:cot"),
        *("bbq", "bbq:bias", "c3", "ceval", "ceval:lm-eval", "ceval:generate", "cmmlu"),
        *("cmmlu:lm-eval", "cmmlu:generate", "coqa", "do-not-answer", "gsm8k", "gsm8k:5-shot"),
        *("harmbench", "harmbench:test", "hellaswag", "humaneval", "mmlu", "mmlu:loglikelihood"),
        *("mmlu:lm-eval", "mmlu:lm-eval-letter", "mmlu:generate", "mt-bench", "quac"),
        *("safetybench", "safetybench:en", "truthfulqa", "truthfulqa:mc2", "xstest"),
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mmul", "no task 'mmul': did you mean mmlu"),
        ("mmlu:lmeval", "no task 'mmlu:lmeval': did you mean mmlu:lm-eval"),
        ("", "no task '': there is advbench"),
        ("xyzzy", "or give the path of a task's own .toml file"),
    ],
)
def test_unknown_names(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_task(name, data=tmp_path)
    assert message in str(caught.value)


def test_data_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        open_task("mmlu", data=tmp_path)
    assert str(caught.value) == (
        f"mmlu: there is no test/*_test.csv in {tmp_path / 'mmlu'}: put the data there"
    )
    with pytest.raises(UsageError) as missing:
        open_task("mmlu", data=None)
    assert str(missing.value) == (
        "mmlu: name the folder of its data with --data DIR or RAGKIT_EVAL_DATA; "
        "expected is DIR/mmlu"
    )


def test_code_is_not_run_without_leave(published: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_task("humaneval", data=published)
    assert str(caught.value) == (
        "humaneval runs code that the model writes: allow it with --execute-code "
        "(execute_code=True), on a machine that you can spare"
    )


def test_a_form_of_ones_own_task(tmp_path: Path) -> None:
    toml = (
        'method = "generate"\nscorer = "first-line"\nmetric = "exact_match"\n'
        '[data]\nfiles = ["rows.jsonl"]\n[fields]\nquestion = "q"\ntarget = "a"\n'
        '[form.loud]\n[form.loud.prompt]\nquestion = "{{ q|upper }}"\n'
    )
    (tmp_path / "own.toml").write_text(toml)
    (tmp_path / "rows.jsonl").write_text('{"q": "so?", "a": "so"}\n')
    (item,) = open_task(f"{tmp_path}/own.toml:loud", data=None).items()
    assert item.prompt == "SO?"
