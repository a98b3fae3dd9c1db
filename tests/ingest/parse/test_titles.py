"""Which title fields name a document, and which were filled by a program."""

import time

import pytest

from ragkit_ingest.parse.titles import is_title


@pytest.mark.parametrize(
    "text",
    [
        "Introduction to Algorithms",
        "Untitled Goose Game: a review",
        "Microsoft Word for beginners",
        "Summary of the talks in 2031",
        "Document control procedure",
        "Chapter and verse",
        "Part of the whole",
        "Scandinavia",
        "Temperature",
        "A/B testing",
        "1984",
        "Running Node.js in production",
        "Glossary",
        "RL-400",
        "About: what we do",
        "第一章程解读",
        "文档管理办法",
        "前言不搭后语",
        "Présentation de l'entreprise",
    ],
)
def test_names_of_documents(text: str) -> None:
    assert is_title(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \x00 ",
        "---",
        "untitled",
        "Untitled-1",
        "Untitled Document",
        "Document1",
        "New Microsoft Word Document (2)",
        "PowerPoint Presentation",
        "Presentation_3",
        "Unbenannt",
        "无标题文档",
        "未命名",
        "新建 Microsoft Word 文档",
        "Scan_20310405",
        "(anonymous)",
        "Microsoft Word - budget_v2_final.docx",
        "Microsoft PowerPoint - all hands",
        "LibreOffice Writer - report.odt",
        "thesis_final.tex",
        "Annual report 2031.indd",
        "letter.docx (2)",
        r"C:\Users\me\Desktop\plan",
        "/srv/spool/k2j3h4/out",
        "file:///home/user/page.html",
        "about:blank",
        "https://example.org/a/b",
        "tmpab3k9x_q",
        "~WRD0003",
        "d41d8cd98f00b204e9800998ecf8427e",
        "2031-05-06 10:22:31",
        "00048213",
        "Introduction",
        "1. Introduction",
        "ABSTRACT",
        "Table of contents",
        "Chapter 3",
        "Appendix B",
        "第一章",
        "一、前言",
        "目录",
    ],
)
def test_names_that_programs_write_and_sections_that_any_document_has(text: str) -> None:
    assert not is_title(text)


def test_a_hostile_title_takes_no_time() -> None:
    begin = time.process_time()
    for piece in ("chapter ", "1.", "(", "untitled", "tmp", "a.", "第一"):
        is_title(piece * 100_000)
    assert time.process_time() - begin < 2
