"""Join the lines of an e-mail's text that its program broke only to keep them short (RFC 3676)."""

from __future__ import annotations


def unflowed(text: str, *, delete_space: bool = False) -> str:
    r"""Join each line that ends with a space to the next of the same depth of quotation.

    >>> unflowed("one \ntwo\n> a \n> b\n-- \nme")
    'one two\n> a b\n-- \nme'
    """
    lines: list[str] = []
    pieces: list[str] = []  # of the line that goes on
    depth = 0
    for line in text.split("\n"):
        body = line.lstrip(">")
        quoted = len(line) - len(body)
        body = body.removeprefix(" ")
        if pieces and (quoted != depth or body == "-- "):
            lines.append(_quoted("".join(pieces), depth))
            pieces.clear()
        depth = quoted
        if body.endswith(" ") and body != "-- ":
            pieces.append(body[:-1] if delete_space else body)
        else:
            lines.append(_quoted("".join(pieces) + body, depth))
            pieces.clear()
    if pieces:
        lines.append(_quoted("".join(pieces), depth))
    return "\n".join(lines)


def _quoted(body: str, depth: int) -> str:
    return f"{'>' * depth} {body}" if depth else body
