"""Hooks of the build: absolute links in the README of a package, and the tag of a wheel with compiled code.

Hatchling runs them (see pyproject.toml). In the repository links stay relative.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import platform_tags

ROOT = Path(__file__).parent
sys.path.append(str(ROOT / "scripts"))
from home import absolute, home  # noqa: E402


class Readme(MetadataHookInterface):
    """A package index shows README.md alone, so relative links become absolute, once the project has a home."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = absolute((ROOT / "README.md").read_text("utf-8"), home((ROOT / "pyproject.toml").read_text("utf-8")))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Tag(BuildHookInterface[Any]):
    """A wheel with compiled code is for the platform that it was compiled on; without it, for any."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard" and (ROOT / "src/onlineboost/compiled/ahead").is_dir():
            build_data["tag"] = f"py3-none-{platform()}"


def platform() -> str:
    """The most specific tag; a package index refuses plain ``linux``."""
    return next(tag for tag in platform_tags() if not tag.startswith("linux"))
