"""What the chat page says, in English and Chinese, and which of them a browser asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from ragkit_serve.page import words_chat, words_documents

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

_EN: Final[dict[str, str]] = {
    "chat": "Chat",
    "documents": "Documents",
    "retrieval": "Search",
    "settings": "Search settings",
    "only": "Only these documents",
    "only_hint": "All documents",
    "only_some": "{count} chosen",
    "mode": "Search by",
    "mode_hybrid": "meaning and exact words",
    "mode_dense": "meaning only",
    "mode_lexical": "exact words only",
    "passages": "Passages read for an answer",
    "question": "Question",
    "question_hint": "Ask your documents…",
    "question_keys": "Enter sends, Shift+Enter begins a new line, Esc stops.",
    "send": "Send",
    "stop": "Stop",
    "again": "Answer again",
    "edit": "Edit this question and ask again",
    "editing": "You are editing your last question: its answer will be replaced. Esc, or the pencil"
    " again, leaves it.",
    "still_there": "The answer before it stays.",
    "copy": "Copy",
    "copied": "Copied",
    "good": "Good answer",
    "bad": "Bad answer",
    "comment": "What should be better? (optional)",
    "thanks": "Thank you, noted.",
    "working": "Looking…",
    "stopped": "Stopped. This answer is incomplete and is not kept.",
    "incomplete": "This answer is incomplete: nothing in it has been checked.",
    "failed": "That did not work: {reason}",
    "no_server": "the server cannot be reached. Try again in a moment.",
    "error_moved_on": "this conversation has gone on elsewhere. Open it again, then ask.",
    "error_draining": "the server is being restarted. Ask again in a moment.",
    "error_overload": "the server is busy. Ask again in a moment.",
    "error_concurrency": "too many of your questions are being answered at once. Wait for one.",
    "error_rate_limit_exceeded": "you have asked very often. Ask again in a minute.",
    "error_too_large": "the file is larger than this server takes.",
    "error_format": "files of this kind cannot be read.",
    "error_scope": "your key may not do this.",
    "error_database": "the database cannot be reached. Nothing is lost: try again in a moment.",
    "error_model_server": "the language model does not answer. Try again in a moment.",
    "error_model_server_full": "the language model is busy. Ask again in a moment.",
    "error_model_not_found": "the language model that you chose is no longer there. Reload this"
    " page and choose another.",
    "refused": "No answer in these documents",
    "reasoning": "How the model arrived at this",
    "sources": "Sources",
    "source": "Source",
    "source_n": "Source {n}",
    "page": "page {page}",
    "version": "version {version}",
    "mark_quoted": "quoted",
    "mark_supported": "supported",
    "mark_partly": "partly supported",
    "mark_missing": "not in the document",
    "verified": "Quoted word for word: these words stand in the document",
    "unverified": "Not in the document: these words were not found there as they are quoted",
    "replaced": "The document has been replaced since (version {now} now): only the quotation that"
    " was shown then can be shown.",
    "gone": "The document has been deleted since: only the quotation that was shown then can be"
    " shown.",
    "original_page": "Page {page} of {pages}",
    "original_alt": "Original page {page} of “{title}”",
    "original_marked": "The cited lines are marked in yellow.",
    "original_unmarked": "The cited lines could not be found on this page.",
    "original_larger": "Show the page larger",
    "original_previous": "Previous page",
    "original_next": "Next page",
    "original_none": "The original page cannot be shown: its file has been moved, changed or"
    " replaced since, or it cannot be drawn.",
    "close": "Close",
    "log_out": "Log out",
    "log_out_who": "Log out ({principal})",
    "claim_partly": "Not everything in this sentence stands in what it cites",
    "claim_not_found": "Nothing that was cited supports this sentence",
    "piece": "No cited source contains this",
    "weak_note": "Marked text is not supported by the sources it cites.",
    "timings": "Times",
    "seconds": "{seconds} s",
    "stage_history": "conversation",
    "stage_rewrite": "question",
    "stage_retrieve": "search",
    "stage_gate": "decision",
    "stage_generate": "answer",
    "stage_verify": "checks",
    "searched_for": "Searched for: {query}",
    "phrase_nowhere": "No passage has “{phrase}” word for word; searched without it.",
    "stage_embed": "understand the query",
    "stage_dense": "search by meaning",
    "stage_lexical": "search by words",
    "stage_fuse": "combine both",
    "stage_fetch": "fetch passages",
    "stage_plan": "plan the search",
    "stage_variants": "combine the wordings",
    "stage_duplicates": "leave out repetitions",
    "stage_too many duplicates": "search deeper",
    "stage_parents": "show whole sections",
    "stage_filter dropped": "drop the filter",
    "stage_phrases first": "passages with the phrase first",
    "stage_all passages": "take all passages",
    "stage_by characters": "by single characters",
    "stage_rerank": "sort again",
    "stage_cut-off": "leave out low scores",
    "stage_diversify": "leave out what is alike",
    "stage_per document": "limit per document",
    "stage_expand": "show what is around",
}

_ZH: Final[dict[str, str]] = {
    "chat": "对话",
    "documents": "文档",
    "retrieval": "搜索",
    "settings": "搜索设置",
    "only": "仅限这些文档",
    "only_hint": "全部文档",
    "only_some": "已选 {count} 个",
    "mode": "搜索方式",
    "mode_hybrid": "含义和原词",
    "mode_dense": "只按含义",
    "mode_lexical": "只按原词",
    "passages": "每个回答参考的段落数",
    "question": "问题",
    "question_hint": "向您的文档提问……",
    "question_keys": "Enter 发送，Shift+Enter 换行，Esc 停止。",
    "send": "发送",
    "stop": "停止",
    "again": "重新回答",
    "edit": "修改这个问题并重新提问",
    "editing": "您正在修改上一个问题，它的回答将被替换。按 Esc 或再点一次铅笔可放弃修改。",
    "still_there": "之前的回答仍然保留。",
    "copy": "复制",
    "copied": "已复制",
    "good": "回答得好",
    "bad": "回答得不好",
    "comment": "哪里需要改进？（可不填）",
    "thanks": "谢谢，已记录。",
    "working": "正在查找……",
    "stopped": "已停止。这个回答不完整，不会保存。",
    "incomplete": "这个回答不完整，其中的内容未经核对。",
    "failed": "出错了：{reason}",
    "no_server": "无法连接服务器，请稍后重试。",
    "error_moved_on": "这个对话已在别处继续。请重新打开它，然后再提问。",
    "error_draining": "服务器正在重启，请稍后重新提问。",
    "error_overload": "服务器繁忙，请稍后重新提问。",
    "error_concurrency": "您同时提出的问题太多，请等待其中一个回答完毕。",
    "error_rate_limit_exceeded": "您提问过于频繁，请一分钟后再试。",
    "error_too_large": "文件超过了服务器允许的大小。",
    "error_format": "无法读取这种格式的文件。",
    "error_scope": "您的密钥无权执行此操作。",
    "error_database": "暂时无法连接数据库。数据没有丢失，请稍后重试。",
    "error_model_server": "语言模型没有响应，请稍后重试。",
    "error_model_server_full": "语言模型繁忙，请稍后重新提问。",
    "error_model_not_found": "您选择的语言模型已不存在，请刷新页面后另选一个。",
    "refused": "这些文档中没有答案",
    "reasoning": "模型的思考过程",
    "sources": "出处",
    "source": "出处",
    "source_n": "出处 {n}",
    "page": "第 {page} 页",
    "version": "版本 {version}",
    "mark_quoted": "原文引用",
    "mark_supported": "有出处支持",
    "mark_partly": "部分有出处支持",
    "mark_missing": "原文中没有",
    "verified": "原文引用：这段文字与文档逐字一致",
    "unverified": "原文中没有：文档中没有逐字找到这段引文",
    "replaced": "该文档此后已被替换（现为版本 {now}），只能显示当时的引文。",
    "gone": "该文档此后已被删除，只能显示当时的引文。",
    "original_page": "第 {page} 页，共 {pages} 页",
    "original_alt": "“{title}”原件第 {page} 页",
    "original_marked": "引用的文字已用黄色标出。",
    "original_unmarked": "在这一页上没有找到引用的文字。",
    "original_larger": "放大显示这一页",
    "original_previous": "上一页",
    "original_next": "下一页",
    "original_none": "无法显示原件页面：文件已被移动、修改或替换，或者无法绘制。",
    "close": "关闭",
    "log_out": "退出登录",
    "log_out_who": "退出登录（{principal}）",
    "claim_partly": "这句话的部分内容在所引出处中找不到",
    "claim_not_found": "所引出处均不支持这句话",
    "piece": "所引出处中没有这一内容",
    "weak_note": "带标记的文字没有得到所引出处的支持。",
    "timings": "用时",
    "seconds": "{seconds} 秒",
    "stage_history": "对话历史",
    "stage_rewrite": "改写问题",
    "stage_retrieve": "搜索",
    "stage_gate": "判断",
    "stage_generate": "回答",
    "stage_verify": "核对",
    "searched_for": "检索的问题：{query}",
    "phrase_nowhere": "没有段落一字不差地含有“{phrase}”，已改为不限定该词组检索。",
    "stage_embed": "理解查询",
    "stage_dense": "按含义搜索",
    "stage_lexical": "按原词搜索",
    "stage_fuse": "合并结果",
    "stage_fetch": "读取段落",
    "stage_plan": "规划搜索",
    "stage_variants": "合并多种问法",
    "stage_duplicates": "合并重复段落",
    "stage_too many duplicates": "扩大搜索范围",
    "stage_parents": "显示所属段落",
    "stage_filter dropped": "取消过滤条件",
    "stage_phrases first": "含词组的段落优先",
    "stage_all passages": "读取全部段落",
    "stage_by characters": "按单字搜索",
    "stage_rerank": "重新排序",
    "stage_cut-off": "去掉得分低的段落",
    "stage_diversify": "去掉相似段落",
    "stage_per document": "限制每篇文档",
    "stage_expand": "补充前后文",
}

WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {**_EN, **words_chat.EN, **words_documents.EN},
    "zh": {**_ZH, **words_chat.ZH, **words_documents.ZH},
}


def language_of(accept_language: str) -> Language:
    """Choose the language of an Accept-Language header, English unless Chinese is liked better.

    >>> language_of("zh-CN,zh;q=0.9,en;q=0.8"), language_of("de, en;q=0.5, zh;q=0.4")
    ('zh', 'en')
    """
    best: Language = "en"
    best_weight = 0.0
    for part in accept_language.split(",")[:32]:
        tag, _, parameter = part.strip().partition(";")
        weight = _weight(parameter)
        language = next(
            (language for language in LANGUAGES if tag.strip().lower().split("-")[0] == language),
            None,
        )
        if language is not None and weight > best_weight:
            best, best_weight = language, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(1.0, max(0.0, float(value)))
    except ValueError:
        return 0.0
