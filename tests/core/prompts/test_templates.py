"""Prompt templates: found by language, overridden by folder and collection, run in a sandbox."""

from pathlib import Path

import pytest

from ragkit.errors import SettingsError
from ragkit.prompts.templates import OWN, Templates


def rendered(templates: Templates, language: str = "en") -> str:
    assert language in ("en", "zh")
    return templates.render("user", "zh" if language == "zh" else "en", sources=["S"], question="Q")


def write(folder: Path, text: str, name: str = "user.en.jinja") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_there_is_every_template_in_both_languages() -> None:
    names = {path.name for path in OWN.glob("*.jinja")}
    assert {"system.en.jinja", "system.zh.jinja", "user.en.jinja", "user.zh.jinja"} <= names
    assert {name.replace(".en.", ".zh.") for name in names} == {n for n in names if ".zh." in n}


def test_each_language_has_its_own() -> None:
    assert rendered(Templates()) == "Sources:\n\nS\n\nQuestion: Q"
    assert rendered(Templates(), "zh") == "资料：\n\nS\n\n问题： Q"


def test_what_is_rendered_is_data() -> None:
    text = Templates().render("user", "en", sources=["{{ 7 * 7 }}"], question="{% raw %} %s {x}")
    assert text == "Sources:\n\n{{ 7 * 7 }}\n\nQuestion: {% raw %} %s {x}"


def test_a_folder_goes_before_ragkits_own_and_its_collections_before_that(tmp_path: Path) -> None:
    write(tmp_path, "mine {{ question }}")
    write(tmp_path / "laws", "law {{ question }}")
    assert rendered(Templates(tmp_path)) == "mine Q"
    assert rendered(Templates(tmp_path, "laws")) == "law Q"
    assert rendered(Templates(tmp_path, "else")) == "mine Q"
    assert rendered(Templates(tmp_path, "laws"), "zh") == "资料：\n\nS\n\n问题： Q"


@pytest.mark.parametrize("name", ["../outside", "..", ".", "/", "a/../../outside", "", "laws/"])
def test_a_collections_name_leads_out_of_no_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path / "outside", "stolen")
    folder = write(tmp_path / "prompts", "mine")
    write(folder / "laws", "law")
    assert rendered(Templates(folder, name)) == "mine"


def test_the_version_is_the_texts(tmp_path: Path) -> None:
    own = Templates().version("system", "user", language="en")
    assert len(own) == 12
    assert own == Templates(write(tmp_path / "a", "zh", "user.zh.jinja")).version(
        "system", "user", language="en"
    )
    folder = write(tmp_path / "b", "one")
    one = Templates(folder).version("system", "user", language="en")
    write(folder, "two")
    two = Templates(folder).version("system", "user", language="en")
    assert len({own, one, two, Templates().version("system", "user", language="zh")}) == 4
    assert Templates(folder).version("system", language="en") == Templates().version(
        "system", language="en"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("fine\n{{ question", 2),
        ("\n\n{% if %}", 3),
        ("{{ question | nonsense }}", 1),
        ("{% for x in question %}", 1),
        ("one\n{{ missing }}", 2),
        ("one\n\n{{ question.__class__.x }}\n", 3),
        ("\n{{ 1 // 0 }}", 2),
    ],
)
def test_a_broken_template_is_one_line_with_file_and_line(
    tmp_path: Path, text: str, line: int
) -> None:
    with pytest.raises(SettingsError) as caught:
        rendered(Templates(write(tmp_path, text)))
    message = str(caught.value)
    assert message.startswith(f"prompt template {tmp_path}/user.en.jinja, line {line} cannot be")
    assert message.endswith("Correct it, or take it away.")
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "{{ missing }}",
        "{{ question.__class__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ question.__init__.__globals__ }}",
        "{{ sources.append('x') }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{% include '../../secret.jinja' %}",
        "{% include '/etc/passwd' %}",
        "{{ 1 // 0 }}",
        "{{ question + 1 }}",
        "{{ range(10**9) }}",
        "{{ 3 | dictsort }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    ],
)
def test_what_a_template_may_not_do_fails_cleanly(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"user\.en\.jinja.* cannot be used: ") as caught:
        rendered(Templates(write(tmp_path, text)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "one\n{% include 'user.en.jinja' %}",
        "one\n{% include 'shared.txt' %}",
        "one\n{% import 'system.en.jinja' as rules %}",
        "one\n{% extends question %}",
    ],
)
def test_a_template_stands_alone_as_its_version_says(tmp_path: Path, text: str) -> None:
    (tmp_path / "shared.txt").write_text("not in the hash")
    with pytest.raises(SettingsError, match="a template cannot use another") as caught:
        rendered(Templates(write(tmp_path, text)))
    assert f"{tmp_path}/user.en.jinja, line 2 cannot be used: " in str(caught.value)


def test_what_a_template_writes_has_an_end(tmp_path: Path) -> None:
    text = "{% for i in range(90000) %}{% for j in range(90000) %}for ever {% endfor %}{% endfor %}"
    with pytest.raises(SettingsError, match="it writes more than 10000000 characters"):
        rendered(Templates(write(tmp_path, text)))


def test_a_template_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "user.en.jinja").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match=r"user\.en\.jinja cannot be used: 'utf-8'"):
        rendered(Templates(tmp_path))


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nowhere is no folder: correct RAGKIT_PROMPTS"):
        rendered(Templates(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("user.eng.jinja", "name it user.en.jinja"),
        ("sytem.zh.jinja", "name it system.zh.jinja"),
        ("hello.jinja", "name it one of agent.en.jinja, "),
    ],
)
def test_a_stray_name_suggests_the_close_one(tmp_path: Path, name: str, wanted: str) -> None:
    folder = write(tmp_path / "laws", "x", name).parent
    with pytest.raises(SettingsError) as caught:
        rendered(Templates(folder, "laws"))
    assert f"{name} is no template that ragkit uses: {wanted}" in str(caught.value)
    assert rendered(Templates(folder, "else"))  # another collection's is not looked at
