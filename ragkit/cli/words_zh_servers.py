"""Chinese for what the clients of servers of embeddings and scores say: see `ragkit.cli.words`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_KINDS: Final = (
    ("embedding server", "向量服务器", "RAGKIT_EMBED"),
    ("reranker", "重排服务器", "RAGKIT_RERANKER"),
)
# After the name of the server; URL and KEY stand for the names of its settings.
_PROBLEMS: Final = {
    "cannot be reached ({reason}): start it, or correct URL": (
        "无法连接（{reason}）：请启动它，或更正 URL"
    ),
    "broke the connection ({reason}): see its log": "中断了连接（{reason}）：请查看它的日志",
    "has a host name that does not resolve: correct URL": "的主机名无法解析：请更正 URL",
    "cannot be spoken to over TLS: check its certificate, or use http:// for plain HTTP": (
        "无法用 TLS 连接：请检查它的证书；如不加密，请用 http://"
    ),
    "did not answer within {seconds} s: see its load": (
        "在 {seconds} 秒内没有回应：请查看它的负载"
    ),
    "was not done after {seconds} s: see its load": "在 {seconds} 秒内没有完成：请查看它的负载",
    "is no address ({reason}): correct URL": "不是地址（{reason}）：请更正 URL",
    "denies access ({status}; no API key was given): set KEY": (
        "拒绝访问（{status}；没有给出密钥）：请设置 KEY"
    ),
    "denies access ({status}; the API key is wrong): set KEY": (
        "拒绝访问（{status}；密钥不对）：请设置 KEY"
    ),
    "takes no more requests now ({status}): try again in {seconds} s": (
        "现在不接受更多请求（{status}）：请在 {seconds} 秒后再试"
    ),
    "takes no more requests now ({status}): try again later": (
        "现在不接受更多请求（{status}）：请稍后再试"
    ),
    "failed ({status}): see its load and its log": "出错（{status}）：请查看它的负载和日志",
    "sent more than {number} bytes: see its log": "发送了超过 {number} 字节：请查看它的日志",
}
_EMBEDDING: Final = {
    "embedding server {url} has no such path or model ({status}): RAGKIT_EMBED_URL must be the"
    " API's base, usually ending in /v1, and RAGKIT_EMBED_MODEL a model there": (
        "向量服务器 {url} 没有这个路径或模型（{status}）：RAGKIT_EMBED_URL 应是 API 的根地址，"
        "通常以 /v1 结尾，RAGKIT_EMBED_MODEL 应是那里的模型"
    ),
    "embedding server {url} rejects the request ({status}): see its log; where a text is too long"
    " for it, set RAGKIT_EMBED_CONTEXT_TOKENS to what it reads": (
        "向量服务器 {url} 拒绝了请求（{status}）：请查看它的日志；如果文本过长，请把"
        " RAGKIT_EMBED_CONTEXT_TOKENS 设为它能读的词元数"
    ),
    "embedding server {url} gave no proper answer ({reason}): see that RAGKIT_EMBED_URL is the base"
    " of an OpenAI-style API, usually ending in /v1": (
        "向量服务器 {url} 的回应不合规范（{reason}）：请检查 RAGKIT_EMBED_URL 是否为 OpenAI 式 API"
        " 的根地址，通常以 /v1 结尾"
    ),
    "embedding server {url} does not say how many tokens {model} reads: set"
    " RAGKIT_EMBED_CONTEXT_TOKENS to that number, or RAGKIT_EMBED_TOKENIZER to the model's"
    " folder": (
        "向量服务器 {url} 没有说明 {model} 能读多少词元：请把 RAGKIT_EMBED_CONTEXT_TOKENS"
        " 设为该数，或把 RAGKIT_EMBED_TOKENIZER 设为模型的文件夹"
    ),
    "embedding server {url} does not say how many tokens {model} reads, and lists {models}: set"
    " RAGKIT_EMBED_MODEL to one of them. Else set RAGKIT_EMBED_CONTEXT_TOKENS to that number, or"
    " RAGKIT_EMBED_TOKENIZER to the model's folder": (
        "向量服务器 {url} 没有说明 {model} 能读多少词元，它列出的模型是 {models}：请把"
        " RAGKIT_EMBED_MODEL 设为其中之一。否则请把 RAGKIT_EMBED_CONTEXT_TOKENS 设为该数，或把"
        " RAGKIT_EMBED_TOKENIZER 设为模型的文件夹"
    ),
    "embedding server {url} gave vectors of {number} dimensions after {before}: it has another"
    " model by now under the name {model}": (
        "向量服务器 {url} 给出 {number} 维向量，之前是 {before} 维：名为 {model} 的已是另一个模型"
    ),
    "embedding server {url} lists no model: load one, or name it in RAGKIT_EMBED_MODEL": (
        "向量服务器 {url} 没有列出模型：请载入一个，或用 RAGKIT_EMBED_MODEL 指定"
    ),
    "the embedding server has another model by now under the name {model} ({reason}), and"
    " collection {name} is embedded with the one from before: serve that one, or give the new one"
    " another name and move the collection with `{command}`": (
        "向量服务器上名为 {model} 的已是另一个模型（{reason}），而文档集 {name} 的向量来自原来的"
        "模型：请换回原来的模型，或给新模型另取名字，再用 `{command}` 转换文档集"
    ),
    "{now} dimensions where the collection has {stored}": "{now} 维，文档集是 {stored} 维",
    "its vectors of the same passages have a cosine of {cosine}": ("相同段落的向量余弦为 {cosine}"),
    "the collection has {stored} dimensions of {model}, which now gives {now}: it is another model"
    " under that name, or RAGKIT_EMBED_DIMENSION is another: put that back, or move the collection"
    " with `{command}`": (
        "文档集有 {model} 的 {stored} 维向量，而它现在给出 {now} 维：同名的已是另一个模型，或"
        " RAGKIT_EMBED_DIMENSION 变了：请换回原来的，或用 `{command}` 转换文档集"
    ),
    # What `ragkit doctor` says.
    "unlike those of the collection, cosine {cosine}: it has another model now": (
        "与文档集的不同，余弦 {cosine}：它现在是另一个模型"
    ),
    **{
        f"{{model}}, {{number}} dimensions, reads {{tokens}} tokens of text, counts {how}{where}": (
            f"{{model}}，{{number}} 维，每段最多 {{tokens}} 个词元（{chinese_how}）{chinese_where}"
        )
        for how, chinese_how in (
            ("with the model's tokenizer", "用模型的分词器计算"),
            ("every byte as a token", "每个字节算一个词元"),
        )
        for where, chinese_where in (
            (", in English, Chinese and about a hundred others", "，支持中文、英文等约一百种语言"),
            (", in English only", "，只支持英文"),
            ("", ""),
        )
    },
}
_RERANKING: Final = {
    "reranker {url} has no such path or model ({status}): RAGKIT_RERANKER must be the address of a"
    " /rerank endpoint, and RAGKIT_RERANKER_MODEL a model there": (
        "重排服务器 {url} 没有这个路径或模型（{status}）：RAGKIT_RERANKER 应是 /rerank 接口的地址，"
        "RAGKIT_RERANKER_MODEL 应是那里的模型"
    ),
    "reranker {url} rejects the request ({status}): see its log": (
        "重排服务器 {url} 拒绝了请求（{status}）：请查看它的日志"
    ),
    "reranker {url} gave no proper answer ({reason}): see that RAGKIT_RERANKER is the address of a"
    " /rerank endpoint": (
        "重排服务器 {url} 的回应不合规范（{reason}）：请检查 RAGKIT_RERANKER 是否为 /rerank"
        " 接口的地址"
    ),
}


def _named(problem: str, setting: str) -> str:
    url = f"{setting}_URL" if setting == "RAGKIT_EMBED" else setting
    return problem.replace("URL", url).replace("KEY", f"{setting}_API_KEY")


SERVERS: Final[Mapping[str, str]] = {
    **{
        f"{english} {{url}} {_named(problem, setting)}": (
            f"{chinese} {{url}} {_named(translated, setting)}"
        )
        for english, chinese, setting in _KINDS
        for problem, translated in _PROBLEMS.items()
    },
    **_EMBEDDING,
    **_RERANKING,
}
