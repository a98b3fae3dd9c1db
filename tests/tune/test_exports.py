"""What `ragkit_tune` exports is there, and no module takes an export's place."""

from pathlib import Path

import ragkit_tune


def test_every_export_is_there_and_has_the_name_of_no_module() -> None:
    names = set(vars(ragkit_tune)["__all__"])
    assert {"make_data", "make_plan", "start", "prove"} <= names
    assert all(hasattr(ragkit_tune, name) for name in names)
    modules = {path.stem for folder in ragkit_tune.__path__ for path in Path(folder).iterdir()}
    assert names & modules == set()
