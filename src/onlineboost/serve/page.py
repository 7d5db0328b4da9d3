"""The page: one self-contained document, built from the files in assets/."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files

TYPE = "text/html; charset=utf-8"


@functools.cache
def made() -> tuple[bytes, dict[str, str]]:
    """The document, and headers that allow its own script and style only.

    >>> body, headers = made()
    >>> body.count(b"<script>"), headers["content-security-policy"].count("'sha256-")
    (1, 2)
    """
    folder = files("onlineboost.serve") / "assets"
    draw, page, style = ((folder / name).read_text(encoding="utf-8") for name in ("draw.js", "page.js", "page.css"))
    script = f"{draw}\n{page}"
    text = (folder / "page.html").read_text(encoding="utf-8")
    text = text.replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text.encode(), {"content-security-policy": policy, "referrer-policy": "no-referrer"}


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
