"""Plateau in a notebook: a kernel that records, and %plateau, which shows the card or the page in a cell.

    python -m plateau_trace.notebook install      # the kernel "Python 3 (Plateau)" for this interpreter
    %load_ext plateau_trace.notebook              # in a cell; the kernel of ours has it already
    %plateau                                      # the card of what has run so far
    %plateau page                                 # the page, with its charts

The kernel is IPython's own, started by `plateau run`; its recording is a directory beside the notebook.
"""
import html
import json
import os
import subprocess
import sys
import tempfile

from plateau_trace.installation import find_plateau
from plateau_trace.live import environment_without_recorder

NAME = "plateau"


def kernel_spec(plateau):
    return {"argv": [plateau, "run", "-q", "--no-report", "--", sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}",
                     "--IPKernelApp.exec_lines=import plateau_trace.notebook as _p; _p.load_ipython_extension(get_ipython()); del _p"],
            "display_name": "Python 3 (Plateau)", "language": "python", "metadata": {"debugger": False},
            # The package may be that of an installed tree, which the interpreter does not know.
            "env": {"PYTHONPATH": os.pathsep.join(filter(None, [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.environ.get("PYTHONPATH")]))}}


def install(prefix=None):
    """Installs the kernel for the user, or below `prefix`: where it is then."""
    from jupyter_client.kernelspec import KernelSpecManager

    plateau = find_plateau()
    if plateau is None:
        raise SystemExit("plateau: the program was not found; put it into PATH or name it in PLATEAU_BIN")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.json"), "w") as file:
            json.dump(kernel_spec(plateau), file, indent=1)
        return KernelSpecManager().install_kernel_spec(folder, NAME, user=prefix is None, prefix=prefix)


def _plateau(line):
    from IPython.display import display

    words = line.split()
    recording, plateau = os.environ.get("PLATEAU_OUT"), find_plateau()
    if not recording or plateau is None:
        print("This kernel is not recorded: choose the kernel Python 3 (Plateau), which `python -m plateau_trace.notebook install` adds.")
        return
    if words not in ([], ["card"], ["page"]):
        print("%plateau shows the card, %plateau page the page.")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        done = subprocess.run([plateau, "report", recording] + (["--html", page] if words == ["page"] else []), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment_without_recorder())
        if done.returncode != 0:
            print(done.stderr.decode(errors="replace"))
        elif words == ["page"]:
            with open(page, encoding="utf-8") as file:
                frame = '<iframe sandbox="allow-scripts" style="width:100%%;height:820px;border:0" srcdoc="%s"></iframe>' % html.escape(file.read())
                display({"text/html": frame, "text/plain": "the report page"}, raw=True)
        else:
            card = done.stdout.decode(errors="replace").split("\n\n")[0]
            print(card)


def load_ipython_extension(ipython):
    ipython.register_magic_function(_plateau, "line", "plateau")


if __name__ == "__main__":
    if sys.argv[1:2] != ["install"] or len(sys.argv) > 3:
        sys.exit("usage: python -m plateau_trace.notebook install [PREFIX]")
    print("installed: %s" % install(sys.argv[2] if len(sys.argv) == 3 else None))
