"""Languages whose definitions begin with a word of their own, such as Julia, Perl, MATLAB, R,
Groovy, Dart and PowerShell; read by their lines alone.
"""

from __future__ import annotations

from ragkit_ingest.parse.code.language import Language
from ragkit_ingest.parse.code.patterns import BRACED, KEYWORDS, TYPED, any_of

_ASSIGNED = r"[\w.]+[ \t]*(?=(?:<-|=)[ \t]*function\b)"  # name <- function(
_OBJECTIVE_C = (
    r"@(?:interface|implementation|protocol)[ \t]+\w+|[-+][ \t]*\([^)\n]{1,100}\)[ \t]*\w+"
)

parse = Language(
    any_of(_OBJECTIVE_C, KEYWORDS, _ASSIGNED, TYPED, BRACED), ("#", "//", "/*", "*", "%", "--")
).parse
