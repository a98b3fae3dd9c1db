"""Fewer layers, dimensions, heads and weights: what remains, in ragkit and its peer."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError, RagkitError, UsageError
from ragkit_tune.shrink.layers import Choice, chosen_layers
from ragkit_tune.shrink.shrink import ShrinkOptions, shrink_model
from tests.tune.merge.tiny_models import LLAMA, write_checkpoint
from tests.tune.shrink.test_vocabulary import peer_vectors
from tests.tune.shrink.tiny_embedders import CHINESE, ENGLISH

TEXTS = [*ENGLISH[:6], *CHINESE[:6]]


@pytest.fixture
def model(embedders: Path) -> Path:
    return embedders / "Unigram"


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.mark.parametrize(
    ("layers", "count", "choice", "expected"),
    [
        (12, 6, "even", [0, 2, 4, 7, 9, 11]),
        (12, 1, "even", [0]),
        (12, 11, "even", [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]),
        (12, 3, "first", [0, 1, 2]),
        (12, 3, "last", [9, 10, 11]),
    ],
)
def test_layers_are_chosen(layers: int, count: int, choice: Choice, expected: list[int]) -> None:
    assert chosen_layers(layers, count, choice) == expected


def test_the_remaining_layers_are_numbered_anew_and_run(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    card = shrink_model(str(model), ShrinkOptions(layers=2), out)
    before, after = weights(model), weights(out)
    name = "encoder.layer.{}.output.dense.weight"
    assert torch.equal(after[name.format(0)], before[name.format(0)])
    assert torch.equal(after[name.format(1)], before[name.format(2)])
    assert name.format(2) not in after
    assert json.loads((out / "config.json").read_text("utf-8"))["num_hidden_layers"] == 2
    assert card.notes[0] == "Layers 0, 2 of 3 remain"
    vectors = LocalEmbedder(str(out)).embed_passages(TEXTS)
    assert np.allclose(vectors, peer_vectors(out, TEXTS), atol=2e-6)


def test_lists_by_layer_are_cut_with_them(tmp_path: Path) -> None:
    model = write_checkpoint(tmp_path / "llama", 0.3, shards=2)
    config = LLAMA | {"layer_types": ["full_attention", "sliding_attention"]}
    (model / "config.json").write_text(json.dumps(config), "utf-8")
    shrink_model(str(model), ShrinkOptions(layers=1, layer_choice="last"), tmp_path / "out")
    written = json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))
    assert written == config | {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]}
    files = [file.name for file in (tmp_path / "out").glob("*safetensors*")]
    assert files == ["model.safetensors"]

    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert len(loaded.model.layers) == 1


def test_the_first_dimensions_are_those_that_ragkit_cuts_to(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shrink_model(str(model), ShrinkOptions(dimension=10), out)
    cut = LocalEmbedder(str(model), dimension=10).embed_passages(TEXTS)
    vectors = LocalEmbedder(str(out)).embed_passages(TEXTS)
    assert vectors.shape == (12, 10)
    assert np.allclose(vectors, cut, atol=1e-6)
    assert np.allclose(peer_vectors(out, TEXTS), cut, atol=2e-6)
    shrink_model(str(out), ShrinkOptions(dimension=4), tmp_path / "again")  # a matrix is there
    again = LocalEmbedder(str(tmp_path / "again")).embed_passages(TEXTS)
    expected = LocalEmbedder(str(model), dimension=4).embed_passages(TEXTS)
    assert np.allclose(again, expected, atol=1e-6)


def test_principal_components_hold_more_of_the_cosines(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n".join([*ENGLISH, *CHINESE]), "utf-8")
    full = LocalEmbedder(str(model)).embed_passages(TEXTS)
    errors = []
    for name, pca in (("pca", (file,)), ("first", ())):
        shrink_model(str(model), ShrinkOptions(dimension=8, pca=pca), tmp_path / name)
        vectors = LocalEmbedder(str(tmp_path / name)).embed_passages(TEXTS)
        assert np.allclose(peer_vectors(tmp_path / name, TEXTS), vectors, atol=2e-6)
        errors.append(float(np.abs(vectors @ vectors.T - full @ full.T).mean()))
    assert errors[0] < errors[1] / 2
    card = json.loads((tmp_path / "pca" / "card.json").read_text("utf-8"))
    assert card["settings"] == {"dimension": 8, "pca": "texts.txt"}
    assert card["notes"][0].startswith("8 principal components of 80 texts' vectors, which hold 9")


@pytest.mark.parametrize("scope", ["global", "layer"])
def test_the_smallest_weights_of_the_layers_are_zero(
    model: Path, tmp_path: Path, scope: str
) -> None:
    out = tmp_path / "out"
    options = ShrinkOptions(magnitude=0.3, scope="layer" if scope == "layer" else "global")
    card = shrink_model(str(model), options, out)
    before, after = weights(model), weights(out)
    names = [n for n, t in before.items() if n.startswith("encoder.") and t.dim() == 2]
    assert len(names) == 18
    for name in before.keys() - names:
        assert torch.equal(before[name], after[name])
    shares = [float((after[name] == 0).double().mean()) for name in names]
    if scope == "layer":
        assert shares == pytest.approx([0.3] * 18, abs=0.002)
    old = torch.cat([before[name].flatten() for name in names])
    new = torch.cat([after[name].flatten() for name in names])
    assert float((new == 0).double().mean()) == pytest.approx(0.3, abs=0.002)
    if scope == "global":
        assert old[new == 0].abs().max() < old[new != 0].abs().min()
    assert torch.equal(old[new != 0], new[new != 0])
    assert "Zeros make the model neither smaller nor faster" in card.notes[1]
    assert card.bytes_after == card.bytes_before


def test_the_weakest_heads_are_zero(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(model, source)
    tensors = weights(source)
    name = "encoder.layer.1.attention.output.dense.weight"
    tensors[name][:, 6:12] /= 100  # the second head's columns
    save_file(tensors, source / "model.safetensors")
    shrink_model(str(source), ShrinkOptions(heads=1), out)
    after = weights(out)[name]
    assert not after[:, 6:12].any()
    assert torch.equal(after[:, :6], tensors[name][:, :6])
    assert torch.equal(after[:, 12:], tensors[name][:, 12:])


def test_all_of_it_at_once_is_one_model(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ShrinkOptions(vocabulary=("en", "zh"), layers=2, heads=1, magnitude=0.1, dimension=12)
    card = shrink_model(str(model), options, out)
    vectors = LocalEmbedder(str(out)).embed_passages(TEXTS)
    assert np.allclose(peer_vectors(out, TEXTS), vectors, atol=2e-6)
    assert len(card.notes) == 9
    assert card.as_json()["state"] == "unproven"


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        (ShrinkOptions(), UsageError, "nothing to make smaller: name --vocabulary"),
        (ShrinkOptions(layers=3), UsageError, "--layers 3: Unigram has 3 layers: name 1 to 2"),
        (ShrinkOptions(dimension=24), UsageError, "--dimension 24: the model has 24: name 1 to 23"),
        (ShrinkOptions(magnitude=1.0), UsageError, "--magnitude 1 is not between 0 and 1"),
        (ShrinkOptions(heads=4), UsageError, "--heads 4: Unigram has 4 heads a layer: name 1 to 3"),
        (ShrinkOptions(layers=1, pca=(Path("x.txt"),)), UsageError, "--pca fits components"),
    ],
)
def test_options_that_the_model_does_not_allow_are_refused(
    model: Path, tmp_path: Path, options: ShrinkOptions, kind: type[RagkitError], reason: str
) -> None:
    with pytest.raises(kind) as caught:
        shrink_model(str(model), options, tmp_path / "out")
    assert str(caught.value).startswith(reason)
    assert list(tmp_path.iterdir()) == []


def test_models_without_what_is_asked_for_are_refused(model: Path, tmp_path: Path) -> None:
    llama = str(write_checkpoint(tmp_path / "llama", 0.3))
    with pytest.raises(UsageError, match=r"--dimension is for embedding models .* without modules"):
        shrink_model(llama, ShrinkOptions(dimension=4), tmp_path / "out")
    with pytest.raises(ModelError, match=r"tokenizer\.json is of the kind 'WordLevel': BPE"):
        shrink_model(llama, ShrinkOptions(vocabulary=("en",)), tmp_path / "out")
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(ENGLISH[:10]), "utf-8")
    with pytest.raises(UsageError, match=r"--dimension 8 by texts needs 16 of them"):
        shrink_model(str(model), ShrinkOptions(dimension=8, pca=(texts,)), tmp_path / "out")
    config = json.loads((tmp_path / "llama" / "config.json").read_text("utf-8"))
    config["quantization_config"] = {"quant_method": "awq"}
    (tmp_path / "llama" / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(UsageError, match=r"llama is quantized: name the original"):
        shrink_model(llama, ShrinkOptions(layers=1), tmp_path / "out")
    assert not (tmp_path / "out").exists()
