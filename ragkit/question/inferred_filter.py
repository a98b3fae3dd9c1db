"""Infer a filter from a question, by rules for English and Chinese.

The filter compares file types, languages, years, titles and declared keys where the question
names them as properties of documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ragkit.filters.tree import MAX_CHARS, METADATA
from ragkit.text.variants import fold_variants

if TYPE_CHECKING:
    from ragkit.types import Fields

Tree = Mapping[str, Any]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
# Everyday names of file types, with their media types.
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    r"pdf": ("application/pdf",),
    r"word|docx": (f"{_OFFICE}.wordprocessingml.document",),
    r"powerpoint|ppt|pptx": (f"{_OFFICE}.presentationml.presentation",),
    r"excel|xlsx": (f"{_OFFICE}.spreadsheetml.sheet",),
    r"csv": ("text/csv",),
    r"markdown": ("text/markdown",),
    r"html": ("text/html",),
    r"json": ("application/json", "application/x-ndjson"),
}
_UNAMBIGUOUS: Final = r"(?:pdf|docx|pptx|xlsx|csv)s?"  # "in the word" need not mean a file
_IN: Final = r"(?:in|from|within|inside|among|across)"
_DETERMINER: Final = r"(?:the|a|an|any|all|our|my|this|that|these|those)"
_CJK_FILES: Final = r"(?:文件|文档|文檔|表格|幻灯片|演示文稿)"
_LANGUAGES: Final = {
    "en": r"english|英文|英语|英語",
    "zh": r"chinese|中文|汉语|漢語",
    "ja": r"japanese|日文|日语|日語",
    "ko": r"korean|韩文|韩语|韓文|韓語",
}
_FILES: Final = r"(?:files?|documents?|docs?|sheets?|spreadsheets?|slides|presentations?|pages?)"
_PAPERS: Final = (
    r"(?:files?|documents?|docs?|sources?|texts?|papers?|reports?|manuals?|handbooks?|policy|policies"
    r"|guidelines?|rules|regulations?|contracts?|minutes|memos?|letters?|versions?|editions?"
    r"|articles?|notes?)"
)
_CJK_PAPERS: Final = (
    r"(?:文件|文档|文檔|资料|資料|报告|報告|论文|論文|手册|手冊|制度|规定|規定|政策|合同|纪要|紀要"
    r"|通知|说明书|說明書|年报|年報|版)"
)
_CJK_IN: Final = r"(?:里|裡|裏|中|内|內|上)"
_YEAR: Final = r"((?:19|20)\d\d)"
_WRITTEN: Final = r"(?:published|written|issued|dated|released|made)"
# Phrases around a year, and how the document's year compares with it.
_YEAR_PHRASES: Final = (
    (rf"{_PAPERS} between {_YEAR} and {_YEAR}\b", "between"),
    (rf"(?:{_PAPERS}|{_WRITTEN}) (?:since|from) {_YEAR} on(?:wards)?\b", "since"),
    (rf"(?:{_PAPERS}|{_WRITTEN}) since {_YEAR}\b", "since"),
    (rf"(?:{_PAPERS}|{_WRITTEN}) after {_YEAR}\b", "after"),
    (rf"(?:{_PAPERS}|{_WRITTEN}) before {_YEAR}\b", "before"),
    (rf"(?:{_PAPERS}|{_WRITTEN}) (?:of|in|from) {_YEAR}\b", "in"),
    (
        rf"\bfrom (?:the year )?{_YEAR}\b(?!\s*(?:to|until|till|through|on|onwards|and|[-–—])\b)",
        "in",
    ),
    (rf"\bthe {_YEAR} {_PAPERS}\b", "in"),
    (rf"{_YEAR}\s*年?(?:到|至|[-–—~～])\s*{_YEAR}\s*年的?{_CJK_PAPERS}", "between"),
    (rf"{_YEAR}\s*年?(?:以来|以來|起)的?{_CJK_PAPERS}", "since"),
    (rf"{_YEAR}\s*年?(?:之后|以后|之後|以後)的?{_CJK_PAPERS}", "after"),
    (rf"{_YEAR}\s*年?(?:之前|以前)的?{_CJK_PAPERS}", "before"),
    (rf"{_YEAR}\s*年(?:的|度的?{_CJK_PAPERS}|{_CJK_PAPERS})", "in"),
)
_FILE_NAME: Final = r"(?<![\w.-])[\w.-]+\.(?:pdf|docx|pptx|xlsx|csv|md|html?|txt)"
_TITLE_PHRASES: Final = (
    r"\b(?:in|from|per|by|according to) (?:the )?[\"“]([^\"”\n]{2,100})[\"”]",
    rf"\b(?:in|from|per|by|according to) (?:the )?({_FILE_NAME})\b",
    r"《([^《》\n]{2,100})》",
    rf"({_FILE_NAME})\s*(?:文件|文档|文檔)?{_CJK_IN}",
)
_DATED: Final = re.compile(
    r"(?<![a-z])(?:year|date|published|created|issued)(?![a-z])|年份|年度|日期|年$", re.IGNORECASE
)


def infer_filter(question: str, fields: Fields) -> Tree | None:
    """Make a filter of what a question says about documents; None when it says nothing.

    `fields` are those of the collection's documents: nothing else is compared.
    """
    question = question[:MAX_CHARS]
    parts = [
        *_kinds(question, fields.media_types),
        *_languages(question, fields.languages),
        *_years(question, fields.keys),
        *_names(question),
        *_values(question, fields.values),
    ]
    return {"and": parts} if len(parts) > 1 else parts[0] if parts else None


def is_dated(key: str, declared: str | None) -> bool:
    """Guess whether a metadata key holds a document's date."""
    return declared == "date" or bool(_DATED.search(key))


def compare_years(
    key: str, declared: str | None, first: int | None, last: int | None
) -> list[Tree]:
    """Compare a dated key with the years from `first` to `last`; None: no limit.

    A key declared as a number holds years; others hold text that begins with a year.
    """
    field = METADATA + key
    bounds: list[Tree] = []
    if first is not None:
        bounds.append({"gte": {field: _edge(first, declared)}})
    if last is not None:
        bounds.append({"lt": {field: _edge(last + 1, declared)}})
    return bounds


def _edge(year: int, declared: str | None) -> int | str:
    if declared == "number":
        return year
    return f"{year}-01-01" if declared == "date" else str(year)


def _kinds(question: str, present: Sequence[str]) -> Iterator[Tree]:
    selected: list[str] = []
    for names, media_types in _KINDS.items():
        patterns = (
            rf"\b{_IN} (?:{_DETERMINER} )?(?:{names}) {_FILES}\b",
            rf"\b{_IN} {_DETERMINER} (?={_UNAMBIGUOUS})(?:{names})s?\b(?! format)",
            rf"(?:{names})\s*{_CJK_FILES}{_CJK_IN}|(?={_UNAMBIGUOUS})(?:{names})\s*{_CJK_IN}",
        )
        if any(re.search(pattern, question, re.IGNORECASE) for pattern in patterns):
            selected += [kind for kind in media_types if kind in present]
    if selected:
        yield {"in": {"media_type": selected}}


def _languages(question: str, present: Sequence[str]) -> Iterator[Tree]:
    for code, names in _LANGUAGES.items():
        phrase = rf"\b(?:{names}) {_PAPERS}\b|(?:{names})的?{_CJK_PAPERS}"
        if code in present and re.search(phrase, question, re.IGNORECASE):
            yield {"eq": {"language": code}}
            return


def _years(question: str, keys: Mapping[str, str | None]) -> Iterator[Tree]:
    for pattern, meaning in _YEAR_PHRASES:
        match = re.search(pattern, question, re.IGNORECASE)
        if match is None:
            continue
        years = [int(year) for year in match.groups()]
        first = {"before": None, "after": years[0] + 1}.get(meaning, years[0])
        last = {"before": years[0] - 1, "since": None, "after": None}.get(meaning, years[-1])
        dated = [(key, declared) for key, declared in keys.items() if is_dated(key, declared)]
        alternatives: list[Tree] = [
            {"and": compare_years(key, declared, first, last)} for key, declared in dated
        ]
        if first == last:  # a title or file name may hold the year
            alternatives += [{"contains": {field: str(first)}} for field in ("title", "uri")]
        if alternatives:
            yield {"or": alternatives}
        return


def _names(question: str) -> Iterator[Tree]:
    for pattern in _TITLE_PHRASES:
        match = re.search(pattern, question, re.IGNORECASE)
        if match is not None:
            name = match[1].strip()
            yield {"or": [{"contains": {"title": name}}, {"contains": {"uri": name}}]}
            return


def _values(question: str, values: Mapping[str, Sequence[str]]) -> Iterator[Tree]:
    """Look for a declared key next to one of its values."""
    question = fold_variants(question)
    for key, present in values.items():
        for value in sorted(present, key=len, reverse=True):
            k, v = (re.escape(fold_variants(text)) for text in (key, value))
            phrase = (
                rf"(?<!\w){k}\s*(?:is|=|:|：|是|为|為)?\s*{v}(?!\w)|(?<!\w){v}(?:'s)?\s+{k}(?!\w)"
            )
            if re.search(phrase, question, re.IGNORECASE):
                yield {"eq": {METADATA + key: value}}
                break
