"""The help of the commands in Chinese, by its English: see `ragkit.cli.help`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ragkit.cli.words_zh_help_more import MORE

HELP: Final[Mapping[str, str]] = {
    **MORE,
    # What Typer writes.
    "Usage: ": "用法：",
    "Options": "选项",
    "Arguments": "参数",
    "Commands": "命令",
    "More commands": "其他命令",
    "Show this message and exit.": "显示本帮助后退出。",
    # ragkit
    "Answer questions from your own documents, with citations that can be checked.\n\nExit"
    " codes: 0 done, 1 failed, 2 wrong usage, 3 done but some items failed.": (
        "根据您自己的文档回答问题，并给出可以核对的出处。\n\n退出码：0 成功，1 失败，2 用法错误"
        "，3 完成，但有部分失败。"
    ),
    "Print the version and exit.": "显示版本号后退出。",
    "Read files and folders, so that questions can be answered from them.": (
        "读取文件和文件夹，之后就可以对它们提问。"
    ),
    "List, show, restore and delete documents.": "列出、查看、恢复、删除文档。",
    "List, create, rename and delete collections; set their metadata keys and options.": (
        "列出、新建、改名、删除文档集，设置其元数据字段和选项。"
    ),
    "Choose who may read a collection or a document.": "设定谁可以阅读某个文档集或文档。",
    "List, show, rename and delete conversations; list the ratings of answers.": (
        "列出、查看、改名、删除对话，列出对回答的评价。"
    ),
    "Show, build and tune the vector index; change the embedding model.": (
        "查看、重建、调整向量索引，更换向量模型。"
    ),
    "Read queued and uploaded files as they arrive.": "读取排队和上传的文件。",
    "List, show, retry, cancel and report ingestion jobs.": (
        "列出、查看、重试、取消读取任务，生成报告。"
    ),
    "Find passages by meaning and by words.": "按含义和字词查找段落。",
    "Answer a question with citations, or say that it cannot.": (
        "回答问题并给出出处；答不了就直说。"
    ),
    "Talk with your documents; the conversation is saved.": "与您的文档对话；对话会保存。",
    "Serve the chat page and the OpenAI-compatible API.": "启动对话网页和兼容 OpenAI 的接口。",
    "Serve, plan and quantize language models.": "运行、规划、量化语言模型。",
    "Train models on your own documents, and prove that they are better.": (
        "用自己的文档训练模型，并检验是否真的更好。"
    ),
    "Evaluate models, indexes and answers, and compare runs.": (
        "评测模型、索引和回答，比较各次结果。"
    ),
    "Offer search and ask to other programs (MCP).": "向其他程序提供检索和问答（MCP）。",
    "Create, list and revoke access keys.": "创建、列出、撤销访问密钥。",
    "Manage the database: status, tables and roles, backups.": "管理数据库：状态、表和角色、备份。",
    "Show the settings and where each value comes from.": "显示各项设置及其来源。",
    "Check the installation and suggest remedies.": "检查各部分是否正常，并给出解决办法。",
    # ragkit ingest
    "Read files, folders and other sources into a collection; unchanged files are skipped."
    "\n\nYou can run several of these commands at once, on this machine and others: they"
    " share the work. `ragkit worker` reads files queued with --queue and uploaded files."
    " Exit code 3 means that some files failed: the others are stored, and the failures are"
    " listed.": (
        "把文件、文件夹和其他来源读入文档集；没有变动的文件会跳过。\n\n可以在本机和其他机器上同"
        "时运行多个这样的命令，它们会分担工作。`ragkit worker` 读取用 --queue 排队的文件和上"
        "传的文件。退出码 3 表示有文件失败：其余文件照常保存，失败的会列出来。"
    ),
    "Files, folders or URLs; - reads standard input.": "文件、文件夹或网址；- 表示标准输入。",
    "Collection to read into.": "要读入的文档集。",
    "Read only files that match this pattern (.gitignore syntax; repeatable).": (
        "只读取匹配的文件，写法与 .gitignore 相同，可多次给出。"
    ),
    "Skip files that match this pattern (.gitignore syntax; repeatable).": (
        "跳过匹配的文件，写法与 .gitignore 相同，可多次给出。"
    ),
    "Read hidden files and folders, too.": "隐藏的文件和文件夹也读取。",
    "Metadata to store with every document (repeatable).": "给每个文档加上的元数据，可多次给出。",
    "Title of the document, for a single file.": "文档的标题，只用于单个文件。",
    "File name for standard input.": "标准输入内容的文件名。",
    "Field that holds the text of a record; each record becomes a document (repeatable).": (
        "记录中存放正文的字段；每条记录成为一个文档，可多次给出。"
    ),
    "Field that holds the title of a record.": "记录中存放标题的字段。",
    "Field that holds the id of a record.": "记录中存放编号的字段。",
    "Field to store as metadata of a record (repeatable).": (
        "作为元数据保存的记录字段，可多次给出。"
    ),
    "Delete documents whose files no longer exist.": "文件已不存在的文档一并删除。",
    "Read files again even if they have not changed.": "没有变动的文件也重新读取。",
    "Show what would be done without doing it.": "只显示会做什么，并不真做。",
    "Keep running and read files as they change, until Ctrl-C.": (
        "持续运行，读取变动的文件，按 Ctrl-C 结束。"
    ),
    "Seconds between checks with --watch.": "使用 --watch 时每隔多少秒检查一次。",
    "Queue changed files for `ragkit worker` instead of reading them now.": (
        "现在不读取，只把变动的文件排队，留给 `ragkit worker`。"
    ),
    "Number of parser processes (default: number of cores minus one).": (
        "解析进程数（默认：处理器核数减一）。"
    ),
    "Where the work runs: in this program, or on a Ray cluster.": (
        "在哪里处理：本程序，或 Ray 集群。"
    ),
    "Print JSON.": "以 JSON 格式输出。",
    # ragkit ask, search, chat
    "Answer a question with citations, or say that the documents do not answer it.": (
        "回答问题并给出出处；文档里没有答案就直说。"
    ),
    "The question, in English or Chinese.": "问题，中文或英文均可。",
    "Collection to answer from.": "根据哪个文档集回答。",
    "Use only documents that match this filter, for example"
    " 'language = \"en\" and year >= 2020'.": (
        "只使用符合条件的文档，例如 'language = \"zh\" and year >= 2020'。"
    ),
    "Use the versions that were current at this time, if old versions are kept: 2026-01-31"
    " (the end of that day, UTC) or 2026-01-31T15:00+01:00.": (
        "使用当时有效的版本（须保留旧版本）：2026-01-31（这一天结束时，UTC）或"
        " 2026-01-31T15:00+08:00。"
    ),
    "Print the reasoning of a thinking model to standard error.": (
        "把思考型模型的推理过程输出到标准错误。"
    ),
    "Option of the language model, such as temperature=0.7 or max_tokens=200 (repeatable).": (
        "语言模型的选项，例如 temperature=0.7 或 max_tokens=200，可多次给出。"
    ),
    "Instead of answering, explain why this document is not among the sources.": (
        "不回答，只说明这个文档为什么没有成为出处。"
    ),
    "Let the language model search several times, step by step.": "让语言模型分步骤多次检索。",
    "Maximum number of model calls with --agent (default: 6).": (
        "使用 --agent 时最多调用模型几次（默认：6）。"
    ),
    "With --agent: search for this many next questions at a time, and go on from"
    " the best supported.": (
        "和 --agent 一起使用：每次查找这么多个后续问题，从资料支持最充分的接着查。"
    ),
    "JSON lines, each with a question and its answer, as examples for the language model.": (
        "JSON 行文件，每行一个问题及其回答，作为给语言模型的示例。"
    ),
    "Let the language model reason step by step before it answers.": (
        "让语言模型先一步一步推理，再回答。"
    ),
    "Number of answers to write; the one that most others agree with is shown.": (
        "写出几个回答；显示与其他回答最一致的那个。"
    ),
    "Talk with your documents. The conversation is saved; type /help for the commands.": (
        "与您的文档对话。对话会保存；输入 /help 可查看能用的命令。"
    ),
    "Continue the conversation with this id.": "继续这个编号的对话。",
    "Continue the latest conversation.": "继续最近的对话。",
    "What to search for; write -- before a query that begins with a dash.": (
        "要查找的内容；以减号开头时前面写 --。"
    ),
    "Number of passages (default: the setting RAGKIT_TOP_K).": (
        "给出多少个段落（默认：设置项 RAGKIT_TOP_K）。"
    ),
    "Search mode: by meaning and by words (hybrid), by meaning (dense) or by words (lexical).": (
        "查找方式：按含义和字词（hybrid）、按含义（dense）或按字词（lexical）。"
    ),
    "Collection to search.": "要检索的文档集。",
    "Text to show around each passage (default: the setting RAGKIT_EXPAND).": (
        "每个段落前后还显示什么（默认：设置项 RAGKIT_EXPAND）。"
    ),
    "Use or skip the reranker (default: use it if RAGKIT_RERANKER is set).": (
        "是否使用重排模型（默认：设置了 RAGKIT_RERANKER 就用）。"
    ),
    "Print the steps of the search and their times.": "显示查找的每一步及其用时。",
    "Number of passages to answer from (default: 5).": "根据多少个段落回答（默认：5）。",
    "Search mode: by meaning and by words (hybrid), by meaning (dense) or by words"
    " (lexical) (default: hybrid).": (
        "查找方式：按含义和字词（hybrid）、按含义（dense）或按字词（lexical）（默认：hybrid）。"
    ),
    # ragkit serve
    "Serve the chat page and the HTTP API, by default only to this machine.\n\nCtrl-C or"
    " SIGTERM stops it: it accepts nothing new and finishes the answers in progress.": (
        "启动对话网页和 HTTP 接口，默认只供本机使用。\n\n按 Ctrl-C 或收到 SIGTERM 时结束：不再"
        "接受新请求，正在进行的回答会完成。"
    ),
    "Address to listen on.": "监听的地址。",
    "Port to listen on; 0 picks a free one.": "监听的端口；0 表示任选一个空闲端口。",
    "Number of processes that answer.": "负责回答的进程数。",
    "Serve the chat page at /.": "是否提供对话网页，地址为 /。",
    "Run a worker that reads uploaded files.": "是否运行读取上传文件的后台处理。",
    # ragkit documents
    "List a collection's documents.": "列出文档集里的文档。",
    "Collection of the document or documents.": "文档所在的文档集。",
    "Print the stored text of a document, which the positions in citations refer to.": (
        "显示文档保存的文字，出处里的字符位置以它为准。"
    ),
    "Document: its number, file name, title or path.": "文档：编号、文件名、标题或路径。",
    "List the versions of a document: the current one and the old ones that are kept.": (
        "列出文档的各个版本：当前版本和保留的旧版本。"
    ),
    "Restore an old version of a document, as a new version.": "恢复文档的旧版本，算作一个新版本。",
    "Version number, as listed by `ragkit documents versions`.": (
        "版本号，见 `ragkit documents versions` 的列表。"
    ),
    "Delete documents with their text, vectors, index entries and old versions.\n\nIf another"
    " file has the same content, the document stays for that file unless you give --copies.": (
        "彻底删除文档：文字、向量、索引和旧版本。\n\n如果另有文件内容相同，文档会为那个文件保留"
        "，除非给出 --copies。"
    ),
    "Documents: their numbers, file names, titles or paths.": "文档：编号、文件名、标题或路径。",
    "Do not ask for confirmation.": "不再询问，直接执行。",
    "Delete them even if other files have the same content.": "另有文件内容相同时也删除。",
    # ragkit doctor, config
    "Show the settings that are set and the most common ones; secrets are masked.": (
        "显示已设置的和常用的设置项；密钥等会遮住。"
    ),
    "Show the settings that have their default values, too.": "也显示取默认值的设置项。",
    "Check the database, indexes, models and data; exit code 1 if something is wrong.": (
        "检查数据库、索引、模型和数据；有问题时退出码为 1。"
    ),
}
