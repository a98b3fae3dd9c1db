"""A greeting or thanks gets a greeting and what can be asked, without a search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragkit.answer.write.greeting import is_greeting
from ragkit.answer.write.llm import ChatGenerator
from ragkit.knowledge.base import KnowledgeBase
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore, fill, new_document


@pytest.mark.parametrize(
    "text",
    ["hi", "Hello!", "hey there", "Good morning.", "Hi, how are you?", "thanks a lot", "ok thanks",
     "Thanks, that helped!", "Thanks for your help",
     "Thank you!", "help", "What can you do?", "你好", "您好！", "大家好", "早上好",
     "谢谢", "好的，谢谢您！", "謝謝", "谢谢你啊", "谢谢您的帮助！", "你能做什么？",
     "在吗？", "再见", "bye!", "got it", "No thanks.", "太好了，谢谢你", "非常感谢", "谢了", "晚安",
     "good night", "What documents do you have?", "Which files are there?", "你有哪些文档？",
     "which files have you read", "how many documents do you have?", "list all documents",
     "show me the files", "有哪些文件", "列出所有文件", "这里有几个文档啊？", "ok bye",
     "are you a robot?", "你是机器人吗？", "你叫什么名字？", "你能干啥", "怎么用你",
     "辛苦了", "嗯"],
)  # fmt: skip
def test_greetings(text: str) -> None:
    assert is_greeting(text)


@pytest.mark.parametrize(
    "text",
    ["hi, when does the lease end?", "hello world program", "help desk phone", "你好，租金多少？",
     "谢谢卡怎么写", "good morning routine", "who are you allowed to invite", "早班几点",
     "", " ", "ok button", "What documents do I need for a visa?", "申请签证要有哪些文件？",
     "list the documents I need", "how many files does the cabinet hold", "你叫什么名字的人来修",
     "What can you do if the lamp is red?", "怎么用咖啡机", "h" * 5000],
)  # fmt: skip
def test_questions_are_no_greetings(text: str) -> None:
    assert not is_greeting(text)


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("hello", "Hello! Ask me what your 2 documents say, for example about “Lease”"
                  " or “a.md”."),
        ("thanks!", "You are welcome. Ask me what your 2 documents say, for example about"
                    " “Lease” or “a.md”."),
        ("???", "I answer questions from your documents, and show where each answer stands. Ask me"
                " what your 2 documents say, for example about “Lease” or “a.md”."),
        ("？！", "我根据您的文档回答问题，并注明出处。您可以就这2份文档的内容提问，例如关于"
                 "《Lease》、《a.md》。"),
        ("hi, which files do you have?", "There are 2 documents: “Lease”, “a.md”."),
        ("有哪些文件", "共有2份文档：《Lease》、《a.md》。"),
        ("這裡有哪些文檔？", "共有2份文檔：《Lease》、《a.md》。"),
        ("再见！", "再见！"),
        ("bye", "Goodbye!"),
        ("你好", "您好！您可以就这2份文档的内容提问，例如关于《Lease》、《a.md》。"),
        ("謝謝", "不客氣！您可以就這2份文檔的內容提問，例如關於《Lease》、《a.md》。"),
    ],
)  # fmt: skip
def test_a_reply_names_documents_and_nothing_is_searched(text: str, reply: str) -> None:
    store = FakeStore()
    documents = [new_document("x/lease.md", "Rent.", title="Lease"), new_document("y/a.md", "A.")]
    fill(store, FakeEmbedder(), documents)
    model = FakeLanguageModel("never asked")
    shown: list[object] = []
    kb = KnowledgeBase(store, FakeEmbedder(), ChatGenerator(model), collection="default")
    answer = kb.adapted(on_found=shown.append).ask(text)
    assert (answer.text, answer.refused, answer.citations, answer.claims) == (reply, False, (), ())
    assert (model.asked, shown, answer.hits) == ([], [], ())


def test_an_empty_collection_says_what_to_do() -> None:
    kb = KnowledgeBase(
        FakeStore(), FakeEmbedder(), ChatGenerator(FakeLanguageModel("")), collection="mine"
    )
    assert kb.ask("hi").text == "Hello! The collection “mine” has no documents yet: add some first."
    assert kb.ask("你好").text == "您好！文档集“mine”里还没有文档，请先添加。"
    named = kb.ask("what files do you have").text
    assert named == "The collection “mine” has no documents yet: add some first."
    assert kb.ask("有哪些文件").text == "文档集“mine”里还没有文档，请先添加。"


def test_documents_that_are_asked_for_are_named_up_to_20() -> None:
    store = FakeStore()
    fill(store, FakeEmbedder(), [new_document(f"{n:02}.md", "A.") for n in range(25)])
    model = ChatGenerator(FakeLanguageModel("never asked"))
    kb = KnowledgeBase(store, FakeEmbedder(), model, collection="default")
    text = kb.ask("what files do you have").text
    assert text.startswith("There are 25 documents: “00.md”, “01.md”")
    assert text.endswith("“19.md”, among others.")
    assert kb.ask("有哪些文件").text.endswith("《19.md》等。")


def test_documents_in_the_language_of_the_greeting_are_named_first() -> None:
    store = FakeStore()
    names = [("a.md", "en"), ("b.md", "en"), ("c.md", "en"), ("d.md", "zh"), ("e.md", "zh")]
    documents = [replace(new_document(name, "A."), language=language) for name, language in names]
    fill(store, FakeEmbedder(), documents)
    model = ChatGenerator(FakeLanguageModel("never asked"))
    kb = KnowledgeBase(store, FakeEmbedder(), model, collection="default")
    assert "《d.md》、《e.md》、《a.md》" in kb.ask("你好").text
    assert "“a.md”, “b.md” or “c.md”" in kb.ask("hello").text
