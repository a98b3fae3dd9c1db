"""`ragkit collections` as it is typed: renaming, and the names that are refused."""

from pathlib import Path

from tests.commands import Commands


def test_a_collection_is_renamed_with_everything_that_names_it(
    fresh_database: str, tmp_path: Path
) -> None:
    (tmp_path / "leave.md").write_text("# Leave\n\nEverybody has 25 days of leave.\n", "utf-8")
    ragkit = Commands(fresh_database, tmp_path)
    ragkit("ingest", "leave.md", "--collection", "old")
    ragkit("collections", "create", "taken")
    asked = "How many days of leave?\n"
    ragkit("chat", "-c", "old", stdin=asked)
    done = ragkit("collections", "rename", "old", "new").stdout
    assert done == "Collection 'old' is now called 'new'.\n"
    assert "25 days" in ragkit("ask", asked, "-c", "new").stdout
    ragkit("chat", "-c", "new", "--continue", stdin=asked)
    for arguments, words in (
        (("new", "taken"), ("'taken'", "choose another name")),
        (("new", ""), ("''", "printable characters")),
        (("old", "other"), ("no collection 'old'", "'new', 'taken'")),
    ):
        line = ragkit.error("collections", "rename", *arguments, code=2)
        assert all(word in line for word in words), line
    renamed = ragkit.json("collections", "rename", "new", "other")
    assert renamed == {"renamed": "new", "name": "other"}
