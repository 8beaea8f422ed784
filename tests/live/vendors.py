# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fetches programs with Tokio inside as their vendors ship them, pinned: from PyPI and from npm.

They are for the Python that an ordinary user of this machine has, which need not be the one that runs this.
"""
import os
import shutil
import subprocess
import sys

import live

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "vendors", "requirements.txt")
# name -> version, as in node_modules
NPM = {
    "@turbo/linux-64": "2.11.10",
    "@biomejs/cli-linux-x64": "2.6.6",
    "@biomejs/cli-linux-x64-musl": "2.5.15",
    "rolldown": "1.3.1",
    "@rolldown/binding-linux-x64-gnu": "1.3.1",
    "@rolldown/pluginutils": "1.1.0",
}


def user_python():
    """(path, version) of the Python that tests find."""
    python = shutil.which("python3", path=live.USER_PATH)
    if not python:
        raise SystemExit(f"no python3 in {live.USER_PATH}")
    version = "import sys; print('%d.%d' % sys.version_info[:2])"
    return python, subprocess.run([python, "-c", version], check=True, stdout=subprocess.PIPE).stdout.decode().strip()


def fetch_python(folder):
    """A venv only for its pip; what it installs is for another Python."""
    venv = os.path.join(folder, "venv")
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    subprocess.run([os.path.join(venv, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check",
                    "--target", os.path.join(folder, "python"), "--python-version", user_python()[1],
                    "--only-binary=:all:", "--no-deps", "-r", REQUIREMENTS], check=True)


def fetch_npm(folder):
    """Packages as published, without their scripts; what they depend on is in the list."""
    for name, version in NPM.items():
        out = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True,
                             stdout=subprocess.PIPE).stdout
        archive = os.path.join(folder, out.decode().split()[-1])
        to = os.path.join(folder, "node_modules", name)
        os.makedirs(to)
        subprocess.run(["tar", "-xzf", archive, "-C", to, "--strip-components=1", "--no-same-owner"], check=True)
        os.unlink(archive)
    for program in ("@turbo/linux-64/bin/turbo", "@biomejs/cli-linux-x64/biome", "@biomejs/cli-linux-x64-musl/biome"):
        os.chmod(os.path.join(folder, "node_modules", program), 0o755)


def fetch(folder):
    """All of it, once for each list of what is wanted."""
    with open(REQUIREMENTS, encoding="utf-8") as f:
        wanted = f.read() + repr(NPM) + " ".join(user_python())
    done = os.path.join(folder, "done")
    if os.path.exists(done):
        with open(done, encoding="utf-8") as f:
            if f.read() == wanted:
                return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    fetch_python(folder)
    fetch_npm(folder)
    with open(done, "w", encoding="utf-8") as f:
        f.write(wanted)


def stage(folder, to, copy):
    os.makedirs(to)
    for name in ("python", "node_modules"):
        shutil.copytree(os.path.join(folder, name), os.path.join(to, name), copy_function=copy)
