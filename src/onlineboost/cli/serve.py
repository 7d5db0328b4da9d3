"""``onlineboost serve``: models behind HTTP, which predict and learn."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from onlineboost.cli import options as o
from onlineboost.cli.terminal import announce, flush, say
from onlineboost.errors import ConflictError, DataError, MissingPackageError, ParameterError

_NEEDED = "msgspec", "uvicorn", "httptools"


def serve(
    models: Annotated[
        list[Path] | None,
        o.argument("Model files, each served under its name without the ending.", "MODEL..."),
    ] = None,
    dir: Annotated[
        Path | None, o.plain("Folder of models and journal; made if there is none.", "--dir", metavar="FOLDER")
    ] = None,
    host: Annotated[
        str, o.plain("Address to listen at; any but 127.0.0.1 needs --token-file.", metavar="ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[int, o.plain("Port; 0: any free one.", min=0, max=65535)] = 8080,
    token_file: Annotated[
        Path | None,
        o.plain("Tokens, in lines such as 'learn TOKEN'; levels: read, learn, admin.", metavar="FILE"),
    ] = None,
    allow_host: Annotated[
        list[str] | None, o.plain("Name of this host in requests, as behind a proxy (repeatable).", metavar="NAME")
    ] = None,
    follow: Annotated[
        str | None, o.plain("Address of a leader, whose journal is read; this service only predicts.", metavar="URL")
    ] = None,
    follow_token_file: Annotated[
        Path | None, o.plain("File with the admin token of the leader.", metavar="FILE")
    ] = None,
    demo: Annotated[bool, o.plain("Stream of letters with late labels into this service.", "--demo")] = False,
    alert_url: Annotated[
        str | None, o.plain("Address to which alerts of drift, error and silence are posted.", metavar="URL")
    ] = None,
    alert_error: Annotated[
        float | None, o.plain("Error of the last 1,000 examples above which there is an alert.", min=0.0)
    ] = None,
    alert_silence: Annotated[
        str | None, o.plain("Time without a learned example after which there is an alert.", metavar="TIME")
    ] = None,
    log_format: Annotated[str, o.plain("Form of the log: text, or json (a line each).", metavar="FORM")] = "text",
    wait: Annotated[str, o.labels("Time that a ticket waits for its label: 90s, 15m, 12h, 7d.", metavar="TIME")] = "7d",
    missing: Annotated[
        str, o.labels("Label of expired tickets, as JSON, such as 0 or '\"no\"'; drop: none.", metavar="LABEL")
    ] = "drop",
    retain: Annotated[str, o.data("Time for which learned examples and answered ids are kept.", metavar="TIME")] = "1d",
    max_journal_mb: Annotated[int, o.data("Maximum size of the journal; it shortens --retain.", min=1)] = 4096,
    snapshot_every: Annotated[int, o.data("Number of events between snapshots.", min=1)] = 100_000,
    snapshot_after: Annotated[str, o.data("Time after which a changed model is in a snapshot.", metavar="TIME")] = "5m",
    max_body_mb: Annotated[int, o.resources("Maximum megabytes of a request.", min=1)] = 64,
    max_rows: Annotated[int, o.resources("Maximum number of examples in a request.", min=1)] = 100_000,
    max_features: Annotated[int, o.resources("Maximum number of features in an example.", min=1)] = 10_000,
    max_name_length: Annotated[int, o.resources("Maximum characters of a feature's name or an id.", min=1)] = 1024,
    max_models: Annotated[int, o.resources("Maximum number of models.", min=1)] = 32,
    max_checkpoints: Annotated[int, o.resources("Maximum number of checkpoints of a model.", min=1)] = 16,
    max_model_mb: Annotated[int, o.resources("Maximum megabytes of an uploaded model file.", min=1)] = 1024,
    max_queue: Annotated[
        int, o.resources("Maximum number of requests that wait to be written; more get 429.", min=1)
    ] = 10_000,
) -> None:
    """Serve models over HTTP: they predict, learn, and wait for labels that come later.

    Examples:

      onlineboost serve --demo

      onlineboost serve --dir state

      onlineboost serve clicks.model --dir state --port 8080 --wait 12h --missing 0

      onlineboost serve --dir copy --port 8081 --follow http://127.0.0.1:8080
    """
    for package in _NEEDED:
        if importlib.util.find_spec(package) is None:
            raise MissingPackageError("onlineboost serve", package, "'onlineboost[serve]'")
    if dir is None and not demo:
        raise ParameterError("--dir", None, "a folder for models and journal, such as --dir state")
    if demo and (token_file is not None or follow is not None):
        raise ConflictError("--demo is a service of its own: leave out --token-file and --follow.")
    from onlineboost.serve import logs, server
    from onlineboost.serve.alerts import Alerts, Rules, Webhook
    from onlineboost.serve.app import App
    from onlineboost.serve.errors import ServeError, StateError
    from onlineboost.serve.limits import Limits, Settings, seconds
    from onlineboost.serve.service import Service
    from onlineboost.serve.tokens import LOOPBACK, Tokens

    if host not in LOOPBACK and token_file is None:
        raise ConflictError(f"--host {host} lets other machines in: give --token-file too, or leave out --host.")
    tokens = Tokens.of_file(token_file) if token_file is not None else None
    settings = Settings(
        wait=seconds("--wait", wait),
        missing=_missing(missing),
        retain=seconds("--retain", retain),
        journal_mb=max_journal_mb,
        snapshot_every=snapshot_every,
        snapshot_after=seconds("--snapshot-after", snapshot_after),
    )
    limits = Limits(
        max_body_mb, max_rows, max_features, max_name_length, max_models, max_checkpoints, max_queue, max_model_mb
    )
    hosts = {*LOOPBACK, *(name.lower() for name in allow_host or ())} if tokens is None else None
    warnings.simplefilter("ignore")  # each text would be remembered, in a process that runs for months
    if log_format not in logs.FORMATS:
        raise ParameterError("--log-format", log_format, " or ".join(logs.FORMATS))
    if alert_url is not None and not alert_url.startswith(("http://", "https://")):
        raise ParameterError("--alert-url", alert_url, "an address such as https://HOST/PATH")
    silence = seconds("--alert-silence", alert_silence) if alert_silence is not None else None
    hook = Webhook(alert_url) if alert_url is not None else None
    if hook is not None:
        hook.start()
    alerts = Alerts(Rules(alert_error, silence), hook)
    logs.begin(log_format)
    try:
        token = follow_token_file.read_text().strip() if follow_token_file is not None else None
        with _folder(dir) as folder, Service(folder, settings, limits, follow, token) as service:
            for path in models or ():
                if service.leading and not service.add_file(path.stem, path):
                    announce(f"model {path.stem}: goes on from {folder}, not from {path}; PUT replaces it")
            app = App(service, tokens, hosts, alerts)
            with contextlib.ExitStack() as ends:
                server.run(app, host, port, lambda address: _started(address, folder, demo, ends))
    except StateError as problem:
        raise DataError(str(problem)) from None
    except ServeError as problem:
        raise DataError(f"{problem.message}: {problem.next}") from None


@contextlib.contextmanager
def _folder(dir: Path | None) -> Iterator[Path]:
    """The folder of the state; that of a demonstration is gone afterwards."""
    if dir is not None:
        yield dir
        return
    with tempfile.TemporaryDirectory(prefix="onlineboost-") as folder:
        yield Path(folder)


def _started(address: str, folder: Path, demo: bool, ends: contextlib.ExitStack) -> None:
    say(f"serving {folder}: {address}")
    if demo:
        from onlineboost.serve.demo import Demo

        say("pictures of letters, A-M against N-Z; labels come within 10 s; the question changes every 20,000.")
        say(f"Open {address}/ in a browser; Ctrl-C ends it.")
        stream = Demo(address)
        stream.start()
        ends.callback(stream.stop)
    flush()


def _missing(text: str) -> tuple[object] | None:
    """The label of --missing; None for drop."""
    if text == "drop":
        return None
    try:
        label = json.loads(text)
    except ValueError:
        label = text
    if not isinstance(label, str | int | float):
        raise ParameterError("--missing", text, "drop, or a label: a number, a word, true or false")
    return (label,)
