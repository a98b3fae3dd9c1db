"""The words around an answer, in the language of its question: English and both Chinese scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ragkit.question.reading import Language, question_language

LABELS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "sources": "Sources",
        "place": "{title} ({file})",
        "next": ", ",
        "page": "page {page}",
        "verified": "quoted word for word",
        "unverified": "not in the document",
        "reason": "Reason: {reason}",
        "missing": "Unverified: in no cited source: {pieces}",
        "weak": "Not supported by what they cite",
        "all supported": "Every sentence is quoted or supported by what it cites",
        "supported": "supported",
        "partly": "partly",
        "not found": "not found",
        "filter": "Taken to mean documents with {filter}",
        "dropped": ", but {dropped}",
        "phrase": "No passage has “{phrase}” word for word; searched without it.",
        "searched for": "Searched for: {query}",
        "score": "score {score}",
        "same text": "The same text: {names}",
        "nothing": "Nothing found.",
        "no words": "No passage has the words that you searched for; these are nearest in meaning.",
        "below cut-off": "Nothing found that reaches the reranker's cut-off: it dropped {count}"
        " passages; --no-rerank shows them.",
        "no sources": "The answer cites nothing.",
        "document": "document {document}, characters {start}-{end}",
    },
    "zh": {
        "sources": "来源",
        "place": "{title}（{file}）",
        "next": "，",
        "page": "第 {page} 页",
        "verified": "原文引用",
        "unverified": "文档中没有这段文字",
        "reason": "原因：{reason}",
        "missing": "未能核实，所引来源中没有：{pieces}",
        "weak": "以下句子没有得到所引来源的支持",
        "all supported": "每句话都是原文引用，或得到所引来源的支持",
        "supported": "有来源支持",
        "partly": "部分得到支持",
        "not found": "来源中没有",
        "filter": "只查找了符合以下条件的文档：{filter}",
        "dropped": "，但 {dropped}",
        "phrase": "没有哪一段含有原文“{phrase}”，已改为不要求原文一致的查找。",
        "searched for": "实际查找：{query}",
        "score": "得分 {score}",
        "same text": "内容相同：{names}",
        "nothing": "没有找到相关内容。",
        "no words": "没有段落包含您搜索的词；以下是意思最接近的段落。",
        "below cut-off": "没有内容达到重排序的分数线：去掉了 {count} 段，用 --no-rerank 可以显示。",
        "no sources": "这个回答没有引用来源。",
        "document": "文档 {document}，字符 {start}-{end}",
    },
    "zh-Hant": {
        "sources": "來源",
        "place": "{title}（{file}）",
        "next": "，",
        "page": "第 {page} 頁",
        "verified": "原文引用",
        "unverified": "文件中沒有這段文字",
        "reason": "原因：{reason}",
        "missing": "未能核實，所引來源中沒有：{pieces}",
        "weak": "以下句子沒有得到所引來源的支持",
        "all supported": "每句話都是原文引用，或得到所引來源的支持",
        "supported": "有來源支持",
        "partly": "部分得到支持",
        "not found": "來源中沒有",
        "filter": "只查找了符合以下條件的文件：{filter}",
        "dropped": "，但 {dropped}",
        "phrase": "沒有哪一段含有原文“{phrase}”，已改為不要求原文一致的查找。",
        "searched for": "實際查找：{query}",
        "score": "得分 {score}",
        "same text": "內容相同：{names}",
        "nothing": "沒有找到相關內容。",
        "no words": "沒有段落包含您搜尋的詞；以下是意思最接近的段落。",
        "below cut-off": "沒有內容達到重排序的分數線：去掉了 {count} 段，用 --no-rerank 可以顯示。",
        "no sources": "這個回答沒有引用來源。",
        "document": "文件 {document}，字元 {start}-{end}",
    },
}


def labels(question: str) -> Mapping[str, str]:
    """Return the labels for the answer to a question."""
    return LABELS[question_language(question)]
