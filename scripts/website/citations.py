"""The page of citations, from CITATION.cff."""

from __future__ import annotations

import re
from typing import Any

import yaml

from website.links import ROOT

_KINDS = {"conference-paper": "inproceedings", "article": "article", "software": "software"}


def page() -> str:
    facts = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    paper = facts.pop("preferred-citation")
    others = [_entry(one) for one in facts["references"]]
    return (
        "\n\n".join(
            [
                "# Citations",
                facts["message"],
                "## The software",
                _bibtex(facts),
                "## The paper",
                f"{_sentence(paper)}\n\n{_bibtex(paper)}",
                "## Other algorithms",
                *others,
            ]
        )
        + "\n"
    )


def _entry(work: dict[str, Any]) -> str:
    return f"{_sentence(work)} {work['notes']}\n\n{_bibtex(work)}"


def _authors(work: dict[str, Any]) -> list[str]:
    return [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in work["authors"]]


def _sentence(work: dict[str, Any]) -> str:
    place = work.get("collection-title") or work.get("journal")
    return f"{', '.join(_authors(work))}: *{work['title']}*. {place}, {work['year']}."


def _bibtex(work: dict[str, Any]) -> str:
    first = work["authors"][0]
    word = re.findall(r"\w+", work["title"])[0] if "year" in work else ""
    key = f"{first.get('family-names', 'onlineboost')}{work.get('year', '')}{word}".lower().replace(" ", "")
    names = " and ".join(one if "name" not in work["authors"][0] else f"{{{one}}}" for one in _authors(work))
    fields = {
        "title": f"{{{work['title']}}}",
        "author": names,
        "booktitle": work.get("collection-title"),
        "journal": work.get("journal"),
        "year": work.get("year"),
        "version": work.get("version"),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join(["```bibtex", f"@{_KINDS[work['type']]}{{{key},", *lines, "}", "```"])
