"""Answer greetings, thanks and marks without a word, without a search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from ragkit.question.reading import has_cjk, is_traditional

if TYPE_CHECKING:
    from ragkit.contracts import Store

EXAMPLES: Final = 3  # documents that a greeting names
_MAX_CHARS: Final = 60
_MAX_LISTED: Final = 1000  # documents; a larger collection's are not named
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
    r"|what is this|(?:what|which) (?:documents|files) (?:do you (?:have|know)|are (?:there|here))"
    r"|(?:你|这里|這裡)?(?:都)?(?:有|知道)(?:哪些|什么|什麼)(?:文档|文檔|文件)"
    r"|你是谁|你是誰|你能做什么|你能做什麼|能问什么|能問什麼|我能问什么|我能問什麼"
    r"|可以问什么|可以問什麼|你会什么|你會什麼|怎么用|怎麼用|帮助|幫助)",
    re.IGNORECASE,
)
_THANKS: Final = re.compile(
    r"(?:(?:(?:no|ok|okay|great|perfect|super) )?(?:many )?(?:thanks|thank you|thx|cheers)"
    r"(?: a lot| so much| very much)?(?: for (?:your|the) (?:help|answer|time))?"
    r"|got it|i see|cool|太好了|太棒了|谢了|謝了"
    r"|that (?:helped|helps|was helpful|is all|'s all)(?: a lot)?|great|perfect|ok|okay|good|nice"
    r"|(?:谢谢|謝謝|多谢|多謝|(?:非常|十分)?(?:感谢|感謝))(?:你|您)?(?:的?(?:帮助|幫助|回答))?[了啦啊呀]?|好的?|明白了?|知道了|收到)",
    re.IGNORECASE,
)

_OPENINGS: Final = {
    "greeting": ("Hello!", "您好！"),
    "help": (
        "I answer questions from your documents, and show where each answer stands.",
        "我根据您的文档回答问题，并注明出处。",
    ),
    "thanks": ("You are welcome.", "不客气！"),
}
_BYE: Final = re.compile(
    r"(?:good)?bye|good night|see you(?: later)?|再见|再見|拜拜|回头见|回頭見|晚安", re.IGNORECASE
)


def is_greeting(question: str) -> bool:
    """Tell whether a question is only a greeting or thanks, asks for help, or has no word.

    >>> is_greeting("Hi!"), is_greeting("谢谢您"), is_greeting("hi, when does the lease end?")
    (True, True, False)
    >>> is_greeting("???"), is_greeting(" ")
    (True, False)
    """
    return _kind(question) != ""


def greet(question: str, store: Store, collection: str, *, names_documents: bool) -> str:
    """Answer a greeting with examples of what a collection can be asked, naming some documents.

    Those in the greeting's language come first. Raises NotFoundError where there are collections,
    but not this one.
    """
    counts = {row.name: row.documents for row in store.collections()}
    if counts and collection not in counts:
        list(store.documents(collection))  # raises: it says which collections there are
    documents = counts.get(collection, 0)
    titles: list[str] = []
    if names_documents and 0 < documents <= _MAX_LISTED:
        language = "zh" if _is_chinese(question) else "en"
        listed = sorted(store.documents(collection), key=lambda row: row.language != language)
        titles = [document.title or PurePath(document.uri).name for document in listed]
    return write_greeting(question, collection, list(dict.fromkeys(titles)), documents)


def write_greeting(question: str, collection: str, titles: Sequence[str], documents: int) -> str:
    """Return a greeting with what can be asked; `titles` are some of the documents'.

    >>> print(write_greeting("hello", "default", ["Lease", "Handbook"], 8))
    Hello! Ask me what your 8 documents say, for example about “Lease” or “Handbook”.
    >>> write_greeting("谢谢", "default", [], 0)
    '不客气！文档集“default”里还没有文档，请先添加。'
    """
    chinese = _is_chinese(question)
    if _kind(question) == "bye":
        return "再见！" if chinese else "Goodbye!"
    examples = [title[:_MAX_TITLE_CHARS] for title in titles[:EXAMPLES]]
    if chinese:
        traditional = is_traditional(question)
        return _chinese(_kind(question), collection, examples, documents, traditional=traditional)
    opening = _OPENINGS[_kind(question)][0]
    if not documents:
        return f"{opening} The collection “{collection}” has no documents yet: add some first."
    quoted = [f"“{title}”" for title in examples]
    listing = " or ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))
    about = f", for example about {listing}" if examples else ""
    count = "document says" if documents == 1 else f"{documents:,} documents say"
    return f"{opening} Ask me what your {count}{about}."


def _chinese(
    kind: str, collection: str, examples: Sequence[str], documents: int, *, traditional: bool
) -> str:
    opening = _OPENINGS[kind][1]
    if documents:
        about = f"，例如关于{'、'.join(f'《{title}》' for title in examples)}" if examples else ""
        text = f"{opening}您可以就这{documents}份文档的内容提问{about}。"
    else:
        text = f"{opening}文档集“{collection}”里还没有文档，请先添加。"
    return text.translate(_TO_TRADITIONAL) if traditional else text


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
    return kinds[-1] if kinds[-1] in {"thanks", "bye"} else kinds[0]


def _kind_of(text: str) -> str:
    if _GREETING.fullmatch(text):
        return "greeting"
    if _HELP.fullmatch(text):
        return "help"
    if _BYE.fullmatch(text):
        return "bye"
    return "thanks" if _THANKS.fullmatch(text) else ""
