"""Chinese sentences for checking prose: CMRC 2018's questions with their answers put in.

They are reworded and falsified by rule; the words that stand for each other are a short list.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.prose_rules import Rules, Topic
from ragkit.answer.check.numbers import find_numbers
from ragkit.text.sentences import sentences

_ASKED = re.compile(
    r"(?:哪里|哪儿|哪一?[个位些种年月日座家部本所支条项国届场]*|什么(?:时候|地方|时间|人)?|何时|何地|何处|谁|多少|何)"
)
_SAME: Final = tuple(
    pair.split("/")
    for pair in (
        "位于/坐落于 成立/创立 建立/设立 因此/所以 由于/因为 但是/不过 包括/包含 "
        "主要/多半 著名/知名 毕业于/就读并毕业于 开始/起 举行/举办 获得/取得 "
        "担任/出任 出生于/生于 目前/如今 使用/采用 认为/觉得 完成/做完 属于/归于 "
        "逝世/去世 发现/找到 大约/约 能够/可以 以及/和 并且/而且 进行/开展 "
        "参加/参与 提供/给予 增加/增多 减少/降低 发行/推出 地区/一带 建造/修建 "
        "居住/住 影响/作用 重要/要紧 负责/主管 称为/叫做 被称为/人称 第一/首 "
        "最大/规模最大 拥有/有 全部/所有 之后/以后 期间/时候 首次/头一次 创作/写作 "
        "演唱/唱 原因/缘故 死于/卒于 喜欢/爱 迅速/很快 非常/很 许多/不少 共同/一起 "
        "帮助/协助 允许/准许 禁止/不许 必须/须得 导致/造成 改名/更名 结束/终止 "
        "分布/散布 生活/栖息 面积/占地 人口/居民数 名字/名称 电影/影片 歌曲/曲子 "
        "小说/作品 学校/院校 "
    ).split()
)
_DROPPED = re.compile(r"非常|十分|极其|曾经?|已经?|正式|一直|仍然?|(?<=[，。])其中|分别")
_ASIDE = re.compile(r"[（(][^（）()]*[）)]")
_WHEN = re.compile(r"^(\d{4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|[^，。]{2,6}期间)，(.+?)。?$")
_YEAR = re.compile(r"(?<!\d)(\d{4})年")
_SMALL = re.compile(r"(?<![\d.,．])([1-9]|[1-9]0|[1-9]00)(?=[个人位年天次座所家岁条])")
_DIGITS = "零一二三四五六七八九"
_VERB = (
    "位于|属于|包括|来自|击败|担任|隶属于?|出任|毕业于|改编自|取代|创办|率领|任命|邀请|支持|拥有"
)
_SIDES = re.compile(rf"^([^，。；、]{{2,14}}?)({_VERB})([^，。；、]{{2,14}})(.*)$")
_PREDICATE = re.compile(rf"({_VERB}|成立于|建于|出生于|生于|逝世于|是|为|于|由|有|在)")
_NEGATIONS = (
    ("不是", "是"),
    ("没有", "有"),
    ("不", ""),
    ("位于", "并不位于"),
    ("属于", "不属于"),
    ("包括", "不包括"),
    ("可以", "不可以"),
    ("能够", "不能够"),
    ("担任", "没有担任"),
    ("来自", "并非来自"),
    ("获得", "没有获得"),
    ("是", "不是"),
    ("有", "没有"),
    ("由", "并非由"),
    ("于", "并非于"),
    ("在", "不在"),
    ("为", "不为"),
    ("被", "没有被"),
)


def topics(folder: Path) -> list[Topic]:
    """Read CMRC 2018: each third paragraph with its questions as statements."""
    text = (folder / "retrieval/cmrc2018_dev.json").read_text(encoding="utf-8")
    listed = []
    for article in json.loads(text)["data"][::3]:
        for paragraph in article["paragraphs"]:
            passage = paragraph["context"]
            asked = [(qa["question"], qa["answers"][0]["text"]) for qa in paragraph["qas"]]
            stated = tuple(filter(None, (_stated(*pair) for pair in asked)))
            wrong = tuple(filter(None, (_stated(q, a) for q, a in _crossed(asked))))
            chance = random.Random(passage[:40])
            marked = [part for part in _split(passage) if 12 <= len(part) <= 70]
            some = tuple(chance.sample(marked, min(2, len(marked))))
            name = str(article.get("title") or article.get("id") or passage[:40])
            listed.append(Topic(name, passage, stated[:2], some, wrong[:1]))
    return listed


def reword(text: str, chance: random.Random) -> str:
    """Say the same otherwise: other words, order of clauses, numerals, asides left out."""
    text = _ASIDE.sub("", text)
    if chance.random() < 0.7:
        text = _DROPPED.sub("", text)
    if (match := _WHEN.match(text)) and chance.random() < 0.6:
        text = f"{match[2]}，时间是{match[1]}。"
    if chance.random() < 0.4:
        text = _YEAR.sub(lambda m: "".join(_DIGITS[int(d)] for d in m[1]) + "年", text)
    if chance.random() < 0.5:
        text = _SMALL.sub(lambda m: _numeral(m[1]), text)
    for word, other in _SAME:
        if word in text and chance.random() < 0.7:
            text = text.replace(word, other, 1)
    return text


def shorten(text: str, chance: random.Random) -> str:
    """Keep one clause or two, where these say enough."""
    clauses = text.rstrip("。").split("，")
    start = chance.randrange(len(clauses))
    part = "，".join(clauses[start : start + 2])
    return f"{part}。" if len(part) >= 12 else text


def join(first: str, second: str) -> str:
    """Make one sentence of two."""
    return f"{first.rstrip('。')}，{second}"


def falsify(
    kind: str, text: str, topic: Topic, others: Sequence[Topic], chance: random.Random
) -> str:
    """Make a sentence false in one way; "" where it gives no such one."""
    made = {
        "number": lambda: _other_number(text, topic, chance),
        "name": lambda: _other_name(text, others, chance),
        "negated": lambda: _negated(text),
        "swapped": lambda: _swapped(text),
        "merged": lambda: _merged(text, topic, chance),
        "added": lambda: _added(text, others, chance),
        "another answer": lambda: topic.wrong[0] if topic.wrong else "",
    }
    return made[kind]()


def _stated(question: str, answer: str) -> str:
    question = question.rstrip("？?。 ")
    asked = list(_ASKED.finditer(question))
    if len(asked) != 1 or len(answer) > 20:
        return ""
    return f"{question[: asked[0].start()]}{answer}{question[asked[0].end() :]}。"


def _crossed(asked: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Give each question the answer to another one of the same kind."""
    crossed = []
    for question, answer in asked:
        digits = bool(re.search(r"\d", answer))
        for _, other in asked:
            alike = bool(re.search(r"\d", other)) == digits
            if alike and other not in answer and answer not in other:
                crossed.append((question, other))
                break
    return crossed


def _split(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


def _numeral(digits: str) -> str:
    unit = {1: "", 2: "十", 3: "百"}[len(digits)]
    first = "" if digits == "10" else _DIGITS[int(digits[0])]
    return first + unit


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


def _other_name(text: str, others: Sequence[Topic], chance: random.Random) -> str:
    """Put another passage's subject in the place of this sentence's."""
    here = _PREDICATE.search(text)
    if not here or not 2 <= here.start() <= 14:
        return ""
    subjects = [
        part[: match.start()]
        for other in others
        for part in other.statements
        if (match := _PREDICATE.search(part)) and 2 <= match.start() <= 12
    ]
    options = [name for name in subjects if name not in text]
    return chance.choice(options) + text[here.start() :] if options else ""


def _negated(text: str) -> str:
    for word, other in _NEGATIONS:
        if word in text[1:]:
            place = text.index(word, 1)
            return f"{text[:place]}{other}{text[place + len(word) :]}"
    return ""


def _swapped(text: str) -> str:
    match = _SIDES.match(text)
    return f"{match[3]}{match[2]}{match[1]}{match[4]}" if match else ""


def _merged(text: str, topic: Topic, chance: random.Random) -> str:
    """Put the subject of another sentence of the passage before this one's predicate."""
    here = _PREDICATE.search(text)
    if not here or here.start() < 2:
        return ""
    subjects = [
        part[: match.start()]
        for sentence in _split(topic.passage)
        for part in sentence.rstrip("。").split("，")
        if (match := _PREDICATE.search(part)) and 2 <= match.start() <= 10
    ]
    options = [s for s in subjects if len(set(s) - set(text)) * 2 > len(s)]
    return chance.choice(options) + text[here.start() :] if options else ""


def _added(text: str, others: Sequence[Topic], chance: random.Random) -> str:
    clauses = [
        clause
        for other in others
        for part in _split(other.passage)
        for clause in part.rstrip("。").split("，")[1:]
        if 6 <= len(clause) <= 24
    ]
    return f"{text.rstrip('。')}，{chance.choice(clauses)}。" if clauses else ""


RULES = Rules(topics, reword, shorten, join, falsify)
