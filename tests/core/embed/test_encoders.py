"""Both encoders against transformers' own networks, small and randomly initialised."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import cosine_similarity

from ragkit.embed import bert
from ragkit.embed.bert import load_bert
from ragkit.embed.find import find_model
from ragkit.embed.pipeline import load_pipeline
from ragkit.errors import ModelError

IDS = torch.tensor([[5, 6, 7, 8], [9, 10, 1, 1]])
MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])


def save(folder: Path, network: Any, pooling: str, *more: str) -> None:
    """Write a sentence-transformers folder around a transformers network."""
    torch.manual_seed(7)
    network.save_pretrained(folder)
    modules = ["Transformer", "Pooling", *more]
    paths = ["", "1_Pooling", "2_More"]
    listed = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(zip(paths, modules, strict=False))
    ]
    (folder / "modules.json").write_text(json.dumps(listed), "utf-8")
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{mode}": mode == pooling for mode in ("cls_token", "mean_tokens")}
    config = {"word_embedding_dimension": network.config.hidden_size, **modes}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config), "utf-8")


def small(family: str, **options: Any) -> Any:
    import transformers

    config = getattr(transformers, f"{family}Config")(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
        **options,
    )
    return getattr(transformers, f"{family}Model")(config).eval()


@pytest.mark.parametrize("family", ["Bert", "XLMRoberta"])
@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_bert_gives_what_transformers_gives(tmp_path: Path, family: str, pooling: str) -> None:
    network = small(family)
    save(tmp_path, network, pooling, "Normalize")
    encoder = load_bert(tmp_path, "cpu", torch.float32)
    assert encoder is not None
    with torch.inference_mode():
        # Position ids of the XLM-R family skip padding by id, which IDS has as 1.
        hidden = network(input_ids=IDS, attention_mask=MASK.long()).last_hidden_state
        vectors = encoder(IDS, MASK)
    mean = torch.stack([hidden[0].mean(0), hidden[1, :2].mean(0)])
    expected = mean if pooling == "mean_tokens" else hidden[:, 0]
    assert torch.allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_pooling_is_read_as_sentence_transformers_6_writes_it(
    tmp_path: Path, pooling: str
) -> None:
    save(tmp_path, small("Bert"), f"{pooling}_tokens")
    config = {"embedding_dimension": 32, "pooling_mode": pooling, "include_prompt": True}
    (tmp_path / "1_Pooling/config.json").write_text(json.dumps(config), "utf-8")
    encoder = load_bert(tmp_path, "cpu", torch.float32)
    assert encoder is not None
    assert encoder.shape.pooling == pooling
    config["pooling_mode"] = "max"
    (tmp_path / "1_Pooling/config.json").write_text(json.dumps(config), "utf-8")
    assert load_bert(tmp_path, "cpu", torch.float32) is None


def test_without_padding_no_mask_is_needed() -> None:
    encoder = load_bert(find_model("all-MiniLM-L6-v2").folder, "cpu", torch.float32)
    assert encoder is not None
    ids = torch.tensor([[101, 7592, 2088, 102]])
    with torch.inference_mode():
        assert torch.allclose(encoder(ids, None), encoder(ids, torch.ones_like(ids) > 0), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "more"),
    [({"hidden_act": "relu"}, ["Normalize"]), ({"is_decoder": True}, []), ({}, ["Dense"])],
)
def test_anything_else_is_left_to_sentence_transformers(
    tmp_path: Path, options: dict[str, Any], more: list[str]
) -> None:
    save(tmp_path, small("Bert", **options), "mean_tokens", *more)
    assert load_bert(tmp_path, "cpu", torch.float32) is None


def test_pipeline_gives_what_bert_gives(capfd: pytest.CaptureFixture[str]) -> None:
    folder = find_model("all-MiniLM-L6-v2").folder
    encoder = load_bert(folder, "cpu", torch.float32)
    pipeline = load_pipeline(folder, "cpu", torch.float32)
    assert encoder is not None
    ids = torch.tensor([[101, 7592, 2088, 102], [101, 7592, 102, 0]])
    mask = torch.tensor([[True] * 4, [True] * 3 + [False]])
    with torch.inference_mode():
        ours = torch.nn.functional.normalize(encoder(ids, mask), dim=1)
        assert torch.allclose(ours, pipeline(ids, mask), atol=1e-5)
        assert pipeline(ids[:1], None).shape == (1, 384)
    assert capfd.readouterr() == ("", "")


def test_a_broken_folder_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "no-such-network"}', "utf-8")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        load_pipeline(tmp_path, "cpu", torch.float32)
    assert "\n" not in str(caught.value)


def test_half_precision_in_the_processors_layout_is_as_near_to_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not bert.has_arranged_products():
        pytest.skip("this processor has no bfloat16 product of oneDNN's")
    folder = find_model("all-MiniLM-L6-v2").folder
    arranged = load_bert(folder, "cpu", torch.bfloat16)
    monkeypatch.setattr(bert, "_is_arrangeable", lambda weight: False)
    plain, exact = (load_bert(folder, "cpu", dtype) for dtype in (torch.bfloat16, torch.float32))
    assert arranged is not None
    assert plain is not None
    assert exact is not None
    layouts = [
        sum(weight.is_mkldnn for weight in one.weights.values()) for one in (arranged, plain, exact)
    ]
    assert layouts == [6 * 4, 0, 0]
    ids = torch.randint(1000, 30000, (5, 60), generator=torch.Generator().manual_seed(3))
    mask = torch.arange(60) < torch.tensor([[60], [41], [8], [3], [1]])
    with torch.inference_mode():
        wanted = exact(ids, mask)
        near, far = (cosine_similarity(one(ids, mask), wanted) for one in (arranged, plain))
        assert float(near.min()) > 0.9998
        assert float(near.mean()) > float(far.mean()) - 1e-5
        first = cosine_similarity(arranged.first(ids, mask).float(), exact.first(ids, mask))
        assert float(first.min()) > 0.9995
