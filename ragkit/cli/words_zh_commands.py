"""Texts of the commands under "More commands" and of `ragkit chat` in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "{name}: {text}": "{name}：{text}",
    "{name}: {value}": "{name}：{value}",
    "interrupted": "已中断",
    "yes": "是",
    "no": "否",
    "all": "全部",
    "never": "从未",
    "default": "默认",
    "{number} question": "{number} 个问题",
    "{number} questions": "{number} 个问题",
    "{number} conversation": "{number} 个对话",
    "{number} conversations": "{number} 个对话",
    "{number} rating": "{number} 条评价",
    "{number} ratings": "{number} 条评价",
    "{number} job": "{number} 个任务",
    "{number} jobs": "{number} 个任务",
    # ragkit chat
    "A new conversation.": "新的对话。",
    "A new conversation. `ragkit chat --continue` resumes “{title}” of {date}.": (
        "新的对话。`ragkit chat --continue` 可继续 {date} 的“{title}”。"
    ),
    "Continuing “{title}” ({turns}, last on {date}).": "继续“{title}”（{turns}，上次是 {date}）。",
    "Collection {name!r}. /help lists the commands, Ctrl-D quits.": (
        "文档集 {name!r}。输入 /help 查看命令，按 Ctrl-D 退出。"
    ),
    "Cancelled: this question and answer are not saved.": "已取消：这次的问题和回答没有保存。",
    "Nothing has been asked yet.": "还没有提过问题。",
    "Saved {turns} to {file}.": "已把 {turns}保存到 {file}。",
    "Delete this conversation ({turns})?": "删除这个对话（{turns}）？",
    "Deleted. The next question begins a new conversation.": "已删除。下一个问题会新开对话。",
    "/again        answer the last question again and replace its answer\n"
    "/again TEXT   replace the last question by this one\n"
    "/new          begin a new conversation\n"
    "/history      show this conversation\n"
    "/sources      show the sources of the last answer in full\n"
    "/export FILE  save this conversation to a new file: Markdown, or JSON for *.json\n"
    "/delete       delete this conversation\n"
    "/quit         quit (also Ctrl-D); Ctrl-C cancels an answer": (
        "/again        重新回答上一个问题，替换原来的回答\n"
        "/again 问题   用这个问题替换上一个问题\n"
        "/new          新开对话\n"
        "/history      显示这个对话\n"
        "/sources      完整显示上一个回答的出处\n"
        "/export 文件  把这个对话存为新文件：Markdown，或 *.json 存为 JSON\n"
        "/delete       删除这个对话\n"
        "/quit         退出（也可按 Ctrl-D）；按 Ctrl-C 取消回答"
    ),
    # ragkit conversations
    "id": "编号",
    "collection": "文档集",
    "questions": "问题数",
    "last used": "上次使用",
    "There are no conversations yet.": "还没有对话。",
    "{id}, collection {name!r}": "{id}，文档集 {name!r}",
    "Conversation {id} is now called “{title}”.": "对话 {id} 现在叫做“{title}”。",
    "Delete all your conversations ({number})?": "删除您的全部对话（{number}）？",
    "rating": "评价",
    "question": "问题",
    "answer": "回答",
    "comment": "意见",
    "user": "用户",
    "date": "日期",
    "There are no ratings yet.": "还没有评价。",
    # ragkit jobs, worker
    "job": "任务",
    "state": "状态",
    "attempts": "尝试次数",
    "stage": "步骤",
    "host": "机器",
    "notes": "说明",
    "kind": "种类",
    "uri": "文件",
    "content hash": "内容哈希值",
    "run": "读取次序",
    "created at": "创建时间",
    "started at": "开始时间",
    "finished at": "结束时间",
    "updated at": "更新时间",
    "place": "位置",
    "bytes": "字节数",
    "chunks": "段落数",
    "tokens": "词元数",
    "seconds": "用时（秒）",
    "queued": "排队",
    "running": "进行中",
    "done": "完成",
    "failed": "失败",
    "cancelled": "已取消",
    "read": "读取",
    "parse": "解析",
    "split": "切分",
    "embed": "向量",
    "write": "写入",
    "store": "保存",
    "{stage} s": "{stage}（秒）",
    "There are no jobs.": "没有任务。",
    "Queued again: {jobs}": "重新排队：{jobs}",
    "Cancelled: {jobs}": "已取消：{jobs}",
    "Run {run}, {files}: {path}": "第 {run} 次读取，{files}：{path}",
    "No file had changed in this run.": "这次读取没有变动的文件。",
    "{added} added, {updated} updated, {unchanged} unchanged, {failed} failed.": (
        "新增 {added} 个，更新 {updated} 个，未变 {unchanged} 个，失败 {failed} 个。"
    ),
    " Left to workers that can read the files: {number}.": (
        "留给能读到文件的其他后台处理：{number} 个。"
    ),
    # ragkit keys
    "tenant": "租户",
    "groups": "群组",
    "scopes": "权限",
    "collections": "文档集",
    "expires": "失效时间",
    "valid": "有效",
    "expired": "已失效",
    "revoked": "已撤销",
    "There are no keys yet.": "还没有密钥。",
    "Key {id}: save it now, it is not shown again. `ragkit keys revoke {id}` revokes it.": (
        "密钥 {id}：请现在保存，以后不再显示。`ragkit keys revoke {id}` 可撤销。"
    ),
    "Revoked key {number}.": "已撤销密钥 {number}。",
    # ragkit config
    "{number} more settings have their default values: `ragkit config --all` shows them.": (
        "另有 {number} 项设置为默认值：`ragkit config --all` 可显示。"
    ),
    "Warning: {variable} is not a setting of ragkit.": "注意：ragkit 没有设置项 {variable}。",
    "Did you mean {name}?": "您是不是要写 {name}？",
    "any number": "不限",
    "by the context and the device": "按上下文和设备",
    "by the number of cores": "按处理器核数",
    "chosen by the machine": "按本机选择",
    "its own address": "本机地址",
    "just under the model's limit": "略低于模型的上限",
    "none: by words": "无，按词表判断",
    "none: embedded": "无，用内置数据库",
    "none: no groups": "无",
    "none: no single sign-on": "无，不用单点登录",
    "none: quoted sentences": "无，直接引用文档中的句子",
    "none: the same": "无，与上相同",
    "none: the tenant and principal above": "无，按上面的租户和用户",
    "ragkit's own": "ragkit 自带的",
    "the model's own": "模型自带的",
    "the server's": "由服务器决定",
    "the server's first model": "服务器上的第一个模型",
    "this environment": "当前环境",
    "none: the model runs in this process": "无：模型在本进程中运行",
    "what the server or the tokenizer's folder says": "以服务器或分词器目录所述为准",
    "what the server says, else 4096": "由服务器告知，否则 4096",
    # ragkit documents, collections, share
    "Document {number}: version {old} is restored, as version {new}.": (
        "文档 {number}：已恢复版本 {old}，成为版本 {new}。"
    ),
    "Collection {name!r} is now called {new!r}.": "文档集 {name!r} 现在叫做 {new!r}。",
    "Collection {name!r} has no declared keys.": "文档集 {name!r} 没有声明字段。",
    "key": "字段",
    "type": "类型",
    "of another type": "类型不符",
    "option": "选项",
    "value": "值",
    "set here": "专用",
    "Collection {name!r}": "文档集 {name!r}",
    "Document {number}": "文档 {number}",
    "everybody may read it.": "人人可读。",
    "{names} may read it.": "{names} 可读。",
    "only operators may read it.": "只有管理员可读。",
    "only its owner may read it.": "只有所有者可读。",
    " Owner: {owner}.": "所有者：{owner}。",
    # ragkit index
    "vector index": "向量索引",
    " of all tenants": "（全部租户）",
    "dimensions": "维数",
    "metric": "距离",
    "index": "索引",
    "over": "索引的类型",
    "effort": "检索力度",
    "vectors": "向量数",
    "indexed": "已索引",
    "table bytes": "表的字节数",
    "index bytes": "索引的字节数",
    # ragkit db
    "folder": "文件夹",
    "size": "大小",
    "started": "已启动",
    "keep running": "保持运行",
    "pid": "进程号",
    "url": "地址",
    "port": "端口",
    "connections": "连接数",
    "embedded": "内置",
    "server": "服务器",
    "pgvector available": "可用的 pgvector",
    "The embedded database in {folder} is not running.": "{folder} 中的内置数据库没有运行。",
    "Stopped the embedded database in {folder}.": "已停止 {folder} 中的内置数据库。",
    "Closed connections: {number}": "断开的连接：{number}",
    "Saved: {folder}": "已备份：{folder}",
    "Moved tenant {name} to {node}.": "已把租户 {name} 移到 {node}。",
    "Tenant {name} is on {node} already.": "租户 {name} 已在 {node} 上。",
    "Restored: {folder}": "已恢复：{folder}",
    "{documents}, {passages}, {rows} rows in all; test searches: {searches}": (
        "{documents}，{passages}，共 {rows} 行；检查用的检索：{searches} 次"
    ),
    # ragkit serve
    "The chat page and the API are at {url} (Ctrl-C stops the server)": (
        "对话网页和接口的地址：{url}（按 Ctrl-C 停止）"
    ),
    "The API is at {url} (Ctrl-C stops the server)": "接口的地址：{url}（按 Ctrl-C 停止）",
}
