"""What stands beside the program: the GitHub action, whose steps are run as a runner does, and the page for coding agents, whose commands and fields
are those of today.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from plateau_cli import BUILD, PLATEAU, PYTHON, SOURCE, compile_c, failures, plateau, record, report_json

LEAK = r"""
#include <plateau/mark.h>
#include <stdlib.h>
#include <string.h>
static void* kept[1000];
int main(void) {
  for (int i = 0; i < 400; ++i) {
    kept[i] = malloc(200001);  /* THE LINE */
    memset(kept[i], 1, 200001);
    plateau_step();
  }
  return 0;
}
"""


def steps_of_action():
    """The steps of action.yml: name, script, environment. Its own few lines of YAML, so that the test needs no package."""
    text = (SOURCE / "action/action.yml").read_text()
    steps = []
    for block in re.split(r"\n    - ", text[text.index("\n  steps:"):])[1:]:
        environment = dict(re.findall(r"^        (\w+): (.*)$", block.split("      run: |")[0], re.M))
        script = "\n".join(line[8:] for line in block.split("      run: |\n")[1].splitlines())
        steps.append((re.search(r"name: (.*)", block).group(1), script, environment))
    defaults = dict(re.findall(r"^  (\w+):\n    description: .*\n    required: false\n    default: (.*)$", text, re.M))
    return steps, {name: value.strip('"') for name, value in defaults.items()}


def run_action(folder, **inputs):
    """The steps one after the other, as a runner does: exit code, printed text, summary, outputs."""
    steps, values = steps_of_action()
    assert set(inputs) <= set(values), (inputs, values)
    values.update(inputs)
    printed, code = "", 0
    summary, outputs, temp = folder / "summary.md", folder / "outputs", folder / "temp"
    temp.mkdir(exist_ok=True)
    for name, script, environment in steps:
        if name == "Record" and values["run"] == "":
            continue
        names = {key: values[re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value).group(1)] for key, value in environment.items()}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True,
                              env=dict(os.environ, GITHUB_STEP_SUMMARY=str(summary), GITHUB_OUTPUT=str(outputs), RUNNER_TEMP=str(temp), GITHUB_WORKSPACE=str(folder),
                                       GITHUB_ACTION_PATH=str(SOURCE / "action"), **names))
        printed += done.stdout + done.stderr
        code = done.returncode
        if code != 0:
            break
    return code, printed, summary.read_text() if summary.exists() else "", outputs.read_text() if outputs.exists() else ""


def the_action_fails_a_leak_with_summary_and_annotation():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compile_c(folder, "train", LEAK)
        code, printed, summary, outputs = run_action(folder, run="./train", plateau=PLATEAU)
        assert code == 1, printed
        line = LEAK[:LEAK.index("THE LINE")].count("\n") + 1
        assert re.search(rf"^::error file=train\.c,line={line},title=Plateau%3A unbounded growth::train\.c:{line} in main grows by 19\d KiB every step", printed, re.M), printed
        assert "check failed" in summary and re.search(r"grows by 19\d KiB every step", summary), summary
        assert outputs == "verdict=unbounded_growth\n", outputs


def the_action_passes_what_does_not_grow_and_reads_a_recording():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_c(folder, "train", LEAK.replace("kept[i] = malloc(200001);", "kept[0] = realloc(kept[0], 200001);").replace("memset(kept[i]", "memset(kept[0]"))
        record(folder / "rec", program)
        code, printed, summary, outputs = run_action(folder, recording="rec", rules="--fail-on growth --max-peak 100MiB", plateau=PLATEAU)
        assert code == 0, printed
        assert "::error" not in printed and "check passed" in summary and outputs.startswith("verdict="), (printed, summary, outputs)


def a_recording_that_is_missing_is_an_error_of_its_own():
    with tempfile.TemporaryDirectory() as name:
        code, printed, _, _ = run_action(pathlib.Path(name), recording="nothing", plateau=PLATEAU)
        assert code == 3 and "nothing" in printed, (code, printed)


def annotations_escape_what_a_workflow_command_would_read():
    with tempfile.TemporaryDirectory() as name:
        report = pathlib.Path(name, "r.json")
        report.write_text('{"verdict": "leak", "headline": {"site": "a,b:c.py:3", "summary": "50 %\\nof it", "sentence": ""}, "sites": [{"site": "a,b:c.py:3", "file": "a,b:c.py", "line": 3}]}')
        done = subprocess.run([PYTHON, SOURCE / "action/annotate.py", report, "1"], capture_output=True, text=True, check=True, cwd=name)
        assert done.stdout == "::error file=a%2Cb%3Ac.py,line=3,title=Plateau%3A leak::50 %25%0Aof it\nverdict=leak\n", done.stdout


def scripts_of_the_action_are_sound():
    for name, script, environment in steps_of_action()[0]:
        subprocess.run(["bash", "-n", "-c", script], check=True)
        assert "${{" not in script, f"{name}: an expression inside a script is an injection; it belongs into env"
        assert all(value.startswith("${{ inputs.") for value in environment.values()), environment


def the_page_for_agents_names_commands_options_and_fields_of_today():
    text = (SOURCE / "docs/agents/SKILL.md").read_text()
    front = re.match(r"---\nname: plateau\ndescription: .{40,400}\n---\n", text)
    assert front and len(text.splitlines()) < 70, "one page, with its front matter"
    commands = re.findall(r"plateau (\w+)([^`\n]*)", "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S) + re.findall(r"`(plateau [^`]*)`", text)))
    assert len(commands) >= 6, commands
    for command, rest in commands:
        known = plateau(command, "--help").decode()
        for option in re.findall(r" (--[\w-]+|-\w)\b", rest.split(" -- ")[0]):
            assert option in known, f"plateau {command} {option}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record(folder / "rec", compile_c(folder, "train", LEAK))
        report = report_json(folder / "rec")
    for path in re.findall(r"`((?:headline|hypotheses|patterns|sites|last_minutes|verdict)[\w.\[\]]*)`", text):
        here = report
        for part in path.split("."):
            key = part.replace("[]", "")
            assert key in here, f"{path}: no {key}"
            here = here[key]
            if part.endswith("[]") and isinstance(here, list):
                if not here:
                    break
                here = here[0]
    site = next(site for site in report["sites"] if site["site"] == report["headline"]["site"])
    for key in ("file", "line", "excerpt", "stack"):
        assert site[key], key
    words = (SOURCE / "analyzer/verdict/vocabulary/verdict_kinds.inc").read_text()
    for verdict in ("leak", "slow_leak", "staircase", "unbounded_growth", "inconclusive", "cache_fill"):
        assert f'"{verdict}"' in words and f"`{verdict}`" in text, verdict


if __name__ == "__main__":
    sys.exit(failures([scripts_of_the_action_are_sound, the_action_fails_a_leak_with_summary_and_annotation, the_action_passes_what_does_not_grow_and_reads_a_recording,
                       a_recording_that_is_missing_is_an_error_of_its_own, annotations_escape_what_a_workflow_command_would_read,
                       the_page_for_agents_names_commands_options_and_fields_of_today]))
