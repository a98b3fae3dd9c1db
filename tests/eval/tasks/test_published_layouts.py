"""CMMLU, C-Eval, ARC and HellaSwag, whose data is written here in the layout they come in."""

import json
from collections.abc import Callable
from pathlib import Path

from ragkit_eval.run.item import Likelihood, Response
from ragkit_eval.tasks.registry import open_task

Write = Callable[..., Path]

CMMLU = (
    ",Question,A,B,C,D,Answer\n"
    "0,肉牛屠宰后，胴体的哪个部位肉质较好,胸,腹,大腿,小腿,C\n"
    "1,牛的发情周期平均为,16～17天,21天,28天,19～20天,B\n"
)
CEVAL_DEV = "id,question,A,B,C,D,answer,explanation\n" + "".join(
    f'{n},问题{n}____。,甲,乙,丙,丁,A,"1. 因为\n2. 所以"\n' for n in range(5)
)
CEVAL_VAL = "id,question,A,B,C,D,answer\n0,____是法。,甲,乙,丙,丁,D\n"


def test_cmmlu(write: Write) -> None:
    rows = CMMLU + "".join(f"{n},问{n},一,二,三,四,D\n" for n in range(2, 5))
    folder = write({"cmmlu/dev/agronomy.csv": rows, "cmmlu/test/agronomy.csv": CMMLU})
    items = list(open_task("cmmlu", data=folder).items())
    assert len(items) == 2
    assert items[0].targets == ("C",)
    assert items[0].prompt == (
        "以下是关于农学的单项选择题，请直接给出正确答案的选项。\n\n"
        "题目：肉牛屠宰后，胴体的哪个部位肉质较好\nA. 胸\nB. 腹\nC. 大腿\nD. 小腿\n答案是：C\n\n"
        "题目：牛的发情周期平均为\nA. 16～17天\nB. 21天\nC. 28天\nD. 19～20天\n答案是：B\n\n"
        "题目：问2\nA. 一\nB. 二\nC. 三\nD. 四\n答案是：D\n\n"
        "题目：问3\nA. 一\nB. 二\nC. 三\nD. 四\n答案是：D\n\n"
        "题目：问4\nA. 一\nB. 二\nC. 三\nD. 四\n答案是：D\n\n"
        "题目：肉牛屠宰后，胴体的哪个部位肉质较好\nA. 胸\nB. 腹\nC. 大腿\nD. 小腿\n答案是："
    )
    harness = next(open_task("cmmlu:lm-eval", data=folder).items())
    assert harness.prompt.startswith(
        "以下是关于农学的单项选择题，请直接给出正确答案的选项。\n\n肉牛屠宰后，"
    )
    assert "\nD. 小腿\n答案： C\n\n牛的发情" in harness.prompt
    assert harness.choices == (" A", " B", " C", " D")


def test_ceval(write: Write) -> None:
    folder = write({"ceval/dev/law_dev.csv": CEVAL_DEV, "ceval/val/law_val.csv": CEVAL_VAL})
    (item,) = open_task("ceval", data=folder).items()
    assert item.targets == ("D",)
    assert item.prompt.startswith(
        "以下是中国关于法学考试的单项选择题，请选出其中的正确答案。\n\n"
        "问题0____。\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案：A\n\n问题1"
    )
    assert item.prompt.endswith("答案：A\n\n____是法。\nA. 甲\nB. 乙\nC. 丙\nD. 丁\n答案：")
    (harness,) = open_task("ceval:lm-eval", data=folder).items()
    assert harness.prompt.startswith(
        "以下是中国关于法学的单项选择题，请选出其中的正确答案。\n\n问题0"
    )


ARC = {
    "id": "Mercury_7",
    "question": {
        "stem": "Which melts?",
        "choices": [{"text": "ice", "label": "1"}, {"text": "a stone", "label": "2"}],
    },
    "answerKey": "1",
}


def test_arc(write: Write) -> None:
    name = "arc/ARC-V1-Feb2018-2/ARC-Challenge/ARC-Challenge-Test.jsonl"
    task = open_task("arc-challenge", data=write({name: json.dumps(ARC) + "\n"}))
    (item,) = task.items()
    assert (item.id, item.labels, item.targets) == ("Mercury_7", ("1", "2"), ("1",))
    assert item.prompt == "Question: Which melts?\nAnswer:"
    assert item.choices == (" ice", " a stone")
    response = Response(likelihoods=(Likelihood(-3.0, 1, True), Likelihood(-4.0, 2, False)))
    scored = task.score(item, response)
    assert (task.metric, scored.prediction) == ("acc_norm", "1")
    assert scored.scores == {"acc": 1.0, "acc_norm": 0.0, "acc_bytes": 0.0}


HELLASWAG = [
    {
        "ind": 24,
        "activity_label": "Roof shingle removal",
        "ctx_a": "A man is sitting [header] on a roof.",
        "ctx_b": "he",
        "label": 3,
        "endings": [
            "is using wrap to wrap a pair of skis.",
            " [title] Tiles [step] are  level.",
            "Up [title] Tiles [step] are  level.",
            "starts pulling up roofing on a roof.",
        ],
        "source_id": "activitynet~v_-JhWjGDPHMY",
    },
    {
        "ind": 25,
        "activity_label": "Health",
        "ctx_a": "[header] How to cope [title] Ask someone. [step] Just ask.",
        "ctx_b": "",
        "label": "0",
        "endings": ["a [substeps] b", "b", "c  d   e", "d"],
        "source_id": "wikihow~1",
    },
]


def test_hellaswag(write: Write) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in HELLASWAG)
    folder = write({"hellaswag/hellaswag_val.jsonl": lines})
    first, second = open_task("hellaswag", data=folder).items()
    # What lm-eval 0.4.13's own task makes of these two rows (ConfigurableTask with its yaml over
    # a local file, build_all_requests(), instance.args).
    assert first.prompt == "Roof shingle removal: A man is sitting on a roof. He"
    assert first.choices == (
        " is using wrap to wrap a pair of skis.",
        "  Tiles are level.",
        " Up. Tiles are level.",
        " starts pulling up roofing on a roof.",
    )
    assert second.prompt == "Health: How to cope. Ask someone. Just ask."
    assert second.choices == (" a b", " b", " c d  e", " d")
    assert (first.targets, second.targets) == (("D",), ("A",))
    assert first.cluster == "activitynet~v_-JhWjGDPHMY"
