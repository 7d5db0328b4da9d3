"""The report of ``onlineboost reproduce``: a web page, Markdown for the documents, a table for the terminal.

All are pure functions of the results, which are plain JSON.
"""

from onlineboost.reproduction.documents import markdown, readme_table
from onlineboost.reproduction.figures import summary
from onlineboost.reproduction.page import page as html
from onlineboost.reproduction.terminal import text

__all__ = ["html", "markdown", "readme_table", "summary", "text"]
