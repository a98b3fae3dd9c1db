"""Leave out what stands between and beside a page's text: menus, teasers, share buttons, comments.

It goes by the boxes that the blocks stand in: how much running text each has, how much of it are
links, what it is named. What speaks for a text outweighs what its box is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ragkit_ingest.parse.content import Piece
from ragkit_ingest.parse.html.blocks import Block, sum_prose, weigh_blocks, without_boxed
from ragkit_ingest.parse.html.boxes import Boxes
from ragkit_ingest.parse.html.phrases import (
    is_label,
    is_notice,
    is_pointer,
    is_reference,
    leads_elsewhere,
)
from ragkit_ingest.parse.html.weights import are_links, is_links

# Arbitrary, tried on documentation, news and shop pages: shares of all running text.
_SHARES = {  # that boxes named so may hold
    "notices": 0.7,
    "furniture": 0.3,
    "teasers": 0.3,
    "fields": 0.1,
    "buttons": 0.0,
}
_MAX_COMMENTS = 0.5
_MIN_COMMENTED = 800  # weight of an article; comments on a question can be its answers
_MOST = 0.8  # that the text's own box holds
_MAX_LINKED = 0.3  # characters of links to others, where a text goes on beside its box
_MAX_SHORT = 3.0  # characters of all texts to running text, there
_MAX_ADDED = 0.1  # of the box: short texts beside it, such as its title and date
_MAX_TEASERS = 0.6
_MIN_BESIDE_TEASERS = 1500  # weight of running text; a page of cards has less
_MIN_PROSE = 300  # weight from which a page has a text whose box can be told
_MIN_TEASERS = 3
_MIN_TEASER_LINKED = 0.2  # characters in links to others; a text's first paragraph has fewer
_TEASER_DEPTH = 3  # boxes around a teaser's heading
_MIN_CARDS = 2
_NEAR = 2  # blocks from a teaser's link to its text: a date, an author
_MIN_RUN = 3
_MIN_REPEATED = 3  # times that a link's text is there
_MIN_LANGUAGES = 3  # links to the same page in other languages
_MIN_LEFT = 0.25  # of the page's text; with less left, what was dropped was the text
_MOSTLY_LINKS = 0.8
_MIN_TITLE_CHARS = 4

_ARROW = re.compile("[>»›→]")  # between the names of a path to a page


def without_furniture(pieces: Sequence[Piece], boxes: Boxes, title: str) -> list[Piece]:
    """Return the blocks without those that belong to the site rather than the page's text.

    `title` is what the page is called.
    """
    blocks = _without_comments(weigh_blocks(_without_labels(pieces)), boxes)
    least = _MIN_LEFT * sum(block.weight for block in blocks)
    for choose in (_without_named, _in_own_box, _without_banner, _without_teasers, _without_menus):
        chosen = choose(blocks, boxes, title)
        if sum(block.weight for block in chosen) >= least:
            blocks = chosen
    return _without_bare_headings(pieces, [block.piece for block in blocks])


def _without_labels(pieces: Sequence[Piece]) -> list[Piece]:
    """Drop labels of buttons that are links or stand beside others, and copyright notices.

    What is a link and stands there again and again is the label of one.

    A label that stands alone may be a term that the text explains.
    """
    lines = [piece.text if piece.kind in {"paragraph", "item"} else "" for piece in pieces]
    labels = [is_label(line) for line in lines]
    notices = [is_notice(line) for line in lines]
    repeated = Counter(lines)
    chosen: list[Piece] = []
    for place, piece in enumerate(pieces):
        beside = [
            labels[other] or notices[other]
            for other in (place - 1, place + 1)
            if 0 <= other < len(lines)
        ]
        is_linked = piece.place.links and not piece.place.plain
        if labels[place] and (is_linked or any(beside)):
            continue
        if is_linked and lines[place] and repeated[lines[place]] >= _MIN_REPEATED:
            continue
        if notices[place] or (piece.place.links and is_pointer(lines[place])):
            continue
        if piece.place.linked > piece.place.plain and is_reference(lines[place]):
            continue
        chosen.append(piece)
    return chosen


def _without_comments(blocks: list[Block], boxes: Boxes) -> list[Block]:
    """Drop boxes of comments beside a longer text, or one box of them below an article."""
    named = boxes.named["comments"]
    if not named:
        return blocks
    sums = sum_prose(blocks, boxes)
    most = _MAX_COMMENTS * sums[0]
    largest = {box for box in named if sums[box] > most}
    blocks = _without_boxes(named, blocks, boxes, most)
    return _without_boxes(largest, blocks, boxes, sums[0] - _MIN_COMMENTED)


def _without_named(blocks: list[Block], boxes: Boxes, title: str) -> list[Block]:
    """Drop boxes that are named like furniture, unless too much of the text stands in them."""
    for kind, share in _SHARES.items():
        named = boxes.named[kind]
        if kind == "teasers" and named:
            linked = boxes.sum((block.box, block.piece.place.linked) for block in blocks)
            plain = boxes.sum((block.box, block.weight) for block in blocks)
            named = {box for box in named if linked[box] > _MIN_TEASER_LINKED * plain[box]}
        prose = sum(block.prose for block in blocks)
        if kind == "furniture" and named:
            cards = _cards(blocks, boxes)
            blocks = _without_boxes(named & cards, blocks, boxes, _MAX_TEASERS * prose)
        blocks = _without_boxes(named, blocks, boxes, share * prose)
    return blocks


def _cards(blocks: list[Block], boxes: Boxes) -> set[int]:
    """Return the boxes of teasers: each running text in them stands below a link of its own."""
    heads = [block.piece.place.linked > 0 and not block.weight for block in blocks]
    bare = [
        block.is_prose and not any(heads[max(place - _NEAR, 0) : place])
        for place, block in enumerate(blocks)
    ]
    counts = boxes.sum((block.box, int(head)) for block, head in zip(blocks, heads, strict=True))
    texts = boxes.sum((block.box, int(text)) for block, text in zip(blocks, bare, strict=True))
    return {box for box, count in enumerate(counts) if count >= _MIN_CARDS and not texts[box]}


def _without_boxes(named: set[int], blocks: list[Block], boxes: Boxes, most: float) -> list[Block]:
    """Drop boxes with at most so much running text, together too, and without the page's title."""
    if not named:
        return blocks
    sums = sum_prose(blocks, boxes)
    titles = boxes.sum((block.box, int(_is_top(block.piece))) for block in blocks)
    suspects = (box for box in named if sums[box] <= most and not titles[box])
    return without_boxed(blocks, boxes.spread(suspects), most)


def _in_own_box(blocks: list[Block], boxes: Boxes, title: str) -> list[Block]:
    """Take the smallest box that holds most of the running text, and what leads to it.

    That is the title, and the running text between it and the box.
    """
    sums = sum_prose(blocks, boxes)
    if sums[0] < _MIN_PROSE or sums[0] < sum(block.weight for block in blocks) / 2:
        return blocks
    text_box = max(box for box, prose in enumerate(sums) if prose >= _MOST * sums[0])
    text_box = _widened(text_box, blocks, boxes)
    if text_box == 0:
        return blocks
    inner = boxes.spread([text_box])
    first = next(place for place, block in enumerate(blocks) if block.box in inner)
    titles = [place for place in range(first) if _is_titled(blocks[place].piece, title)]
    if not titles:
        titles = [place for place in range(max(first - 3, 0), first) if _is_headed(blocks[place])]
    start = titles[0] if titles else first
    return [
        block
        for place, block in enumerate(blocks)
        if block.box in inner or place in titles or (start < place < first and _leads(block))
    ]


def _widened(box: int, blocks: list[Block], boxes: Boxes) -> int:
    """Go up as long as what stands beside a box is text rather than links."""
    plain = boxes.sum((block.box, block.weight) for block in blocks)
    linked = boxes.sum((block.box, block.piece.place.linked) for block in blocks)
    prose = sum_prose(blocks, boxes)
    text_box = box
    while box:
        box = boxes.parents[box]
        added = plain[box] - plain[text_box]
        if linked[box] - linked[text_box] > _MAX_LINKED * added:
            break
        is_short = added <= _MAX_ADDED * plain[text_box] and linked[box] == linked[text_box]
        if not is_short and added > _MAX_SHORT * (prose[box] - prose[text_box]):
            break
        text_box = box
    return text_box


def _is_headed(block: Block) -> bool:
    """Say whether a block right before the text is its heading, at whatever level."""
    is_heading = block.piece.kind == "heading" and block.weight > 0
    return is_heading and not leads_elsewhere(block.piece.text)


def _leads(block: Block) -> bool:
    return block.is_prose or (block.piece.kind == "heading" and block.weight > 0)


def _without_teasers(blocks: list[Block], boxes: Boxes, title: str) -> list[Block]:
    """Drop boxes side by side that each begin with a heading that leads to another page."""
    heads: dict[int, set[int]] = {}
    for block in blocks:
        if block.piece.kind == "heading" and block.piece.place.links and not block.weight:
            box = block.box
            for _ in range(_TEASER_DEPTH):
                heads.setdefault(boxes.parents[box], set()).add(box)
                box = boxes.parents[box]
    teasers = {
        box
        for parent, sides in heads.items()
        if parent and len(sides) >= _MIN_TEASERS
        for box in sides
    }
    inside = boxes.spread(teasers)
    prose = sum(block.prose for block in blocks)
    beside = sum(block.prose for block in blocks if block.box not in inside)
    if beside < _MIN_BESIDE_TEASERS:
        return blocks
    return without_boxed(blocks, inside, _MAX_TEASERS * prose)


def _without_banner(blocks: list[Block], boxes: Boxes, title: str) -> list[Block]:
    """Drop short lines before the page's only top heading that stand in other boxes than it."""
    tops = [place for place, block in enumerate(blocks) if _is_top(block.piece)]
    if len(tops) != 1 or any(block.is_prose for block in blocks[: tops[0]]):
        return blocks
    inner = boxes.spread([blocks[tops[0]].box])
    return [block for place, block in enumerate(blocks) if place >= tops[0] or block.box in inner]


def _without_menus(blocks: list[Block], boxes: Boxes, title: str) -> list[Block]:
    """Drop boxes and runs of links that no heading and no sentence of the text introduces."""
    menus = _runs(blocks) | _menus(blocks, boxes)
    languages = boxes.sum((block.box, block.piece.place.languages) for block in blocks)
    chosen: list[Block] = []
    introduced: dict[int, bool] = {}
    for block in blocks:
        previous = chosen[-1].piece if chosen else None
        menu = menus.get(block.box, 0)
        if menu and menu not in introduced:
            beside = bool(chosen) and boxes.continues(menu, chosen[-1].box)
            introduced[menu] = languages[menu] < _MIN_LANGUAGES and (
                _is_introduced(block.piece, previous, beside=beside)
            )
        if menu and not introduced[menu]:
            continue
        is_line = block.piece.kind != "heading" and _is_menu_line(block)
        if not is_line or _is_introduced(block.piece, previous):
            chosen.append(block)
    return chosen


def _menus(blocks: list[Block], boxes: Boxes) -> dict[int, int]:
    """Map each box in a menu to the outermost box of that menu."""
    prose = sum_prose(blocks, boxes)
    places = [(block.box, block.piece.place) for block in blocks]
    links = boxes.sum((box, place.links) for box, place in places)
    linked = boxes.sum((box, place.linked) for box, place in places)
    plain = boxes.sum((box, place.plain) for box, place in places)
    elsewhere = _lead_elsewhere(blocks, boxes)
    cards = elsewhere & _cards(blocks, boxes)
    menus: dict[int, int] = {}
    for box, parent in enumerate(boxes.parents):
        if parent in menus:
            menus[box] = menus[parent]
        elif box in cards and prose[box] <= _MAX_TEASERS * prose[0]:
            menus[box] = box
        elif not box or prose[box]:
            continue
        elif are_links(links[box], linked[box], plain[box]) or (box in elsewhere and links[box]):
            menus[box] = box
    return menus


def _lead_elsewhere(blocks: list[Block], boxes: Boxes) -> set[int]:
    """Return the boxes whose first block says that links to other pages follow."""
    met: set[int] = set()
    elsewhere: set[int] = set()
    for block in blocks:
        leads = not block.is_prose and leads_elsewhere(block.piece.text)
        box = block.box
        while box and box not in met:
            met.add(box)
            if leads:
                elsewhere.add(box)
            box = boxes.parents[box]
    return elsewhere


def _runs(blocks: list[Block]) -> dict[int, int]:
    """Map the boxes of links that follow each other to the box of the first of them."""
    runs: dict[int, int] = {}
    run: list[int] = []
    for block in [*blocks, None]:
        if block is not None and _is_link(block):
            run.append(block.box)
            continue
        if len(run) >= _MIN_RUN and 0 not in run:
            runs |= dict.fromkeys(run, run[0])
        run = []
    return runs


def _is_menu_line(block: Block) -> bool:
    place = block.piece.place
    is_path = place.links > 1 and not place.plain and bool(_ARROW.search(block.piece.text))
    return is_path or (is_links(block.piece) and not block.is_prose)


def _is_link(block: Block) -> bool:
    place = block.piece.place
    is_line = block.piece.kind in {"paragraph", "item"} and place.links > 0
    return is_line and place.linked >= _MOSTLY_LINKS * (place.linked + place.plain)


def _is_introduced(piece: Piece, previous: Piece | None, *, beside: bool = False) -> bool:
    """Say whether a list of links belongs to the text: a heading or a sentence announces it.

    `beside` says that it is a list that follows a text in the same box.
    """
    head = piece if piece.kind == "heading" else previous
    if head is None or leads_elsewhere(head.text):
        return False
    return beside or head.kind == "heading" or head.text.rstrip().endswith((":", "："))


def _without_bare_headings(pieces: Sequence[Piece], chosen: list[Piece]) -> list[Piece]:
    """Drop headings below which nothing is left of what stood there."""
    remaining = {id(piece) for piece in chosen}
    bare = {
        id(piece)
        for piece, following in pairwise(pieces)
        if (piece.kind == "heading" or leads_elsewhere(piece.text))
        and id(following) not in remaining
    }
    followed = [*chosen[1:], None][: len(chosen)]
    return [
        piece
        for piece, following in zip(chosen, followed, strict=True)
        if id(piece) not in bare or (following is not None and not _is_above(following, piece))
    ]


def _is_above(piece: Piece, other: Piece) -> bool:
    return piece.kind == "heading" and piece.number <= other.number


def _is_titled(piece: Piece, title: str) -> bool:
    if _is_top(piece):
        return True
    text, named = (" ".join(line.split()).lower() for line in (piece.text, title))
    if min(len(text), len(named)) < _MIN_TITLE_CHARS:
        return False
    return text in named or (named in text and len(text) <= 3 * len(named))


def _is_top(piece: Piece) -> bool:
    return piece.kind == "heading" and piece.number == 1
