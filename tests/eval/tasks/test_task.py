"""A declared task: items, ids, limits and groups, missing and malformed data, its scores."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.run.item import Item, Response
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.task import DeclaredTask
from tests.eval.tasks.conftest import PLAIN

MakeTask = Callable[..., DeclaredTask]
Write = Callable[..., Path]

CHOICE = """
method = "letter"
scorer = "choice"
metric = "acc"
[data]
files = ["rows.jsonl"]
[fields]
question = "q"
options = "options"
target = "answer"
"""
TEXT = """
method = "generate"
scorer = "text"
metric = "contains"
metrics = ["exact-match"]
[data]
files = ["rows.jsonl"]
[fields]
question = "question"
target = "answers"
"""


def test_items_of_the_plainest_task(make_task: MakeTask) -> None:
    task = make_task()
    items = list(task.items())
    assert [(item.prompt, item.targets) for item in items] == [
        ("1+1?", ("2",)),
        ("首都？", ("北京",)),
    ]
    assert (task.name, task.method, task.metric) == ("own", "generate", "exact_match")
    assert task.metrics == {
        "exact_match": "exact_match|rule:first-line|v:1",
        "exact_match_lenient": "exact_match_lenient|rule:first-line-in-any-notation|v:1",
    }
    assert task.sampling == {"max_tokens": 256, "temperature": 0.0, "stop": [], "chat": False}
    assert task.score(items[1], Response(text=" 北京\n因为")).scores == {
        "exact_match": 1.0,
        "exact_match_lenient": 1.0,
    }


def test_an_id_stays_when_rows_are_reordered(make_task: MakeTask) -> None:
    rows = [json.dumps({"question": f"q{n}", "answer": "a"}) for n in range(20)]
    ids = {item.question: item.id for item in make_task(rows="\n".join(rows)).items()}
    assert len(set(ids.values())) == 20
    random.Random(7).shuffle(rows)
    assert {item.question: item.id for item in make_task(rows="\n".join(rows)).items()} == ids


def test_a_question_that_is_there_twice_has_two_ids(make_task: MakeTask) -> None:
    first, second = make_task(rows='{"question": "q", "answer": "a"}\n' * 2).items()
    assert second.id == f"{first.id}-2"


def test_an_id_that_the_data_gives_may_not_be_there_twice(make_task: MakeTask) -> None:
    toml = TEXT.replace("[fields]", '[fields]\nid = "name"').replace('"answers"', '"question"')
    toml = toml.replace('scorer = "text"', 'scorer = "first-line"')
    toml = toml.replace('"contains"', '"exact_match"').replace('["exact-match"]', "[]")
    rows = '{"question": "q", "name": 7}\n'
    assert [item.id for item in make_task(toml, rows).items()] == ["7"]
    with pytest.raises(UsageError, match=r"rows.jsonl:2: the id '7' is there twice: give each"):
        list(make_task(toml, rows * 2).items())


def test_a_limit_takes_the_same_items_whatever_the_order(make_task: MakeTask) -> None:
    rows = [json.dumps({"question": f"q{n}", "answer": "a"}) for n in range(50)]
    chosen = [item.question for item in make_task(rows="\n".join(rows), limit=5).items()]
    assert len(chosen) == 5
    assert chosen == sorted(chosen, key=lambda name: int(name[1:]))
    assert chosen != [f"q{n}" for n in range(5)]
    backwards = make_task(rows="\n".join(reversed(rows)), limit=5).items()
    assert {item.question for item in backwards} == set(chosen)
    larger_sample = {item.question for item in make_task(rows="\n".join(rows), limit=9).items()}
    assert set(chosen) < larger_sample
    assert len(list(make_task(rows="\n".join(rows), limit=99).items())) == 50
    with pytest.raises(UsageError, match="the limit of items is 0: it must be 1 or more"):
        make_task(limit=0)


def test_groups_by_file(write: Write) -> None:
    row = '{"question": "q", "answer": "a"}\n'
    toml = (
        'method = "generate"\nscorer = "first-line"\nmetric = "exact_match"\n'
        '[data]\nfiles = ["*_test.jsonl"]\n[names]\nlaw = "法律"\n'
        '[fields]\nquestion = "question"\ntarget = "answer"\n'
        '[prompt]\nhead = "{{ group }} {{ group_name }}\\n"\n'
    )
    folder = write(
        {"own.toml": toml, "law_test.jsonl": row, "art_test.jsonl": row, "other.jsonl": row}
    )
    path = str(folder / "own.toml")
    items = list(open_task(path, data=None).items())
    assert [(item.group, item.prompt) for item in items] == [
        ("art", "art art\nq"),
        ("law", "law 法律\nq"),
    ]
    assert [item.id.split("/")[0] for item in items] == ["art", "law"]
    (only,) = open_task(path, data=None, groups=["law"]).items()
    assert only == items[1]
    with pytest.raises(UsageError, match="own: no group 'lau': did you mean law"):
        open_task(path, data=None, groups=["law", "lau"])


def test_groups_by_field(make_task: MakeTask) -> None:
    toml = TEXT.replace("[fields]", '[fields]\ngroup = "kind"\nextra = { n = "size * 2" }')
    toml = toml.replace('scorer = "text"', 'scorer = "first-line"')
    toml = toml.replace('"contains"', '"exact_match"').replace('["exact-match"]', "[]")
    rows = "".join(
        json.dumps({"question": "q", "answers": ["a", "b"], "kind": kind, "size": 2}) + "\n"
        for kind in "xyx"
    )
    items = list(make_task(toml, rows, groups=["x"]).items())
    assert [item.group for item in items] == ["x", "x"]
    assert items[0].targets == ("a", "b")
    assert items[0].extra == {"n": 4}
    with pytest.raises(UsageError, match="own: no group 'z': there is x, y"):
        list(make_task(toml, rows, groups=["z"]).items())


def _choice(answer: object = "B", options: object = ("one", "two")) -> str:
    return json.dumps({"q": "which?", "options": options, "answer": answer}) + "\n"


def test_a_choice_shows_its_options_once(make_task: MakeTask) -> None:
    (item,) = make_task(CHOICE, _choice()).items()
    assert (item.labels, item.targets) == (("A", "B"), ("B",))
    assert item.question == "which?\nA. one\nB. two"
    (item,) = make_task(CHOICE, _choice(options=["(A)one", "(B)two"])).items()
    assert item.question == "which?\n(A)one\n(B)two"


@pytest.mark.parametrize(
    ("toml", "rows", "message"),
    [
        (CHOICE, _choice() + _choice("C"), "rows.jsonl:2: the answer 'C' is not one of A, B"),
        (CHOICE, _choice(None), "rows.jsonl:1: target is None: expected a text"),
        (CHOICE, _choice(options="AB"), "rows.jsonl:1: options is 'AB': expected a list"),
        (CHOICE, _choice(options=[{}, {}]), "rows.jsonl:1: options is {}: expected a text"),
        (CHOICE, '{"q": "x"}\n', "rows.jsonl:1: 'options' is undefined: the row has q"),
        (CHOICE, "{}\nno\n", "rows.jsonl:1: 'q' is undefined"),
        (CHOICE.replace('"q"', '"q + 1"'), _choice(), "rows.jsonl:1: can only concatenate str"),
        (CHOICE.replace('"q"', '"q +"'), _choice(), "own: fields.question: not an expression: "),
        (CHOICE + '[prompt]\nquestion = "{{ x"\n', _choice(), "prompt.question: not a template: "),
        (CHOICE + '[prompt]\nquestion = "{{ x }}"\n', _choice(), "rows.jsonl:1: 'x' is undefined"),
        (CHOICE, "", "the data has no rows: correct it"),
    ],
)
def test_malformed_data_is_said_in_one_line(
    make_task: MakeTask, toml: str, rows: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        list(make_task(toml, rows).items())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_templates_reach_nothing_but_values(make_task: MakeTask) -> None:
    toml = CHOICE + '[prompt]\nquestion = "{{ q.__class__.__mro__ }}"\n'
    with pytest.raises(UsageError, match=r"rows.jsonl:1: access to attribute '__class__'"):
        list(make_task(toml, _choice()).items())


def test_a_prompt_is_the_templates_text_and_the_values(make_task: MakeTask) -> None:
    toml = CHOICE + '[prompt]\nhead = "  <b>\\n"\nquestion = "{{ q }} & \\n\\n"\n'
    (item,) = make_task(toml, _choice().replace("which?", "a < b\\r\\n")).items()
    assert item.prompt == "  <b>\na < b\r\n & \n\n"


def test_the_data_hash_covers_questions_and_shots(write: Write) -> None:
    row = '{"question": "q", "answer": "a"}\n'
    toml = (
        'method = "generate"\nscorer = "first-line"\nmetric = "exact_match"\n'
        '[data]\nfiles = ["rows.jsonl"]\nshots = "shots.jsonl"\nshot_count = 1\n'
        '[fields]\nquestion = "question"\ntarget = "answer"\n'
    )
    hashes = []
    for rows, shots in ((row, row), (row, row + "\n"), (row + "\n", row)):
        folder = write({"own.toml": toml, "rows.jsonl": rows, "shots.jsonl": shots})
        task = open_task(str(folder / "own.toml"), data=None)
        assert next(task.items()).prompt == "q a\n\nq"
        hashes.append(task.data_hash)
    # The bytes follow one another, in order of name: the last two differ in where a line ends.
    assert hashes[0] != hashes[1] != hashes[2] != hashes[0]
    folder = write({"own.toml": toml.replace("count = 1", "count = 2")})
    short = open_task(str(folder / "own.toml"), data=None)
    with pytest.raises(UsageError, match=r"shots.jsonl: 1 rows where 2 shots are needed"):
        list(short.items())
    (folder / "shots.jsonl").unlink()
    with pytest.raises(NotFoundError, match=r"own: there is no .*shots.jsonl: it holds the examp"):
        open_task(str(folder / "own.toml"), data=None)


def test_a_dataset_of_the_hub(make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"question": "1+1?", "answer": "2"}, {"question": "?", "answer": "!"}]
    module = ModuleType("datasets")
    module.load_dataset = lambda *_, **__: rows  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    toml = PLAIN.replace('"rows.jsonl"', '"hf:some/set"')
    task = make_task(toml)
    assert [item.prompt for item in task.items()] == ["1+1?", "?"]
    previous_hash = task.data_hash
    rows.append({"question": "more", "answer": ""})
    assert make_task(toml).data_hash != previous_hash


def test_a_row_that_is_not_kept_is_no_item(make_task: MakeTask) -> None:
    toml = CHOICE.replace("[fields]", "[fields]\nkeep = \"answer != 'A'\"")
    assert [item.targets for item in make_task(toml, _choice("A") + _choice("B")).items()] == [
        ("B",)
    ]


def test_any_metric_of_texts(make_task: MakeTask) -> None:
    pytest.importorskip("ragkit_eval.metrics.registry")
    task = make_task(TEXT, '{"question": "q", "answers": ["Paris", "Lutetia"]}\n')
    (item,) = task.items()
    assert set(task.metrics) == {"contains", "exact-match"}
    assert all(task.metrics.values())
    scored = task.score(item, Response(text=" It is Paris. "))
    assert scored.prediction == "It is Paris."
    assert scored.scores == {"contains": 1.0, "exact-match": 0.0}
    with pytest.raises(UsageError, match=r"own: .*contians"):
        make_task(TEXT.replace('"contains"', '"contians"'))


@pytest.mark.parametrize(
    ("original", "replacement", "message"),
    [
        ('"choice"', '"choise"', "own: no scorer 'choise': did you mean choice"),
        ('"acc"', '"acc_norm"', "own: no metric 'acc_norm': did you mean acc"),
    ],
)
def test_unknown_scorers_and_metrics(
    make_task: MakeTask, original: str, replacement: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_task(CHOICE.replace(original, replacement), _choice())


def test_an_item_without_options_is_scored_by_its_first_line(make_task: MakeTask) -> None:
    task = make_task()
    item = Item("1", "?", ("2",))
    for text, right in (("\n\n 2 \n3", 1.0), ("", 0.0)):
        scores = task.score(item, Response(text=text)).scores
        assert scores == {"exact_match": right, "exact_match_lenient": right}


@pytest.mark.parametrize(
    ("toml", "row", "message"),
    [
        (TEXT, '{"question": "q", "answers": []}', "there is no right answer: give one"),
        (CHOICE, '{"q": "q", "options": ["x"], "answer": []}', "there is no right answer: give"),
        (CHOICE, '{"q": "q", "options": [], "answer": []}', "there is no option to choose"),
        (
            CHOICE.replace("options = ", "labels = \"['A', 'A']\"\noptions = "),
            '{"q": "q", "options": ["x", "y"], "answer": "A"}',
            "the labels A, A are not distinct: give each its own",
        ),
        (
            PLAIN.replace("first-line", "number").replace("exact_match", "acc"),
            '{"question": "q", "answer": "1/2"}',
            "the answer '1/2' is not a number: correct it",
        ),
        (PLAIN + 'id = "n"\n', '{"question": "q", "answer": "a", "n": ""}', "the id is empty"),
        (
            PLAIN + "[prompt]\nquestion = \"{{ question|sub('(', '') }}\"\n",
            '{"question": "q", "answer": "a"}',
            "missing ), unterminated subpattern",
        ),
        (
            PLAIN + 'cluster = "n|digest"\n',
            '{"question": "q", "answer": "a", "n": 3}',
            "'int' object has no attribute 'encode'",
        ),
        (
            PLAIN + '[prompt]\nquestion = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"\n',
            '{"question": "q", "answer": "a"}',
            "maximum recursion depth",
        ),
    ],
)
def test_a_row_that_could_only_count_as_wrong_is_refused(
    make_task: MakeTask, toml: str, row: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        list(make_task(toml, row + "\n").items())
    assert f"rows.jsonl:1: {message}" in str(caught.value)


def test_null_names_no_group_and_no_cluster(make_task: MakeTask) -> None:
    toml = PLAIN + 'group = "g"\ncluster = "c"\n'
    (item,) = make_task(toml, '{"question": "q", "answer": "a", "g": null, "c": null}\n').items()
    assert (item.group, item.cluster) == ("", "")
