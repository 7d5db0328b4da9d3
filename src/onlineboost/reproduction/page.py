"""A report as one self-contained web page: no scripts, no external resources."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from onlineboost.reproduction.charts import key
from onlineboost.reproduction.figures import Results, summary
from onlineboost.reproduction.sections import TITLE, Section, findings, how, made, quick, sections
from onlineboost.reproduction.tables import Cell, Row, Table


def page(results: Results) -> str:
    numbers = summary(results)
    parts = sections(results, numbers)
    links = "".join(f'<li><a href="#{part.anchor}">{escape(part.title)}</a></li>' for part in parts)
    warning = quick(results)
    body = [
        f"<header><h1>{escape(TITLE)}</h1>",
        f'<p class="warning">{escape(warning)}</p>' if warning else "",
        f'<p class="lead">{_text(findings(results, numbers))}</p>',
        f"<p>{_text(how(results))}</p>",
        f'</header><nav aria-label="Sections"><ul>{links}</ul></nav><main>',
        *(_section(part) for part in parts),
        f"</main><footer><p>{_text(made(results))}</p></footer>",
    ]
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return _PAGE.format(title=escape(TITLE), style=style, body="\n".join(part for part in body if part))


def _section(part: Section) -> str:
    lines = [f'<section id="{part.anchor}"><h2>{escape(part.title)}</h2>']
    lines += [f"<p>{_text(paragraph)}</p>" for paragraph in part.paragraphs]
    if part.points:
        lines.append("<ul>" + "".join(f"<li>{_text(point)}</li>" for point in part.points) + "</ul>")
    if part.pictures:
        lines.append(_pictures(part))
    for table in part.tables:
        if part.folded and table.rows:
            lines.append(f"<details><summary>{escape(table.caption)}</summary>{_table(table)}</details>")
        elif table.rows:
            lines.append(f'<p class="caption">{escape(table.caption)}</p>{_table(table)}')
    return "\n".join([*lines, "</section>"])


def _pictures(part: Section) -> str:
    keys = "".join(f"<li>{key(part.marks, k)}{escape(name)}</li>" for k, name in enumerate(part.legend))
    figures = (
        f"<figure>{f'<figcaption>{escape(caption)}</figcaption>' if caption else ''}{svg}</figure>"
        for caption, svg in part.pictures
    )
    kind = "pictures" if len(part.pictures) > 1 else "pictures single"
    return f'<ul class="legend">{keys}</ul><div class="{kind}">{"".join(figures)}</div>'


def _table(table: Table) -> str:
    """A table in a box that scrolls sideways, so that the page does not."""
    words = [cell.words for cell in table.rows[0].cells]
    first, *rest = table.header
    heads = "".join(f"<th scope=col{_class(word=word)}>{escape(h)}</th>" for h, word in zip(rest, words, strict=True))
    rows = "".join(_row(row) for row in table.rows)
    label = escape(table.caption)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table aria-label="{label}">'
        f"<thead><tr><th scope=col>{escape(first)}</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(row: Row) -> str:
    cells = "".join(_cell(cell) for cell in row.cells)
    return f"<tr{_class(total=row.total)}><th scope=row>{escape(row.name)}</th>{cells}</tr>"


def _cell(cell: Cell) -> str:
    text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
    under = f"<small>{escape(cell.under)}</small>" if cell.under else ""
    tones = {cell.tone: True} if cell.tone else {}
    return f"<td{_class(word=cell.words, **tones)}>{text}{under}</td>"


def _class(**names: bool) -> str:
    chosen = " ".join(name for name, wanted in names.items() if wanted)
    return f' class="{chosen}"' if chosen else ""


def _text(text: str) -> str:
    """Escaped text, with `code` as code and no line break before a percent sign."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text)).replace(" %", "&nbsp;%")


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
