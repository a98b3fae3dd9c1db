"""OpenCC's side: texts in the other script, and the table that ragkit's terms are folded by.

Run in its environment: python scripts_peers.py CONFIGURATION TEXTS.json prints the texts, converted
by s2t, s2tw or the like, as JSON; python scripts_peers.py table prints ragkit/text/variants.txt.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from opencc import OpenCC

HEAD = """\
# Chinese characters that are written alike in search: a character, then its variants, most of them
# traditional. Made from the dictionaries of OpenCC 1.4.2 (https://github.com/BYVoid/OpenCC), by
# Carbo Kuo and others, Apache License 2.0, by benchmarks/peers/scripts_peers.py: conversions of
# single characters to simplified Chinese and to the forms of Taiwan and Hong Kong, joined.
"""
JOINED = ("t2s", "t2tw", "t2hk")
# What STCharacters.txt lists as variants too, though OpenCC leaves them or takes the rarer one.
ALSO = (
    "了瞭 径迳 仿彷 伙夥 余馀 借藉 复覆 夫伕 它牠 巨钜 托讬 昵暱 曲麹 沈渖 线缐 背揹 苏甦"
    " 谘咨 钟锺 只祇 面麺 宁甯 旋镟"
)
TRADITIONAL = "著藉"  # here; OpenCC leaves them, because they are simplified characters too
HAN = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000))  # what NFKC leaves as it is, but for rare ones
LINE_CHARS = 90


def main(configuration: str, texts: str = "") -> None:
    if configuration == "table":
        print(table(), end="")
        return
    converter = OpenCC(configuration)
    read = json.loads(Path(texts).read_text(encoding="utf-8"))
    print(json.dumps([converter.convert(text) for text in read]))


def table() -> str:
    simplified = OpenCC("t2s").convert

    def order(c: str) -> tuple[bool, bool, tuple[bool, bytes]]:
        return simplified(c) != c, c in TRADITIONAL, rarity(c)

    groups = ["".join(sorted(group, key=order)) for group in joined()]
    lines = [""]
    for group in sorted(groups):
        if len(lines[-1]) + len(group) >= LINE_CHARS:
            lines.append("")
        lines[-1] += f" {group}" if lines[-1] else group
    return HEAD + "\n".join(lines) + "\n"


def joined() -> list[set[str]]:
    """Join characters that a conversion makes of one another."""
    group_of: defaultdict[str, set[str]] = defaultdict(set)
    pairs = [(pair[0], pair[1]) for pair in ALSO.split()]
    for converter in map(OpenCC, JOINED):
        characters = [chr(number) for numbers in HAN for number in numbers]
        pairs += [(c, converter.convert(c)) for c in characters]
    for left, right in pairs:
        if left != right and len(right) == 1 and right < "\U00010000":
            group = {left, right} | group_of[left] | group_of[right]
            group_of.update(dict.fromkeys(group, group))
    return list({id(group): group for group in group_of.values() if group}.values())


def rarity(character: str) -> tuple[bool, bytes]:
    """Order by GB 2312, whose first level holds the common characters, then by Unicode."""
    try:
        return False, character.encode("gb2312")
    except UnicodeEncodeError:
        return True, character.encode("utf-16-be")


if __name__ == "__main__":
    main(*sys.argv[1:])
