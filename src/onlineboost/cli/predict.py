"""``onlineboost predict``: predictions for files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from onlineboost.cli import options as o
from onlineboost.cli.answers import Columns, Extras, answers, columns_of, names_of, open_output, with_gaps
from onlineboost.cli.columns import check_features, features_of
from onlineboost.cli.notes import load
from onlineboost.cli.terminal import Interrupted, Progress, announce, say_skipped
from onlineboost.cli.thresholds import CostOption, ThresholdOption, cutoff_of, rule_of
from onlineboost.cli.warm import compile_first
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.errors import ConflictError
from onlineboost.model import OnlineModel
from onlineboost.readers import open_stream
from onlineboost.readers.files import expand
from onlineboost.scale import cluster, find_ray, in_order
from onlineboost.storage.atomic import check_target

EngineName = StrEnum("EngineName", {"RAY": "ray"})


def predict(
    model: o.Model,
    files: o.Files,
    output: Annotated[
        str,
        o.output("Output file (.csv, .jsonl or .parquet), or - for standard output.", "--output", "-o", metavar="FILE"),
    ] = "-",
    label: o.Label = None,
    columns: o.Columns = o.OtherColumns.STRICT,
    on_error: Annotated[
        o.OnError,
        o.data(
            "Unreadable rows: stop with an error (raise), or leave their prediction empty (skip).", metavar="raise|skip"
        ),
    ] = o.OnError.RAISE,
    threshold: ThresholdOption = None,
    cost: CostOption = None,
    engine: Annotated[
        EngineName | None,
        o.resources("Predict in parallel on a Ray cluster. (default: in this process)", metavar="ray"),
    ] = None,
    address: o.Address = None,
    jobs: o.Jobs = None,
    explain: Annotated[
        int, o.output("Add a column 'because' with the N strongest features of each prediction.", min=0)
    ] = 0,
    keep: Annotated[
        list[str] | None, o.output("Copy these input columns to the output, comma-separated.", metavar="COLUMNS")
    ] = None,
    row_numbers: Annotated[bool, o.output("Add a column 'row' with row numbers.", "--row-numbers")] = False,
    probabilities: Annotated[
        bool, o.output("Add a column probability.LABEL for each label.", "--probabilities")
    ] = False,
    escape_formulas: Annotated[
        bool,
        o.output(
            "Put an apostrophe before labels that a spreadsheet would run as formulas (CSV only).",
            "--escape-formulas",
        ),
    ] = False,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Predict label, score and probability of each example.

    Labels in the files are ignored.

    Examples:

      onlineboost predict clicks.model today.parquet -o answers.csv

      onlineboost predict clicks.model today.csv --keep user --explain 3 -o out.csv

      tail -f clicks.jsonl | onlineboost predict clicks.model - -f jsonl

      onlineboost predict clicks.model 'day-*.csv.gz' --engine ray -o out.parquet
    """
    if output != "-":
        check_target("--output", output, [*files, str(model)])
    if escape_formulas and (json_output or Path(output).suffix.lower() in (".jsonl", ".parquet")):
        raise ConflictError("--escape-formulas is for CSV only: leave it out for other formats.")
    for flag, value in {"--address": address, "--jobs": jobs}.items():
        if engine is None and value is not None:
            raise ConflictError(f"{flag} has no effect without --engine ray.")
    if engine is not None:
        find_ray("--engine ray")
    if cost is not None and threshold != "cost":
        raise ConflictError("--cost needs --threshold cost: without it, costs have no effect on predictions.")
    rule = rule_of(threshold, cost)
    kept = [name for names in keep or [] for name in names.split(",")]
    if engine is not None and (kept or row_numbers):
        raise ConflictError(
            f"{'--keep' if kept else '--row-numbers'} cannot be combined with --engine ray: leave out one."
        )
    if on_error is o.OnError.SKIP and (kept or engine is not None):
        raise ConflictError(
            f"{'--keep' if kept else '--engine ray'} cannot be combined with --on-error skip: leave out one."
        )
    loaded = load(model)
    cutoff = cutoff_of(model, loaded, rule)
    if probabilities and isinstance(loaded.fitted.target, Numbers):
        raise ConflictError("--probabilities is for classification; regression has the bounds low and high.")
    options = o.stream_options(given, on_error) | {"label": label, "columns": columns.value, "keep": kept, "live": True}
    extras = Extras(probabilities, explain, cutoff)
    names = names_of(loaded.model, extras)
    beside = Beside(kept, row_numbers, names)
    expand(files)
    compile_first([loaded.model], quiet)
    examples = 0
    try:
        with (
            open_stream(files, like=loaded.model, labels="ignored", **options) as stream,
            open_output(output, [*beside.names, *names], json_output, escape_formulas) as target,
            Progress("predicting", stream.size, quiet or output == "-") as progress,
            ExitStack() as opened,
        ):
            pages = _checked(loaded.model, stream, live=stream.size is None)
            found: Iterator[tuple[int, Any]]
            if engine is None:
                found = (
                    (page.n_rows, target.form(beside(page) | _answers(loaded.model, page, extras))) for page in pages
                )
            else:
                work = partial(answers, loaded.model, target.form, extras)
                found = in_order(opened.enter_context(cluster(jobs, address)), work, pages, jobs)
            for rows, part in found:
                target.write(part)
                examples += rows
                progress.update(stream, rows)
    except KeyboardInterrupt:
        raise Interrupted from None
    say_skipped(stream)
    if stream.skipped and not quiet:
        announce(f"onlineboost: empty predictions: {stream.skipped:,} (unreadable records)")
    if output != "-" and not quiet:
        announce(f"{examples:,} predictions: {output}")


class Beside:
    """Columns before the answers: the number of the row, and cells of the input."""

    def __init__(self, kept: list[str], row_numbers: bool, answers: list[str]) -> None:
        self.rows, self.row_numbers = 0, row_numbers
        taken = {*answers, *(("row",) if row_numbers else ())}
        self.kept = {name: f"input.{name}" if name in taken else name for name in kept}
        self.names = [*(("row",) if row_numbers else ()), *self.kept.values()]

    def __call__(self, page: Page) -> dict[str, list[Any]]:
        n = page.n_rows + len(page.gaps)
        numbers = {"row": [*range(self.rows + 1, self.rows + n + 1)]} if self.row_numbers else {}
        self.rows += n
        return numbers | {new: (page.kept or {})[name] for name, new in self.kept.items()}


def _answers(model: OnlineModel, page: Page, extras: Extras) -> Columns:
    """The answers for a page, with an empty one for each record that was skipped."""
    found = columns_of(model, page.batch, extras)
    return with_gaps(found, page.gaps) if page.gaps else found


_ENOUGH = 100  # rows of a pipe by which its features are compared with those of the model


def _checked(model: OnlineModel, pages: Iterable[Page], live: bool) -> Iterator[Page]:
    """The pages; the features of the first one, or of the first rows of a pipe, are compared with the model's."""
    met, rows = np.empty(0, np.int32), 0
    for page in pages:
        if rows < _ENOUGH and (live or not rows):
            met, rows = np.union1d(met, features_of(page.batch)), rows + page.n_rows
            if rows >= _ENOUGH or not live:
                check_features(model, met, rows)
        model._fitted.columns.check_fields(page.fields)  # type: ignore[union-attr]
        yield page
    if live and 0 < rows < _ENOUGH:
        check_features(model, met, rows)
