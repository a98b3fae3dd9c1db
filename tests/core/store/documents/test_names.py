"""What a document goes by: the database says the same as the definition."""

from __future__ import annotations

import psycopg
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragkit.documents.names import END, FILE, PART, STEM, TITLE, URI, closest, fit, fit_document
from ragkit.store.documents.names import FIT, FIT_DOCUMENT, called

PIECES = ["a", "leave", ".md", ".", "/", ":", "中", "\n", "%", "\\", "'", "_", "Ä", " "]
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
URIS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def test_the_database_fits_names_as_it_is_defined(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:

        @settings(max_examples=200, deadline=None, database=None)
        @given(uri=URIS, name=NAMES)
        @example(uri="a/leave.md", name="leave")
        @example(uri="a/leave.md", name="/leave.md")
        @example(uri="leave", name="leave")
        def agree(uri: str, name: str) -> None:
            query = f"SELECT {FIT} FROM (SELECT %(uri)s::text AS uri) AS one"  # noqa: S608
            found = conn.execute(query, {"uri": uri, **called(name)}).fetchone()
            assert found == (fit(uri, name),)

        agree()


def test_the_more_exact_name_fits_better() -> None:
    assert fit("in/leave.md", "in/leave.md") == URI == 0
    assert fit("in/leave.md", "leave.md") == fit("upload:leave.md", "leave.md") == FILE == 1
    assert fit("in/leave.md", "leave") == STEM == 2
    assert fit("in/leave.md", "ve.md") == END == 4
    assert fit("in/leave.md", "in/leave") is None


def test_the_database_fits_titles_and_parts_as_it_is_defined(database_url: str) -> None:
    cases = {
        "leave": STEM,
        "DAYS OFF": TITLE,
        "ve.md": END,
        "days": PART,
        "In/Le": PART,
        "travel": None,
        "50%": None,
    }
    query = (
        f"SELECT {FIT_DOCUMENT}"  # noqa: S608
        " FROM (SELECT 'in/leave.md'::text AS uri, 'Days off'::text AS title) AS one"
    )
    with psycopg.connect(database_url) as conn:
        for name, how in cases.items():
            assert fit_document("in/leave.md", "Days off", name) == how
            assert conn.execute(query, called(name)).fetchone() == (how,)


def test_few_close_names_are_found_and_no_far_ones() -> None:
    uris = [f"in/report{n}.md" for n in range(9)]
    assert closest("report.md", uris) == ["in/report0.md", "in/report1.md", "in/report2.md"]
    assert closest("zebra.md", uris) == []
    assert closest("reprot7", uris)[0] == "in/report7.md"
    assert closest("x", []) == []
