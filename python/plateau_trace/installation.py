"""Where the command `plateau` is."""
import os
import shutil


def find_plateau():
    """The launcher, or None: PLATEAU_BIN, the tree of a wheel, the tree this package was installed with, PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    of_wheel = os.path.join(here, "tree", "bin", "plateau")
    # PREFIX/lib/plateau/python/plateau_trace; by name, because the build folder links to the sources.
    of_prefix = os.path.normpath(os.path.join(here, "..", "..", "..", "..", "bin", "plateau"))
    for path in (os.environ.get("PLATEAU_BIN"), of_wheel, of_prefix, _in_path()):
        if path and os.access(path, os.X_OK):
            return os.path.realpath(path)
    return None


def _in_path():
    """`plateau` in PATH, but not the command of this very package, which would ask us again."""
    found = shutil.which("plateau")
    if found is None:
        return None
    with open(found, "rb") as file:
        is_our_script = file.read(2) == b"#!" and b"plateau_trace" in file.read(4096)
    return None if is_our_script else found
