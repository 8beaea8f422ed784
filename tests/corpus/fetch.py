# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fetches the programs of the corpus, pinned, each into a folder of its own: crates, wheels, npm and Debian packages.

A folder that is complete has a file `done` with what it was made from, so a second run fetches nothing.
"""
import glob
import os
import shutil
import subprocess
import sys
import zipfile

from live import Failed, short

TIMEOUT_S = 3600  # of one command: a crate with two hundred dependencies on a busy machine


def run(argv, cwd, env=None):
    """Output of a command that must succeed."""
    try:
        r = subprocess.run(argv, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Failed(f"cannot fetch: {' '.join(argv)}: {e}") from None
    text = r.stdout.decode(errors="replace")
    if r.returncode:
        raise Failed(f"cannot fetch: {' '.join(argv)}: status {r.returncode}: {short(text[-500:])}")
    return text


def split(package):
    """(name, version) of name@version; the name of an npm package may begin with @."""
    name, _, version = package.rpartition("@")
    if not name or not version:
        raise Failed(f"{package}: no version, as in name@1.2.3")
    return name, version


def fetch_crate(package, folder, entry, cache):
    """Builds it with the options of the entry. All crates share a folder for what is compiled."""
    name, version = split(package)
    env = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    env.update({f"CARGO_PROFILE_RELEASE_{k.upper()}": str(v) for k, v in entry.get("profile", {}).items()})
    if "rustflags" in entry:
        env["RUSTFLAGS"] = entry["rustflags"]
    run(["cargo", "install", "--locked", "--root", folder, "--target-dir", os.path.join(cache, "target"),
         "--version", version, *entry.get("install", []), name], cache, env)


def fetch_wheel(package, folder, _entry, _cache):
    """Unpacks the wheel for the Python that runs this; its programs go to bin, as pip puts them."""
    name, version = split(package)
    run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
         "--only-binary=:all:", "-d", folder, f"{name}=={version}"], folder)
    for wheel in glob.glob(os.path.join(folder, "*.whl")):
        with zipfile.ZipFile(wheel) as z:
            z.extractall(folder)
        os.unlink(wheel)
    for scripts in glob.glob(os.path.join(folder, "*.data", "scripts")):
        shutil.copytree(scripts, os.path.join(folder, "bin"))
        for program in glob.glob(os.path.join(folder, "bin", "*")):
            os.chmod(program, 0o755)


def fetch_npm(package, folder, _entry, _cache):
    """Unpacks the package into node_modules, and runs none of its scripts."""
    archive = run(["npm", "pack", "--silent", package], folder).split()[-1]
    to = os.path.join(folder, "node_modules", split(package)[0])
    os.makedirs(to)
    run(["tar", "-xzf", archive, "-C", to, "--strip-components=1", "--no-same-owner"], folder)
    os.unlink(os.path.join(folder, archive))
    for path in glob.glob(to + "/**", recursive=True):
        with open(path, "rb") if os.path.isfile(path) else open(os.devnull, "rb") as f:
            if f.read(4) == b"\x7fELF":
                os.chmod(path, 0o755)


def fetch_deb(package, folder, _entry, _cache):
    name, version = split(package)
    run(["apt-get", "download", f"{name}={version}"], folder)
    for deb in glob.glob(os.path.join(folder, "*.deb")):
        run(["dpkg-deb", "-x", deb, folder], folder)
        os.unlink(deb)


SOURCES = {"crate": fetch_crate, "wheel": fetch_wheel, "npm": fetch_npm, "deb": fetch_deb}


def fetch(source, package, entry, cache):
    """The folder of one package."""
    name = package.replace("/", "+")
    folder = os.path.join(cache, source, name if source != "crate" else f"{entry['name']}+{name}")
    wanted = "\n".join([package, *(repr(entry.get(k)) for k in ("profile", "rustflags", "install") if source == "crate")])
    done = os.path.join(folder, "done")
    if os.path.exists(done):
        with open(done, encoding="utf-8") as f:
            if f.read() == wanted:
                return folder
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    SOURCES[source](package, folder, entry, cache)
    with open(done, "w", encoding="utf-8") as f:
        f.write(wanted)
    return folder


def fetch_entry(entry, cache):
    """The folders of all packages of an entry, its own first."""
    return [fetch(entry["source"], p, entry, cache) for p in entry["packages"]]
