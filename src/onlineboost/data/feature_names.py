"""Names of features: to which date or column a feature belongs."""

from __future__ import annotations

from collections.abc import Container, Mapping

from onlineboost.data.hashing import feature_id

DATE_PARTS = "month", "weekday", "hour"
"""Features of a date beside its number: ``sold.month=11``."""


def date_of(name: str, names: Mapping[int, str]) -> str:
    """The date of which a feature is a part, or its own name; ``names`` are those of all features, by id.

    >>> names = {feature_id("sold"): "sold"}
    >>> [date_of(name, names) for name in ("sold.month=11", "made.month=11", "color=red")]
    ['sold', 'made.month=11', 'color=red']
    """
    date, _, part = name.partition("=")[0].rpartition(".")
    return date if part in DATE_PARTS and names.get(feature_id(date)) == date else name


def column_of(name: str, columns: Container[str]) -> str:
    """The column to which a feature belongs, or its own name.

    >>> columns = {"color", "sold"}
    >>> [column_of(name, columns) for name in ("color=red", "sold", "sold.month=11", "size")]
    ['color', 'sold', 'sold', 'size']
    """
    at = name.find("=")
    while name not in columns and at >= 0:
        if name[:at] in columns:
            return name[:at]
        date, _, part = name[:at].rpartition(".")
        if part in DATE_PARTS and date in columns:
            return date
        at = name.find("=", at + 1)
    return name
