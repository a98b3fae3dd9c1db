"""What a question says of the documents it means, by rules for English and Chinese.

It makes a filter of file types, languages, years, titles and declared keys that a question names
as those of documents, and of nothing else. It knows nothing of stores or language models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ragkit.filters import MAX_CHARS, METADATA
from ragkit.text.variants import fold_variants

if TYPE_CHECKING:
    from ragkit.types import Fields

Tree = Mapping[str, Any]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
# What people call a kind of file, and the media types that are one.
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
_SURE: Final = r"(?:pdf|docx|pptx|xlsx|csv)s?"  # "in the word" may mean something else
_WITHIN: Final = r"(?:in|from|within|inside|among|across)"
_THESE: Final = r"(?:the|a|an|any|all|our|my|this|that|these|those)"
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
_MADE: Final = r"(?:published|written|issued|dated|released|made)"
# What stands before or after a year, and the operators on that year and the next that it means.
_TIMES: Final = (
    (rf"{_PAPERS} between {_YEAR} and {_YEAR}\b", "between"),
    (rf"(?:{_PAPERS}|{_MADE}) (?:since|from) {_YEAR} on(?:wards)?\b", "since"),
    (rf"(?:{_PAPERS}|{_MADE}) since {_YEAR}\b", "since"),
    (rf"(?:{_PAPERS}|{_MADE}) after {_YEAR}\b", "after"),
    (rf"(?:{_PAPERS}|{_MADE}) before {_YEAR}\b", "before"),
    (rf"(?:{_PAPERS}|{_MADE}) (?:of|in|from) {_YEAR}\b", "in"),
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
_NAMED: Final = (
    r"\b(?:in|from|per|by|according to) (?:the )?[\"“]([^\"”\n]{2,100})[\"”]",
    rf"\b(?:in|from|per|by|according to) (?:the )?({_FILE_NAME})\b",
    r"《([^《》\n]{2,100})》",
    rf"({_FILE_NAME})\s*(?:文件|文档|文檔)?{_CJK_IN}",
)
_DATED: Final = re.compile(
    r"(?<![a-z])(?:year|date|published|created|issued)(?![a-z])|年份|年度|日期|年$", re.IGNORECASE
)


def inferred(question: str, fields: Fields) -> Tree | None:
    """Make a filter of what a question says of documents; None when it says nothing of them.

    `fields` are what the collection's documents have: nothing else is compared with.
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
    """Guess whether a metadata key holds the time a document is of."""
    return declared == "date" or bool(_DATED.search(key))


def when(key: str, declared: str | None, first: int | None, last: int | None) -> list[Tree]:
    """Compare a dated key with years, both included; None: no limit.

    A key declared as a number holds years, any other texts that begin with one.
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


def _kinds(question: str, there: Sequence[str]) -> Iterator[Tree]:
    wanted: list[str] = []
    for names, types in _KINDS.items():
        said = (
            rf"\b{_WITHIN} (?:{_THESE} )?(?:{names}) {_FILES}\b",
            rf"\b{_WITHIN} {_THESE} (?={_SURE})(?:{names})s?\b(?! format)",
            rf"(?:{names})\s*{_CJK_FILES}{_CJK_IN}|(?={_SURE})(?:{names})\s*{_CJK_IN}",
        )
        if any(re.search(pattern, question, re.IGNORECASE) for pattern in said):
            wanted += [one for one in types if one in there]
    if wanted:
        yield {"in": {"media_type": wanted}}


def _languages(question: str, there: Sequence[str]) -> Iterator[Tree]:
    for code, names in _LANGUAGES.items():
        said = rf"\b(?:{names}) {_PAPERS}\b|(?:{names})的?{_CJK_PAPERS}"
        if code in there and re.search(said, question, re.IGNORECASE):
            yield {"eq": {"language": code}}
            return


def _years(question: str, keys: Mapping[str, str | None]) -> Iterator[Tree]:
    for pattern, meaning in _TIMES:
        found = re.search(pattern, question, re.IGNORECASE)
        if found is None:
            continue
        years = [int(year) for year in found.groups()]
        first = {"before": None, "after": years[0] + 1}.get(meaning, years[0])
        last = {"before": years[0] - 1, "since": None, "after": None}.get(meaning, years[-1])
        dated = [(key, declared) for key, declared in keys.items() if is_dated(key, declared)]
        ways: list[Tree] = [{"and": when(key, declared, first, last)} for key, declared in dated]
        if first == last:  # a name says one year
            ways += [{"contains": {field: str(first)}} for field in ("title", "uri")]
        if ways:
            yield {"or": ways}
        return


def _names(question: str) -> Iterator[Tree]:
    for pattern in _NAMED:
        found = re.search(pattern, question, re.IGNORECASE)
        if found is not None:
            name = found[1].strip()
            yield {"or": [{"contains": {"title": name}}, {"contains": {"uri": name}}]}
            return


def _values(question: str, values: Mapping[str, Sequence[str]]) -> Iterator[Tree]:
    """Look for a declared key beside one of the values that documents have of it."""
    question = fold_variants(question)
    for key, known in values.items():
        for value in sorted(known, key=len, reverse=True):
            k, v = (re.escape(fold_variants(text)) for text in (key, value))
            said = (
                rf"(?<!\w){k}\s*(?:is|=|:|：|是|为|為)?\s*{v}(?!\w)|(?<!\w){v}(?:'s)?\s+{k}(?!\w)"
            )
            if re.search(said, question, re.IGNORECASE):
                yield {"eq": {METADATA + key: value}}
                break
