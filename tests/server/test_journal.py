"""The log: what was synced is there after every crash, and damage is never taken for data."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tyrex.server.log import Journal, LogDamaged
from tyrex.server.log.segment import HEADER, MAGIC

payloads = st.lists(st.binary(max_size=80), max_size=12)


def _payloads(journal: Journal, start: int = 0) -> list[bytes]:
    return [record.payload for record in journal.read(start)]


def _newest(folder: Path) -> Path:
    return max(folder.glob("*.log"))


@given(st.lists(payloads, max_size=5), st.integers(60, 400), st.data())
def test_what_was_synced_survives_any_crash(
    batches: list[list[bytes]], segment: int, data: st.DataObject
) -> None:
    """A crash may leave any part of what was not synced, and garbage behind it; the log goes on from whole records."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        journal = Journal(folder, segment_bytes=segment)
        synced: list[bytes] = []
        for batch in batches:
            for payload in batch:
                journal.append(1, payload)
            journal.sync()
            synced += batch
        safe = journal.size - sum(path.stat().st_size for path in sorted(folder.glob("*.log"))[:-1])
        later = data.draw(payloads)
        for payload in later:
            journal.append(2, payload)
        journal.flush()
        path = _newest(folder)
        if int(path.stem) > len(synced) + 1:  # the unsynced ones filled a segment, which is synced with that
            return
        whole = path.read_bytes()
        cut = data.draw(st.integers(min(safe, len(whole)), len(whole)))
        path.write_bytes(whole[:cut] + data.draw(st.binary(max_size=30)))

        again = Journal(folder, segment_bytes=segment)
        found = _payloads(again)
        assert found[: len(synced)] == synced
        assert found == (synced + later)[: len(found)]
        assert again.next == len(found) + 1
        again.append(3, b"new")
        again.sync()
        assert _payloads(again) == [*found, b"new"]
        assert _payloads(Journal(folder)) == [*found, b"new"]


def test_records_have_numbers_kinds_and_can_be_read_from_any_one(tmp_path: Path) -> None:
    """Across segments, too."""
    journal = Journal(tmp_path, segment_bytes=100)
    for number in range(1, 21):
        assert journal.append(number % 3, b"%d" % number) == number
        journal.sync()
    assert len(list(tmp_path.glob("*.log"))) > 3
    for start in (0, 1, 7, 20, 21):
        expected = [(n, n % 3, b"%d" % n) for n in range(max(1, start), 21)]
        assert [(r.number, r.kind, r.payload) for r in journal.read(start)] == expected


def test_what_is_not_written_is_not_read(tmp_path: Path) -> None:
    """A reader sees what a crash of the program would leave."""
    journal = Journal(tmp_path)
    journal.append(1, b"a")
    assert _payloads(journal) == []
    journal.flush()
    assert _payloads(journal) == [b"a"]


def test_a_torn_end_is_cut_off_told_and_kept_beside(tmp_path: Path) -> None:
    """Nobody has been told that it was accepted, but somebody may want to see it."""
    journal = Journal(tmp_path)
    journal.append(1, b"whole")
    journal.sync()
    journal.append(1, b"torn record")
    journal.sync()
    path = _newest(tmp_path)
    path.write_bytes(path.read_bytes()[:-3])
    again = Journal(tmp_path)
    assert _payloads(again) == [b"whole"]
    assert (again.recovery.records, again.recovery.cut_off) == (1, HEADER.size + 8)
    assert again.recovery.reason == "a record of 11 bytes is not whole"
    (torn,) = tmp_path.glob("*.torn-*")
    assert torn.read_bytes().endswith(b"torn rec")


def test_damage_before_whole_records_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    """Cutting back there would lose what was accepted."""
    journal = Journal(tmp_path)
    for payload in (b"one", b"two", b"three"):
        journal.append(1, payload)
    journal.sync()
    path = _newest(tmp_path)
    data = bytearray(path.read_bytes())
    place = len(MAGIC) + HEADER.size  # the payload of the first record
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(LogDamaged, match=f"is damaged at byte {len(MAGIC)}: a record has the wrong checksum"):
        Journal(tmp_path)


def test_damage_in_an_older_segment_is_found_when_it_is_read(tmp_path: Path) -> None:
    """An older segment was safe before the next one began, so nothing of it can be torn."""
    journal = Journal(tmp_path, segment_bytes=60)
    for number in range(6):
        journal.append(1, b"payload %d" % number)
        journal.sync()
    oldest = min(tmp_path.glob("*.log"))
    oldest.write_bytes(oldest.read_bytes()[:-1])
    with pytest.raises(LogDamaged, match="Restore it from a copy"):
        _payloads(Journal(tmp_path))
    oldest.write_bytes(b"something else")
    with pytest.raises(LogDamaged, match="is no log of this version"):
        _payloads(Journal(tmp_path))


def test_retention_forgets_whole_segments_from_the_oldest_on(tmp_path: Path) -> None:
    """By number, as a snapshot allows, or by size; the newest always stays."""
    journal = Journal(tmp_path, segment_bytes=60)
    for number in range(1, 11):
        journal.append(1, b"payload %d" % number)
        journal.sync()
    second = sorted(int(path.stem) for path in tmp_path.glob("*.log"))[1]
    assert journal.drop_before(second - 1) == 0
    assert journal.drop_before(second) == second - 1
    assert journal.first == second
    assert _payloads(journal)[0] == b"payload %d" % second
    assert _payloads(Journal(tmp_path)) == _payloads(journal)
    journal.drop_before(journal.starts_after(0))
    assert len(list(tmp_path.glob("*.log"))) == 1
    assert journal.next == 11


FULL = """
import resource, signal, sys
from pathlib import Path
from tyrex.server.log import DiskFull, Journal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
journal = Journal(Path(sys.argv[1]))
journal.append(1, b"x" * 600)
journal.sync()
journal.append(1, b"y" * 100)
number = journal.append(1, b"z" * 600)
try:
    journal.sync()
except DiskFull as error:
    print(error)
assert journal.next == 2, journal.next
assert journal.append(1, b"w" * 100) == 2
journal.sync()
print([(r.number, r.payload[:1]) for r in journal.read()])
journal.close()
"""


def test_a_full_disk_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    """What found no room is not there in part; what is smaller, or comes later, may find room again."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "there is no room for" in done.stdout
    assert "[(1, b'x'), (2, b'w')]" in done.stdout
    assert _payloads(Journal(tmp_path)) == [b"x" * 600, b"w" * 100]


KILLED = """
import os, signal, sys
from pathlib import Path
from tyrex.server.log import Journal

journal = Journal(Path(sys.argv[1]), segment_bytes=2000)
number = journal.next
while True:
    for _ in range(number % 7 + 1):
        number = journal.append(1, b"%d" % journal.next * 9) + 1
    journal.sync()
    os.write(1, b"%d\\n" % (number - 1))
"""


def test_a_process_that_is_killed_loses_nothing_that_it_has_told(tmp_path: Path) -> None:
    """SIGKILL at any moment: each record that was told to be safe is there, whole and in order."""
    told = 0
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(40):
            told = int(process.stdout.readline())
        process.kill()
        told = max([told, *map(int, process.stdout.read().split(b"\n")[:-1])])
        process.wait()
        journal = Journal(tmp_path)
        found = _payloads(journal)
        assert len(found) >= told
        assert found == [b"%d" % number * 9 for number in range(1, len(found) + 1)]
        journal.close()
    assert _newest(tmp_path).stat().st_size < 4000
