"""Curves: thinned, marked, described."""

import re

from ragkit.report.curves import Curve, describe_curves, draw_curves, thin
from ragkit.report.svg import Scale

X, Y = Scale(0, 10, 0, 100), Scale(0, 1, 100, 0)


def test_a_long_curve_keeps_its_ends() -> None:
    many = [(float(n), n / 1000) for n in range(1000)]
    assert len(thin(many)) == 120
    assert (thin(many)[0], thin(many)[-1]) == (many[0], many[-1])
    assert thin(many[:3]) == many[:3]


def test_curves_have_bands_behind_and_marks_before_them() -> None:
    first = Curve(0, "first", [(0, 0.5), (10, 1)], "ends at 1", marked=(10, 1))
    second = Curve(1, "second", [(0, 0)], "one point", band=[(0, 0, 0.5), (10, 0.25, 1)])
    drawn = [str(part) for part in draw_curves([first, second], X, Y)]
    assert drawn == [
        '<polygon points="0,50 100,0 100,75 0,100" class="band s1"></polygon>',
        '<polyline points="0,50 100,0" class="curve s0 d0"></polyline>',
        '<polyline points="0,100" class="curve s1 d1"></polyline>',
        '<circle cx="100" cy="0" r="4.5" class="mark s0"></circle>',
        drawn[4],
    ]
    assert re.fullmatch(r'<polygon points="[\d., -]+" class="mark s1"></polygon>', drawn[4])
    assert describe_curves([first, second]) == "A first: ends at 1; B second: one point"
