"""Write the bill of materials of a release: `sbom.py TOOLS FILE`, CycloneDX 1.6 as JSON.

The cyclonedx-py of the environment TOOLS describes the project's own environment and checks the
result; what is there for development alone is taken out.
"""

import json
import subprocess
import sys
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

from notices import licence
from packaging.utils import canonicalize_name
from runtime import RELEASE_EXTRAS, ROOT, closure, here, project_requirements


def main(tools: Path, file: Path) -> None:
    """Write the bill of materials."""
    command = [tools / "bin/cyclonedx-py", "environment", "--pyproject", ROOT / "pyproject.toml"]
    command += ["--spec-version", "1.6", "--output-reproducible", sys.executable]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    bill = restrict(json.loads(done.stdout), closure(project_requirements(*RELEASE_EXTRAS), here()))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")


def restrict(bill: dict[str, Any], packages: set[str]) -> dict[str, Any]:
    """Keep the components that are among the packages, with the licences of the notices."""
    components = [
        {**component, "licenses": [{"expression": licence(distribution(component["name"]))}]}
        for component in bill["components"]
        if canonicalize_name(component["name"]) in packages
    ]
    refs = {component["bom-ref"] for component in components}
    main_part = bill["metadata"]["component"]
    main_part["version"] = version("ragkit")
    main_part["purl"] = f"pkg:pypi/ragkit@{main_part['version']}"
    root = main_part["bom-ref"]
    dependencies = [
        {**entry, "dependsOn": [ref for ref in entry.get("dependsOn", []) if ref in refs]}
        for entry in bill["dependencies"]
        if entry["ref"] in {*refs, root}
    ]
    return {**bill, "components": components, "dependencies": dependencies}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
