"""Names in running text, by their spelling, and their presence in a source.

English: capitalised words inside a sentence, and words with capitals or digits inside. Chinese: the
Latin words in it. There is no list of names and no grammar.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from ragkit.text.analyse import CJK, analyse
from ragkit.types import Span

_WORD = re.compile(rf"(?:(?![{CJK}_\d])\w)(?:(?![{CJK}_])[\w'’&.-])*(?:(?![{CJK}_])\w)|[A-Z]")
_POSSESSIVE = re.compile(r"['’]s?$")
# The characters before the beginning of a sentence, a line, a list's item or a quotation.
_OPENING = re.compile(r"(?:^|[.!?:;。！？：；\n•|*#>)\]\"“”‘「」『』(（-])[\s\"“‘「『(（*_>#-]*$")
_HONORIFIC = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St)\.\s$")
_LOOK_BACK = 12  # characters; enough for an opening's marks
# Words whose capitals mean nothing: English writes them so by rule, or to begin a sentence.
_PLAIN = frozenset(
    "i a an the and or but if in on at to of for from by with as is are was were it its he she they"
    " we you his her their this that these those there then when where while who what which how"
    " after before since during both each all some no not yes according however also mr mrs ms dr"
    " prof st".split()
)
_STEM_CHARS = 5  # Canada and Canadian, Italy and Italian; four would make Martin of Martha
_ENDING_CHARS = 3


@dataclass(frozen=True, slots=True)
class NameSet:
    """The words of a source, for looking up names."""

    words: frozenset[str]
    stems: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "NameSet":
        """Collect the words of some texts."""
        words: set[str] = set()
        for text in texts:
            words.update(_plain(match.group()) for match in _WORD.finditer(text))
            words.update(analyse(text))
        return cls(frozenset(words), frozenset(word[:_STEM_CHARS] for word in words))

    def __contains__(self, name: str) -> bool:
        """Tell whether the source has a name's word: the same, inflected, or in parts."""
        word = _plain(name)
        if word in self.words or all(part in self.words for part in analyse(word)):
            return True
        return len(word) > _STEM_CHARS and any(
            word[:_STEM_CHARS] == candidate[:_STEM_CHARS]
            and abs(len(word) - len(candidate)) <= _ENDING_CHARS
            for candidate in (self.words if word[:_STEM_CHARS] in self.stems else ())
        )


def find_names(text: str) -> list[Span]:
    """Find the words of a text that are, or belong to, names.

    >>> text = "In 1932 King George opened it. The RL-400 hangs there, 使用Docker部署。"
    >>> [text[span.start : span.end] for span in find_names(text)]
    ['King', 'George', 'RL-400', 'Docker']
    """
    spans: list[Span] = []
    words = list(_WORD.finditer(text))
    for number, match in enumerate(words):
        word = match.group()
        if _is_name(text, match, words[number + 1] if number + 1 < len(words) else None):
            end = match.start() + len(_POSSESSIVE.sub("", word).rstrip(".-&"))
            spans.append(Span(match.start(), end))
    return spans


def _is_name(text: str, match: re.Match[str], following: re.Match[str] | None) -> bool:
    word = match.group()
    if word.casefold() in _PLAIN:
        return False
    if _amid_cjk(text, match):
        return len(word) > 1
    if re.search(r"\d", word) or re.search(r"(?<=\w)[A-Z]", word):
        return True
    if not word[0].isupper() or len(word) == 1:
        return False
    preceding = text[max(0, match.start() - _LOOK_BACK) : match.start()]
    if _HONORIFIC.search(preceding) or not _OPENING.search(preceding):
        return True
    gap = text[match.end() : following.start()] if following else "."
    return gap == " " and following is not None and following.group()[0].isupper()


def _amid_cjk(text: str, match: re.Match[str]) -> bool:
    around = text[max(0, match.start() - 2) : match.start()] + text[match.end() : match.end() + 2]
    return re.search(f"[{CJK}]", around) is not None


def _plain(word: str) -> str:
    return _POSSESSIVE.sub("", unicodedata.normalize("NFKC", word).casefold()).rstrip(".-&")
