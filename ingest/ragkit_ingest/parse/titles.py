"""Tell a document's title from what programs write in its place.

It judges the words alone, of any format's title field, and looks at no text of the document.
"""

from __future__ import annotations

import re

# What programs call a document that nobody has named, in the languages that we have met, with a
# number or a version after it or not. These are of words with one blank between them.
_UNNAMED = re.compile(
    r"(?:untitled|unnamed|no ?(?:title|name)|not? titled|title|titel|titre|untitled document"
    r"|document"
    r"|doc|new ?(?:micros\w+ \w+ )?document|blank|none|null|nil|n ?a|undefined|unknown|unspecified"
    r"|anonymous|temp|tmp|draft|default|template"
    r"|microsoft(?: office)?(?: (?:word|excel|powerpoint))?"
    r"|(?:microsoft )?(?:word|office) document|powerpoint ?pr\w+|presentation|pr[aä]sentation"
    r"|pr[eé]sentation(?: powerpoint)?|book|workbook|sheet|slide|folie|diapositive|page"
    r"|scan(?:ned)?(?: (?:document|image|page))?"
    r"|unbenannt|ohne titel|dokument|sans titre|sans nom|sin t[ií]tulo|senza (?:titolo|nome)"
    r"|sem t[ií]tulo|documento?|bez nazwy|без (?:имени|названия)|документ|презентация"
    r"|无标题|無標題|未命名|未知|無題|タイトルなし|제목 없음"
    r"|(?:新建|无标题|無標題|未命名)? ?(?:microsoft word )?文[档檔件書]"
    r"|幻灯片|(?:powerpoint )?演示文稿|ドキュメント|문서"
    r")(?: ?(?:copy|rev|version|v))?(?: ?\d{1,14})?"
)
# Parts that nearly every document has; a number before them changes nothing.
_SECTION = re.compile(
    r"(?:(?:chapter|section|part|appendix|annex|kapitel|abschnitt|teil|chapitre|cap[ií]tulo)"
    r"(?: ?(?:\d{1,4}(?: \d{1,4}){0,5}|[ivxlc]{1,6}|[a-z]))?"
    r"|第[一二三四五六七八九十百零〇\d]{1,6}[章节節条條部分篇]{1,2}"
    r"|(?:(?:\d{1,4} ?){1,6}|[ivx]{1,5} |[一二三四五六七八九十]{1,3} )?(?:"
    r"abstract|summary|executive summary|introduction|intro|preface|foreword|acknowledge?ments?"
    r"|(?:table of )?contents|toc|index|overview|background|conclusions?|discussion|references"
    r"|bibliography|appendi(?:x|ces)|cover(?: page)?|title page|front ?page|home"
    r"|einleitung|einf[uü]hrung|vorwort|inhalt(?:sverzeichnis)?|zusammenfassung|anhang"
    r"|r[eé]sum[eé]|sommaire|avant propos|table des mati[eè]res|resumen|introducci[oó]n|[ií]ndice"
    r"|摘要|前言|序言?|引言|绪论|緒論|目录|目錄|目次|概述|附录|附錄|结论|結論|参考文献|封面|正文"
    r"|はじめに|要旨|머리말|목차|서론"
    r"))"
)
_PROGRAM = re.compile(
    r"(?:microsoft|libreoffice|openoffice(?:\.org)?|wps|adobe)\s+"
    r"(?:office\s+)?(?:word|excel|powerpoint|writer|calc|impress|publisher|visio|outlook|photoshop"
    r"|indesign|illustrator|pagemaker|framemaker)\s*[-–—:]\s",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\w\s?\.(?:docx?|docm|dotx?|rtf|odt|pages|wps|wpd|hwpx?|xlsx?|xlsm|ods|csv|tsv|pptx?|pptm|odp"
    r"|key|pdf|ps|eps|dvi|tex|indd|qxd|qxp|pmd|p65|cdr|vsdx?|psd|tiff?|jpe?g|png|bmp|gif"
    r"|html?|xhtml|php|aspx?|jsp|xml|json|txt|md|rst|adoc|tmp|bak|zip)(?:\s?[\[(]\d+[\])])?$",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:[a-z]:[\\/]|\\\\|~?/\w|\.{1,2}[\\/]|file:/|about:\w|data:\w|https?://\S+$)", re.IGNORECASE
)
# As programs name temporary files, and systems the files that they keep.
_MADE_UP = re.compile(
    r"(?:te?mp[\W_]?\d{2,}+\w*+|tmp\w{5,}+|~\$?\w++|[0-9a-f]{16,}+"
    r"|\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|\d{7,}+|[\d\W_]{11,}+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_MAX_CHARS = 2000  # arbitrary; what is longer is a text, and bounds what the patterns try


def is_title(text: str) -> bool:
    """Say whether a title field names its document.

    It does not where it is empty, what a program puts for an unnamed document ("Untitled",
    "Document1"), a file's name or path, an identifier, or a section that any document has
    ("Introduction", "第一章").

    >>> is_title("Microsoft Word - budget_v2_final.docx")
    False
    >>> is_title("Introduction to Algorithms")
    True
    """
    line = " ".join(text[:_MAX_CHARS].replace("\0", " ").split())
    words = " ".join(_WORD.findall(line.lower()))
    if not words or _UNNAMED.fullmatch(words) or _SECTION.fullmatch(words):
        return False
    is_made_up = _MADE_UP.fullmatch(line) or _PROGRAM.match(line) or _PATH.match(line)
    return not is_made_up and not _FILE.search(line)


def first_title(*texts: str) -> str:
    """Return the first text that names its document, or "".

    >>> first_title("Untitled Document", "Leave rules")
    'Leave rules'
    """
    return next((text for text in texts if is_title(text)), "")
