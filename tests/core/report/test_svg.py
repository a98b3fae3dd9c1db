"""Scales, axes and elements of pictures."""

from ragkit.report.svg import Scale, axes, element, linear, logarithmic, ticks


def test_scales_hold_all_values_and_tick_at_round_ones() -> None:
    scale = linear([0.554, 0.619], 0, 100, at_most=1.0)
    assert scale.low <= 0.554
    assert scale.high >= 0.619
    assert ticks(scale) == [0.54, 0.56, 0.58, 0.6, 0.62, 0.64]
    assert linear([0.0, 1.0], 0, 100, at_most=1.0).high == 1.0
    one = linear([0.5], 0, 100)
    assert one.low < 0.5 < one.high
    log = logarithmic([0.03, 4.0], 0, 100)
    assert (log.low, log.high) == (0.02, 5.0)
    assert ticks(log) == [0.1, 1.0]
    assert Scale(0, 1, 10, 20)(0.5) == 15
    equal = logarithmic([2.0, 2.0], 0, 100)
    assert equal.low <= 2.0 < equal.high


def test_texts_are_escaped_and_numbers_are_short() -> None:
    drawn = element("text", "<b>", x=1.26, class_="a", data_note='"')
    assert drawn == '<text x="1.3" class="a" data-note="&#34;">&lt;b&gt;</text>'


def test_axes_take_ticks_of_ones_own() -> None:
    x, y = Scale(0, 2, 0, 100), Scale(0, 1, 100, 0)
    plain = axes(x, y, "x", "y", x_text=str, y_text=str)
    whole = axes(x, y, "x", "y", x_text=str, y_text=str, x_ticks=[0.0, 1.0, 2.0])
    assert ">0.5</text>" in plain
    assert ">1.5</text>" in plain
    assert ">1.5</text>" not in whole
