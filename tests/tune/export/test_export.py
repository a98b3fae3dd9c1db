"""Exports read back: by the libraries where they are installed, else by the documented form."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragkit.errors import UsageError
from ragkit_tune.data.data_set import RowsKind, write_data_set
from ragkit_tune.export.configurations import VERSIONS
from ragkit_tune.export.export import TRAINERS, export_data

Row = dict[str, Any]
SYSTEM = {"role": "system", "content": "Answer from the passages."}
ASKED = {"role": "user", "content": "How long is leave?"}
ANSWERED = {"role": "assistant", "content": "28 days [1]."}
CHAT = {"id": "c", "messages": [SYSTEM, ASKED, ANSWERED], "sources": [], "prompt": "1-1"}
AGAIN = {"id": "d", "messages": [ASKED, ANSWERED, ASKED, ANSWERED], "sources": [], "prompt": "1-1"}
PREFERENCE = {"id": "p", "prompt": [SYSTEM, ASKED], "chosen": "28 days.", "rejected": "30 days."}
COMPLETION = {"id": "k", "prompt": [ASKED], "completion": "30 days.", "label": False}


def pair(name: str, *negatives: str, **values: Any) -> Row:
    row = {"id": name, "query": f"query {name}?", "positive": f"passage {name}"}
    span = {"document": f"/{name}", "start": 0, "end": 9, "group": name}
    return {**row, **span, "negatives": list(negatives), **values}


PAIRS = [
    pair("a", "far a", "far b", scores=[0.9, 0.2, 0.1]),
    pair("b"),
    pair("c"),
    pair("d", query="query b?"),
]


def data(folder: Path, kind: RowsKind, *rows: Row) -> Path:
    card = {"seed": 3, "collection": "c"}
    write_data_set(folder, kind, {"train": rows, "dev": rows[:1], "test": []}, card)
    return folder


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_sentence_transformers_loads_equal_columns(tmp_path: Path) -> None:
    from datasets import load_dataset

    written = export_data(
        data(tmp_path / "d", "pairs", *PAIRS), "sentence-transformers", tmp_path / "o"
    )
    assert dict(written.files) == {
        "train-triplets.jsonl": 2, "train-pairs.jsonl": 3,
        "dev-triplets.jsonl": 2, "dev-pairs.jsonl": 0, "train.py": None,
    }  # fmt: skip
    options = {"split": "train", "cache_dir": str(tmp_path / "cache")}
    triplets = load_dataset("json", data_files=str(tmp_path / "o/train-triplets.jsonl"), **options)
    assert triplets.column_names == ["anchor", "positive", "negative"]
    assert triplets[1] == {"anchor": "query a?", "positive": "passage a", "negative": "far b"}
    pairs = load_dataset("json", data_files=str(tmp_path / "o/train-pairs.jsonl"), **options)
    assert pairs.column_names == ["anchor", "positive"]
    compile((tmp_path / "o/train.py").read_text("utf-8"), "train.py", "exec")


def test_flagembedding_has_negatives_and_scores_in_every_row(tmp_path: Path) -> None:
    export_data(data(tmp_path / "d", "pairs", *PAIRS), "flagembedding", tmp_path / "o")
    first, second, third, fourth = lines(tmp_path / "o/train.jsonl")
    assert first == {
        "query": "query a?", "pos": ["passage a"], "neg": ["far a", "far b"],
        "pos_scores": [0.9], "neg_scores": [0.2, 0.1],
    }  # fmt: skip
    # Drawn of the other groups' passages; never one that answers the same query.
    assert (second["pos"], sorted(second["neg"])) == (["passage b"], ["passage a", "passage c"])
    assert sorted(third["neg"]) == ["passage a", "passage b", "passage d"]
    assert sorted(fourth["neg"]) == ["passage a", "passage c"]
    assert lines(tmp_path / "o/dev.jsonl") == [first]
    assert "--train_data train.jsonl" in (tmp_path / "o/train.sh").read_text("utf-8")


def test_axolotl_trains_on_the_last_message_alone(tmp_path: Path) -> None:
    export_data(data(tmp_path / "d", "chat", CHAT, AGAIN), "axolotl", tmp_path / "o")
    _, row = lines(tmp_path / "o/train.jsonl")
    assert [message["train"] for message in row["messages"]] == [False, False, False, True]
    assert [message["role"] for message in row["messages"]] == ["user", "assistant"] * 2
    config = yaml.safe_load((tmp_path / "o/axolotl.yaml").read_text("utf-8"))
    (source,) = config["datasets"]
    assert source["type"] == "chat_template"
    assert (source["field_messages"], source["message_field_training"]) == ("messages", "train")
    assert (tmp_path / "o" / source["path"]).is_file()
    export_data(data(tmp_path / "p", "preference", PREFERENCE), "axolotl", tmp_path / "q")
    (row,) = lines(tmp_path / "q/train.jsonl")
    assert row["chosen"] == {"role": "assistant", "content": "28 days."}
    assert row["messages"] == [SYSTEM, ASKED]
    config = yaml.safe_load((tmp_path / "q/axolotl.yaml").read_text("utf-8"))
    assert (config["rl"], config["datasets"][0]["type"]) == ("dpo", "chat_template.default")


@pytest.mark.parametrize(
    ("kind", "row", "columns", "stage"),
    [
        ("chat", CHAT, {"messages": "messages"}, "sft"),
        ("preference", PREFERENCE,
         {"messages": "messages", "chosen": "chosen", "rejected": "rejected"}, "dpo"),
        ("completion", COMPLETION, {"messages": "messages", "kto_tag": "label"}, "kto"),
    ],
)  # fmt: skip
def test_llamafactory_describes_its_columns(
    kind: RowsKind, row: Row, columns: dict[str, str], stage: str, tmp_path: Path
) -> None:
    export_data(data(tmp_path / "d", kind, row), "llamafactory", tmp_path / "o")
    info = json.loads((tmp_path / "o/dataset_info.json").read_text("utf-8"))
    for name in ("ragkit_train", "ragkit_dev"):
        described = info[name]
        (written,) = lines(tmp_path / "o" / described["file_name"])
        assert described["columns"] == columns
        assert sorted(written) == sorted(columns.values())
        assert described.get("ranking", False) is (kind == "preference")
        tags = described["tags"]
        roles = {message[tags["role_tag"]] for message in written["messages"]}
        assert roles <= {tags["user_tag"], tags["assistant_tag"], tags["system_tag"]}
    config = yaml.safe_load((tmp_path / "o/llamafactory.yaml").read_text("utf-8"))
    assert (config["stage"], config["dataset"], config["dataset_dir"]) == (
        stage,
        "ragkit_train",
        ".",
    )
    assert config.get("mask_history", False) is (kind == "chat")


def test_unsloth_gets_what_trl_trains_on(tmp_path: Path) -> None:
    export_data(data(tmp_path / "d", "chat", CHAT), "unsloth", tmp_path / "o")
    (row,) = lines(tmp_path / "o/train.jsonl")
    assert row == {"prompt": [SYSTEM, ASKED], "completion": [ANSWERED]}
    script = (tmp_path / "o/train.py").read_text("utf-8")
    assert "SFTTrainer" in script
    compile(script, "train.py", "exec")
    export_data(data(tmp_path / "p", "completion", COMPLETION), "unsloth", tmp_path / "q")
    (row,) = lines(tmp_path / "q/train.jsonl")
    answer = {"role": "assistant", "content": "30 days."}
    assert row == {"prompt": [ASKED], "completion": [answer], "label": False}


@pytest.mark.parametrize("trainer", TRAINERS)
def test_configurations_name_their_version_and_the_proof(trainer: str, tmp_path: Path) -> None:
    pairs = trainer in {"flagembedding", "sentence-transformers"}
    folder = data(tmp_path / "d", "pairs", *PAIRS) if pairs else data(tmp_path / "d", "chat", CHAT)
    written = export_data(folder, trainer, tmp_path / "o")
    texts = [(tmp_path / "o" / name).read_text("utf-8") for name in written.files]
    assert any(VERSIONS[trainer] in text and "ragkit tune prove" in text for text in texts)


def test_what_a_trainer_does_not_read_is_refused(tmp_path: Path) -> None:
    pairs = data(tmp_path / "d", "pairs", *PAIRS)
    message = (
        "has rows of kind pairs, and axolotl reads chat or preference: choose flagembedding or"
    )
    with pytest.raises(UsageError, match=message):
        export_data(pairs, "axolotl", tmp_path / "o")
    with pytest.raises(UsageError, match=r"^--for torchtune is unknown: choose one of axolotl"):
        export_data(pairs, "torchtune", tmp_path / "o")
    with pytest.raises(UsageError, match="is already there: name another folder"):
        export_data(pairs, "flagembedding", pairs)
    assert not (tmp_path / "o").exists()
