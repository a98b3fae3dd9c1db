"""Words of TeX: headings, characters, accents, and commands whose arguments say nothing."""

from __future__ import annotations

from typing import Final

HEADINGS: Final = {
    name: level
    for level, name in enumerate(
        "part chapter section subsection subsubsection paragraph subparagraph".split(), 1
    )
}
LISTS: Final = {"itemize": False, "enumerate": True, "description": False}  # whether it counts
CODE: Final = frozenset({"verbatim", "verbatim*", "lstlisting", "minted", "Verbatim"})
TABLES: Final = frozenset({"tabular", "tabular*", "tabularx", "tabulary", "longtable", "array"})
FORMULAS: Final = frozenset(
    "equation equation* align align* gather gather* multline multline* eqnarray eqnarray*"
    " displaymath math".split()
)
DRAWINGS: Final = frozenset({"tikzpicture", "picture", "pspicture", "pgfpicture"})
# Arguments of an environment that say how it looks.
ARGUMENTS: Final = {
    **dict.fromkeys(("tabular", "longtable", "array", "minipage", "thebibliography", "minted"), 1),
    **dict.fromkeys(("tabular*", "tabularx", "tabulary", "multicols"), 2),
}
# Commands, and how many of their arguments say nothing to a reader.
DROPPED: Final = {
    **dict.fromkeys(
        "label vspace vspace* hspace hspace* usepackage documentclass bibliographystyle pagestyle"
        " thispagestyle includegraphics bibliography graphicspath hypersetup geometry color"
        " pagenumbering hyphenation index phantom vphantom hphantom pagecolor addbibresource"
        " title author date thanks begin end nocite RequirePackage theoremstyle"
        " selectlanguage fontsize cline rowcolor linespread".split(),
        1,
    ),
    **dict.fromkeys(
        "setlength addtolength setcounter addtocounter newcommand renewcommand providecommand"
        " newcommand* renewcommand* newtheorem newtheorem* DeclareMathOperator definecolor rule"
        " newcolumntype titleformat DeclareMathOperator*".split(),
        2,
    ),
    **dict.fromkeys(("newenvironment", "renewenvironment"), 3),
    **dict.fromkeys(("href", "textcolor", "colorbox", "parbox", "raisebox", "scalebox"), 1),
    **dict.fromkeys(("multicolumn", "multirow"), 2),
}
INCLUDES: Final = frozenset({"input", "include", "subfile", "lstinputlisting", "verbatiminput"})
REFERENCES: Final = frozenset(
    "cite citep citet citeauthor citeyear parencite textcite autocite ref eqref pageref autoref"
    " cref Cref nameref".split()
)
CHARACTERS: Final = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł",
    "aa": "å", "AA": "Å", "i": "ı", "j": "ȷ", "ldots": "…", "dots": "…", "textellipsis": "…",
    "LaTeX": "LaTeX", "TeX": "TeX", "S": "§", "P": "¶", "pounds": "£", "euro": "€", "texteuro": "€",
    "copyright": "©", "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^",
    "textbar": "|", "textless": "<", "textgreater": ">", "textdegree": "°", "degree": "°",
    "texttimes": "×", "textendash": "–", "textemdash": "—", "quad": " ", "qquad": " ",
    "newline": "\n", "par": "\n\n", "linebreak": "\n", "dag": "†",
    "textregistered": "®", "texttrademark": "™",
}  # fmt: skip
# An accent's command and the mark that combines with the letter before it.
ACCENTS: Final = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328",
    "r": "\u030a", "d": "\u0323", "b": "\u0331",
}  # fmt: skip
SIGNS: Final = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))
