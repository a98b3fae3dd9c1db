"""Recipes are strict: an unknown key, a wrong type or a value out of range never passes."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_tune.recipe import RATES, make_recipe, read_recipe

LEAST = {"kind": "embedder", "base": "minilm", "data": "data"}


def test_the_loss_comes_from_the_kind() -> None:
    assert make_recipe(LEAST).loss == "mnrl"
    assert make_recipe({**LEAST, "kind": "reranker"}).loss == "lambda"
    assert make_recipe({**LEAST, "kind": "adapter"}).loss == ""


def test_options_replace_what_the_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "tune.toml"
    file.write_text('kind = "embedder"\nbase = "minilm"\nbatch = 8\nmatryoshka = [64, 128]\n')
    recipe = read_recipe(file, data="data", batch=16, steps=None)
    assert (recipe.batch, recipe.steps, recipe.data) == (16, 0, "data")
    assert recipe.matryoshka == (128, 64)


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ({"kind": "embedder"}, 2e-5),
        ({"kind": "adapter"}, 2e-4),
        ({"kind": "adapter", "parameters": "full"}, 2e-5),
        ({"kind": "adapter", "parameters": "prompt"}, 1e-2),
        ({"kind": "adapter", "parameters": "prefix"}, 1e-2),
        ({"kind": "adapter", "method": "dpo"}, 1e-5),
        ({"kind": "adapter", "method": "dpo", "parameters": "full"}, 1e-6),
        ({"kind": "adapter", "method": "kto"}, 1e-5),
        ({"kind": "adapter", "method": "kto", "parameters": "full"}, 1e-6),
        ({"kind": "adapter", "method": "grpo"}, 1e-5),
        ({"kind": "adapter", "method": "grpo", "parameters": "full"}, 1e-6),
        ({"kind": "reward"}, 1e-3),
        ({"kind": "reward", "parameters": "full"}, 1e-4),
        ({"kind": "adapter", "method": "dpo", "learning_rate": 3e-5}, 3e-5),
    ],
)
def test_the_learning_rate_follows_from_what_is_trained(
    values: dict[str, object], rate: float
) -> None:
    assert make_recipe({**LEAST, **values}).learning_rate == rate


def test_the_rates_of_all_weights_are_the_defaults_of_the_trainers() -> None:
    assert {name: full for name, (full, _) in RATES.items()} == {
        name: default_of_trl(name) for name in ("sft", "dpo", "kto", "grpo", "reward")
    }
    assert all(lora == pytest.approx(10 * full) for full, lora in RATES.values())


def default_of_trl(method: str) -> float:
    """Read a default learning rate from TRL's source: importing it takes many seconds."""
    found = find_spec("trl")
    if found is None or found.origin is None:
        pytest.skip("the training libraries are not installed: pip install '.[tune]'")
    file = Path(found.origin).parent / "trainer" / f"{method}_config.py"
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "learning_rate":
            assert isinstance(node.value, ast.Call)
            (default,) = (part.value for part in node.value.keywords if part.arg == "default")
            return float(ast.literal_eval(default))
    raise AssertionError(f"{file} has no learning_rate")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"learning_rat": 1e-5}, "unknown key 'learning_rat': do you mean learning_rate?"),
        ({"qqq": 1}, "unknown key 'qqq'"),
        ({"kind": "embeder"}, "kind = 'embeder' is not known: do you mean embedder?"),
        ({"bits": 5}, "bits = 5 is not known: choose 16, 8, 4"),
        ({"batch": 0}, "batch = 0 is out of range: write 1 or more"),
        ({"batch": True}, "batch = True is no whole number"),
        ({"batch": 8.5}, "batch = 8.5 is no whole number"),
        ({"learning_rate": float("nan")}, "learning_rate = nan is out of range"),
        ({"warmup": 2}, "warmup = 2 is out of range: write from 0 to 1"),
        ({"loss": "bce"}, "loss = 'bce' is not for kind 'embedder': choose mnrl, cached-mnrl"),
        ({"kind": "adapter", "loss": "mnrl"}, "loss = 'mnrl' is not for kind 'adapter': leave it"),
        ({"matryoshka": [128, 0]}, "matryoshka = [128, 0] is no list of dimensions"),
        ({"base": 3}, "base = 3 is no text"),
        ({"base": ""}, "base is missing"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_it(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_recipe({**LEAST, **values}, where="tune.toml")
    assert str(caught.value).startswith(f"tune.toml: {message}")
    assert "\n" not in str(caught.value)


def test_the_hash_follows_every_value_but_places() -> None:
    recipe = make_recipe(LEAST)
    assert recipe.hash == make_recipe({**LEAST, "base": "other", "data": "moved"}).hash
    assert recipe.hash != make_recipe({**LEAST, "seed": 1}).hash
    assert make_recipe(recipe.as_json()) == recipe


def test_a_file_that_is_no_recipe_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="cannot be read"):
        read_recipe(tmp_path / "none.toml")
    file = tmp_path / "bad.toml"
    file.write_text("kind = ")
    with pytest.raises(UsageError, match="is not TOML"):
        read_recipe(file)


def test_rows_of_embedders_and_rerankers_have_512_tokens_by_default() -> None:
    kinds = ("embedder", "reranker", "adapter", "reward")
    values = [make_recipe({"kind": kind, "base": "b", "data": "d"}) for kind in kinds]
    assert [recipe.max_tokens for recipe in values] == [512, 512, 2048, 2048]
