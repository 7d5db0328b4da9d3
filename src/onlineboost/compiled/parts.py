"""Functions that only compiled code calls stay intermediate code, for their callers to take in.

Numba optimizes every function and makes machine code of it, and does both again for all callers, in which the function
is inlined or linked once more. Here only functions that Python calls become machine code, with all their parts in one
step: a third less work for the compiler, and the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import AnnotateTypes

_ENVIRONMENT = "_ZN08NumbaEnv"  # names of the variables that hold a function's constants for Python


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """Intermediate code of a function, neither optimized nor made machine code of; without that of its own parts."""

    @property
    def codegen(self) -> Any:
        return self  # for ``set_env`` below

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing yet: ``_Whole`` sets the environments of its parts."""

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def finalize(self) -> None:
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:  # several wholes may have it
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout  # noqa: SLF001  as in the method replaced

    def _get_module_for_linking(self) -> Any:
        """With the code of its parts, for libraries of Numba's own."""
        module = self._final_module.clone()
        _link(module, _parts(self, {}))
        return module


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """Machine code of a function and all its parts."""

    def finalize(self) -> None:
        """Take in each part once, wherever it is called."""
        parts = _parts(self, {})
        self._linking_libraries.clear()
        if hasattr(self, "_reload_init"):  # from Numba 0.63 on
            self._reload_init.update(*(part._reload_init for part in parts))  # noqa: SLF001  as in the method extended
        _link(self._final_module, parts)
        super().finalize()

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)


def _parts(library: Any, found: dict[Any, None]) -> dict[Any, None]:
    """The libraries that a library calls, and those that its parts call."""
    for part in library._linking_libraries:  # noqa: SLF001
        if part not in found:
            found[part] = None
            if isinstance(part, _Part):
                _parts(part, found)
    return found


def _link(module: Any, parts: Iterable[Any]) -> None:
    for part in parts:
        own = part._final_module if isinstance(part, _Part) else part._get_module_for_linking()  # noqa: SLF001
        module.link_in(own, preserve=True)


@register_pass(mutates_CFG=False, analysis_only=True)
class _ChooseLibrary(AnalysisPass):  # type: ignore[misc]
    _name = "onlineboost_choose_library"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        kind = _Part if state.flags.no_cpython_wrapper else _Whole
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, with these two kinds of libraries."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_ChooseLibrary, AnnotateTypes)
        passes.finalize()
        return [passes]
