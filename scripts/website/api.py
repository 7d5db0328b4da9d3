"""Reference pages of every public name, from its docstring: a page for each module, and one for each model."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from website.docstrings import markdown, summary

ROOT = Path(__file__).parents[2]
WIDTH = 84  # of signatures
PACKAGE, ERRORS = "onlineboost", "onlineboost.errors"
_CODE = re.compile(r"^```.*?^```|(?<!`)(``?)(\w+)(?:\(\))?\1(?!`)", re.S | re.M)


def public_modules() -> list[str]:
    """The modules that docs/versions.md calls public, and the error classes."""
    page = (ROOT / "docs/versions.md").read_text()
    found = re.search(r"^\*\*Public\*\*.*?\n\n", page, re.S | re.M)
    if not found:
        raise ValueError("docs/versions.md has no paragraph **Public**")
    return list(dict.fromkeys([*re.findall(rf"`({PACKAGE}[.\w]*)`", found[0]), ERRORS]))


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module: ``__all__``, or what it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    return sorted(name for name, value in own.items() if not name.startswith("_") and inspect.getdoc(value))


def is_model(thing: Any) -> bool:
    return inspect.isclass(thing) and hasattr(thing, "fit") and hasattr(thing, "predict")


class Reference:
    """All public names, and where each is described: once, although several modules may export it."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.names: dict[str, list[str]] = {}
        for name in public_modules():
            self._add(importlib.import_module(name))

    def _add(self, module: ModuleType) -> None:
        """A module, and the modules among its names."""
        if module.__name__ in self.modules:
            return
        self.modules[module.__name__] = module
        self.names[module.__name__] = names_of(module)
        for name in self.names[module.__name__]:
            if inspect.ismodule(getattr(module, name)):
                self._add(getattr(module, name))

    @cached_property
    def homes(self) -> dict[int, tuple[str, str]]:
        """The module and the name under which an object is described, by its ``id``."""
        found: dict[int, tuple[str, str]] = {}
        for module, name, thing in self.exports():
            known = found.get(id(thing))
            if known is None or (module == ERRORS and known[0] != ERRORS):
                found[id(thing)] = module, name
        return found

    def exports(self) -> Iterator[tuple[str, str, Any]]:
        for module, names in self.names.items():
            for name in names:
                thing = getattr(self.modules[module], name)
                if not inspect.ismodule(thing):
                    yield module, name, thing

    @cached_property
    def links(self) -> dict[str, str]:
        """The address of the description, by name and by name with module."""
        found = {f"{module}": f"{page_of(module)}" for module in self.modules}
        for module, name, thing in self.exports():
            home, own = self.homes[id(thing)]
            found[f"{module}.{name}"] = f"{page_of(home, own, thing)}#{home}.{own}"
            found.setdefault(name, found[f"{module}.{name}"])
        return found

    def linked(self, page: str, up: str = "") -> str:
        """The page with links at public names in backticks, the first of each in a section."""
        done: set[str] = set()

        def link(found: re.Match[str]) -> str:
            name = found[2]
            before = page[page.rfind("\n", 0, found.start()) + 1 : found.start()]
            if "\n#" in page[link.at : found.start()]:  # type: ignore[attr-defined]
                done.clear()
            link.at = found.start()  # type: ignore[attr-defined]
            within = before.startswith("#") or before.rfind("[") > before.rfind("]")
            if not name or name not in self.links or name in done or within or name[0].islower():
                return found[0]
            done.add(name)
            return f"[{found[0]}]({up}{self.links[name]})"

        link.at = 0  # type: ignore[attr-defined]
        return _CODE.sub(link, page)

    def pages(self) -> dict[str, str]:
        """The Markdown of each page, by path."""
        made = {"reference/index.md": self.overview()}
        for module in self.modules:
            made[page_of(module)] = self.module_page(module)
        for module, name, thing in self.exports():
            if is_model(thing) and self.homes[id(thing)] == (module, name):
                made[page_of(module, name, thing)] = self.entry(module, name, thing, 1)
        return {path: self.linked(page, "../").replace("](../reference/", "](") for path, page in made.items()}

    def overview(self) -> str:
        rows = [f"| [`{name}`](../{page_of(name)}) | {summary(module)} |" for name, module in self.modules.items()]
        return "\n".join(
            ["# API", "", "Every public name, by module.", "", "| module | content |", "| --- | --- |", *rows, ""]
        )

    def module_page(self, module: str) -> str:
        parts = [f"# {module} {{ #{module} }}", markdown(self.modules[module])]
        rows, entries = [], []
        for name in self.names[module]:
            thing = getattr(self.modules[module], name)
            if inspect.ismodule(thing):
                rows.append(f"| [`{name}`](../{page_of(thing.__name__)}) | {summary(thing)} |")
                continue
            rows.append(f"| [`{name}`](../{self.links[f'{module}.{name}']}) | {_short(thing)} |")
            if not is_model(thing) and self.homes[id(thing)] == (module, name):
                entries.append(self.entry(module, name, thing, 2))
        return "\n\n".join([*parts, "\n".join(["| name | content |", "| --- | --- |", *rows]), *entries]) + "\n"

    def entry(self, module: str, name: str, thing: Any, level: int) -> str:
        """The description of one public name."""
        head = f"{'#' * level} {name} {{ #{module}.{name} }}"
        if not callable(thing):
            return f"{head}\n\n{_value(thing)}"
        made = [head, _signature(name, thing, f"from {module} import {name}\n\n" if level == 1 else "")]
        made.append(markdown(thing, _defaults(thing)))
        if inspect.isclass(thing) and (bases := self.bases(thing)):
            made.append(f"**Base**: {', '.join(bases)}.")
        if inspect.isclass(thing):
            made.append(self.members(f"{module}.{name}", thing, level + 1))
        return "\n\n".join(part for part in made if part) + "\n"

    def bases(self, kind: type) -> list[str]:
        found = [base for base in kind.__mro__[1:] if id(base) in self.homes][:1]
        return [f"`{base.__name__}`" for base in found or (kind.__bases__ if issubclass(kind, BaseException) else ())]

    def members(self, path: str, kind: type, level: int) -> str:
        """The methods and properties of a class, and links to inherited ones."""
        own, inherited, hooks, authors = [], {}, [], hooks_of(kind)
        for name, member, place in _members(kind):
            home = next(base for base in reversed(kind.__mro__) if id(base) in self.homes and hasattr(base, name))
            if home is not kind and _same(vars(place)[name], home, name):
                link = self.links[".".join(self.homes[id(home)])]
                inherited.setdefault(home, []).append(f"[`{name}`](../{link}.{name})")
                continue
            depth = level + 1 if name in authors else level
            head = f"{'#' * depth} {name} {{ #{path}.{name} }}"
            signature = "" if isinstance(member, property) else _signature(name, member, bound=True)
            text = markdown(member, {} if isinstance(member, property) else _defaults(member))
            described = hooks if name in authors else own
            described.append("\n\n".join(part for part in (head, signature, text) if part))
        if hooks:
            own += [f"{'#' * level} Hooks for authors {{ #{path}-hooks }}", *hooks]
        for home, links in inherited.items():
            own.append(f"**Inherited from `{home.__name__}`**: {', '.join(links)}.")
        return "\n\n".join(own)


def page_of(module: str, name: str = "", thing: Any = None) -> str:
    return f"reference/{name}.md" if thing is not None and is_model(thing) else f"reference/{module}.md"


def hooks_of(kind: type) -> frozenset[str]:
    """The names that are for authors of subclasses."""
    found: frozenset[str] = kind._author_hooks() if is_model(kind) else frozenset()  # type: ignore[attr-defined]
    return found


def _members(kind: type) -> Iterator[tuple[str, Any, type]]:
    """Public methods and properties with a docstring: name, object, the class that defines it.

    The hooks of authors are described where they are to be overridden: in abstract classes.
    """
    hidden = frozenset() if inspect.isabstract(kind) else hooks_of(kind)
    for name in sorted({*dir(kind)} - hidden):
        place = next((base for base in kind.__mro__ if name in vars(base)), object)
        member = inspect.getattr_static(kind, name)
        member = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        known = inspect.isfunction(member) or isinstance(member, property)
        ours = place.__module__.startswith(PACKAGE)
        if not name.startswith("_") and known and ours and inspect.getdoc(member):
            yield name, member, place


def _same(member: object, home: type, name: str) -> bool:
    """Whether a class only inherits what its public base has."""
    return inspect.getattr_static(home, name) is member


def _short(thing: Any) -> str:
    return summary(thing) if callable(thing) else _value(thing)


def _value(thing: Any) -> str:
    """A constant or a registry."""
    kind = f"`{type(thing).__name__}`"
    try:
        names = [item if isinstance(item, str) else item.name for item in thing]
    except (TypeError, AttributeError):
        return f"{kind}: `{thing!r}`"
    return f"{kind}: {', '.join(f'`{name}`' for name in names)}"


def _defaults(thing: Any) -> dict[str, Any]:
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}
    return {name: one.default for name, one in parameters.items() if one.default is not one.empty}


def _signature(name: str, thing: Any, before: str = "", bound: bool = False) -> str:
    """The call, with the defaults of its parameters."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    call = name + str(inspect.Signature([one.replace(annotation=one.empty) for one in parameters]))
    text = textwrap.fill(call, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return f"```python\n{before}{text}\n```"
