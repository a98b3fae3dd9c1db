"""How far sentences are held by their sources: by hand, and on what people wrote about passages."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragkit.answer.check.names import find_names
from ragkit.answer.check.numbers import find_numbers
from ragkit.answer.check.support import (
    Evidence,
    count_misplaced,
    coverage,
    has_content,
    judge_by_words,
)
from ragkit.text.sentences import sentences

PUMP = Evidence(["The pump weighs 40 kg. Never open its lid while it runs."])
LEAVE = Evidence(["员工每年享有二十五天年假。申请须提前三个工作日提交。"])


@pytest.mark.parametrize(
    ("claim", "share"),
    [
        ("The pump weighs 40 kg.", 1.0),
        ("Pumps weigh 40 kg.", 1.0),
        ("The pump costs 40 euros.", 0.5),
        ("Bananas are yellow.", 0.0),
        ("It is so.", 0.0),
        ("It is.", 1.0),
    ],
)
def test_content_words_are_compared_by_their_stems(claim: str, share: float) -> None:
    assert coverage(claim, [PUMP]) == pytest.approx(share)


@pytest.mark.parametrize(
    ("claim", "share"),
    [
        ("员工享有年假", 1.0),
        ("员工的年假在每年", 1.0),
        ("员工享有病假", 0.6),
        ("月亮很远", 0.0),
        ("的", 1.0),
        ("员工享有pump", 0.6),
    ],
)
def test_chinese_is_compared_by_characters_with_a_neighbour(claim: str, share: float) -> None:
    assert coverage(claim, [LEAVE]) == pytest.approx(share)


def test_several_sources_support_together() -> None:
    claim = "The pump weighs 40 kg. 员工享有年假"
    assert coverage(claim, [PUMP]) < 0.75
    assert coverage(claim, [PUMP, LEAVE]) == 1.0
    assert coverage(claim, []) == 0.0


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        ("The pump needs 230 volts.", 0),
        ("The pump needs 40 volts.", 1),
        ("It weighs 40 kg in all.", 0),
        ("The weight is 12 kg.", 0),  # a row is short: its neighbours count
        ("The pump needs 999 volts.", 0),  # nowhere: that is counted elsewhere
        ("40.", 0),
        ("水泵需要230伏", 0),
        ("重量为230公斤", 1),
    ],
)
def test_a_number_must_stand_near_what_it_is_said_of(claim: str, count: int) -> None:
    english = "The pump needs 230 volts when it runs. Its dry weight is 40 kg in all.\n\n"
    table = "| part | weight |\n| lid | 12 kg |\n\n"
    source = english + table + "水泵运行时需要电压为230伏。它的重量为四十公斤整。"
    assert count_misplaced(claim, [Evidence([source])]) == count


def test_a_sentence_of_function_words_has_no_content() -> None:
    assert not has_content("It is, and they were.")
    assert has_content("Yes.")


@pytest.mark.parametrize(
    ("share", "missing", "entailed", "support"),
    [
        (1.0, 0, None, "supported"),
        (0.75, 0, None, "supported"),
        (0.74, 0, None, "partly"),
        (1.0, 1, None, "partly"),
        (0.34, 0, None, "not found"),
        (0.34, 2, None, "not found"),
        (1.0, 0, 0.9, "supported"),
        (0.1, 0, 0.9, "supported"),
        (0.1, 1, 0.9, "partly"),
        (1.0, 0, 0.1, "partly"),
        (0.6, 0, 0.1, "not found"),
    ],
)
def test_judgement(share: float, missing: int, entailed: float | None, support: str) -> None:
    assert judge_by_words(share, missing, entailed) == support


# What follows are sentences that people wrote about a passage, and the same with something
# changed. The thresholds were chosen on the even passages; the odd ones are judged here.

CAPITALISED = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*")
INTERROGATIVE = re.compile(
    r"(?:哪一?[个位些种年月日座家部本所支条项国届场]*|什么(?:时候|地方|时间|人)?|何时|何地|何处|谁|多少|几|哪里|哪儿|何)"
)
Example = tuple[str, str, str]  # what was done to it, the sentence, its source


def clapnq(data: Path) -> Iterator[Example]:
    """Take the human answers' sentences; change a number, a name or the passage."""
    lines = (data / "retrieval/clapnq_dev_answerable.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line][1::2]
    chance = random.Random(1)
    sources = [f"{row['passages'][0]['title']}\n\n{row['passages'][0]['text']}" for row in rows]
    said = [
        (number, answer[span.start : span.end])
        for number, row in enumerate(rows)
        for answer in [row["output"][0]["answer"]]
        for span in sentences(answer)
    ]
    everyone = sorted({match.group() for _, text in said for match in CAPITALISED.finditer(text)})
    for number, text in said:
        source = sources[number]
        yield "true", text, source
        yield "passage", text, sources[(number + 7) % len(sources)]
        for found in find_numbers(text)[:1]:
            new = str(chance.randint(2, 5000))
            if not re.search(rf"\b{new}\b", source):
                yield "number", text[: found.start] + new + text[found.end :], source
        said_already = {n.value for n in find_numbers(text)}
        elsewhere = [n for n in find_numbers(source) if n.value not in said_already]
        for found, beside in zip(find_numbers(text)[:1], elsewhere[:1], strict=False):
            other = source[beside.start : beside.end]
            yield "other number", text[: found.start] + other + text[found.end :], source
        for match in list(CAPITALISED.finditer(text))[:1]:
            known = set(source.casefold().split())
            others = [name for name in everyone if not known & set(name.casefold().split())]
            name = chance.choice(others)
            yield "name", text[: match.start()] + name + text[match.end() :], source


def cmrc(data: Path) -> Iterator[Example]:
    """Put a question's answer in the interrogative's place; change the answer or the paragraph."""
    articles = json.loads((data / "retrieval/cmrc2018_dev.json").read_text(encoding="utf-8"))
    paragraphs = [p for article in articles["data"] for p in article["paragraphs"]][1::2]
    chance = random.Random(2)
    asked = [
        (number, question, asking[0], answer)
        for number, paragraph in enumerate(paragraphs)
        for qa in paragraph["qas"]
        for question, answer in [(qa["question"].rstrip("？?。 "), qa["answers"][0]["text"])]
        if len(asking := list(INTERROGATIVE.finditer(question))) == 1 and len(answer) <= 20
    ]
    chance.shuffle(asked)
    for number, question, match, answer in asked[:300]:
        source = paragraphs[number]["context"]
        claim = f"{question[: match.start()]}{answer}{question[match.end() :]}。"
        yield "true", claim, source
        yield "passage", claim, paragraphs[(number + 7) % len(paragraphs)]["context"]
        digits = bool(re.search(r"\d", answer))
        others = [a for *_, a in asked if bool(re.search(r"\d", a)) == digits and a not in source]
        other = chance.choice(others)
        changed = f"{question[: match.start()]}{other}{question[match.end() :]}。"
        yield "number" if digits else "name", changed, source


def supported(examples: Iterator[Example]) -> dict[str, float]:
    """Return the share of sentences that are judged supported, by what was done to them."""
    judged: dict[str, list[bool]] = {}
    for kind, claim, source in examples:
        evidence = Evidence([source])
        missing = sum(number not in evidence.numbers for number in find_numbers(claim))
        missing += sum(claim[s.start : s.end] not in evidence.names for s in find_names(claim))
        missing += count_misplaced(claim, [evidence])
        verdict = judge_by_words(coverage(claim, [evidence]), missing)
        judged.setdefault(kind, []).append(verdict == "supported")
    return {kind: sum(verdicts) / len(verdicts) for kind, verdicts in judged.items()}


def test_what_people_wrote_in_english_is_told_from_what_was_changed(data: Path) -> None:
    shares = supported(clapnq(data))
    assert shares["true"] > 0.96
    assert shares["number"] < 0.02
    assert shares["name"] < 0.03
    assert shares["passage"] < 0.02
    assert shares["other number"] < 0.35  # one of the same passage's


def test_what_people_wrote_in_chinese_is_told_from_what_was_changed(data: Path) -> None:
    shares = supported(cmrc(data))
    assert shares["true"] > 0.9
    assert shares["number"] < 0.12
    assert shares["name"] < 0.2
    assert shares["passage"] < 0.02
