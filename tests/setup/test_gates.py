"""The files of docs/gates.md: their commands, run in a fresh folder as far as they can be.

No service is here. A workflow's and an action's steps are run by a shell as the service's runner
would, with the variables that it sets.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tennis.bench.kernels.requirements import fragment
from tennis.course.lab_files import solved
from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end, stand_in

PAGE = (ROOT / "docs/gates.md").read_text()
(JOB,) = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])["jobs"].values()
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
NAMES, SETUP, COMPARE = (step for step in STEPS if "run" in step)
CACHE, KEPT = (step for step in STEPS if "uses" in step)
GITLAB = yaml.safe_load((ROOT / "gates/gitlab.yml").read_text())["latency"]
LAVA = yaml.safe_load((ROOT / "gates/lava.yaml").read_text())
RACQUET = solved((ROOT / "labs/03-write-the-racquet/racquet.c").read_text())
NOBODY = 65534
# two boots in place of an hour: they decide nothing
SHORT = {"load": "idle", "balls": "60", "boots": "1", "minutes": "5"}


def run(
    lines: str, folder: Path, shell: str = "sh", **environment: str
) -> subprocess.CompletedProcess[str]:
    return run_to_end([shell, "-e", "-c", lines], cwd=folder, env=os.environ | environment)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def driver(tmp_path):
    """Make what a service's checkout leaves: a driver's branch, which knows main."""
    origin, driver = tmp_path / "origin", tmp_path / "driver"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "racquet.c").write_text(RACQUET)
    git(origin, "add", ".")
    me = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false")
    git(origin, *me, "commit", "-q", "-m", "before")
    git(tmp_path, "clone", "-q", str(origin), "driver")
    git(driver, "checkout", "-q", "--detach")
    (driver / "racquet.c").write_text(f"{RACQUET}/* after */\n")
    return driver


def of_the_action(step, **inputs):
    """Return a step's variables, as the service fills them in: defaults, and ``with``."""
    return {name: filled(value, inputs) for name, value in step.get("env", {}).items()}


def filled(value: str, inputs: dict[str, str], **known: str) -> str:
    """Return a text with the values of its expressions, as the service does."""
    every = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    every |= JOB["steps"][-1]["with"] | inputs
    known |= {f"inputs.{name}": text for name, text in every.items()}
    known["toJSON(inputs)"] = json.dumps(every)
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known.get(found[1], ""), value)


def as_planned(line: str, folder: Path, system: tuple[str, str]) -> int:
    """Return how setup ends on a system: it says what it would install."""
    release = folder / "os-release"
    release.write_text(f'ID={system[0]}\nVERSION_ID="{system[1]}"\n')
    plan = re.sub(r"^make -C (\S+) setup$", r"\1/scripts/setup.sh --plan", line)
    assert plan != line
    environment = {"TENNIS_OS_RELEASE": str(release), "GITHUB_ACTION_PATH": str(ROOT)}
    return run(plan, folder, **environment).returncode


def test_the_images_are_systems_that_setup_takes(driver):
    (driver / "tennis").symlink_to(ROOT)
    for image in (JOB["container"], GITLAB["image"]):
        system = tuple(image.split(":"))
        assert as_planned(SETUP["run"], driver, system) == 0
        assert as_planned(GITLAB["before_script"][-1], driver, system) == 0
    assert as_planned(LAVA["run"]["steps"][2], driver, ("debian", "12")) == 0
    assert as_planned(SETUP["run"], driver, ("fedora", "43")) == 1


def test_what_was_before_is_read_from_a_checkout_of_somebody_else(driver):
    for path in [driver, *driver.rglob("*")]:
        if os.getuid() == 0:  # as in the container
            os.chown(path, NOBODY, NOBODY)
    (line,) = [step["run"] for step in JOB["steps"] if step.get("run", "").startswith("git")]
    done = run(line, driver, HOME=str(driver))
    assert done.returncode == 0, done.stderr
    assert (driver / "before.c").read_text() == RACQUET


@pytest.mark.more
@pytest.mark.virtual
def test_the_action_plays_and_leaves_its_summary_and_its_page(driver):
    (driver / "before.c").write_text(RACQUET)
    summary = driver / "of the job.md"
    done = run(
        COMPARE["run"],
        driver,
        "bash",
        GITHUB_ACTION_PATH=str(ROOT),
        GITHUB_STEP_SUMMARY=str(summary),
        **of_the_action(COMPARE, **SHORT),
    )
    assert (done.returncode, done.stdout.count("::warning::")) == (0, 1), done
    assert summary.read_text().startswith("**Undecided: ")
    assert "`tennis compare before.c racquet.c " in summary.read_text()
    kept = KEPT["with"]["path"].replace("${{ inputs.out }}", "gate")
    assert "Undecided" in (driver / kept).read_text()


@pytest.mark.parametrize(("code", "said"), [(0, 0), (1, 1), (3, 0), (2, 2), (4, 4)])
def test_the_action_ends_as_the_comparison_says(driver, code, said):
    """A program that only ends so stands for tennis: each of its ends takes another hour."""
    stand_in(driver / ".venv/bin/tennis", f"exit {code}")
    variables = of_the_action(COMPARE) | {"GITHUB_STEP_SUMMARY": "s"}
    done = run(COMPARE["run"], driver, "bash", GITHUB_ACTION_PATH=str(driver), **variables)
    assert (done.returncode, done.stdout.count("::warning::")) == (said, int(code == 3)), done


MATRIX = (
    {"load": "idle", "out": "gate"},
    {"load": "stress", "out": "gate"},
    {"load": "stress", "out": "gates/of rt: <1>", "kernel": "rt"},
    {"before": "a.c", "after": "b.c", "program": "true", "period-us": "1000", "balls": "60"},
)


def test_a_matrix_of_four_keeps_four_pages_with_names_that_github_takes(driver):
    """Each job runs the action's steps in a clean shell; one is green, undecided, red, green."""
    stand_in(
        driver / "bin/tennis",
        'echo "$@"; while [ "$1" != --out ]; do shift; done\n'
        'mkdir "$2" && echo x > "$2/compare.html"; exit $CODE',
    )
    (driver / ".venv").mkdir()
    (driver / ".venv/bin").symlink_to(driver / "bin")
    for name in ("constraints.txt", "scripts"):
        (driver / name).symlink_to(ROOT / name)
    kept, said = [], []
    for index, (job, code) in enumerate(zip(MATRIX, (0, 3, 1, 0), strict=True)):
        here = driver / str(index)
        here.mkdir()
        clean = {"PATH": os.environ["PATH"], "GITHUB_ACTION_PATH": str(driver), "CODE": str(code)}
        clean |= {
            "GITHUB_OUTPUT": str(here / "of the step"),
            "GITHUB_STEP_SUMMARY": "s",
            "GITHUB_JOB": "gate",
        }
        outputs = {"strategy.job-index": str(index)}
        for step in (NAMES, COMPARE):
            variables = {n: filled(v, job, **outputs) for n, v in step["env"].items()}
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = run_to_end(shell, cwd=here, env=clean | variables)
            for line in (here / "of the step").read_text().splitlines():
                name, _, value = line.partition("=")
                outputs[f"steps.names.outputs.{name}"] = value
        said.append((done.returncode, done.stdout))
        path, name = (filled(KEPT["with"][key], job, **outputs) for key in ("path", "name"))
        assert (here / path).exists()
        kept.append(name)
        assert filled(CACHE["with"]["key"], job, **outputs).startswith("tennis-")
    assert [code for code, _ in said] == [0, 0, 1, 0]
    assert len(set(kept)) == 4
    assert all(re.fullmatch(r"[\w.-]+", name) for name in kept)
    assert "--kernel rt " in said[2][1]
    assert said[3][1].startswith("compare program=a.c program=b.c ")
    assert "--period-us 1000 --repetitions 60" in said[3][1]
    assert "--balls" not in said[3][1]


def test_the_action_is_red_for_its_verdict_only():
    """A fork's request, or a service without room, keeps no page and no kernels: no verdict."""
    assert KEPT["if"] == "always()"
    assert KEPT["continue-on-error"] is True
    assert CACHE["continue-on-error"] is True
    assert not any("continue-on-error" in step for step in (NAMES, SETUP, COMPARE))


@pytest.mark.slow
def test_an_input_is_no_part_of_a_command(driver):
    hostile = '"; touch pwned; echo "$(touch pwned)`touch pwned`'
    variables = of_the_action(COMPARE, before=hostile) | {"GITHUB_STEP_SUMMARY": "s"}
    done = run(COMPARE["run"], driver, "bash", GITHUB_ACTION_PATH=str(ROOT), **variables)
    assert done.returncode == 2, done
    assert not (driver / "pwned").exists()
    assert "${{" not in COMPARE["run"]


def with_tennis(folder: Path) -> str:
    """Put ``tennis`` where a file's commands have cloned it; return what they call it."""
    program = folder / "tennis/.venv/bin/tennis"
    stand_in(program, f"exec {sys.executable} -c 'from tennis.cli import main; main()' \"$@\"")
    return str(program.relative_to(folder))


@pytest.mark.slow
def test_gitlabs_job_takes_its_options(driver):
    """The Racquet of now is not there: it says so, and plays nothing."""
    before, compare = GITLAB["script"]
    assert with_tennis(driver) in compare
    clone = GITLAB["before_script"][1].replace(" tennis", " cloned")
    done = run(clone, driver, TENNIS=str(driver.parent / "origin"))
    assert done.returncode == 0, done.stderr
    assert (driver / "cloned/racquet.c").exists()
    variables = GITLAB["variables"] | {"CI_DEFAULT_BRANCH": "main"}
    assert run(before, driver, **variables).returncode == 0
    assert (driver / "before.c").read_text() == RACQUET
    (driver / "racquet.c").unlink()
    done = run(compare, driver, **variables)
    assert (done.returncode, "racquet.c" in done.stderr) == (2, True), done
    assert not (driver / "gate").exists()
    assert GITLAB["allow_failure"]["exit_codes"] == 3
    assert GITLAB["artifacts"]["paths"] == ["gate/compare.html", "gate.md"]


@pytest.mark.parametrize(("code", "result"), [(0, "pass"), (1, "fail"), (3, "unknown")])
def test_lavas_definition_ends_with_a_case(driver, code, result):
    """Its shell is one for all steps, and ends at the first error. LAVA itself is not here."""
    with_tennis(driver)
    (driver / "tennis/.venv/bin/tennis").write_text(f'#!/bin/sh\necho "$@"\nexit {code}\n')
    stand_in(driver / "lava-test-case", 'echo "case: $@"')
    lines = "\n".join(LAVA["run"]["steps"][3:])
    params = {name: str(value) for name, value in LAVA["params"].items()}
    path = f"{driver}:{os.environ['PATH']}"
    done = run(lines, driver, **params, PATH=path)
    assert done.stdout.endswith(f"case: latency --result {result}\n"), done
    assert "compare mainline mainline --load stress --balls 20000" in done.stdout


@pytest.mark.slow
def test_lavas_options_are_those_of_the_command(driver):
    with_tennis(driver)
    params = {name: str(value) for name, value in LAVA["params"].items()} | {"AFTER": "none.c"}
    done = run(LAVA["run"]["steps"][4].replace("|| code=$?", ""), driver, **params)
    assert (done.returncode, "none.c" in done.stderr) == (2, True), done


def noting(folder: Path, name: str, lines: str) -> None:
    """Write a script that notes how it was called."""
    stand_in(folder / name, f'echo "{name} $*" >>{folder}/said\n{lines}')


@pytest.fixture
def tux(driver, tmp_path):
    """Run the recipe where TuxMake and TuxRun only say how they were called."""
    noting(tmp_path, "tuxmake", 'mkdir -p "${10}"\ncp config "${10}/.config"\n')
    noting(tmp_path, "tuxrun", "exit ${TUXRUN_ENDS:-0}\n")
    program = driver / with_tennis(driver)
    program.rename(tmp_path / "tennis")
    path = f"{tmp_path}:{os.environ['PATH']}"

    def recipe(config: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], str]:
        (tmp_path / "said").unlink(missing_ok=True)
        (driver / "config").write_text(config)
        lines = f"{ROOT}/gates/tuxrun.sh linux-before linux-after"
        done = run(lines, driver, PATH=path, **environment)
        return done, (tmp_path / "said").read_text()

    return recipe


@pytest.mark.slow
def test_the_recipe_for_tuxrun_builds_boots_and_compares(driver, tux):
    """Its kernels have a configuration that passes, and no image: Tennis plays nothing of them."""
    small = (ROOT / "target/kernels/small.config").read_text()
    done, said = tux(small + fragment("mainline"))
    built = [
        f"tuxmake --directory linux-{side} --target-arch arm64 --kconfig defconfig --kconfig-add "
        f"{driver}/tennis.config --build-dir {driver}/{side}/build --output-dir {driver}/{side} "
        f"config kernel modules\ntuxrun --device qemu-arm64 --tuxmake {driver}/{side}\n"
        for side in ("before", "after")
    ]
    assert said == "".join(built)
    assert (driver / "tennis.config").read_text() == small + fragment("mainline")
    assert (done.returncode, "before/build" in done.stderr) == (2, True), done
    done, said = tux(small + fragment("mainline"), TUXRUN_ENDS="1")
    assert (done.returncode, said.count("tuxrun --")) == (1, 1)
    done, said = tux("")
    assert (done.returncode, "tuxrun --" in said) == (1, False)
