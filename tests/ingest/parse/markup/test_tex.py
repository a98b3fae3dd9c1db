"""TeX: sections, lists, tables, characters; what is left out; sources that are damaged."""

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import parse_bytes

SOURCE = r"""\documentclass[12pt]{article} % secret
\usepackage{graphicx}
\newcommand{\price}[2]{secret #1}
\title{Care of \emph{Lenses}}\author{Ann Lee}\date{2026-02-03}
\begin{document}\maketitle
\section{Wiping}\label{secret}
Caf\'e M\"uller --- 50\,\% of \textbf{bold and \textit{nested}}~text, see \cite[p.~1]{lee2020}.
Second\footnote{Softly.}. It costs $a_1 + \frac{1}{2}$.% secret

\subsection*{Steps \& more}
\begin{enumerate}
\item First
\item Second
  \begin{itemize}\item[Tip] inner\end{itemize}
\end{enumerate}
\begin{table}[secret]\centering\begin{tabular}{l|r}\hline
Item & Price \\ \hline
Cloth & 5 \\[2pt]
\end{tabular}\caption{Prices}\end{table}
\begin{verbatim}
x = 5 % no comment
\end{verbatim}
\begin{equation} E = mc^2 \end{equation}
\input{secret}\begin{tikzpicture}\draw (secret);\end{tikzpicture}
\href{secret}{The page} and \verb|a_b|. Stra\ss e, \c{c}a, \'{\i}, \v{s}.
\end{document}
secret
"""


def parse(source: str) -> str:
    return parse_bytes(source.encode(), ".tex").text


def test_a_document_in_order() -> None:
    parsed = parse_bytes(SOURCE.encode(), ".tex")
    assert (
        parsed.text
        == r"""# Care of Lenses

## Wiping

Café Müller — 50 % of bold and nested text, see [lee2020]. Second[^1]. It costs $a_1 + \frac{1}{2}$.

### Steps & more

1. First
2. Second
  - Tip: inner

| Item | Price |
| - | - |
| Cloth | 5 |

Prices

```
x = 5 % no comment
```

E = mc^2

The page and a_b. Straße, ça, í, š.

[^1]: Softly.
"""
    )
    assert (parsed.title, parsed.metadata) == (
        "Care of Lenses",
        {"author": "Ann Lee", "created": "2026-02-03"},
    )
    assert parsed.notes == {"includes": 1, "drawings": 1}


def test_a_part_of_a_document_has_no_frame() -> None:
    assert parse("\\chapter{中文章节}\n正文。\n\\section{Two}\nb") == (
        "# 中文章节\n\n正文。\n\n## Two\n\nb\n"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a {b", "a b"),
        ("a } b", "a b"),
        ("a \\begin{itemize} \\item b", "a\n\n- b"),
        ("a \\section", "a"),
        ("a \\footnote{b", "a b"),
        ("a $b", "a $b"),
        ("a \\verb|b", "a |b"),
        ("a \\", "a"),
        ("a \\end{x} b", "a\n\nb"),
        ("a \\begin{tabular}{l} b & c", "a l b c"),
        ("100\\% a", "100% a"),
    ],
)
def test_sources_that_are_cut_off(source: str, text: str) -> None:
    assert parse(source) == text + "\n"


@pytest.mark.parametrize("unit", ["\\textbf{", "\\footnote{", "{\\section{", "\\begin{quote}", "["])
def test_depth_costs_no_stack(unit: str) -> None:
    assert "end" in parse("start " + unit * 20_000 + " end")
    closed = unit * 5_000 + "x" + "}" * 10_000
    assert parse("start " + closed + " end").endswith("end\n")


def test_binary_data_is_refused() -> None:
    with pytest.raises(IngestError, match="binary, not text"):
        parse_bytes(bytes(range(256)) * 8, ".tex")
