"""Compile what ``onlineboost warm`` compiles into the package, for the levels of processors that this machine has.

``make wheel`` runs this with every Python it can find. The code goes to src/onlineboost/compiled/ahead, which is part
of the wheel and of nothing else.

    python scripts/compile_ahead.py
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import llvmlite.binding as llvm

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

from onlineboost.compiled import turns  # noqa: E402
from onlineboost.compiled.cache import LEVELS, SHIPPED, folder_name  # noqa: E402


def levels() -> list[str]:
    """Best first. Processors that are not x86-64 have one level, that of all of them."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ["generic"]
    features = llvm.get_host_cpu_features()
    return [level for level, needed in LEVELS.items() if all(features.get(name) for name in needed)]


def main() -> None:
    target = SHIPPED / folder_name()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for level in levels():
        print(f"Python {platform.python_version()}, {level}: compiling", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            own = {"NUMBA_CACHE_DIR": folder, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
            own |= {"PYTHONPATH": str(ROOT / "src"), "NUMBA_DISABLE_INTEL_SVML": "1"}
            subprocess.run([sys.executable, "-m", "onlineboost", "warm"], env=os.environ | own, check=True)
            shutil.copytree(Path(folder) / folder_name(), target, ignore=lambda *_: [turns.FILE], dirs_exist_ok=True)
    (target / "levels").write_text("\n".join([llvm.get_process_triple(), *levels()]))
    size = sum(file.stat().st_size for file in target.iterdir())
    print(f"{len(list(target.iterdir()))} files, {size / 1e6:.1f} MB: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
