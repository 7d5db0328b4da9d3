"""``onlineboost datasets``: the paper's data sets, their paths and download."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onlineboost.cli import options as o
from onlineboost.cli.terminal import announce, print_json, say, say_facts
from onlineboost.errors import ConflictError

if TYPE_CHECKING:
    from onlineboost.datasets import Dataset

COLUMNS = ("VW alone", "Online BBM", "AdaBoost.OL", "AdaBoost.OL.S", "OSBoost.OCP", "OSBoost")


def datasets(
    name: Annotated[str | None, o.argument("Data set. (default: all)", "NAME")] = None,
    data: Annotated[Path | None, o.plain("Folder to look in, and to download to.", metavar="FOLDER")] = None,
    download: Annotated[bool, o.plain("Download the data set from its public source.", "--download")] = False,
    json_output: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show the paper's data sets, their paths and the paper's errors.

    A set is the file NAME.libsvm.gz in --data, in the folder named by ONLINEBOOST_DATA, or in the user's cache.

    Examples:

      onlineboost datasets

      onlineboost datasets covtype

      onlineboost datasets --download covtype
    """
    from onlineboost.datasets import SETS, get
    from onlineboost.datasets import download as fetch

    if download:
        if name is None:
            raise ConflictError("--download needs the NAME of a set: onlineboost datasets --download covtype")
        path = fetch(name, data, quiet=quiet or json_output)
        print_json({"name": name, "path": str(path)}) if json_output else say(path)
    elif name is not None:
        facts = describe(get(name), data)
        print_json(facts) if json_output else _print(facts)
    else:
        every = [describe(dataset, data) for dataset in SETS.values()]
        print_json({"sets": every}) if json_output else _print_all(every)


def describe(dataset: Dataset, data: Path | None) -> dict[str, Any]:
    """The description of a set, for JSON."""
    from onlineboost.datasets.places import locate

    facts = {**dataset._asdict(), "extra": dataset.extra, "here": place(dataset, data)}
    path = locate(dataset, data)
    facts["path"] = str(path) if path is not None else None
    facts["file"] = {**dataset.file._asdict(), "columns": dataset.file.width} if dataset.file else None
    facts["source"] = [remote._asdict() for remote in dataset.source.files] if dataset.source else None
    if dataset.paper is not None:
        facts["paper"] = {**dataset.paper._asdict(), "errors": dataset.paper.errors._asdict()}
    return facts


def place(dataset: Dataset, data: Path | None) -> str:
    """Place of the set on disk, or a way to get it, in a few words."""
    from onlineboost.datasets.places import cache, locate

    path = locate(dataset, data)
    if path is not None:
        return "in the cache" if path.parent == cache() else str(path.parent)
    if dataset.source is not None:
        return "can be downloaded" if dataset.source.files else "bundled"
    return "manual download" if dataset.file is not None else "not available"


def _print_all(every: list[dict[str, Any]]) -> None:
    say(f"{'set':<13} {'examples':>9} {'features':>8} {'positive':>8}  {'+1 means':<25} location")
    for facts in every:
        size = facts["file"] or facts["paper"]
        positive = f"{_share(facts):.1%}" if facts["file"] else "?"
        numbers = f"{size['examples']:>9,} {size['features']:>8,} {positive:>8}"
        say(f"{facts['name']:<13} {numbers}  {facts['positive']:<25} {facts['here']}")
    missing = [facts["name"] for facts in every if not facts["file"]]
    extra = [facts["name"] for facts in every if facts["extra"]]
    announce("")
    announce(f"not available: {', '.join(missing)} (sizes as in the paper)")
    announce(f"not in the paper: {', '.join(extra)}")
    announce("details of a set: onlineboost datasets NAME")


def _share(facts: dict[str, Any]) -> float:
    return float(facts["file"]["positives"] / facts["file"]["examples"])


def _print(facts: dict[str, Any]) -> None:
    file, paper = facts["file"], facts["paper"]
    lines = [("set", f"{facts['name']} ({'not in the paper' if facts['extra'] else 'in the paper'})")]
    lines.append(("location", facts["path"] or facts["here"]))
    if facts["obstacle"]:
        lines.append(("reason", facts["obstacle"]))
    lines += [("+1 means", facts["positive"]), ("binary task", facts["binary"])]
    if file:
        lines.append(("examples", f"{file['examples']:,} ({_share(facts):.1%} positive)"))
        lines.append(("features", f"{file['features']:,} ({file['per_example']:.2f} non-zero per example)"))
        lines += [("made from", facts["origin"]), ("SHA-256 of the text", file["text"])]
    lines += [("web page", facts["page"]), ("license", facts["license"])]
    lines += [("download", remote["url"]) for remote in facts["source"] or ()]
    say_facts((name, value) for name, value in lines if value)
    if paper:
        sizes = f"{paper['examples']:,} examples, {paper['features']:,} features ({paper['per_example']} per example)"
        say()
        say(f"in the paper: {sizes}; errors on its 20 % test split:")
        for column, error in zip(COLUMNS, paper["errors"].values(), strict=True):
            say(f"{column:>20} {error:.4f}")
