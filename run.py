"""Set up Spillway in a virtual environment of its own, then run it.

    python3 run.py explorer [arguments of `python -m app`]
    python3 run.py tests    [--all] [arguments of pytest]

Needs Python 3.11 or later and nothing else; everything goes into `.venv` beside this file, which
a second run uses as it is. `SPILLWAY_TORCH_INDEX` is where Linux looks for a CPU build of torch
before the usual place, whose build brings several gigabytes of CUDA; set it empty for the latter.
"""

import contextlib
import fcntl
import hashlib
import http.client
import importlib.util
import os
import subprocess
import sys
import time
import urllib.request

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
TORCH_INDEX = os.environ.get("SPILLWAY_TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
START = time.monotonic()


def say(text):
    print("[{:4.0f} s] {}".format(time.monotonic() - START, text), flush=True)


def give_up(text):
    sys.exit("run.py: " + text)


def check_python():
    """Stop with one line where this Python cannot make the environment."""
    if sys.version_info < OLDEST:
        give_up(
            "needs Python {}.{} or later, this is {}.{} ({})".format(
                *OLDEST, *sys.version_info[:2], sys.executable
            )
        )
    # Debian's Python comes without ensurepip; `python -m venv` would fail half-way.
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        give_up(
            "this Python cannot make virtual environments; on Debian or Ubuntu install that first: "
            "sudo apt install python{}.{}-venv".format(*sys.version_info[:2])
        )


def succeeds(command):
    """Run a command to its end, with a sign of life now and then."""
    # A user's pip may be set to install outside of environments; here that would fail.
    environment = dict(os.environ, PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    while True:
        try:
            return process.wait(timeout=20) == 0
        except subprocess.TimeoutExpired:
            say("... still at it")


def pip_install_locked(project):
    """Install what a project needs, each file with the hash that it is known to have."""
    name = "test.txt" if "test" in project else "core.txt"
    locked = os.path.join(ROOT, "requirements", name)
    hashed = ("--no-deps", "--require-hashes", "-r", locked)
    return succeeds([PYTHON, "-m", "pip", "install", "-qq", *hashed])


def pip_install(*arguments):
    constraints = os.path.join(ROOT, "constraints.txt")
    return succeeds([PYTHON, "-m", "pip", "install", "-qq", "-c", constraints, *arguments])


def is_reachable(index):
    """Whether an index answers within seconds; pip itself would try for minutes."""
    try:
        with urllib.request.urlopen(index + "/torch/", timeout=5):
            return True
    except (OSError, ValueError, http.client.HTTPException):
        return False


def install_torch():
    packages = ("torch", "torchvision")
    if sys.platform.startswith("linux") and TORCH_INDEX:
        if is_reachable(TORCH_INDEX):
            say("installing torch, the CPU build")
            if pip_install("--extra-index-url", TORCH_INDEX, *packages):
                return True
        say("no CPU build of torch from " + TORCH_INDEX + ": taking the usual one")
    say("installing torch")
    return pip_install(*packages)


def install(project):
    """Install into the environment, which is made anew where it does not run."""
    fresh = not succeeds_quietly([PYTHON, "-c", "import pip"])
    if fresh:
        say("making .venv")
        if not succeeds([sys.executable, "-m", "venv", "--clear", VENV]):
            give_up("could not make .venv, see above")
    say("installing what Spillway needs")
    # Before torch: what the index of its builds has beside it is there already.
    if not pip_install_locked(project) or not install_torch():
        return False, fresh
    say("installing Spillway")
    return pip_install("--no-build-isolation", "-e", project), fresh


def succeeds_quietly(command):
    try:
        return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def fingerprint():
    """Of all that decides what is installed; the place too, since environments do not move."""
    digest = hashlib.sha256(ROOT.encode())
    for name in ("pyproject.toml", "constraints.txt"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def is_installed(stamp, wanted):
    try:
        with open(stamp) as file:
            return file.read() == wanted and succeeds_quietly([PYTHON, "-c", "import pip"])
    except OSError:
        return False


@contextlib.contextmanager
def alone():
    """Wait until no other run of this file installs: two would take each other's files away."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # Some file systems of networks have no locks.
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting: another run of this file is installing")
                fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def prepare(for_tests):
    """Bring `.venv` up to date: nothing where its stamp says that it is."""
    stamps = {name: os.path.join(VENV, "spillway-" + name) for name in ("core", "test")}
    stamp, wanted = stamps["test" if for_tests else "core"], fingerprint()
    if is_installed(stamp, wanted):
        return
    with alone():
        if not is_installed(stamp, wanted):
            bring_up_to_date(stamps, wanted, for_tests)


def bring_up_to_date(stamps, wanted, for_tests):
    """Install, once more from the start where that fails, and stamp what is there then."""
    # Who has the tests' packages keeps them current.
    for_tests = for_tests or os.path.exists(stamps["test"])
    project = ".[test]" if for_tests else "."
    done, fresh = install(project)
    if not done and not fresh:
        say("that failed: once more from the start, with an empty .venv")
        succeeds([sys.executable, "-m", "venv", "--clear", VENV])
        done, _ = install(project)
    if not done:
        give_up("installing failed, see above; run the same command to try again")
    for name in ("core", "test") if for_tests else ("core",):
        with open(stamps[name], "w") as file:
            file.write(wanted)
    say("ready")


def of_pytest(given):
    """Arguments of pytest: where none choose files, all on up to four cores, each kept together.

    One process more runs the journeys through the browser, which mostly wait.
    """
    cores = min(4, os.cpu_count() or 1)
    chosen = [argument for argument in given if argument != "--all"]
    if cores == 1 or any(not argument.startswith("--some-long=") for argument in chosen):
        return given
    return [*given, "-n", str(cores + 1), "--dist", "loadfile", "--no-loadscope-reorder"]


def main(arguments):
    if not arguments or arguments[0] not in ("explorer", "tests"):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 2
    check_python()
    command, *rest = arguments
    prepare(for_tests=command == "tests")
    os.chdir(ROOT)
    module = {"explorer": "app", "tests": "pytest"}[command]
    if command == "tests":
        rest = of_pytest(rest)
    os.execv(PYTHON, [PYTHON, "-m", module, *rest])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
