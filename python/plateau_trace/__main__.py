"""`python -m plateau_trace`: the command `plateau` of the tree that was installed with this package."""
import os
import sys

from plateau_trace.installation import find_plateau


def main():
    program = find_plateau()
    if program is None:
        sys.exit("plateau_trace: the command `plateau` is neither part of this package nor in PATH; "
                 "install a wheel of plateau-trace, or set PLATEAU_BIN")
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
