"""The log of the service: text, or a line of JSON for each entry."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

FORMATS = ("text", "json")
_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """An entry as a line of JSON, with its ``extra`` values.

    >>> record = logging.makeLogRecord({"msg": "began", "levelname": "INFO", "created": 0.0, "model": "m"})
    >>> msgspec.json.decode(JsonLines().format(record))["model"], JsonLines().format(record).count("\\n")
    ('m', 0)
    """

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, Any] = {
            "time": record.created,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        found |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(found, enc_hook=str).decode()


def begin(form: str) -> None:
    """Write the log to standard error in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
