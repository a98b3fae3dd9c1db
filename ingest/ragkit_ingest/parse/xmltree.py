"""Parse XML that may be hostile into a tree: no entity is declared or expanded, nothing is loaded.

A document type may be named, as older formats do. The parser refuses depth beyond 256.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragkit.errors import IngestError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_ENTITY = re.compile(
    b"|".join(re.escape("<!ENTITY".encode(name)) for name in ("ascii", "utf-16-le", "utf-16-be"))
)


def root_of(data: bytes, member: str = "") -> Element:
    """Parse a file, or a member of one, and return the root element.

    Raises IngestError for what is damaged or declares entities.
    """
    from lxml import etree

    place = f" in its member {member!r}" if member else ""
    if _ENTITY.search(data):
        raise IngestError("parse", f"a DOCTYPE that declares entities{place}")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root: Element = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        message = " ".join(str(error.msg).split())
        raise IngestError("parse", f"damaged XML{place}: {message}") from error
    return root
