"""Sets of conversations, whose data is written here in the layout they are published in."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.run.item import Item, Response
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.scorers.conversation import AnswerScorer

Write = Callable[..., Path]

COQA = {
    "version": "1.0",
    "data": [
        {
            "source": "mctest",
            "id": "story-1",
            "filename": "mc1.story",
            "story": "A white cat lived in a barn. Her name was Cotton.",
            "questions": [
                {"input_text": "What colour was the cat?", "turn_id": 1},
                {"input_text": "Where did she live?", "turn_id": 2},
            ],
            "answers": [
                {"span_start": 2, "span_end": 7, "span_text": "white", "input_text": "white"},
                {"span_start": 23, "span_end": 27, "span_text": "barn", "input_text": "in a barn"},
            ],
            "additional_answers": {
                "0": [{"input_text": "It was white"}, {"input_text": "barn"}],
                "1": [{"input_text": "white"}, {"input_text": "The barn"}],
            },
            "name": "mc1.story",
        },
        {
            "source": "cnn",
            "id": "story-2",
            "story": "It rained.",
            "questions": [{"input_text": "Did it rain?", "turn_id": 1}],
            "answers": [{"input_text": "yes", "turn_id": 1}],
        },
    ],
}


def test_coqa(write: Write) -> None:
    task = open_task("coqa", data=write({"coqa/coqa-dev-v1.0.json": json.dumps(COQA)}))
    first, second, third = task.items()
    assert [item.id for item in (first, second, third)] == [
        *("mctest/story-1-1", "mctest/story-1-2", "cnn/story-2-1")
    ]
    assert first.cluster == second.cluster == "story-1"
    assert first.targets == ("white", "It was white", "white")
    assert second.targets == ("in a barn", "barn", "The barn")
    assert third.targets == ("yes",)
    assert second.prompt == (
        "A white cat lived in a barn. Her name was Cotton.\n\n"
        "Q: What colour was the cat?\n\nA: white\n\nQ: Where did she live?\n\nA:"
    )
    # Articles do not count: "barn" equals two of the answers, one of which is always there.
    scored = task.score(second, Response(text=" barn\n\nQ: more"))
    assert scored.prediction == "barn"
    assert scored.scores["f1"] == 1.0
    scored = task.score(second, Response(text="in barn"))
    # F1 with "in barn", "barn", "barn" is 1, 2/3, 2/3: the best without each is 2/3, 1, 1.
    assert scored.scores["f1"] == pytest.approx(8 / 9)
    assert scored.scores["exact_match"] == pytest.approx(2 / 3)
    assert task.score(third, Response(text="Yes.")).scores == {
        "f1": 1.0,
        "exact_match": 1.0,
        "f1_agreed": 1.0,
        "heq": 1.0,
    }


def _qa(number: int, question: str, *answers: str) -> dict[str, object]:
    texts = [{"text": text, "answer_start": 0} for text in answers]
    return {
        "id": f"C_1_q#{number}",
        "question": question,
        "followup": "y",
        "yesno": "x",
        "answers": texts,
        "orig_answer": texts[0],
    }


QUAC = {
    "data": [
        {
            "title": "A Pump",
            "background": "Pumps move water.",
            "section_title": "History",
            "paragraphs": [
                {
                    "id": "C_1",
                    "context": "It was built in 1890 by a smith. CANNOTANSWER",
                    "qas": [
                        _qa(0, "When was it built?", "in 1890", "1890", "built in 1890"),
                        _qa(1, "Who paid?", "CANNOTANSWER", "by a smith", "CANNOTANSWER"),
                        _qa(2, "Why?", "CANNOTANSWER", "a smith", "It was built"),
                    ],
                }
            ],
        }
    ]
}


def test_quac(write: Write) -> None:
    task = open_task("quac", data=write({"quac/val_v0.2.json": json.dumps(QUAC)}))
    when, who, why = task.items()
    assert (when.id, when.cluster) == ("C_1_q#0", "C_1")
    assert when.targets == ("in 1890", "1890", "built in 1890")
    assert who.targets == ("CANNOTANSWER",)  # two of three
    assert why.targets == ("a smith", "It was built")  # one of three
    assert who.prompt == (
        "A Pump, History\nIt was built in 1890 by a smith.\n\n"
        "Answer each question with words of the text, or CANNOTANSWER where the text does not"
        " answer it.\n\nQ: When was it built?\nA: in 1890\n\nQ: Who paid?\nA:"
    )
    # People: 4/5 ("in 1890", against "built in 1890"), 2/3, 4/5. "in 1890": 4/5, 1, 1.
    scored = task.score(when, Response(text="in 1890"))
    assert scored.scores["f1_agreed"] == pytest.approx((4 / 5 + 1 + 1) / 3)
    assert scored.scores["heq"] == 1.0
    # "1890" alone: without "in 1890" 1, without "1890" 2/3, without the third 1.
    assert task.score(when, Response(text="1890")).scores["f1"] == pytest.approx(8 / 9)
    worse = task.score(when, Response(text="1890 by a smith"))
    assert worse.scores["heq"] == 0.0
    # People do not agree at all on "Why?": it has no f1_agreed.
    assert set(task.score(why, Response(text="a smith")).scores) == {"f1", "exact_match"}
    assert task.score(who, Response(text="CANNOTANSWER")).scores["f1"] == 1.0


def test_a_chinese_answer_of_several_people() -> None:
    item = Item("1", "?", ("一八九〇年", "1890年"))
    assert AnswerScorer().score(item, Response(text="1890年。")).scores["exact_match"] == 0.5


C3 = [
    [
        ["女：这本书你看完了吗？", "男：还差三页。"],
        [
            {"question": "男的在做什么？", "choice": ["看书", "写字", "做饭"], "answer": "看书"},
            {"question": "还差几页？", "choice": ["两页", "三页"], "answer": "三页"},
        ],
        "13-75",
    ]
]


def test_c3(write: Write) -> None:
    folder = write({"c3/data/c3-d-test.json": json.dumps(C3), "c3/data/c3-m-test.json": "[]"})
    task = open_task("c3", data=folder)
    first, second = task.items()
    assert (first.id, second.id) == ("d/13-75-0", "d/13-75-1")
    assert (first.group, first.cluster, first.labels) == ("d", "13-75", ("A", "B", "C"))
    assert (first.targets, second.targets) == (("A",), ("B",))
    assert second.prompt == (
        "女：这本书你看完了吗？\n男：还差三页。\n\n问题：还差几页？\nA. 两页\nB. 三页\n答案："
    )
    assert task.score(second, Response(top=((" B", -0.1),))).scores == {"acc": 1.0}


MT_BENCH = (
    '{"question_id": 81, "category": "writing", "turns": ["Write a haiku.", "Now in French."]}\n'
    '{"question_id": 111, "category": "math", "turns": ["2+2?", "Double it."],'
    ' "reference": ["4", "8"]}\n'
)


def test_mt_bench(write: Write) -> None:
    task = open_task("mt-bench", data=write({"mt-bench/question.jsonl": MT_BENCH}))
    writing, maths = task.items()
    assert (writing.id, writing.group) == ("writing/81", "writing")
    assert (writing.prompt, writing.turns) == ("Write a haiku.", ("Now in French.",))
    assert (writing.targets, maths.targets) == ((), ("4", "8"))
    assert (task.metric, dict(task.score(maths, Response(text="8")).scores)) == ("judge", {})


@pytest.mark.parametrize(
    ("task", "file", "text", "message"),
    [
        ("coqa", "coqa-dev-v1.0.json", "[]", "the data has no rows"),
        ("coqa", "coqa-dev-v1.0.json", '{"rows": []}', "no list under 'data': correct it"),
        (
            "coqa",
            "coqa-dev-v1.0.json",
            json.dumps(COQA).replace('"turn_id": 2', '"turn": 2'),
            "row 1, question 2: 'dict object' has no attribute 'turn_id'",
        ),
        (
            "coqa",
            "coqa-dev-v1.0.json",
            '{"data": [{"questions": "none"}]}',
            "row 1: data.each gives 'none': expected a list",
        ),
        ("quac", "val_v0.2.json", '{"data": [{"title": "T"}]}', "row 1: 'paragraphs' is undefined"),
        (
            "c3",
            "c3-d-test.json",
            json.dumps(C3).replace(json.dumps("三页")[1:-1] + '"}', '?"}'),
            "row 1, question 2: the answer '?' is not one of A, B: correct it",
        ),
        (
            "c3",
            "c3-d-test.json",
            '[{"question": "?"}]',
            "row 1: a dict where a list of 3 is expected (lines, questions, id): correct the row",
        ),
        (
            "c3",
            "c3-d-test.json",
            "[[[], []]]",
            "row 1: a list of 2 where a list of 3 is expected (lines, questions, id)",
        ),
        (
            "mt-bench",
            "question.jsonl",
            '{"question_id": 1, "category": "c", "prompt": "?"}\n',
            ":1: 'dict object' has no attribute 'turns'",
        ),
        (
            "mt-bench",
            "question.jsonl",
            '{"question_id": 1, "category": "c", "turns": ["?", {"a": 1}]}\n',
            ":1: turns is {'a': 1}: expected a text",
        ),
    ],
)
def test_a_wrong_file_is_one_clear_line(
    task: str, file: str, text: str, message: str, write: Write
) -> None:
    folder = write({f"{task}/{file}": text})
    with pytest.raises(UsageError) as caught:
        list(open_task(task, data=folder).items())
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
