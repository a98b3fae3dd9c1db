"""The command line's texts in Chinese, by their English: see `ragkit.cli.words`.

`TEXTS` are looked up as they stand; finished messages are in `ragkit.cli.words_zh_messages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ragkit.cli.words_zh_commands import COMMANDS

TEXTS: Final[Mapping[str, str]] = {
    "{number} document": "{number} 个文档",
    "{number} documents": "{number} 个文档",
    "{number} passage": "{number} 个段落",
    "{number} passages": "{number} 个段落",
    "{number} file": "{number} 个文件",
    "{number} files": "{number} 个文件",
    "and {number} more": "还有 {number} 个",
    # The summary of `ragkit ingest`.
    "Added: {documents}": "新增：{documents}",
    "Added: nothing": "新增：无",
    "No files were found.": "没有找到文件。",
    "to have them written: start a model server and set RAGKIT_LLM_URL, to Ollama for example"
    " http://127.0.0.1:11434/v1": (
        "如需由语言模型撰写回答：启动模型服务并设置 RAGKIT_LLM_URL，"
        "例如 Ollama 的 http://127.0.0.1:11434/v1"
    ),
    "Updated: {documents}": "更新：{documents}",
    "Unchanged: {documents}": "未变：{documents}",
    "Deleted: {documents}": "删除：{documents}",
    "{line} ({passages})": "{line}（{passages}）",
    "Same content as another document: {files}": "与其他文档内容相同：{files}",
    "Deleted meanwhile, or taken over by another command: {files}": (
        "期间被删除，或由其他命令处理：{files}"
    ),
    "Left out of the text: {parts}": "正文中略去：{parts}",
    "Masked: {parts}": "已遮盖：{parts}",
    "{part} ({number})": "{part}（{number}）",
    "Skipped: {files}": "跳过：{files}",
    "  {reason}: {names}": "  {reason}：{names}",
    "Failed: {files}": "失败：{files}",
    "Time: {seconds} s": "用时：{seconds} 秒",
    "--json lists more of them": "用 --json 可列出更多",
    "and {number} more: --json lists them": "还有 {number} 个，用 --json 可列出",
    "Queued: {files}": "已排队：{files}",
    "Waiting in collection {name!r}: {files}": "文档集 {name!r} 中等待处理：{files}",
    "`ragkit worker` reads them.": "运行 `ragkit worker` 来读取。",
    "Nothing would be done.": "没有需要做的事。",
    "This was a dry run: nothing was done.": "这只是预览，什么都没有做。",
    "Broken off: what is stored stays; run the same command again to go on.": (
        "已中断：存好的内容不变；再次运行同一命令即可继续。"
    ),
    "would": "操作",
    "add": "新增",
    "delete": "删除",
    "update": "更新",
    "fail": "失败",
    "reason": "原因",
    "files": "文件",
    "files, {rate} passages/s": "文件，每秒 {rate} 个段落",
    "{done} of {total} files": "已处理 {done} 个文件，共 {total} 个",
    "about {seconds} s left": "大约还需 {seconds} 秒",
    # What parsers note.
    "menus and footers of web pages": "网页的菜单和页脚",
    "lines that repeat in many files": "多个文件中重复出现的行",
    "comments": "批注",
    "ends of long outputs in notebooks": "笔记本中过长输出的结尾",
    "text that its author deleted": "作者已删除的文字",
    "drawings of TeX sources": "TeX 源文件中的图形",
    "formulas of workbooks without a value": "工作簿中没有结果的公式",
    "pictures of contacts": "联系人的图片",
    "headers and footers of pages": "页眉和页脚",
    "hidden columns": "隐藏的列",
    "hidden rows": "隐藏的行",
    "hidden sheets": "隐藏的工作表",
    "hidden text": "隐藏的文字",
    "pictures in notebooks": "笔记本中的图片",
    "parts that stand in other files": "位于其他文件中的内容",
    "pictures in e-mails": "邮件中的图片",
    "insertions that are not accepted yet": "尚未接受的插入内容",
    "invisible characters": "不可见字符",
    "chapters that the file lacks": "文件中缺少的章节",
    "pages without text": "没有文字的页面",
    "parts in another markup": "其他标记语言的内容",
    "texts of e-mails in RTF": "RTF 格式的邮件正文",
    "tracked changes": "修订记录",
    "pages that cannot be read": "无法读取的页面",
    "access keys": "访问密钥",
    "card numbers": "银行卡号",
    "Chinese identity numbers": "身份证号",
    "e-mail addresses": "电子邮件地址",
    "bank accounts": "银行账号",
    "telephone numbers": "电话号码",
    "private keys": "私钥",
    "Read from pictures (OCR): pages ({number})": "从图片识别文字（OCR）：{number} 页",
    "Not masked: private data in file names ({number})": "未遮盖：文件名中的个人信息（{number}）",
    # Why files are skipped.
    "hidden (--hidden takes them)": "隐藏文件（--hidden 可读取）",
    "a link to a folder": "指向文件夹的链接",
    "a pipe, socket or device": "管道、套接字或设备",
    "left out by .ragkitignore": "被 .ragkitignore 排除",
    "left out by --include or --exclude": "被 --include 或 --exclude 排除",
    "a file without an ending, and not of text": "没有扩展名，且不是文本文件",
    "a text in an encoding that cannot be told for certain: save it as UTF-8": (
        "无法确定文本的编码：请另存为 UTF-8"
    ),
    "a drawing without text": "没有文字的图形",
    "the file is empty (0 bytes)": "文件是空的（0 字节）",
    "it describes another file: name that one instead": "它是另一个文件的说明：请改写那个文件",
    "Permission denied": "没有读取权限",
    "truncated PDF": "PDF 文件不完整",
    "it is a link that leads nowhere": "链接指向的文件不存在",
    # Wrong usage.
    ". For a word that begins with a dash, write -- before it: {command}": (
        "。以 - 开头的词请写在 -- 之后：{command}"
    ),
    "{message} (`{command} --help` explains it)": "{message}（用法见 `{command} --help`）",
    # Tables.
    "number": "编号",
    "title": "标题",
    "language": "语言",
    "version": "版本",
    "passages": "段落数",
    "characters": "字符数",
    "file": "文件",
    "owner": "所有者",
    "readers": "可阅读者",
    "everybody": "所有人",
    "the owner alone": "仅所有者",
    "name": "名称",
    "documents": "文档",
    "since": "开始",
    "to": "结束",
    "document": "文档",
    "similarity": "相似度",
    "The collection is empty.": "文档集是空的。",
    "It has none.": "没有。",
    "These files have the content of a document that is stored already:": (
        "以下文件的内容与已保存的文档相同："
    ),
    # Deleting.
    "Delete {documents}: {names}?": "删除 {documents}：{names}？",
    "Delete collection {name!r} with its {documents}?": (
        "删除文档集 {name!r} 及其中的 {documents}？"
    ),
    "Deleted collection {name!r} with its {documents}.": (
        "已删除文档集 {name!r} 及其中的 {documents}。"
    ),
    "Collection {name!r} is ready, with {documents}.": (
        "文档集 {name!r} 已就绪，其中有 {documents}。"
    ),
    "{question} There is no terminal to ask at: nothing was done; add --yes.": (
        "{question}没有终端可供确认：什么都没有做；请加上 --yes。"
    ),
    "Nothing was done.": "什么都没有做。",
    "Its content stays as document {number}: {uri} has the same (--copies deletes it).": (
        "内容仍保留为文档 {number}：{uri} 与之相同（--copies 可一并删除）。"
    ),
    # For answers on the command line.
    "Sources": "出处",
    "page {page}": "第 {page} 页",
    "quoted word for word": "逐字引用",
    "not in the document": "文档中没有",
    "The sources do not answer this question.": "文档中没有这个问题的答案。",
    "Reason: {reason}": "原因：{reason}",
    # `ragkit doctor`.
    "{state}  {name}: {text}": "{state}  {name}：{text}",
    "      {name}: {text}": "      {name}：{text}",
    "ok  ": "正常",
    "warn": "注意",
    "FAIL": "失败",
    "remedy": "解决办法",
    "note": "提示",
    "embedding model": "向量模型",
    "reranker": "重排模型",
    "entailment model": "推理模型",
    "language model": "语言模型",
    "other formats": "其他格式",
    "read by other programs: nothing": "由其他程序读取：无",
    "database": "数据库",
    "read replica": "只读副本",
    "tenants": "租户",
    "indexes": "索引",
    "orphans": "缺失的数据",
    "truncated chunks": "被截断的段落",
    "documents' languages": "文档语言",
    "collection's model": "文档集所用的模型",
    "calibration": "拒答标准",
    "none": "无",
    "none yet": "还没有",
    "none failed": "没有失败的",
    "none needed: tables are small": "数据量小，不需要",
    "read by the collections' models": "文档集所用的模型都能处理",
    "ragkit ingest FOLDER": "ragkit ingest 文件夹",
    "run `ragkit ingest` on them again to see the reasons": (
        "对它们再次运行 `ragkit ingest` 可查看原因"
    ),
    "ingest those collections again": "重新读入这些文档集",
    "delete the documents concerned and ingest them again": "删除有关文档，再重新读入",
    "server's vectors": "服务器的向量",
    "equal to those of the collection": "与文档集的一致",
    "serve the old model, or give the new one another name and reembed": (
        "请换回原来的模型，或给新模型另取名字，再运行 `ragkit index reembed`"
    ),
    "put that model back, or reembed": "换回原来的模型，或运行 `ragkit index reembed`",
    "run `ragkit calibrate` again": "重新运行 `ragkit calibrate`",
    "not set: answers are sentences quoted from the sources": "未设置：回答直接引用文档中的句子",
    "set RAGKIT_LLM_URL and RAGKIT_LLM_MODEL": "可设置 RAGKIT_LLM_URL 和 RAGKIT_LLM_MODEL",
    "see RAGKIT_LLM_URL and RAGKIT_LLM_MODEL": "请检查 RAGKIT_LLM_URL 和 RAGKIT_LLM_MODEL",
    "see RAGKIT_EMBED_MODEL": "请检查 RAGKIT_EMBED_MODEL",
    "see RAGKIT_EMBED_URL": "请检查 RAGKIT_EMBED_URL",
    "see RAGKIT_RERANKER": "请检查 RAGKIT_RERANKER",
    "see RAGKIT_NLI_MODEL": "请检查 RAGKIT_NLI_MODEL",
    "`ragkit db status` says more": "详情见 `ragkit db status`",
    **COMMANDS,
}
