"""English sentences for checking prose: CLAPNQ's human answers, reworded and falsified by rule."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.prose_rules import Rules, Topic
from benchmarks.wordnet import base_form, is_verb, synonym
from ragkit.answer.check.numbers import find_numbers
from ragkit.text.sentences import sentences

_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*")
_ANY_NAME = re.compile(r"[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|may|might|must|should)\b"
)
_PAST = re.compile(r"\b([a-z]{3,}ed)\b")
_ADVERB = re.compile(r" ?\b(?!(?:only|early|family|apply|supply|daily|likely)\b)[a-z]{3,}ly\b")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_NOT = re.compile(r"\b(?:not|never)\s")
_WHEN = re.compile(r"^((?:In|On|During|After|Since|By) [^,]{3,40}), (.+?)\.?$")
_WHEN_LAST = re.compile(
    r"^([A-Z][^,;]+?) ((?:in|on|during|since) [A-Za-z]* ?\d{1,4}(?:, \d{4})?)\.$"
)
_PASSIVE = re.compile(r"^([^,]{3,60}?) (?:was|were) ([a-z]+ed) by ([^,.;]{3,60})(.*)\.$")
_SUBJECT = re.compile(r"^[A-Z][^,;]{2,60}? (?=(?:is|was|are|were|has|had) )")
_RELATIVE = re.compile(r",? (?:which|who|where|whose|although|while)\b.*$|; .*$")
_WORDS = dict(
    enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
)
_MONTHS = "January February March April May June July August September October November December"
_OPENING = re.compile(r"^(?:The|A|An|It|This|There|They|He|She|In)\b")


def topics(folder: Path) -> list[Topic]:
    """Read CLAPNQ's answerable questions: each passage with its human answer's sentences."""
    file = folder / "retrieval/clapnq_dev_answerable.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    listed = []
    for row in rows:
        passage = row["passages"][0]
        answer = row["output"][0]["answer"]
        stated = tuple(_split(answer))
        chance = random.Random(passage["title"])
        marked = [text for text in _split(passage["text"]) if 8 <= len(text.split()) <= 40]
        some = tuple(chance.sample(marked, min(2, len(marked))))
        text = f"{passage['title']}\n\n{passage['text']}"
        listed.append(Topic(passage["title"], text, stated, some))
    return listed


def reword(text: str, chance: random.Random) -> str:
    """Say the same otherwise: synonyms, order of clauses, voice, numerals, asides left out."""
    text = _ASIDE.sub("", text)
    if chance.random() < 0.6:
        text = _ADVERB.sub("", text)
    text = _reorder(text, chance)
    if chance.random() < 0.25:
        text = _SUBJECT.sub(lambda _: "It ", text, count=1)
    if chance.random() < 0.5:
        text = re.sub(r"(?<![\d.,:£$-])\b(\d{1,2})\b(?![\d.,:%-]| [A-Z])", _spelt, text)
    words = re.split(r"(\W+)", text)
    for place, word in enumerate(words):
        if word.isalpha() and word.islower() and len(word) > 3 and chance.random() < 0.5:
            words[place] = synonym(word) or word
    return _tidy("".join(words))


def shorten(text: str, chance: random.Random) -> str:
    """Keep the main clause, where that is a sentence."""
    main = _RELATIVE.sub("", text).rstrip(" .")
    return f"{main}." if len(main.split()) >= 6 and chance.random() < 0.7 else text


def join(first: str, second: str) -> str:
    """Make one sentence of two."""
    return f"{first.rstrip(' .')}, and {_lowered(second)}"


def falsify(
    kind: str, text: str, topic: Topic, others: Sequence[Topic], chance: random.Random
) -> str:
    """Make a sentence false in one way; "" where it gives no such one."""
    made = {
        "number": lambda: _other_number(text, topic, chance),
        "name": lambda: _other_name(text, topic, others, chance),
        "negated": lambda: _negated(text),
        "swapped": lambda: _swapped(text),
        "merged": lambda: _merged(text, topic, chance),
        "added": lambda: _added(text, others, chance),
        "another answer": lambda: "",
    }
    return _tidy(made[kind]())


def _split(text: str) -> list[str]:
    text = re.sub(r"\s+", " ", text.replace("``", '"').replace("''", '"')).strip()
    text = re.sub(r" ([,.;:!?)])", r"\1", text.replace("( ", "(")).replace(" 's", "'s")
    parts = [text[span.start : span.end] for span in sentences(text)]
    return [part for part in parts if len(part.split()) >= 5]


def _reorder(text: str, chance: random.Random) -> str:
    if chance.random() < 0.3:
        return text
    if match := _PASSIVE.match(text):
        subject, verb, agent, rest = match.groups()
        return f"{agent[0].upper()}{agent[1:]} {verb} {_lowered(subject)}{rest}."
    if match := _WHEN.match(text):
        return f"{match[2][0].upper()}{match[2][1:]} {match[1][0].lower()}{match[1][1:]}."
    if match := _WHEN_LAST.match(text):
        return f"{match[2][0].upper()}{match[2][1:]}, {_lowered(match[1])}."
    return text


def _spelt(match: re.Match[str]) -> str:
    return _WORDS.get(int(match[1]), match[1])


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:] if _OPENING.match(text) else text


def _tidy(text: str) -> str:
    text = re.sub(r"\s+", " ", text).replace(" ,", ",").replace(" .", ".").strip()
    return text[:1].upper() + text[1:]


def _other_number(text: str, topic: Topic, chance: random.Random) -> str:
    listed = find_numbers(text)
    if not listed:
        return ""
    number = chance.choice(listed)
    stated = {n.value for n in listed}
    beside = [n for n in find_numbers(topic.passage) if n.value not in stated]
    if beside and chance.random() < 0.5:
        other = chance.choice(beside)
        new = topic.passage[other.start : other.end]
    else:
        digits = re.sub(r"\D", "", text[number.start : number.end]) or "7"
        new = str(max(2, int(digits[:9]) + chance.choice((-3, -2, -1, 1, 2, 3, 10))))
    return f"{text[: number.start]}{new}{text[number.end :]}"


def _other_name(text: str, topic: Topic, others: Sequence[Topic], chance: random.Random) -> str:
    listed = list(_NAME.finditer(text))
    if not listed:
        return ""
    match = chance.choice(listed)
    if match.group() in _MONTHS:
        new = chance.choice([month for month in _MONTHS.split() if month != match.group()])
        return f"{text[: match.start()]}{new}{text[match.end() :]}"
    stated = set(text.split())
    beside = [n for n in _NAME.findall(topic.passage) if not stated & set(n.split())]
    elsewhere = [n for other in others for n in _NAME.findall(other.passage)]
    options = beside if beside and chance.random() < 0.5 else elsewhere or beside
    options = [name for name in options if name not in _MONTHS and name not in text]
    if not options:
        return ""
    return f"{text[: match.start()]}{chance.choice(options)}{text[match.end() :]}"


def _negated(text: str) -> str:
    if _NOT.search(text):
        return _NOT.sub("", text, count=1)
    if match := _AUXILIARY.search(text):
        return f"{text[: match.end()]} not{text[match.end() :]}"
    for match in _PAST.finditer(text):
        base = base_form(match[1])
        if base and is_verb(base) and match.start() > 0:
            return f"{text[: match.start()]}did not {base}{text[match.end() :]}"
    return ""


def _swapped(text: str) -> str:
    """Exchange the names on both sides of a verb."""
    listed = list(_ANY_NAME.finditer(text))
    for first, second in pairwise(listed):
        between = text[first.end() : second.start()]
        if not (_AUXILIARY.search(between) or _PAST.search(between)) or "," in between:
            continue
        if first.group() in _MONTHS or second.group() in _MONTHS or _OPENING.match(first.group()):
            continue
        return (
            f"{text[: first.start()]}{second.group()}{between}{first.group()}{text[second.end() :]}"
        )
    return ""


def _merged(text: str, topic: Topic, chance: random.Random) -> str:
    """Put the subject of another sentence of the passage before this one's predicate."""
    here = _SUBJECT.match(text)
    if not here:
        return ""
    subjects = [
        match.group()
        for part in _split(topic.passage)
        if (match := _SUBJECT.match(part))
        and not re.match(r"(?:It|He|She|They|This|There)\b", part)
    ]
    known = set(here.group().casefold().split())
    options = [s for s in subjects if len(set(s.casefold().split()) - known) * 2 > len(s.split())]
    return chance.choice(options) + text[here.end() :] if options else ""


def _added(text: str, others: Sequence[Topic], chance: random.Random) -> str:
    clauses = [
        match.group(1)
        for other in others
        for part in _split(other.passage)
        if (match := re.search(r" ((?:is|was|are|were|has|had) [^,.;()]{15,70})[,.;]", part))
    ]
    if not clauses:
        return ""
    return f"{text.rstrip(' .')}, and {chance.choice(clauses)}."


RULES = Rules(topics, reword, shorten, join, falsify)
