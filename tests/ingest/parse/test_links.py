"""Where links lead stands in the text: once, bounded, and only what a reader can use elsewhere."""

import io
import zipfile

import pytest

from ragkit_ingest.parse import ParseOptions, parse_bytes
from ragkit_ingest.parse.links import Link, Targets, shown_target

FORM = "https://example.org/forms/leave"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def parse(data: bytes | str, suffix: str) -> str:
    options = ParseOptions(unzipped_bytes=1 << 24)
    return parse_bytes(data.encode() if isinstance(data, str) else data, suffix, options).text


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (FORM, FORM),
        ("HTTPS://Example.org/a?b=1#c", "HTTPS://Example.org/a?b=1#c"),
        ("mailto:help@example.org?subject=Hi%20there", "help@example.org"),
        ("#leave", ""),
        ("leave.html", ""),
        ("/leave", ""),
        ("//example.org/leave", ""),
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("tel:01234", ""),
        ("mailto:", ""),
        ("https://user:secret@example.org/", ""),
        ("https://", ""),
        ("https://[::1", ""),
        ("https://example.org/a b", ""),
        ("https://example.org/\n\u202ea", ""),
        (f"{FORM}?id={'x' * 300}", FORM),
        (f"{FORM}/{'x' * 300}", ""),
    ],
)
def test_only_addresses_that_a_reader_can_use_are_shown(target: str, shown: str) -> None:
    assert shown_target(target) == shown


def test_a_target_stands_after_the_sentence_and_once() -> None:
    targets = Targets()
    link = Link("leave form", FORM)
    assert targets.written("Fill in the leave form, please.", [link]) == (
        f"Fill in the leave form, please. (leave form: {FORM})"
    )
    assert targets.written("The leave form again.", [link]) == "The leave form again."
    assert Targets().written(FORM.upper(), [Link("x", FORM)]) == FORM.upper()
    sentence = (
        "Whoever wants leave fills in the form that lies at the office, and signs it there too."
    )
    assert Targets().written(f"{sentence} Ask.", [Link(sentence, FORM)]) == (
        f"{sentence} Ask. ({FORM})"
    )
    many = [Link(f"page {n}", f"https://example.org/{n}") for n in range(50)]
    assert Targets().written("Pages.", many).count("https://") == 5


PAGE = f"""<base href="https://intranet.example.org/"><nav><a href="{FORM}">Forms</a></nav><main>
<h1><a href="https://example.com/title">Leave</a></h1>
<p>Fill in the <a href="{FORM}"><b>leave</b> form</a> or write to
<a href="mailto:hr@example.org">Human Resources</a>, see <a href="#days">days</a> and the
<a href="https://intranet.example.org/menu">menu</a>. Everybody may ask for leave
at any time, by letter or by mail.</p>
<p>See <a href="https://www.example.net/">example.net</a>.</p>
<ul><li><a href="https://example.com/rules">Rules</a></li></ul>
<a href="https://example.com/block"><div>A block</div><div>and another</div></a>
<table><tr><th>Form<th>Page<tr><td>Leave<td><a href="https://example.com/b">PDF</a></table>
<pre><a href="https://example.com/code">code</a></pre></main>"""


def test_links_of_a_page() -> None:
    assert parse(PAGE, ".html") == (
        "# Leave\n\nFill in the leave form or write to Human Resources, see days and the menu. "
        "Everybody may ask for leave at any time, by letter or by mail. "
        f"(leave form: {FORM}; Human Resources: hr@example.org)\n\n"
        "See example.net.\n\n- Rules (https://example.com/rules)\n\n"
        "A block (https://example.com/block)\n\nand another\n\n"
        "| Form | Page |\n| - | - |\n| Leave | PDF (https://example.com/b) |\n\n```\ncode\n```\n"
    )


def test_links_that_pass_a_page_on_are_left_out() -> None:
    share = "https://social.example.com/sharer/sharer.php?u=https%3A%2F%2Fexample.org"
    assert "https" not in parse(f'<p>Tell <a href="{share}">your friends</a> of it.</p>', ".html")


def test_links_to_the_site_of_a_saved_page_are_its_own() -> None:
    words = " ".join(f'<a href="https://wiki.example.org/{n}">word{n}</a>' for n in range(30))
    page = f'<p>{words} and <a href="{FORM}">a form</a> are here.</p>'
    assert parse(page, ".html").count("https://") == 1


def _docx(body: str, relations: str) -> bytes:
    files = {
        "_rels/.rels": f'<Relationship Id="a" Type="{R}/officeDocument" Target="word/d.xml"/>',
        "word/_rels/d.xml.rels": relations,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, lines in files.items():
            archive.writestr(name, f"<Relationships>{lines}</Relationships>")
        document = f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/d.xml", document)
    return buffer.getvalue()


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def _field(code: str, text: str) -> str:
    parts = (
        '<w:fldChar w:fldCharType="begin"/>',
        f"<w:instrText>{code[:9]}</w:instrText>",
        f"<w:instrText>{code[9:]}</w:instrText>",
        '<w:fldChar w:fldCharType="separate"/>',
        f"<w:t>{text}</w:t>",
        '<w:fldChar w:fldCharType="end"/>',
    )
    return "".join(f"<w:r>{part}</w:r>" for part in parts)


def test_links_of_a_word_document() -> None:
    hyperlink = f'<w:hyperlink r:id="x1">{_run("leave ")}{_run("form")}</w:hyperlink>'
    anchor = f'<w:hyperlink w:anchor="days">{_run("days")}</w:hyperlink>'
    code = ' HYPERLINK "https://example.com/s" '
    simple = f"<w:fldSimple w:instr='{code}'>{_run('rules')}</w:fldSimple>"
    field = _field(' HYPERLINK "https://example.com/f" ', "faq")
    page = _field(" PAGE ", "7")
    body = (
        f"<w:p>{_run('Fill in the ')}{hyperlink}{_run(', see ')}{anchor}{_run('.')}</w:p>"
        f"<w:p>{_run('The ')}{simple}{_run(' and the ')}{field}"
        f"{_run(' on ')}{page}{_run('.')}</w:p>"
        f"<w:tbl><w:tr><w:tc><w:p>{_run('Form')}</w:p></w:tc><w:tc><w:p>{hyperlink}</w:p></w:tc>"
        "</w:tr></w:tbl>"
    )
    relation = f'<Relationship Id="x1" Type="{R}/hyperlink" TargetMode="External" Target="{FORM}"/>'
    assert parse(_docx(body, relation), ".docx") == (
        f"Fill in the leave form, see days. (leave form: {FORM})\n\n"
        "The rules and the faq on 7. (rules: https://example.com/s; faq: https://example.com/f)\n\n"
        f"| Form | leave form ({FORM}) |\n| - | - |\n"
    )


def test_links_of_a_workbook() -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Form", "Who"])
    sheet.append(["Leave", "Ann"])
    sheet["A2"].hyperlink = FORM
    sheet["B2"].hyperlink = "mailto:ann@example.org"
    sheet["B1"].hyperlink = "#Sheet!A1"
    buffer = io.BytesIO()
    book.save(buffer)
    assert parse(buffer.getvalue(), ".xlsx").endswith(
        f"| Form | Who |\n| - | - |\n| Leave ({FORM}) | Ann (ann@example.org) |\n"
    )
