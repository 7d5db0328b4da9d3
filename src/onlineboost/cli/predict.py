"""``onlineboost predict``: predictions for files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onlineboost.cli import options as o
from onlineboost.cli.answers import answers, names_of, open_output
from onlineboost.cli.terminal import Interrupted, tell
from onlineboost.cli.thresholds import CostOption, ThresholdOption, cut_of, rule_of
from onlineboost.cli.train import RUN
from onlineboost.errors import ConflictError
from onlineboost.storage.atomic import check_target

if TYPE_CHECKING:
    from onlineboost.data.page import Page
    from onlineboost.model import OnlineModel


class EngineName(StrEnum):
    RAY = "ray"


def predict(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    files: o.Files,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Output file (.csv, .jsonl or .parquet), or - for standard output.")
    ] = "-",
    label: o.Label = None,
    columns: o.Columns = o.OtherColumns.STRICT,
    threshold: ThresholdOption = None,
    cost: CostOption = None,
    engine: Annotated[
        EngineName | None,
        o.option("--engine", help="Engine: Ray, for parallel scoring. (default: this process)", panel=RUN),
    ] = None,
    address: Annotated[
        str | None, o.option("--address", help="Address of a Ray cluster. (default: one on this machine)", panel=RUN)
    ] = None,
    jobs: Annotated[
        int | None, o.option("--jobs", "-j", help="Number of workers. (default: one per core)", panel=RUN, min=1)
    ] = None,
    escape_formulas: Annotated[
        bool,
        o.option(
            "--escape-formulas",
            help="Apostrophe before labels that a spreadsheet would take for a formula, such as =1+1 (CSV only).",
            panel=o.OUTPUT,
        ),
    ] = False,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
    **given: Any,
) -> None:
    """Predict the label, score and probability of every example. Labels in the files are ignored.

    Examples:

      onlineboost predict clicks.model today.parquet -o answers.csv

      cat today.jsonl | onlineboost predict clicks.model - -f jsonl > answers.csv

      onlineboost predict clicks.model 'day-*.csv.gz' --engine ray -o answers.parquet
    """
    from onlineboost.cli.compiling import compile_first
    from onlineboost.cli.load import load
    from onlineboost.cli.show import Progress
    from onlineboost.readers import open_stream
    from onlineboost.readers.files import expand
    from onlineboost.scale import cluster, find_ray, in_order

    if output != "-":
        check_target("--output", output, [*files, str(model)])
    if escape_formulas and (json_output or Path(output).suffix.lower() in (".jsonl", ".parquet")):
        raise ConflictError("--escape-formulas is for CSV: other formats keep text and formulas apart.")
    for flag, value in {"--address": address, "--jobs": jobs}.items():
        if engine is None and value is not None:
            raise ConflictError(f"{flag} has no effect without --engine ray.")
    if engine is not None:
        find_ray("--engine ray")
    rule = rule_of(threshold, cost)
    loaded = load(model)
    cut = cut_of(model, loaded, rule)
    options = o.stream_options(given) | {"label": label, "columns": columns.value}
    expand(files)
    compile_first([loaded.model], quiet)
    examples = 0
    try:
        with (
            open_stream(files, like=loaded.model, labels="ignored", **options) as stream,
            open_output(output, names_of(loaded.model), json_output, escape_formulas) as target,
            Progress("predicting", stream.size, quiet or output == "-") as progress,
            ExitStack() as opened,
        ):
            work = partial(answers, loaded.model, target.form, cut=cut)
            pages = _checked(loaded.model, stream)
            found: Iterator[tuple[int, Any]]
            if engine is None:
                found = ((page.n_rows, work(page.batch)) for page in pages)
            else:
                found = in_order(opened.enter_context(cluster(jobs, address)), work, pages, jobs)
            for rows, part in found:
                target.write(part)
                examples += rows
                progress.update(stream, rows)
    except KeyboardInterrupt:
        raise Interrupted from None
    if output != "-" and not quiet:
        tell(f"{examples:,} predictions: {output}")


def _checked(model: OnlineModel, pages: Iterable[Page]) -> Iterator[Page]:
    """The pages; the features of the first one are compared with those of the model."""
    from onlineboost.cli.load import check_known

    for number, page in enumerate(pages):
        model.fitted.columns.check_fields(page.fields)  # type: ignore[union-attr]
        if number == 0:
            check_known(model, page.batch)
        yield page
