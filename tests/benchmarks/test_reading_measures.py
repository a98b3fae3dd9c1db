"""The measures of reading, on small texts whose scores are counted by hand."""

import pytest

from benchmarks.reading_markdown import read_markdown
from benchmarks.reading_measures import Scores, failure, mean, order, scores

TABLE = "| year | ducks |\n| - | - |\n| 2019 | 120 |\n| 2020 | 135 |\n"


def _scores(expected: str, reading: str) -> Scores:
    return scores(read_markdown(expected), read_markdown(reading))


def test_a_text_scores_in_full_against_itself() -> None:
    text = f"# Ducks\n\nThey swim.\n\n{TABLE}"
    assert _scores(text, text) == Scores(1, 1, 1, 1, 1, 1, 1)


def test_words_count_as_often_as_they_occur() -> None:
    measured = _scores("the duck and the pond", "the duck the the lake")
    assert measured.recall == 3 / 5  # the, the, duck
    assert measured.precision == 3 / 5


def test_marks_addresses_and_pictures_are_no_words() -> None:
    plain = "Bold link H 2 O and code: x"
    marked = (
        "**Bold** [link](http://a.b/c_(d)) H<sub>2</sub>O ![alt](p.png) and `code`:\n```py\nx\n```"
    )
    assert read_markdown(marked).words == read_markdown(plain).words


def test_addresses_are_no_words_wherever_they_stand() -> None:
    text = read_markdown(
        "See https://a.b/c?d=e, <http://f.g> and [h](i).\n\n"
        "| x | http://j.k |\n| - | - |\n| y | z |\n"
    )
    assert text.words == ("see", "and", "h", "x", "y", "z")
    assert text.tables == (((("x",), ()), (("y",), ("z",))),)


def test_an_empty_head_is_none() -> None:
    headless = "|  |  |\n| - | - |\n| year | ducks |\n| 2019 | 120 |\n|  |  |\n| 2020 | 135 |\n"
    assert _scores(TABLE, headless) == _scores(TABLE, TABLE)


def test_numbers_of_lists_are_no_words_in_any_reading() -> None:
    assert read_markdown("1. duck\n2. goose").words == read_markdown("* duck\n• goose").words


def test_each_chinese_character_is_a_word() -> None:
    assert read_markdown("机房温度25度").words == ("机", "房", "温", "度", "25", "度")


def test_swapped_halves_keep_the_order_of_half_of_the_words() -> None:
    assert order(tuple("abcdef"), tuple("defabc")) == 0.5


def test_columns_read_across_lose_the_order() -> None:
    western, eastern = ["a b", "c d", "e f"], ["g h", "i j", "k l"]
    across = "\n".join(f"{west} {east}" for west, east in zip(western, eastern, strict=True))
    assert _scores("\n".join([*western, *eastern]), across).order == pytest.approx(
        8 / 12
    )  # abcdef, kl


def test_a_word_out_of_place_breaks_no_order_of_others() -> None:
    assert order(tuple("abcd"), tuple("bcda")) == 0.75


def test_words_that_repeat_tell_nothing_of_order() -> None:
    assert order(("a", "a", "b"), ("b", "a", "a")) is None


def test_a_missing_cell_is_the_only_one_that_is_missed() -> None:
    measured = _scores(TABLE, TABLE.replace("135", ""))
    assert measured.cells == 5 / 6
    assert measured.cells_precision == 1


def test_a_row_under_no_head_keeps_its_place_by_its_neighbours() -> None:
    headless = "| 2019 | 120 |\n| - | - |\n| 2020 | 135 |\n"
    measured = _scores(TABLE, headless)
    assert measured.cells == 2 / 6  # the row of 2020: 2019 and 120 have lost what is above them
    assert measured.cells_precision == 2 / 4


def test_a_cell_in_another_column_is_not_at_its_place() -> None:
    measured = _scores(TABLE, TABLE.replace("| 2020 | 135 |", "| 135 | 2020 |"))
    assert measured.cells == 4 / 6


def test_a_table_as_lines_of_text_has_words_but_no_cells() -> None:
    measured = _scores(TABLE, "year ducks\n2019 120\n2020 135")
    assert (measured.recall, measured.order) == (1, 1)
    assert (measured.cells, measured.cells_precision) == (0, None)


def test_a_table_of_one_column_or_one_row_asks_for_no_cells() -> None:
    assert _scores("| a |\n| - |\n| b |\n", "a b").cells is None
    assert _scores("| a | b |\n| - | - |\n", "a b").cells is None


def test_a_table_in_html_is_a_table() -> None:
    html = (
        "<table><tr><th>year<th>ducks</tr><tr><td>2019</td><td>120</td></tr>"
        "<tr><td>2020</td><td>135</td></tr></table>"
    )
    assert _scores(TABLE, html).cells == 1


def test_a_cell_over_two_columns_is_in_both() -> None:
    html = "<table><tr><td colspan='2'>a</td></tr><tr><td>b</td><td>c</td></tr></table>"
    assert _scores("| a | a |\n| - | - |\n| b | c |\n", html).cells == 1


def test_cells_keep_pipes_and_stop_at_the_end_of_the_table() -> None:
    table = read_markdown("| a\\|b | c |\n|---|:-:|\n|  | d |\n\nafter | it").tables
    assert table == (((("a", "b"), ("c",)), ((), ("d",))),)


def test_a_heading_as_plain_text_is_no_heading() -> None:
    measured = _scores("# Ducks\n\n## Ponds\n\nText.", "Ducks\n\n## Ponds\n\n# Text.")
    assert measured.recall == 1
    assert measured.headings == 1 / 2
    assert measured.headings_precision == 1 / 2


def test_headings_count_on_any_level_and_in_any_form() -> None:
    reading = "Ducks\n=====\n\n<h3>*Ponds*</h3>\n\n#### Lakes ####"
    assert _scores("# Ducks\n\n## Ponds\n\n## Lakes", reading).headings == 1


def test_lines_of_code_are_words_and_neither_headings_nor_tables() -> None:
    code = read_markdown("```\n# no heading\n| a | b |\n| - | - |\n```\n")
    assert code.words == ("no", "heading", "a", "b")
    assert (code.headings, code.tables) == ((), ())


def test_a_failed_file_scores_nothing_where_there_was_something() -> None:
    assert failure(read_markdown("# Ducks")) == Scores(recall=0, precision=0, order=0, headings=0)


def test_a_mean_leaves_out_what_a_document_does_not_have() -> None:
    assert mean([Scores(recall=1, cells=0.5), Scores(recall=0)]) == Scores(recall=0.5, cells=0.5)
