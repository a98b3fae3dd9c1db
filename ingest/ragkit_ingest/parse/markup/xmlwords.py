"""What elements mean in the XML vocabularies that people write documents in: DocBook, JATS, DITA
and TEI, by local name in lower case.

A table; what is not in it is running text, or a block where no text has begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ragkit_ingest.parse.flow import Kind

# A root of these names holds a document.
DOCUMENTS: Final = frozenset(
    "article book chapter section sect1 part appendix preface refentry set glossary topic concept"
    " task reference tei teicorpus map bookmap".split()
)
# A title right within one of these is a heading, as deep as they are nested.
PARTS: Final = DOCUMENTS | frozenset(
    "sect2 sect3 sect4 sect5 sec abstract ack app bibliography ref-list colophon dedication"
    " refsect1 refsect2 refsect3 refsection simplesect div div1 div2 div3 div4 index"
    " glossdiv qandadiv".split()
)
# What only tells about the part that it stands in; a title in it is that part's.
INFOS: Final = frozenset("info bookinfo articleinfo chapterinfo title-group titlestmt".split())
HEADINGS: Final = frozenset({"title", "article-title", "head"})
_KINDS: Final[dict[Kind, str]] = {
    "block": "p para simpara formalpara ab l bridgehead subtitle caption term glossterm label note"
    " tip warning caution important quote blockquote epigraph body bodymatter conbody taskbody"
    " refbody figure informalfigure fig fig-group table-wrap mediaobject question answer step"
    " procedure author contrib ref mixed-citation element-citation shortdesc dt dd",
    "inline": "emphasis em i b u bold italic sc sup sub superscript subscript link ulink xref"
    " ext-link email uri hi code literal filename command option replaceable userinput varname"
    " function classname type constant keycap guilabel guimenu citetitle phrase"
    " styled-content monospace named-content codeph ph cite surname given-names"
    " string-name firstname othername personname honorific lb year volume fpage"
    " lpage source person-group",
    "code": "programlisting screen synopsis literallayout preformat pre codeblock eg",
    "list": "itemizedlist orderedlist list simplelist variablelist ul ol sl steps",
    "item": "listitem list-item li sli member item cmd",
    "table": "table informaltable simpletable",
    "row": "row tr strow sthead",
    "cell": "entry td th stentry cell",
    "note": "footnote fn",
    "drop": "journal-meta article-id article-categories pub-date history permissions self-uri"
    " publicationinfo revhistory indexterm colspec prolog metadata encodingdesc revisiondesc"
    " publicationstmt counts funding-group pub-history aff issn elocation-id object-id alternatives"
    " tex-math",
}
WORDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {name: kind for kind, names in _KINDS.items() for name in names.split()}
)
