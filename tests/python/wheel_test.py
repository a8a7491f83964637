"""The wheel: what is in it, what auditwheel says of it, and that it works however pip puts it onto a machine.

It is packed from this build by tools/wheel, as a release is packed from the release build. auditwheel comes from the package
registry, once for a build folder; where there is none, that part is left out and says so.
"""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

BUILD, SOURCE = pathlib.Path(os.environ["PLATEAU_BUILD"]).absolute(), pathlib.Path(os.environ["PLATEAU_SOURCE"]).absolute()
PARTS = ["plateau_trace/mark.py", "plateau_trace/fleet/__main__.py", "plateau_trace/fleet/sql/odd_ranks.sql", "plateau_trace/pytest_plugin.py", "plateau_trace/trainer_callback.py", "plateau_trace/tree/bin/plateau",
         "plateau_trace/tree/lib/libplateau.so", "plateau_trace/tree/lib/libplateau_attach.so", "plateau_trace/tree/lib/libplateau_cuda.so",
         "plateau_trace/tree/lib/plateau/python/plateau_site/sitecustomize.py", "plateau_trace/tree/include/plateau/mark.h",
         "plateau_trace/tree/share/doc/plateau/LICENSE", "plateau_trace/tree/share/doc/plateau/licences/README.txt",
         "plateau_trace/tree/share/doc/plateau/licences/libdw-dev.txt", "plateau_trace/tree/share/doc/plateau/licences/uplot.txt",
         "data/share/man/man1/plateau.1", "data/share/bash-completion/completions/plateau", "data/share/zsh/site-functions/_plateau",
         "scripts/plateau"]
TRAIN = """import plateau_trace.mark
kept = []
for step in range(150):
    kept.append(bytearray(70001))  # THE LINE
    plateau_trace.mark.step()
    if step % 50 == 49:
        plateau_trace.mark.epoch()
"""
LEAK_LINE = 4


def environment(**extra):
    without = ("PYTHONPATH", "PLATEAU_BIN", "PLATEAU_BUILD", "LD_PRELOAD")
    return {**{name: value for name, value in os.environ.items() if name not in without}, "PIP_BREAK_SYSTEM_PACKAGES": "1", **extra}


def output(*command, env=None, **options):
    done = subprocess.run([str(word) for word in command], env=env or environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}\n{text}"
    return text


def install(wheel, *how, env=None):
    output(sys.executable, "-m", "pip", *how, "--quiet", "--no-deps", "--no-index", "--no-warn-script-location", wheel, env=env)


def check_content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for part in PARTS:
            assert any(name == part or name.endswith(".data/" + part) for name in names), f"{part} is not in the wheel"
        (record_name,) = [name for name in names if name.endswith("/RECORD")]
        rows = [row.split(",") for row in archive.read(record_name).decode().splitlines()]
        assert sorted(row[0] for row in rows) == sorted(names), "RECORD and the archive differ"
        for name, digest, size in rows:
            content = archive.read(name)
            found = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert name == record_name or (digest, size) == (found, str(len(content))), name
        (tags,) = [archive.read(name).decode() for name in names if name.endswith("/WHEEL")]
        assert "Tag: py3-none-manylinux_2_17_" in tags, tags


def check_auditwheel(wheel):
    tools = BUILD / "tests/auditwheel"
    if not (tools / "done").exists():
        shutil.rmtree(tools, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tools)], check=True)
        got = subprocess.run([sys.executable, "-m", "pip", "--python", str(tools / "bin/python"), "install", "--quiet", "auditwheel==6.8.2"],
                             env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if got.returncode:
            print("auditwheel was not asked: pip could not install it:", got.stdout.decode(errors="replace").strip().splitlines()[-1:])
            return
        (tools / "done").touch()
    said = " ".join(output(tools / "bin/python", "-m", "auditwheel", "show", wheel).split())
    assert 'consistent with the following platform tag: "manylinux_2_17_' in said or 'platform tag: "manylinux_2_5_' in said, said


def check_run(command, python, folder, env=None, prefix=()):
    """A recorded run of `python` with a leak, and what the report says of it."""
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(TRAIN)
    os.chmod(folder, 0o777)
    output(*prefix, command, "run", "-q", "--no-report", "-o", folder / "rec", "--", python, folder / "train.py", env=env, cwd=folder)
    report = json.loads(output(*prefix, command, "report", folder / "rec", "--json", "-", env=env, cwd=folder))
    top = report["sites"][0]
    assert report["verdict"] == "leak" and report["steps"]["count"] == 150, (report["verdict"], report["steps"])
    assert (os.path.basename(top["file"]), top["line"]) == ("train.py", LEAK_LINE), top


def check_environment(wheel, folder):
    """A virtual environment whose path has spaces; uv and pipx make such ones too, and a conda prefix has the same layout."""
    venv = folder / "an environment"
    output(sys.executable, "-m", "venv", "--without-pip", venv)
    install(wheel, "--python", venv / "bin/python", "install")
    assert (venv / "share/man/man1/plateau.1").is_file()
    check_run(venv / "bin/plateau", venv / "bin/python", folder / "run 1")
    assert "plateau_trace/tree/bin" in output(venv / "bin/python", "-c", "from plateau_trace.installation import find_plateau as f; print(f())")
    # The command as pipx links it, from another folder.
    os.symlink(venv / "bin/plateau", folder / "plateau")
    assert output(folder / "plateau", "--version").startswith("plateau ")
    return venv


def check_plugin(venv):
    """pytest loads the plug-in by its entry point."""
    said = output(venv / "bin/python", "-c", "import importlib.metadata as m; e = m.entry_points(); "
                  "e = e.select(group='pytest11') if hasattr(e, 'select') else e['pytest11']; print([x.value for x in e if x.name == 'plateau'])")
    assert "plateau_trace.pytest_plugin" in said, said


def check_user(wheel, folder):
    base = folder / "home" / ".local"
    env = environment(PYTHONUSERBASE=str(base), HOME=str(folder / "home"))
    install(wheel, "install", "--user", env=env)
    check_run(base / "bin/plateau", sys.executable, folder / "run 2", env)


def check_target(wheel, folder):
    target = folder / "some target"
    install(wheel, "install", "--target", target)
    check_run(target / "bin/plateau", sys.executable, folder / "run 3", environment(PYTHONPATH=str(target), PYTHONDONTWRITEBYTECODE="1"))


def check_read_only(venv, folder):
    """Somebody who may not write into the environment: another user, or nobody at all."""
    prefix = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            print("not tried as another user: there is no setpriv here")
            return
        prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        os.chmod(folder, 0o755)
    output("chmod", "-R", "a-w", venv)
    try:
        check_run(venv / "bin/plateau", venv / "bin/python", folder / "run 4", environment(HOME="/nonexistent"), prefix)
    finally:
        output("chmod", "-R", "u+w", venv)


def main():
    missing = [name for name in ("pip", "venv") if subprocess.run([sys.executable, "-c", f"import {name}"], stderr=subprocess.DEVNULL).returncode]
    if missing:
        print(f"{' and '.join(missing)} of Python missing here")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="plateau-wheel-") as name:
        folder = pathlib.Path(name)
        output(SOURCE / "tools/wheel", "--build", BUILD, "--only", "wheel", "--out", folder / "dist")
        (wheel,) = (folder / "dist").glob("*.whl")
        check_content(wheel)
        check_auditwheel(wheel)
        venv = check_environment(wheel, folder)
        check_plugin(venv)
        check_user(wheel, folder)
        check_target(wheel, folder)
        check_read_only(venv, folder)


if __name__ == "__main__":
    main()
