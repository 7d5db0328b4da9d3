"""Tab-separated values: CSV with another separator."""

from __future__ import annotations

from functools import partial

from onlineboost.readers.format import Format, first_line
from onlineboost.readers.formats import csv
from onlineboost.readers.write_table import table_writer
from onlineboost.registry import FORMATS

FORMATS.add(
    Format(
        name="tsv",
        title="TSV",
        suffixes=(".tsv", ".tab"),
        reader=partial(csv.reader, separator="\t"),
        writer=table_writer(partial(csv.open_table, separator="\t")),
        options=csv.OPTIONS,
        looks_like=lambda start: b"\t" in first_line(start),
        priority=20,
    )
)
