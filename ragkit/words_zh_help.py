"""The help of the commands in Chinese, by its English: see `ragkit.cli_help`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HELP: Final[Mapping[str, str]] = {
    # What Typer writes.
    "Usage: ": "用法：",
    "Options": "选项",
    "Arguments": "参数",
    "Commands": "命令",
    "More commands": "其他命令",
    "Show this message and exit.": "显示本帮助后退出。",
    # ragkit
    "Answer questions from your own documents, with citations that can be checked.\n\nExit codes: 0"
    " done, 1 failed, 2 wrong usage, 3 done but some items failed.": (
        "根据您自己的文档回答问题，并给出可以核对的出处。\n\n"
        "退出码：0 成功，1 失败，2 用法错误，3 完成，但有部分失败。"
    ),
    "Print the version and exit.": "显示版本号后退出。",
    "Read files and folders, so that questions can be answered from them.": (
        "读取文件和文件夹，之后就可以对它们提问。"
    ),
    "List, show, restore and delete documents.": "列出、查看、恢复、删除文档。",
    "List, create and delete collections; set their metadata keys and options.": (
        "列出、新建、删除集合，设置其元数据字段和选项。"
    ),
    "Say who may read a collection or a document.": "设定谁可以阅读某个集合或文档。",
    "List, show, rename and delete conversations; list the ratings of answers.": (
        "列出、查看、改名、删除对话，列出对回答的评价。"
    ),
    "Show, build and tune the vector index; change the embedding model.": (
        "查看、重建、调整向量索引，更换向量模型。"
    ),
    "Read queued and uploaded files as they arrive.": "读取排队和上传的文件。",
    "List, show, retry and cancel the jobs of ingestion.": "列出、查看、重试、取消读取任务。",
    "Find passages by meaning and by words.": "按含义和字词查找段落。",
    "Answer a question with citations, or say that it cannot.": (
        "回答问题并给出出处；答不了就直说。"
    ),
    "Talk with your documents; the conversation is kept.": "与您的文档对话；对话会保存。",
    "Serve the chat page and the OpenAI-compatible API.": "启动对话网页和兼容 OpenAI 的接口。",
    "Serve, plan, quantize and measure language models.": "运行、规划、量化、测量语言模型。",
    "Measure models, indexes and answers; compare runs soundly.": (
        "评测模型、索引和回答，可靠地比较各次结果。"
    ),
    "Offer search and ask to other programs (MCP).": "向其他程序提供检索和问答（MCP）。",
    "Create, list and revoke access keys.": "创建、列出、撤销访问密钥。",
    "Look after the database: its state, its tables and roles, backups.": (
        "管理数据库：状态、表和角色、备份。"
    ),
    "Print each setting and where it came from.": "显示每项设置及其来源。",
    "Check everything and name the remedies.": "全面检查，指出问题的解决办法。",
    # ragkit ingest
    "Read files, folders and other sources into a collection; unchanged files are left alone.\n\n"
    "Several of these commands may run at once, on this machine and others: they share the work."
    " `ragkit worker` works on what was queued with --queue and on uploads. Exit code 3 when some"
    " files failed: the others are stored, and the failures are listed.": (
        "把文件、文件夹和其他来源读入集合；没有变动的文件不会重读。\n\n"
        "可以在本机和其他机器上同时运行多个这样的命令，它们会分担工作。"
        "`ragkit worker` 处理用 --queue 排队的文件和上传的文件。"
        "有文件失败时退出码为 3：其余文件照常保存，失败的会列出来。"
    ),
    "Files, folders, URLs; - for standard input.": "文件、文件夹或网址；- 表示标准输入。",
    "The collection to fill.": "要读入的集合。",
    "Take only what matches, as in .gitignore.": "只读取匹配的文件，写法与 .gitignore 相同。",
    "Leave out what matches, as in .gitignore.": "不读取匹配的文件，写法与 .gitignore 相同。",
    "Also read hidden files and folders.": "隐藏的文件和文件夹也读取。",
    "Metadata of every document.": "给每个文档加上的元数据。",
    "The title of a single document.": "单个文档的标题。",
    "The file name of standard input.": "标准输入内容的文件名。",
    "Make each record a document, of this field's text.": (
        "每条记录作为一个文档，正文取自这个字段。"
    ),
    "A record's title.": "记录的标题字段。",
    "What names a record.": "记录的编号字段。",
    "Metadata of a record.": "记录的元数据字段。",
    "Delete documents whose files have vanished.": "文件已不存在的文档一并删除。",
    "Read unchanged files again.": "没有变动的文件也重新读取。",
    "Say what would be done, and do nothing.": "只说明会做什么，并不真做。",
    "Keep running and read what changes, until Ctrl-C.": (
        "持续运行，读取变动的文件，按 Ctrl-C 结束。"
    ),
    "Seconds between looks with --watch.": "使用 --watch 时每隔多少秒查看一次。",
    "Only queue what has changed, for workers.": "只把变动的文件排队，留给后台处理。",
    "Parser processes; one per core but one.": "解析进程数；默认比处理器核数少一个。",
    "What does the work: this program, or Ray.": "由谁处理：本程序，或 Ray。",
    "Print JSON.": "以 JSON 格式输出。",
    # ragkit ask, search, chat
    "Answer a question with citations, or say that the documents do not answer it.": (
        "回答问题并给出出处；文档里没有答案就直说。"
    ),
    "The question, in English or Chinese.": "问题，中文或英文均可。",
    "The collection to answer from.": "根据哪个集合回答。",
    "Only documents of which this is true, as in 'language = \"en\" and year >= 2020'.": (
        "只使用符合条件的文档，例如 'language = \"zh\" and year >= 2020'。"
    ),
    "What was current then, of versions that were kept: 2026-01-31, which is the end of that day in"
    " UTC, or 2026-01-31T15:00+01:00.": (
        "使用当时有效的版本（须保留旧版本）：2026-01-31 指这一天结束时（UTC），"
        "或写 2026-01-31T15:00+08:00。"
    ),
    "Print a thinking model's reasoning, to standard error.": (
        "把思考型模型的推理过程输出到标准错误。"
    ),
    "An option of the language model, such as temperature=0.7 or max_tokens=200; several one by"
    " one.": "语言模型的选项，例如 temperature=0.7 或 max_tokens=200；可以多次给出。",
    "Tell which stage lost this document, instead of the answer.": (
        "不回答，只说明这个文档在哪一步被漏掉。"
    ),
    "Let the language model search several times, step by step.": "让语言模型分步骤多次检索。",
    "Calls of the model with --agent, at most; 6 unless told.": (
        "使用 --agent 时最多调用模型几次；默认 6 次。"
    ),
    "Talk with your documents. The conversation is kept; /help lists what can be typed.": (
        "与您的文档对话。对话会保存；输入 /help 可查看能用的命令。"
    ),
    "The conversation to go on with.": "要继续的对话。",
    "Begin a new one instead of going on with the latest.": "新开对话，不接着上一次的对话。",
    "What to look for; after -- if it begins with a dash.": (
        "要查找的内容；以减号开头时写在 -- 之后。"
    ),
    "How many passages; RAGKIT_TOP_K unless told.": "给出多少个段落；默认为 RAGKIT_TOP_K。",
    "By meaning and words, or by one alone.": "同时按含义和字词，或只按其中一种。",
    "The collection to search.": "要检索的集合。",
    "What to show around each passage; RAGKIT_EXPAND unless told.": (
        "每个段落前后还显示什么；默认为 RAGKIT_EXPAND。"
    ),
    "Use RAGKIT_RERANKER, or leave it out; it is used when it is set.": (
        "是否使用 RAGKIT_RERANKER；设置了就默认使用。"
    ),
    "Print each stage and its time.": "显示每一步及其用时。",
    "How many passages to answer from; 5 unless told.": "根据多少个段落回答；默认为 5。",
    "By meaning and words, which is usual, or by one alone.": (
        "同时按含义和字词（默认），或只按其中一种。"
    ),
    # ragkit serve
    "Serve the chat page and the HTTP API, by default to this machine alone.\n\nEnds on SIGTERM or"
    " Ctrl-C: nothing new is taken, running answers are finished.": (
        "启动对话网页和 HTTP 接口，默认只供本机使用。\n\n"
        "收到 SIGTERM 或按 Ctrl-C 时结束：不再接受新请求，正在进行的回答会完成。"
    ),
    "The address to listen on.": "监听的地址。",
    "The port; 0 takes any that is free.": "端口；0 表示任选一个空闲端口。",
    "Processes that answer.": "负责回答的进程数。",
    "The chat page at /.": "对话网页，地址为 /。",
    "The worker that takes uploads in.": "读取上传文件的后台处理。",
    # ragkit documents
    "List a collection's documents.": "列出集合里的文档。",
    "The collection.": "集合。",
    "Print a document's stored text, the one that citations count in.": (
        "显示文档保存的文字，出处里的字符位置以它为准。"
    ),
    "The document: its number, file name, title or path.": "文档：编号、文件名、标题或路径。",
    "List a document's versions: the current one, and the old ones that were kept.": (
        "列出文档的各个版本：当前版本和保留的旧版本。"
    ),
    "Make an old version of a document the current one again, as a new version.": (
        "把旧版本恢复为当前版本，算作一个新版本。"
    ),
    "The version, as `versions` lists it.": "版本号，见 `versions` 的列表。",
    "Delete documents everywhere at once: text, vectors, words, old versions.\n\nA document whose"
    " content another file has as well stays for that file, unless --copies is given.": (
        "彻底删除文档：文字、向量、索引和旧版本。\n\n"
        "如果另有文件内容相同，文档会为那个文件保留，除非给出 --copies。"
    ),
    "The documents: their numbers, file names, titles or paths.": (
        "文档：编号、文件名、标题或路径。"
    ),
    "Do not ask.": "不再询问，直接执行。",
    "Also where other files have the same content.": "另有文件内容相同时也删除。",
    # ragkit doctor, config
    "Print the settings that are set and the usual ones; secrets are masked.": (
        "显示已设置的和常用的设置项；密钥等会遮住。"
    ),
    "Print the settings at their defaults, too.": "也显示取默认值的设置项。",
    "Check database, indexes, models and data; exit code 1 when something is wrong.": (
        "检查数据库、索引、模型和数据；有问题时退出码为 1。"
    ),
    # ragkit collections, share
    "List, create and delete collections.": "列出、新建、删除集合。",
    "Let users and groups read a collection or a document, and nobody else.\n\nThe readers of a"
    " document must be able to read its collection as well.": (
        "只让这些用户和群组阅读某个集合或文档，其他人不能读。\n\n"
        "能读文档的人还必须能读它所在的集合。"
    ),
    "user:NAME or group:NAME; without any, show who may read it.": (
        "写作 user:名称 或 group:名称；不写则显示谁可以阅读。"
    ),
    "The collection to share.": "要共享的集合。",
    "The document to share: its number, name, title or path.": (
        "要共享的文档：编号、文件名、标题或路径。"
    ),
    "Take WHO out of the readers instead.": "改为取消 WHO 的阅读权。",
    "Let the whole tenant read it.": "租户中人人可读。",
    "Let only its owner read it.": "只有所有者可读。",
    "Make WHO its owner; '' for nobody.": "把 WHO 设为所有者；'' 表示没有。",
    "List the collections with what is in them and who may read them.": (
        "列出各个集合、其内容多少以及谁可以阅读。"
    ),
    "Create a collection; one that exists stays as it is.": "新建集合；已有的集合保持不变。",
    "The collection's name.": "集合的名称。",
    "Delete a collection and every document in it.": "删除集合及其中的全部文档。",
    "Declare metadata keys, so that filters on them use an index; list those declared.": (
        "声明元数据字段，为过滤建立索引；也列出已声明的字段。"
    ),
    "Metadata keys that filters compare; text unless told.": (
        "过滤时比较的元数据字段；默认为文本类型。"
    ),
    "A key to declare no more; several one by one.": "不再声明的字段；多个时逐个给出。",
    "Choose how a collection's files are read and split; show its options, its own marked.\n\nThey"
    " win over the settings. Files that are there already are made anew at the next `ragkit"
    " ingest`.": (
        "选择集合的文件如何读取和切分；显示各个选项，并标出该集合专有的。\n\n"
        "这些选项优先于设置。已有的文件在下次 `ragkit ingest` 时重新处理。"
    ),
    "How its files become passages.": "文件如何切分成段落。",
    "An option to leave to the settings again; several one by one.": (
        "恢复为按设置处理的选项；多个时逐个给出。"
    ),
}
