"""The build backend: scikit-build-core's, whose source distributions take the library's sources along.

Wheels are built from the repository around this folder; a source distribution has no such surroundings, so it gets what
the build needs of them in `library`.
"""

import pathlib
import shutil
import subprocess

from scikit_build_core import build as _plain
from scikit_build_core.build import (  # noqa: F401
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

_HERE = pathlib.Path(__file__).resolve().parent
_NEEDED = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src", "python/CMakeLists.txt", "python/src", "python/sinew")


def _copy_library(source: pathlib.Path, target: pathlib.Path) -> None:
    for name in _NEEDED:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source / name, target / name)
    page = source / "view/page"
    if shutil.which("node") and (page / "node_modules").exists():  # so that users need no Node
        subprocess.run(["node", page / "build.mjs", target / "src/view/page_template.cpp"], check=True)


def build_sdist(sdist_directory, config_settings=None):
    library = _HERE / "library"
    if not (_HERE.parent / "include/sinew").exists():  # already inside a source distribution
        return _plain.build_sdist(sdist_directory, config_settings)
    shutil.rmtree(library, ignore_errors=True)
    try:
        _copy_library(_HERE.parent, library)
        return _plain.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(library, ignore_errors=True)
