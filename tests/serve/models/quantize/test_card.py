"""The recipe, the model card and its JSON, word for word."""

import json
from dataclasses import replace

import pytest

from ragkit_models.quantize.card import (
    CalibrationFacts,
    QuantizationFacts,
    card_text,
    facts_json,
)
from ragkit_models.quantize.recipe import GGUF, SCHEMES, Scheme, recipe

FACTS = QuantizationFacts(
    base_model="acme/tiny",
    revision="0123abc",
    scheme="w4a16",
    recipe=recipe("w4a16"),
    seed=7,
    calibration=CalibrationFacts("texts | 年假.txt", "ab" * 32, 128, 65_536, 2048),
    versions={"llmcompressor": "0.14.0", "torch": "2.13.0"},
    bytes_before=16_060_000_000,
    bytes_after=5_730_000_000,
    date="2026-11-21",
)

CARD = """\
---
base_model: "acme/tiny"
base_model_relation: quantized
tags:
  - llm-compressor
  - compressed-tensors
  - w4a16
---

# tiny-w4a16

acme/tiny, quantized by `ragkit model quantize` with llm-compressor.

| setting | value |
|---|---|
| base model | acme/tiny, revision 0123abc |
| scheme | w4a16: 4-bit integer weights in groups of 128, activations as they are (GPTQ) |
| seed | 7 |
| date | 2026-11-21 |
| calibration file | texts \\| 年假.txt, sha256 {sha} |
| calibration samples | 128, 65536 tokens, at most 2048 of each |
| made with | llmcompressor 0.14.0, torch 2.13.0 |
| weights | 16.06 GB before, 5.73 GB after (36%) |

## Recipe

```yaml
quantize_stage:
  quantize_modifiers:
    GPTQModifier:
      targets: ["Linear"]
      scheme: "W4A16"
      ignore: ["lm_head"]
```

## Use

```
ragkit model serve ./tiny-w4a16
```
"""


def test_the_card_says_everything() -> None:
    text = card_text(FACTS, name="tiny-w4a16")
    assert text.startswith(CARD.format(sha="ab" * 32))
    assert "用 `ragkit model serve ./tiny-w4a16` 启动" in text


def test_a_card_without_calibration_or_hub_says_so() -> None:
    local = replace(FACTS, revision="", scheme="fp8", calibration=None, bytes_before=1000)
    text = card_text(replace(local, bytes_after=500), name="x")
    assert "base_model:" not in text
    assert "| base model | acme/tiny |" in text
    assert "| calibration | none: this scheme needs none |" in text
    assert "| weights | 1 kB before, 500 B after (50%) |" in text


def test_the_facts_are_plain_json() -> None:
    value = json.loads(json.dumps(facts_json(FACTS)))
    assert value["format"] == 1
    assert value["calibration"] == {
        "file": "texts | 年假.txt",
        "sha256": "ab" * 32,
        "samples": 128,
        "tokens": 65536,
        "max_tokens": 2048,
    }
    assert value["versions"] == {"llmcompressor": "0.14.0", "torch": "2.13.0"}
    assert (value["bytes_before"], value["bytes_after"]) == (16_060_000_000, 5_730_000_000)
    assert value["recipe"] == recipe("w4a16")


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme not in GGUF])
def test_a_recipe_is_yaml_and_leaves_the_head_alone(scheme: Scheme) -> None:
    yaml = pytest.importorskip("yaml")
    names = 're:.*"odd\\name年$'
    stages = yaml.safe_load(recipe(scheme, ignore=(names, "lm_head")))
    modifiers = stages["quantize_stage"]["quantize_modifiers"]
    *before, (kind, options) = modifiers.items()
    assert options["ignore"] == ["lm_head", names]
    expected = {
        "w8a8": (["SmoothQuantModifier"], "GPTQModifier", "W8A8"),
        "w4a16": ([], "GPTQModifier", "W4A16"),
        "awq": (["AWQModifier"], "QuantizationModifier", "W4A16_ASYM"),
        "fp8": ([], "QuantizationModifier", "FP8_DYNAMIC"),
    }
    assert ([name for name, _ in before], kind, options["scheme"]) == expected[scheme]
