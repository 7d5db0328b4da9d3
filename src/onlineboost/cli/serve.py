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
from onlineboost.cli.terminal import flush, say
from onlineboost.errors import ConflictError, DataError, MissingPackageError, ParameterError

_NEEDED = "msgspec", "uvicorn", "httptools"


def serve(
    models: Annotated[
        list[Path] | None,
        o.argument("Model files; clicks.model is served under the name clicks.", "MODEL..."),
    ] = None,
    dir: Annotated[
        Path | None, o.plain("Folder for models and journal; created if missing.", "--dir", metavar="FOLDER")
    ] = None,
    host: Annotated[
        str, o.plain("Address to listen on; --token-file is required unless it is 127.0.0.1.", metavar="ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[int, o.plain("Port to listen on; 0 picks a free one.", min=0, max=65535)] = 8080,
    token_file: Annotated[
        Path | None,
        o.plain(
            "File of access tokens, one per line after its level: 'read TOKEN', 'learn TOKEN' or 'admin TOKEN'.",
            metavar="FILE",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        o.plain("Accept requests for this host name, such as a proxy sends (repeatable).", metavar="NAME"),
    ] = None,
    follow: Annotated[
        str | None,
        o.plain("Replicate the service at this address: copy what it learns, and only predict.", metavar="URL"),
    ] = None,
    follow_token_file: Annotated[
        Path | None, o.plain("File with the admin token of the service to follow.", metavar="FILE")
    ] = None,
    demo: Annotated[
        bool, o.plain("Run a demonstration: letters to classify, whose labels come up to 10 s late.", "--demo")
    ] = False,
    alert_url: Annotated[
        str | None,
        o.plain("Post alerts to this address: on drift, and by --alert-error and --alert-silence.", metavar="URL"),
    ] = None,
    alert_error: Annotated[
        float | None, o.plain("Alert when the error of the last 1,000 examples is above X.", metavar="X", min=0.0)
    ] = None,
    alert_silence: Annotated[
        str | None, o.plain("Alert when no example was learned for this time, such as 15m.", metavar="TIME")
    ] = None,
    log_format: Annotated[str, o.plain("Log format; json: one object per line.", metavar="text|json")] = "text",
    wait: Annotated[
        str, o.labels("Time to wait for the label of a prediction, such as 90s, 15m, 12h or 7d.", metavar="TIME")
    ] = "7d",
    missing: Annotated[
        str, o.labels("Label to learn when none came in time, such as 0 or no; drop: learn nothing.", metavar="LABEL")
    ] = "drop",
    retain: Annotated[str, o.data("Time to keep learned examples, and ids that were labeled.", metavar="TIME")] = "1d",
    max_journal_mb: Annotated[
        int, o.data("Maximum size of the journal, in MB; it takes precedence over --retain.", min=1)
    ] = 4096,
    snapshot_every: Annotated[int, o.data("Save a snapshot of changed models every N events.", min=1)] = 100_000,
    snapshot_after: Annotated[
        str, o.data("Save a snapshot of changed models at least this often.", metavar="TIME")
    ] = "5m",
    max_body_mb: Annotated[int, o.resources("Maximum size of a request, in MB.", min=1)] = 64,
    max_rows: Annotated[int, o.resources("Maximum number of examples per request.", min=1)] = 100_000,
    max_features: Annotated[int, o.resources("Maximum number of features per example.", min=1)] = 10_000,
    max_name_length: Annotated[
        int, o.resources("Maximum length of a feature name, id or label, in characters.", min=1)
    ] = 1024,
    max_models: Annotated[int, o.resources("Maximum number of models in the service.", min=1)] = 32,
    max_checkpoints: Annotated[int, o.resources("Maximum number of checkpoints per model.", min=1)] = 16,
    max_model_mb: Annotated[int, o.resources("Maximum size of an uploaded model file, in MB.", min=1)] = 1024,
    max_queue: Annotated[
        int, o.resources("Maximum number of requests in the write queue; further ones get status 429.", min=1)
    ] = 10_000,
) -> None:
    """Serve models over HTTP: predict, learn, and handle delayed labels.

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
    from onlineboost.serve.files import Files
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
            app = App(service, tokens, hosts, alerts)
            files = Files(app, models or [] if service.leading else [])
            with contextlib.ExitStack() as ends:
                server.run(app, host, port, lambda address: files.load(lambda: _started(address, folder, demo, ends)))
            files.finish()
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
