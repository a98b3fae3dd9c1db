"""Texts that make a regular expression backtrack: parts of it repeated, and an end that fails.

Also texts of the same kind for functions whose patterns are not known.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations
from operator import itemgetter
from typing import Any, Final

from tests.growth import first_slow

_SAMPLES: Final = "a1 \n.Z_-中é\t,\0"
_MOST_ATOMS: Final = 8  # whose pairs are all tried
_REPEATS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_TAILS: Final = ("", "\0", "\n", "x")
_MOST_REPEATED: Final = 400
_MOST_MINIMUM: Final = 64


@dataclass(frozen=True, slots=True)
class Attack:
    """A text of any length: a beginning, a part that is repeated, an end."""

    head: str
    unit: str
    tail: str

    def text(self, size: int) -> str:
        """Return a text of about so many characters."""
        return self.head + self.unit * (size // len(self.unit)) + self.tail


# What functions of text are tried with: marks and pairs of marks, words, numbers, white space,
# and how blocks begin and end in languages of markup and programming. ␠ ␤ ␉ ␍ stand for space,
# newline, tab and return.
_WRITTEN: Final = r'''
    ! " # $ % & ' ( ) * + , - . / 0 : ; < = > ? @ A [ \ ] ^ _ ` a { | } ~ ␠ ␉ ␤ 。 ！ ？ ， 、 ；
    ： … “ ” ‘ ’ 「 」 『 』 《 》 （ ） 【 】 · — 中 あ 가 é 🇦 😀 .␠ .␤ ␤␤ ␤␠ ␠␤ ␍␤ a␠ a. a.␠ A.␠
    1. 1.␠ 1, 1␠ a1 中1 中␠ 中a 。␤ [[ ]] [1] [1 1] [␠ ![ ]( [a]( [a](b) (( () <a <a> </a> <!--
    --> <![CDATA[ &a &a; &#1; #␠ ␤#␠ ␤-␠ -␠ *␠ ** **␠ *a _a __ ~~ `a `` ```␤ ␤```␤ ~~~␤ >␠ >>␠ ␤>␠
    |␠ |a |- |␤ ␤| |-|␤ |===␤ |=== === ===␤ ---␤ ␤---␤ +- +-+␤ =␤ a␤=␤ "a 'a “a “a” 『a \a \␤ \\
    a@ a@a. @a http:// http://a␠ www.a a: :a: :a :: a:: ..␠ ..␠a::␤ ..␠_a:␠b␤ `a`_ a_␠ |a| [a]_
    ***␠ **␠a␤ *␠a␤ #+a #+begin_src␤ #+BEGIN_A␤ :a:␤ [[a] [[a][ ----␤ ....␤ a::␤ [a]␤ .a␤ {a} {{
    {"a": ["a", "" "a", a,b␤ 00:00:01,000␠-->␠00:00:02,000␤ 1␤00:00:01,000␠-->␠00:00:02,000␤a␤␤
    ␤␤␤ def␠a( class␠a:␤ a( f( if(a) // /* */ """ #if␤ {␤ }␤ end␤ => a␠=␠ a␤ a␤␠ ␠a␤ Dr.␠ e.g.␠
    No.␠1␠ 10% 1- 1/1 1: 3.5. 1e9 $1 €␠1 第 一 一百 年 2024-01-01␠ Mon,␠ the␠ not␠ and␠ why␠
    为什么 多少 Smith␠ Mr.␠A␠ 's␠ -a
'''
_OTHERS: Final = ("\u200b", "\u200d", "\u0301", "'''")
_SPACES: Final = str.maketrans("␠␤␉␍", " \n\t\r")
UNITS: Final = (*_OTHERS, *(unit.translate(_SPACES) for unit in _WRITTEN.split()))


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Yield texts for a pattern, most of them from its own parts."""
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    flags = pattern.flags & ~re.UNICODE if isinstance(source, bytes) else pattern.flags
    parts = _Parts()
    parts.walk(parser.parse(text, flags), "")
    atoms = list(dict.fromkeys((*parts.atoms, *"a1 \n中.")))
    pairs = list(map("".join, permutations(atoms[:_MOST_ATOMS], 2)))
    for head, unit in islice(filter(itemgetter(1), parts.repeated), _MOST_REPEATED):
        for tail in _TAILS:
            yield Attack(head, unit, tail)
    for unit in dict.fromkeys((*atoms, *parts.examples)):
        if unit:
            yield Attack("", unit, "")
            yield Attack("", unit, "\0")
    for unit in pairs:
        yield Attack("", unit, "")


@dataclass(slots=True)
class _Parts:
    """The characters of a pattern, texts that its parts match, and what it repeats after what."""

    atoms: dict[str, None] = field(default_factory=dict)
    examples: dict[str, None] = field(default_factory=dict)
    repeated: dict[tuple[str, str], None] = field(default_factory=dict)

    def walk(self, items: Sequence[tuple[Any, Any]], head: str) -> str:
        """Note the parts of a sequence that follows `head`; return a text that it matches."""
        text = ""
        for kind, value in items:
            text += self._item(kind, value, head + text)
            self.examples[text] = None
        return text

    def _item(self, kind: Any, value: Any, head: str) -> str:
        if kind in _REPEATS:
            least, most, inner = value
            body = self.walk(inner, head)
            inside = _Parts()
            inside.walk(inner, "")
            if most > 1:
                for unit in (body, *inside.atoms, *inside.examples):
                    self.repeated[(head, unit)] = None
            return body * min(max(int(least), 1), _MOST_MINIMUM)
        if kind is sre.BRANCH:
            texts = [self.walk(inner, head) for inner in value[1]]
            return texts[0]
        if kind is sre.SUBPATTERN:
            return self.walk(value[3], head)
        if kind is sre.ATOMIC_GROUP:
            return self.walk(value, head)
        if kind in (sre.ASSERT, sre.ASSERT_NOT):
            self.walk(value[1], head)
            return ""
        characters = _characters(kind, value)
        self.atoms.update(dict.fromkeys(characters))
        return characters[0] if characters else ""


def _characters(kind: Any, value: Any) -> list[str]:
    """Return a few characters that an item of one character matches, the most telling first."""
    if kind is sre.LITERAL:
        return [chr(value)]
    if kind in (sre.NOT_LITERAL, sre.ANY):
        return [one for one in "a." if kind is sre.ANY or ord(one) != value]
    if kind is not sre.IN:
        return []
    negated = value[0][0] is sre.NEGATE
    members = [chr(bound) for bound in _bounds(value)]
    known = [one for one in (*members, *_SAMPLES) if _is_in(one, value) != negated]
    return list(dict.fromkeys(known))[:4]


def _bounds(members: Sequence[tuple[Any, Any]]) -> Iterator[int]:
    for kind, value in members:
        if kind is sre.LITERAL:
            yield value
        elif kind is sre.RANGE:
            yield value[0]


_CATEGORIES: Final = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def _is_in(character: str, members: Sequence[tuple[Any, Any]]) -> bool:
    for kind, value in members:
        if kind is sre.LITERAL and ord(character) == value:
            return True
        if kind is sre.RANGE and value[0] <= ord(character) <= value[1]:
            return True
        if kind is sre.CATEGORY and re.match(_CATEGORIES[value], character):
            return True
    return False


def slow_text(work: Callable[[str], object], units: Sequence[str], most: int = 4_096) -> str:
    """Return a text of repeated units that work takes more than linear time for, "" for none."""
    for unit in units:
        attack = Attack("", unit, " x")
        size = first_slow(lambda size, attack=attack: work(attack.text(size)), most)  # type: ignore[misc]
        if size:
            return f"{unit!r}, up to {size} characters"
    return ""
