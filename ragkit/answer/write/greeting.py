"""Answer greetings, thanks and what documents there are, without a search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from ragkit.question.reading import has_cjk, is_traditional

if TYPE_CHECKING:
    from ragkit.contracts import Store

EXAMPLES: Final = 3  # documents that a greeting names
LISTED: Final = 20  # documents that are named where they are asked for; arbitrary
_MAX_CHARS: Final = 60
_MAX_DOCUMENTS: Final = 1000  # a larger collection's are not named
_MAX_TITLE_CHARS: Final = 60

_EDGES: Final = " \t\r\n.,;:!?~…。，；：！？～、👋🙏😊🙂"
_WORD: Final = re.compile(r"\w")
_CHINESE_MARK: Final = re.compile("[，。？！；：、…]")
_GREETING: Final = re.compile(
    r"(?:(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))(?: there| all"
    r"| everyone| ragkit)?|how are you(?: doing)?(?: today)?|nice to meet you"
    r"|你好|您好|妳好|你们好|你們好|大家好|嗨|哈[喽啰囉]|早上好|早安|上午好|中午好|下午好|晚上好|在吗|在嗎|早"
    r")[呀啊]?",
    re.IGNORECASE,
)
_HELP: Final = re.compile(
    r"(?:help(?: me)?|(?:who|what) are you|what can (?:you do|i ask(?: you)?)|how does this work"
    r"|what is this|are you (?:a |an )?(?:bot|robot|machine|human|person|ai|real)"
    r"|你是谁|你是誰|你是(?:个|個)?(?:机器人|機器人|真人|人工智能|ai)[吗嗎]|你能做什么|你能做什麼|能问什么|能問什麼|我能问什么|我能問什麼"
    r"|你能[干幹](?:啥|嘛|什[么麼])|你叫什[么麼](?:名字)?"
    r"|可以问什么|可以問什麼|你会什么|你會什麼|(?:你)?(?:怎么|怎麼)用你?|帮助|幫助)",
    re.IGNORECASE,
)
_DOCUMENTS: Final = re.compile(
    r"(?:(?:what|which|how many) (?:documents|files) (?:do (?:you|i|we) (?:have|know)"
    r"|are (?:there|here)|have you (?:got|read))"
    r"|(?:please )?(?:list|show)(?: me)?(?: all)?(?: the| my| our| your)? (?:documents|files)"
    r"|(?:你|我|我们|我們|这里|這裡|现在|現在)*(?:都|一共|总共|總共)?(?:有|知道|读过|讀過)了?"
    r"(?:哪些|什么|什麼|几个|幾個|几份|幾份|多少个?|多少個|多少份)(?:文档|文檔|文件)"
    r"|(?:请|請)?列出(?:所有|全部)?的?(?:文档|文檔|文件)|(?:文档|文檔|文件)(?:列表|清单|清單))[了呢啊呀]?",
    re.IGNORECASE,
)
_THANKS: Final = re.compile(
    r"(?:(?:(?:no|ok|okay|great|perfect|super) )?(?:many )?(?:thanks|thank you|thx|cheers)"
    r"(?: a lot| so much| very much)?(?: for (?:your|the) (?:help|answer|time))?"
    r"|got it|i see|cool|太好了|太棒了|谢了|謝了"
    r"|that (?:helped|helps|was helpful|is all|'s all)(?: a lot)?|great|perfect|ok|okay|good|nice"
    r"|(?:谢谢|謝謝|多谢|多謝|(?:非常|十分)?(?:感谢|感謝))(?:你|您)?(?:的?(?:帮助|幫助|回答))?[了啦啊呀]?|好的?|明白了?|知道了|收到|辛苦了?|嗯+)",
    re.IGNORECASE,
)

_OPENINGS: Final = {
    "greeting": ("Hello!", "您好！"),
    "help": (
        "I answer questions from your documents, and show where each answer stands.",
        "我根据您的文档回答问题，并注明出处。",
    ),
    "documents": ("", ""),
    "thanks": ("You are welcome.", "不客气！"),
}
_BYE: Final = re.compile(
    r"(?:(?:ok(?:ay)?|thanks|thank you|alright|well) )?(?:(?:good)?bye(?: bye)?|good night"
    r"|see you(?: later)?)|再见|再見|拜拜|回头见|回頭見|晚安",
    re.IGNORECASE,
)


def is_greeting(question: str) -> bool:
    """Tell whether a question is a greeting, thanks or without a word, or asks for help.

    Asking which documents there are is asking for help, too.

    >>> is_greeting("Hi!"), is_greeting("谢谢您"), is_greeting("hi, when does the lease end?")
    (True, True, False)
    >>> is_greeting("???"), is_greeting(" ")
    (True, False)
    """
    return _kind(question) != ""


def greet(question: str, store: Store, collection: str, *, names_documents: bool) -> str:
    """Answer a greeting with examples of what a collection can be asked, naming some documents.

    Where the documents are asked for, up to 20 are named. Those in the greeting's language come
    first. Raises NotFoundError where there are collections, but not this one.
    """
    counts = {row.name: row.documents for row in store.collections()}
    if counts and collection not in counts:
        list(store.documents(collection))  # raises: it says which collections there are
    documents = counts.get(collection, 0)
    titles: list[str] = []
    if names_documents and 0 < documents <= _MAX_DOCUMENTS:
        language = "zh" if _is_chinese(question) else "en"
        listed = sorted(store.documents(collection), key=lambda row: row.language != language)
        titles = [document.title or PurePath(document.uri).name for document in listed]
    return write_greeting(question, collection, list(dict.fromkeys(titles)), documents)


def write_greeting(question: str, collection: str, titles: Sequence[str], documents: int) -> str:
    """Return a greeting with what can be asked; `titles` are some of the documents'.

    >>> print(write_greeting("hello", "default", ["Lease", "Handbook"], 8))
    Hello! Ask me what your 8 documents say, for example about “Lease” or “Handbook”.
    >>> write_greeting("which documents are there?", "default", ["Lease", "Handbook"], 2)
    'There are 2 documents: “Lease”, “Handbook”.'
    >>> write_greeting("谢谢", "default", [], 0)
    '不客气！文档集“default”里还没有文档，请先添加。'
    """
    kind, chinese = _kind(question), _is_chinese(question)
    if kind == "bye":
        return "再见！" if chinese else "Goodbye!"
    titles = [title[:_MAX_TITLE_CHARS] for title in titles]
    if kind == "documents" and documents:
        text = _list_documents(titles, documents, chinese=chinese)
    elif chinese:
        text = _OPENINGS[kind][1] + _chinese(collection, titles[:EXAMPLES], documents)
    else:
        text = f"{_OPENINGS[kind][0]} {_english(collection, titles[:EXAMPLES], documents)}".lstrip()
    return text.translate(_TO_TRADITIONAL) if chinese and is_traditional(question) else text


def _list_documents(titles: Sequence[str], documents: int, *, chinese: bool) -> str:
    named, more = titles[:LISTED], len(titles) > LISTED
    if chinese:
        listed = "：" * bool(named) + "、".join(f"《{title}》" for title in named) + "等" * more
        return f"共有{documents}份文档{listed}。"
    listed = ": " * bool(named) + ", ".join(f"“{title}”" for title in named)
    are = "is 1 document" if documents == 1 else f"are {documents:,} documents"
    return f"There {are}{listed}{', among others' * more}."


def _english(collection: str, examples: Sequence[str], documents: int) -> str:
    if not documents:
        return f"The collection “{collection}” has no documents yet: add some first."
    quoted = [f"“{title}”" for title in examples]
    listing = " or ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))
    about = f", for example about {listing}" if examples else ""
    count = "document says" if documents == 1 else f"{documents:,} documents say"
    return f"Ask me what your {count}{about}."


def _chinese(collection: str, examples: Sequence[str], documents: int) -> str:
    if not documents:
        return f"文档集“{collection}”里还没有文档，请先添加。"
    about = f"，例如关于{'、'.join(f'《{title}》' for title in examples)}" if examples else ""
    return f"您可以就这{documents}份文档的内容提问{about}。"


def _is_chinese(question: str) -> bool:
    return has_cjk(question) or _CHINESE_MARK.search(question) is not None


_TO_TRADITIONAL: Final = str.maketrans(
    "气这问关于档内请还没里据题并处", "氣這問關於檔內請還沒裡據題並處"
)


def _kind(question: str) -> str:
    if question.strip() and not _WORD.search(question):
        return "help"
    text = question.strip(_EDGES)
    if len(question) > _MAX_CHARS or not text:
        return ""
    parts = [part.strip(_EDGES) for part in re.split(r"[,，!！.。]", text)]
    kinds = [_kind_of(part) for part in parts if part]
    if not kinds or "" in kinds:
        return ""
    return next((kind for kind in reversed(kinds) if kind != "greeting"), "greeting")


def _kind_of(text: str) -> str:
    if _GREETING.fullmatch(text):
        return "greeting"
    if _HELP.fullmatch(text):
        return "help"
    if _DOCUMENTS.fullmatch(text):
        return "documents"
    if _BYE.fullmatch(text):
        return "bye"
    return "thanks" if _THANKS.fullmatch(text) else ""
