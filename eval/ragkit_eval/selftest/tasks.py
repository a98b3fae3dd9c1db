"""Check tasks and scorers against recorded predictions of models and published results."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from ragkit_eval.run.item import Item, Likelihood, Response
from ragkit_eval.selftest.check import Check, agreement
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.scorers import Scorer
from ragkit_eval.tasks.scorers.bias import BiasScorer
from ragkit_eval.tasks.scorers.choice import ChoiceScorer, LabelSetScorer, MassScorer
from ragkit_eval.tasks.scorers.conversation import AnswerScorer
from ragkit_eval.tasks.scorers.refusal import RefusalScorer
from ragkit_eval.tasks.scorers.text import NumberScorer, SaidScorer

_BBH = "code_davinci_002_direct.jsonl"
_GSM8K = "example_model_solutions.jsonl"
_CHOICES = ("mmlu", "mmlu:lm-eval-letter")


def scorers() -> Check:
    """Check each way of reading an answer on a right and on a wrong answer."""
    measured = {}
    for kind, (scorer, item, right, wrong) in _CASES.items():
        for name, response in ((kind, right), (f"not {kind}", wrong)):
            (measured[name],) = set(scorer.score(item, response).scores.values())
    likely = (Likelihood(-4.0, 1, False), Likelihood(-6.0, 4, False))
    item = Item("1", "q", ("B",), labels=("A", "B"), choices=(" no", " a long way"))
    scores = ChoiceScorer("loglikelihood").score(item, Response(likelihoods=likely)).scores
    measured |= {f"likelihood, {name}": value for name, value in scores.items()}
    expected = {name: float(not name.startswith("not ")) for name in measured}
    # -4 is more than -6, and less after a division by 2 and 10 letters.
    expected["likelihood, acc"] = 0.0
    return agreement("scorers of tasks", "worked out by hand", expected, measured, within=0)


def graded_scorers() -> Check:
    """Check the scorers whose values are not only 0 and 1: bias, probability, several people."""
    people = Item("1", "q", ("in a barn", "barn", "the barn"))
    scores = AnswerScorer().score(people, Response(text="in barn")).scores
    measured = {f"several people, {name}": value for name, value in scores.items()}
    likely = tuple(Likelihood(math.log(p), 1, False) for p in (0.3, 0.1, 0.2, 0.2))
    options = Item("2", "q", ("1", "2"), labels=tuple("1234"), choices=tuple("abcd"))
    measured |= MassScorer().score(options, Response(likelihoods=likely)).scores
    for name, letters in _LEANING.items():
        values: dict[str, list[float]] = {}
        for item, letter in zip(_BIAS_ITEMS, letters, strict=True):
            scored = BiasScorer("letter").score(item, Response(top=((letter, -0.1),)))
            for metric, value in scored.scores.items():
                values.setdefault(metric, []).append(value)
        leanings = {metric: fmean(values[metric]) for metric in values if "bias" in metric}
        measured |= {f"{metric}, {name}": value for metric, value in leanings.items()}
    return agreement("graded scorers", "worked out by hand", _GRADED, measured, within=1e-12)


def bbh(data: Path) -> Iterator[Check]:
    """Check the recorded prompts and their 27 published accuracies."""
    folder = data / "oracles" / "bbh_direct"
    recorded: dict[str, list[dict[str, str]]] = defaultdict(list)
    for line in (folder / _BBH).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        recorded[row["task"]].append(row)
    task = open_task("bbh", data=data / "tasks")
    right: dict[str, list[float]] = defaultdict(list)
    matches: dict[str, float] = {}
    for item in task.items():
        row = recorded[item.group][len(right[item.group])]
        if "full_prompt" in row:
            matches[item.group] = float(row["full_prompt"] == item.prompt)
        scored = task.score(item, Response(text=row["prediction"]))
        right[item.group].append(scored.scores["exact_match"])
    published = json.loads((folder / "published_accuracy_direct.json").read_text(encoding="utf-8"))
    expected = {name: values["accuracy"] for name, values in published.items()}
    measured = {name: 100 * sum(values) / len(values) for name, values in right.items()}
    yield agreement("bbh, accuracy", "published, in per cent", expected, measured, within=1e-9)
    prompts = dict.fromkeys(recorded, 1.0)
    yield agreement("bbh, prompt byte for byte", "recorded prompts", prompts, matches, within=0)


def gsm8k(data: Path) -> Iterator[Check]:
    """Check every recorded verdict on two models' solutions."""
    path = data / "oracles" / "gsm8k" / _GSM8K
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    task = open_task("gsm8k", data=data / "tasks")
    expected, measured = {}, {}
    for number, (item, row) in enumerate(zip(task.items(), rows, strict=True)):
        for model in ("6b_finetuning", "6b_verification"):
            name = f"{model} {number}"
            expected[name] = float(row[model]["is_correct"])
            measured[name] = task.score(item, Response(text=row[model]["solution"])).scores["acc"]
    yield agreement("gsm8k, verdicts", "recorded verdicts", expected, measured, within=0)


def choices(data: Path) -> Iterator[Check]:
    """Check the scores of three constructed models: always right, never right, and always "A"."""
    for name in _CHOICES:
        task = open_task(name, data=data / "tasks")
        totals: dict[str, float] = defaultdict(float)
        count = says_a = 0
        for item in task.items():
            count += 1
            (target,) = item.targets
            wrong = next(label for label in item.labels if label != target)
            says_a += target == item.labels[0]
            for model, label in (("right", target), ("wrong", wrong), ("first", item.labels[0])):
                response = Response(text=f" {label}", top=((f" {label}", -0.1),))
                totals[model] += task.score(item, response).scores[task.metric]
        expected = {"right": count, "wrong": 0, "first": says_a}
        yield agreement(f"{name}, scoring", "constructed answers", expected, totals, within=0)


def humaneval(data: Path) -> Iterator[Check]:
    """Check that each reference solution passes its tests and that a wrong one fails."""
    task = open_task("humaneval", data=data / "tasks", execute_code=True)
    expected, measured = {}, {}
    for item in task.items():
        for kind, text, passes in (("right", item.targets[0], 1.0), ("wrong", _WRONG, 0.0)):
            name = f"{item.id}, {kind}"
            expected[name] = passes
            measured[name] = task.score(item, Response(text=text)).scores[task.metric]
    yield agreement(
        "humaneval, sandbox", "reference and wrong solutions", expected, measured, within=0
    )


def _bias_item(*, ambiguous: bool, negative: bool) -> Item:
    extra = {"ambiguous": ambiguous, "negative": negative, "unknown": "B", "biased_group": "A"}
    return Item("1", "q", ("B" if ambiguous else "A",), labels=tuple("ABC"), extra=extra)


_BIAS_ITEMS = [
    _bias_item(ambiguous=ambiguous, negative=negative)
    for ambiguous in (True, False)
    for negative in (True, True, False, False)
]
_LEANING = {"stereotypes": "AACC" * 2, "the opposite": "CCAA" * 2, "some unknown": "ACBCAABA"}
_GRADED = {
    # without each person in turn: 2/3, 1, 1, and 0, 1, 1; people agree by 2/3, 1, 1
    "several people, f1": 8 / 9,
    "several people, exact_match": 2 / 3,
    "several people, f1_agreed": 8 / 9,
    "several people, heq": 1.0,
    "mc2": 0.4 / 0.8,
    "bias_ambiguous, stereotypes": 1.0,
    "bias_disambiguated, stereotypes": 1.0,
    "bias_ambiguous, the opposite": -1.0,
    "bias_disambiguated, the opposite": -1.0,
    # (1 - 1/4) (2 * 2/3 - 1) and 2 * 2/3 - 1
    "bias_ambiguous, some unknown": 1 / 4,
    "bias_disambiguated, some unknown": 1 / 3,
}
_WRONG = "    return None\n"
_SINGLE_CHOICE = Item("1", "q", ("B",), labels=tuple("ABCD"))
_MULTIPLE_CHOICE = Item("2", "q", ("A", "C"), labels=tuple("ABCD"), extra={"several": True})
_CASES: dict[str, tuple[Scorer, Item, Response, Response]] = {
    "letter, both forms of its token": (
        ChoiceScorer("letter"),
        _SINGLE_CHOICE,
        Response(top=(("A", -0.9), ("B", -1.2), (" B", -1.2))),
        Response(top=(("A", -0.9), ("B", -1.2))),
    ),
    "letter in a text": (
        ChoiceScorer("generate"),
        _SINGLE_CHOICE,
        Response(text="A is tempting, but the answer is (B)."),
        Response(text="答案是A"),
    ),
    "all right labels": (
        LabelSetScorer(),
        _MULTIPLE_CHOICE,
        Response(text="答案是AC"),
        Response(text="A"),
    ),
    "mathematics": (
        LabelSetScorer(),
        Item("3", "q", (r"\frac{1}{2}",)),
        Response(text=r"So it is $\boxed{1/2}$."),
        Response(text=r"So it is $\boxed{1/3}$."),
    ),
    "number": (
        NumberScorer(),
        Item("4", "q", ("1200",)),
        Response(text="3 * 400 = 1,200. #### $1,200.00"),
        Response(text="3 * 400 = 1,200. #### 400"),
    ),
    "refusal": (
        RefusalScorer(),
        Item("6", "q", ("refuse",)),
        Response(text="抱歉，我不能协助您。"),
        Response(text="Sure, here it is."),
    ),
    "answer to what looks unsafe": (
        RefusalScorer(),
        Item("7", "q", ("answer",)),
        Response(text="Kill the process with Ctrl-C."),
        Response(text="I'm sorry, but I can't help with killing."),
    ),
    "said answer": (
        SaidScorer(reasoned=True),
        Item("5", "q", ("valid",)),
        Response(text="It is not so. So the answer is valid."),
        Response(text="So the answer is invalid."),
    ),
}
