"""Status codes of the parsers, and the error message of each."""

from __future__ import annotations

OK = 0
MORE, FULL, NEW_LABEL = 1, 2, 3  # more text is needed; the page is full; a label has to be looked up
NEW_CELL = 5  # a cell of at least four words is met for the first time
DECIMAL_COMMA = 4  # the first number with a comma: whether it is a decimal comma has to be decided

EXPECTED: dict[int, str] = {}  # the end of the message, by the code of an error


def _error(expected: str) -> int:
    """The code of an error."""
    EXPECTED[code := 10 + len(EXPECTED)] = expected
    return code


NO_LABEL = _error("expected a label")
LONG_LABEL = _error("expected a label of at most 64 bytes")
BAD_LABEL = _error("expected a number as label")
BAD_WEIGHT = _error("expected a weight: a number from 0 to 1e18")
BAD_NUMBER = _error("expected a number")
LARGE_NUMBER = _error("expected a number of magnitude at most 1e18")
NO_BAR = _error("expected '|' before the features")
TAB = _error("expected spaces, not a tab, before the '|'")
INITIAL = _error("expected '|' or a tag: initial predictions are not supported")
TOO_MANY_WORDS = _error("expected '|': a label, an importance and a tag are all that can come before it")
NO_NAMESPACE = _error("expected a namespace, a space or '|'")
RETURN = _error("expected no carriage return within a line")
NO_INDEX = _error("expected the number of a feature")
LARGE_INDEX = _error("expected a feature number below 2^31")
NO_COLON = _error("expected ':' and a value")
QID = _error("expected a feature: qid is for ranking, which is not supported")
FEW_CELLS = _error("expected more cells, as many as in the first line")
MANY_CELLS = _error("expected the end of the line: it has more cells than the first line")
OPEN_QUOTE = _error("expected a closing quote")
AFTER_QUOTE = _error("expected a separator or the end of the line after the closing quote")
NO_OBJECT = _error("expected '{': one JSON object per line, and no list around them")
NO_KEY = _error("expected a key in double quotes")
NO_VALUE = _error("expected a JSON value")
NO_COMMA = _error("expected ',' or the closing bracket")
BAD_ESCAPE = _error("expected a valid escape sequence")
CONTROL = _error("expected no control character within a string")
TOO_DEEP = _error("expected at most 32 nested levels")
TRAILING = _error("expected the end of the line")
LIST_LABEL = _error("expected a single value, since this is the label or the weight")
LONG_RECORD = _error("expected a shorter line, with every quote closed")
BAD_DATE = _error("expected a date with the day first, such as 25/12/2023")
BAD_US_DATE = _error("expected a date with the month first, such as 12/25/2023")
TOUCHING = _error("expected a space between the label and '|': without one it is a tag")

OTHER_ORDER = {BAD_DATE: "month_first=... is the other order", BAD_US_DATE: "day_first=... is the other order"}
