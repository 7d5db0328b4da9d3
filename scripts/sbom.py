"""A bill of materials of an environment, as CycloneDX 1.6 in JSON: the package and all that was installed for it.

    python scripts/sbom.py onlineboost > dist/onlineboost.cdx.json

The environment's own metadata say all that is needed, so that this is one file without dependencies, which runs in the
environment that it describes; a tool would have to be installed there, and would list itself.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib.metadata import Distribution, distributions
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INSTALLERS = {"pip", "setuptools", "wheel"}  # of the environment, not of the package


def bill(root: str, installed: dict[str, Distribution]) -> dict[str, Any]:
    """The package ``root``, its dependencies and theirs; an error for one that is not installed."""
    needed = [root]
    graph = {}
    for name in needed:  # grows
        graph[name] = dependencies(installed[name], installed)
        needed += [one for one in graph[name] if one not in needed]
    components = {name: component(installed[name]) for name in needed}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, " ".join(sorted(one["purl"] for one in components.values())))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": components[root]},
        "components": [components[name] for name in sorted(needed) if name != root],
        "dependencies": [
            {
                "ref": components[name]["bom-ref"],
                "dependsOn": [components[one]["bom-ref"] for one in sorted(graph[name])],
            }
            for name in sorted(needed)
        ],
    }


def dependencies(package: Distribution, installed: dict[str, Distribution]) -> list[str]:
    """The installed packages that a package needs; not those of its extras.

    >>> class Package:
    ...     requires = ["NumPy>=2", "tzdata; sys_platform == 'win32'", "ray; extra == 'ray'"]
    >>> dependencies(Package, {"numpy": None, "ray": None})
    ['numpy']
    """
    found = []
    for line in package.requires or ():
        requirement, _, marker = line.partition(";")
        name = canonical(_NAME.match(requirement.strip())[0])  # type: ignore[index]
        if "extra" not in marker and name in installed and name not in found:
            found.append(name)
    return found


def component(package: Distribution) -> dict[str, Any]:
    """A package with its version, licence and address in the package index."""
    facts = package.metadata
    name = canonical(facts["Name"])
    purl = f"pkg:pypi/{name}@{package.version}"
    made: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": package.version, "purl": purl}
    if facts.get("Summary"):
        made["description"] = facts["Summary"]
    if facts.get("License-Expression"):
        made["licenses"] = [{"expression": facts["License-Expression"]}]
    elif licences := [
        one.rpartition(":: ")[2] for one in facts.get_all("Classifier", []) if one.startswith("License ::")
    ]:
        made["licenses"] = [{"license": {"name": name}} for name in licences]
    elif text := (facts.get("License") or "").partition("\n")[0]:
        made["licenses"] = [{"license": {"name": text}}]
    return made


def canonical(name: str) -> str:
    """
    >>> canonical("Markdown_It.py")
    'markdown-it-py'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    installed = {canonical(one.metadata["Name"]): one for one in distributions()}
    for name in _INSTALLERS:
        installed.pop(name, None)
    print(json.dumps(bill(canonical(sys.argv[1]), installed), indent=1))


if __name__ == "__main__":
    main()
