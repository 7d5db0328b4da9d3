"""Access: tokens for reading, learning and administration, and names of this host."""

from __future__ import annotations

import hmac
import stat
from pathlib import Path
from urllib.parse import urlsplit

from onlineboost.errors import ParameterError
from onlineboost.serve.errors import ServeError
from onlineboost.serve.http import Request

LEVELS = ("read", "learn", "admin")  # each includes the rights of those before it
LOOPBACK = {"127.0.0.1", "localhost", "[::1]", "::1"}
_LEAST = 16  # characters of a token


class Tokens:
    """The tokens of a file: lines such as ``learn TOKEN``; # begins a comment."""

    def __init__(self, by_token: list[tuple[str, bytes]]) -> None:
        self.by_token = by_token

    @classmethod
    def of_file(cls, path: Path) -> Tokens:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ParameterError("--token-file", str(path), f"a file that only its owner can read: chmod 600 {path}")
        found = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            words = line.partition("#")[0].split()
            if words and (len(words) != 2 or words[0] not in LEVELS or len(words[1]) < _LEAST):
                expected = f"line {number} to be read, learn or admin, and a token of at least {_LEAST} characters"
                raise ParameterError("--token-file", str(path), expected)
            found += [(words[0], words[1].encode())] if words else []
        if not found:
            raise ParameterError("--token-file", str(path), "at least one line such as: learn TOKEN")
        return cls(found)

    def check(self, request: Request, level: str) -> None:
        """Raise an error unless the request has a token for this level. All tokens are compared, in constant time."""
        kind, _, given = request.header("authorization").partition(" ")
        mine, best = given.strip().encode("latin-1"), -1
        for name, token in self.by_token:
            if hmac.compare_digest(mine, token):
                best = max(best, LEVELS.index(name))
        if kind.lower() != "bearer" or best < 0:
            ask = {"www-authenticate": 'Bearer realm="onlineboost"'}
            raise ServeError(401, "a token is needed", "send it as: Authorization: Bearer TOKEN", ask)
        if best < LEVELS.index(level):
            raise ServeError(403, f"this token has level {LEVELS[best]}, but {level} is required", "use another token")


def check_origin(request: Request, hosts: set[str] | None) -> None:
    """Raise an error for browser requests from pages of another site."""
    host = request.header("host")
    if hosts is not None and _name(host) not in hosts:
        text = f"the host {host[:100]!r} is not allowed"
        raise ServeError(403, text, "use 127.0.0.1, or start the service with --allow-host NAME")
    origin = request.header("origin")
    if origin and urlsplit(origin).netloc != host:
        text = f"requests from pages of {origin[:100]!r} are not allowed"
        raise ServeError(403, text, "use the page of this service")


def _name(host: str) -> str:
    return (host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host).lower()
