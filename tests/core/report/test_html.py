"""The look that pages of reports share, and their policy."""

import re

from ragkit.report.html import make_policy, read_style


def test_a_style_is_light_and_dark_and_loads_nothing() -> None:
    style = read_style("colours", "page", "drawing")
    assert "prefers-color-scheme: dark" in style
    assert not re.search(r"</|url\(|@import|http", style)
    assert "body" not in read_style("colours", "drawing")


def test_a_policy_allows_by_hash_and_no_script_unless_given() -> None:
    # printf 'a{}' | openssl dgst -sha256 -binary | base64
    style = "'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='"
    assert make_policy("a{}") == (
        f"default-src 'none'; style-src {style}; base-uri 'none'; form-action 'none'"
    )
    assert "; script-src 'sha256-" in make_policy("a{}", "f()")
