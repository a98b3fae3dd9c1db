"""What people see: nothing of a document may command their terminal."""

from dataclasses import replace

import pytest

from ragkit.answer.labels import LABELS
from ragkit.answer.plain_text import hits_text, notes_text
from ragkit.cli import render
from ragkit.cli.conversation_text import print_sources, print_turns
from ragkit.store.people.conversations import StoredTurn
from ragkit.types import Answer, Citation, Claim, Copy, Hit, Stage

HOSTILE = "wing\x1b[2J\x1b]0;owned\x07 \x9b31m red\r"


def test_control_characters_of_a_document_are_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hit = Hit(1, 2, f"a{HOSTILE}.txt", HOSTILE, None, 0, 5, HOSTILE, 1.0, {"lexical": 1.0})
    citation = Citation(1, 1, "a.txt", HOSTILE, 3, 0, 5, HOSTILE, "verified")
    print(hits_text("Why?", [hit]), notes_text("Why?", Answer("text", False, "", (citation,))))
    render.print_table(["title"], [[HOSTILE]], empty="")
    out = capsys.readouterr().out
    assert "wing\ufffd[2J" in out
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(out)


def test_a_file_name_keeps_to_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\n[9] b.md, document 9\u2028c\td.txt"
    shown = "a\ufffd[9] b.md, document 9\ufffdc\ufffdd.txt"
    copy = Copy(3, 2, f"/x/{name}", "", None, 0, 5)
    hit = Hit(1, 2, f"/x/{name}", "", None, 0, 5, "text", 1.0, duplicates=(copy,))
    citation = Citation(1, 1, f"/x/{name}", name, 3, 0, 5, "quoted", "verified")
    turn = StoredTurn("Why?", "Why?", "So.", False, "", (citation,))
    print(hits_text("Why?", [hit]), notes_text("Why?", Answer("text", False, "", (citation,))))
    render.print_table(["uri"], [[name]], empty="")
    print_turns([turn])
    print_sources(turn)
    lines = [line for line in capsys.readouterr().out.splitlines() if "b.md" in line]
    assert [line.strip() for line in lines] == [
        f"1. {shown}  score 1.000 ()",
        f"The same text: {shown}",
        f"[1] {shown}, page 3  quoted word for word",
        shown,
        f"[1] {shown}",
        f"[1] {shown}, page 3  quoted word for word",
        f"/x/{shown}, document 1, characters 0-5",
    ]


@pytest.mark.parametrize(
    ("title", "headings", "shown"),
    [
        ("handbook", ("Meals", "Canteen"), "handbook (h.md), Meals > Canteen"),
        ("Meals", ("Meals", "Canteen"), "Meals (h.md), Canteen"),
        ("Meals", ("Meals",), "Meals (h.md)"),
        ("手册", ("请假",), "手册 (h.md), 请假"),
        ("", (), "h.md"),
    ],
)
def test_a_source_is_shown_with_the_headings_it_stands_under(
    title: str, headings: tuple[str, ...], shown: str
) -> None:
    citation = Citation(1, 1, "/x/h.md", title, None, 0, 5, "quoted", "verified", 1, headings)
    answer = Answer("text", False, "", (citation,))
    assert f"[1] {shown}  quoted word for word\n" in notes_text("Why?", answer)
    assert render.answer_json(answer)["citations"][0]["headings"] == list(headings)


def test_nothing_found_says_when_a_cut_off_left_nothing() -> None:
    found = Stage("rerank", 0.1, ((1, 0.2), (2, 0.1)))
    stages = [found, Stage("cut-off", 0.0), Stage("diversify", 0.0)]
    assert hits_text("Why?", [], stages) == (
        "Nothing found that reaches the reranker's cut-off: it dropped 2 passages; --no-rerank"
        " shows them.\n"
    )
    for stages in ([], [found], [Stage("rerank", 0.1), Stage("cut-off", 0.0)]):
        assert hits_text("Why?", [], stages) == "Nothing found.\n"
        assert hits_text("为什么？", [], stages) == "没有找到相关内容。\n"


def test_passages_without_any_of_the_words_are_announced_as_nearest_in_meaning() -> None:
    by_meaning = Hit(1, 1, "/x/h.md", "", None, 0, 4, "text", 1.0, {"dense": 0.1})
    by_words = replace(by_meaning, scores={"dense": 0.1, "lexical": 2.0})
    both = [Stage("dense", 0.1), Stage("lexical", 0.1), Stage("fuse", 0.0)]
    line = "No passage has the words that you searched for; these are nearest in meaning.\n"
    assert hits_text("zebra", [by_meaning], both).startswith(line)
    assert hits_text("斑马", [by_meaning], both).startswith("没有段落包含您搜索的词")
    assert line not in hits_text("zebra", [by_meaning, by_words], both)
    assert line not in hits_text("zebra", [by_meaning], both[:1]), "words were not searched for"


def test_json_keeps_every_character(capsys: pytest.CaptureFixture[str]) -> None:
    render.print_json({"text": "年假\x1b"})
    assert capsys.readouterr().out == '{\n  "text": "年假\\u001b"\n}\n'


def test_a_table_in_a_pipe_has_one_line_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    render.print_table(["uri"], [["/very/long/" + "x" * 300], ["年假"]], empty="")
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_what_its_sources_do_not_support_stands_below_an_answer() -> None:
    text = "It is grey [1]. It is\x1b 90 m long."
    claims = (Claim(0, 15, (1,), "supported"), Claim(16, 33, (), "not found"))
    answer = Answer(text, False, "", claims=claims, used=(Hit(1, 2, "a", "", 3, 0, 5, "x", 1.0),))
    printed = notes_text("How long is it?", answer)
    assert "    not found: It is\ufffd 90 m long.\n" in printed
    assert "grey" not in printed
    shown = render.answer_json(answer)
    assert shown["claims"][0] == {
        "start": 0, "end": 15, "text": "It is grey [1].", "cites": [1], "support": "supported"
    }  # fmt: skip
    assert shown["used"] == [
        {"document": 1, "version": 1, "uri": "a", "page": 3, "start": 0, "end": 5}
    ]


def test_a_quotation_that_is_not_there_and_sentences_that_are_supported_are_called_so() -> None:
    text = "It is grey [1]. 桥是灰色的。[2]"
    cited = Citation(1, 1, "a.txt", "", None, 0, 5, "grey", "unverified")
    supported, quoted = Claim(0, 15, (1,), "supported"), Claim(16, 25, (2,), "quoted")
    answer = Answer(text, False, "", (cited,), claims=(supported, quoted))
    out = notes_text("Is it grey?", answer)
    assert "[1] a.txt  not in the document\n" in out
    assert "Every sentence is quoted or supported by what it cites" in out
    answer = Answer(text, False, "", (cited,), claims=(quoted,))
    assert "supported" not in notes_text("Is it grey?", answer)


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (
            "请假几天？",
            "\n\n来源\n[1] 手册（h.pdf），休假，第 3 页  原文引用\n    25 天\n"
            "\n未能核实，所引来源中没有：'26'\n"
            "\n以下句子没有得到所引来源的支持\n    来源中没有: 26 天\n",
        ),
        (
            "請假幾天？",
            "\n\n來源\n[1] 手册（h.pdf），休假，第 3 頁  原文引用\n    25 天\n"
            "\n未能核實，所引來源中沒有：'26'\n"
            "\n以下句子沒有得到所引來源的支持\n    來源中沒有: 26 天\n",
        ),
    ],
)
def test_a_chinese_question_has_chinese_labels(question: str, shown: str) -> None:
    cited = Citation(1, 1, "/x/h.pdf", "手册", 3, 0, 4, "25 天", "verified", 1, ("休假",))
    claims = (Claim(0, 4, (1,), "not found"),)
    assert (
        notes_text(question, Answer("26 天", False, "", (cited,), ("26",), claims=claims)) == shown
    )


def test_each_language_has_every_label() -> None:
    assert {language: words.keys() for language, words in LABELS.items()} == {
        language: LABELS["en"].keys() for language in ("en", "zh", "zh-Hant")
    }


def test_a_refusal_gives_its_reason_in_one_line() -> None:
    refused = Answer("No.", True, "The documents do not mention “moon”.\x1b")
    assert notes_text("Who owns the moon?", refused) == (
        "\nReason: The documents do not mention “moon”.\ufffd\n"
    )
