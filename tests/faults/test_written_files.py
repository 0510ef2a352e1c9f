"""How files are written: links, pipes, permissions, many writers at once, writers that are killed, full disks."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import countwise as cw
from countwise import filewriter
from countwise.errors import ModelFileError
from countwise.filewriter import locked, write_whole

posix = pytest.mark.skipif(os.name == "nt", reason="of POSIX systems")


@pytest.fixture(scope="module")
def model():
    return cw.NaiveBayesClassifier().fit(cw.samples.load("weather").frame, "play")


def command(*args, cwd, **more):
    return subprocess.run(
        [sys.executable, "-m", "countwise", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        **more,
    )


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,q\n3,p\n")
    return tmp_path / "t.csv"


# -- where it is written --------------------------------------------------------------------


@posix
def test_a_link_is_kept_and_the_file_behind_it_replaced(model, tmp_path):
    (tmp_path / "folder").mkdir()
    real = tmp_path / "folder" / "real.json"
    real.write_text("old")
    (tmp_path / "one").symlink_to("folder/real.json")
    (tmp_path / "two").symlink_to("one")
    cw.save(model, tmp_path / "two")
    assert (tmp_path / "two").is_symlink()
    assert (tmp_path / "one").is_symlink()
    assert not real.is_symlink()
    assert cw.load(real).n_rows_ == 14
    assert os.listdir(tmp_path / "folder") == ["real.json"]


@posix
def test_a_link_to_nothing_becomes_a_link_to_the_new_file(model, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new.json")
    cw.save(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert cw.load(tmp_path / "new.json").n_rows_ == 14


@posix
def test_a_link_to_itself_is_one_line(model, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(ModelFileError, match="cannot be written"):
        cw.save(model, tmp_path / "link")


@posix
def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path, table):
    os.mkfifo(tmp_path / "pipe")
    command("train", "t.csv", "-y", "y", "-o", "m.json", cwd=tmp_path)
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as reader:
        done = command("predict", "m.json", "t.csv", "-o", "pipe", cwd=tmp_path)
        assert reader.communicate(timeout=30)[0].startswith("y,P(p),P(q)\n")
    assert done.returncode == 0
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@posix
@pytest.mark.parametrize("output", ["train t.csv -y y -o", "bin t.csv --method equal_width -o"])
def test_a_device_stays_a_device(tmp_path, table, output):
    before = os.stat("/dev/null")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    done = command(*output.split(), "null.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "null.csv").is_symlink()
    after = os.stat("/dev/null")
    assert (after.st_rdev, after.st_mode, after.st_ino) == (before.st_rdev, before.st_mode, before.st_ino)


@posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1"])
def test_standard_output_by_its_path_is_written_after_what_was_printed(tmp_path, name):
    if not os.path.exists(name):
        pytest.skip("no such path")
    script = f"echo before; {sys.executable} -m countwise samples tennis -o {name}; echo after"
    done = subprocess.run(["sh", "-c", f"({script}) > out"], cwd=tmp_path, capture_output=True, timeout=60)
    lines = (tmp_path / "out").read_text().splitlines()
    assert done.returncode == 0
    assert (lines[0], lines[-1], len(lines)) == ("before", "after", 17)


def test_a_folder_is_not_replaced(model, tmp_path):
    (tmp_path / "m.json").mkdir()
    with pytest.raises(ModelFileError, match="it is a folder"):
        cw.save(model, tmp_path / "m.json")


@pytest.mark.parametrize("name", ["a" * 250, "[x]*?.json", "ü 漢.json", "-x.json", ".json", "\udcff.json"])
def test_any_name_of_a_file_can_be_written_twice_and_nothing_is_left_over(tmp_path, name):
    try:
        (tmp_path / name).write_text("old")
    except (OSError, UnicodeError):
        pytest.skip("the system does not allow this name")
    write_whole(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a" * 300, "nul\0l", "none/m.json"])
def test_a_name_that_cannot_be_is_one_line(tmp_path, name):
    with pytest.raises(ModelFileError, match="cannot be written") as caught:
        write_whole(tmp_path / name, b"")
    assert "\n" not in str(caught.value)


# -- permissions ------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o777])
def test_the_permissions_of_a_file_are_kept(model, tmp_path, mode):
    (tmp_path / "m.json").touch()
    (tmp_path / "m.json").chmod(mode)
    cw.save(model, tmp_path / "m.json")
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == mode


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_obeys_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "m.json", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o666 & ~mask


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_and_the_group_of_a_file_are_kept(tmp_path):
    (tmp_path / "m.json").touch()
    os.chown(tmp_path / "m.json", 65534, 65533)
    write_whole(tmp_path / "m.json", b"new")
    after = (tmp_path / "m.json").stat()
    assert (after.st_uid, after.st_gid) == (65534, 65533)


AS_NOBODY = """
import os, sys
from countwise.filewriter import write_whole
from countwise.errors import ModelFileError
os.setgid(65534), os.setuid(65534)
try:
    write_whole(sys.argv[1], b"new")
except ModelFileError as error:
    print(error)
"""


def as_nobody(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
class TestAsAnotherUser:
    @pytest.fixture
    def place(self, tmp_path):
        folder = tmp_path
        while folder != folder.parent:  # the other user must be able to reach the file
            folder.chmod(folder.stat().st_mode | 0o055)
            folder = folder.parent
        (tmp_path / "m.json").write_text("old and longer than the new one")
        return tmp_path / "m.json"

    def test_a_writable_file_in_a_read_only_folder_is_written_in_place(self, place):
        place.chmod(0o666)
        inode = place.stat().st_ino
        assert as_nobody(place) == ""
        assert place.read_bytes() == b"new"
        assert place.stat().st_ino == inode

    def test_a_write_protected_file_is_not_replaced(self, place):
        place.chmod(0o444)
        place.parent.chmod(0o777)
        assert "write-protected" in as_nobody(place)
        assert place.read_text().startswith("old")

    def test_another_group_does_not_get_the_rights_of_the_old_one(self, place):
        os.chown(place, 65534, 12345)
        place.chmod(0o660)
        place.parent.chmod(0o777)
        assert as_nobody(place) == ""
        after = place.stat()
        assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (65534, 65534, 0o600)


# -- several writers, killed writers, full disks ---------------------------------------------


def _save_often(path: str, label: int) -> int:
    for _ in range(60):
        write_whole(path, json.dumps([label] * 5000).encode())
    return 0


@posix
def test_240_parallel_writes_to_one_path_all_succeed_and_none_is_torn(tmp_path):
    path = tmp_path / "shared.json"
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        waiting = pool.starmap_async(_save_often, [(str(path), label) for label in range(4)])
        seen = 0
        while not waiting.ready():
            if path.exists():
                assert len(set(json.loads(path.read_text()))) == 1
                seen += 1
            time.sleep(0.005)
        assert waiting.get() == [0] * 4
    assert seen
    assert os.listdir(tmp_path) == ["shared.json"]


def test_parallel_writes_of_threads_all_succeed(tmp_path):
    failed: list[Exception] = []

    def work(label: int) -> None:
        try:
            for _ in range(30):
                write_whole(tmp_path / "shared", bytes([label]) * 10_000)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(label,)) for label in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(set((tmp_path / "shared").read_bytes())) == 1
    assert os.listdir(tmp_path) == ["shared"]


KILLED = """
import os, sys
from countwise import filewriter
def hang(handle):
    print("ready", flush=True)
    sys.stdin.read()
os.fsync = hang
filewriter.write_whole(sys.argv[1], b"x" * 100_000)
"""


@posix
def test_the_leftover_of_a_killed_writer_is_removed_and_that_of_a_living_one_is_not(tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(b"old")

    def writer():
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout.readline() == "ready\n"
        return child

    killed, alive = writer(), writer()
    assert len(os.listdir(tmp_path)) == 3
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert path.read_bytes() == b"old"
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert len(os.listdir(tmp_path)) == 2
    alive.communicate()
    assert alive.returncode == 0
    assert os.listdir(tmp_path) == ["m.json"]
    assert path.stat().st_size == 100_000


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, code):
    (tmp_path / "m.json").write_bytes(b"old")

    def fails(*args):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(filewriter.os, call, fails)
    with pytest.raises(ModelFileError, match=os.strerror(code)):
        write_whole(tmp_path / "m.json", b"new")
    assert (tmp_path / "m.json").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.json"]


def test_a_write_in_parts_is_completed(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(filewriter.os, "write", lambda handle, data: write(handle, data[:7]))
    write_whole(tmp_path / "m.json", bytes(range(100)))
    assert (tmp_path / "m.json").read_bytes() == bytes(range(100))


# -- locks ----------------------------------------------------------------------------------------


def test_parallel_updates_of_one_model_keep_all_rows(tmp_path, table):
    assert command("train", "t.csv", "-y", "y", "-o", "m.json", cwd=tmp_path).returncode == 0
    for k in range(4):
        (tmp_path / f"new{k}.csv").write_text("a,y\n" + "".join(f"{k}.{i},{'pq'[i % 2]}\n" for i in range(10 + k)))
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "countwise", "update", "m.json", f"new{k}.csv"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for k in range(4)
    ]  # fmt: skip
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors
    assert cw.load(tmp_path / "m.json").n_rows_ == 3 + 10 + 11 + 12 + 13
    assert not [name for name in os.listdir(tmp_path) if "partial" in name or "lock" in name]


HOLDER = """
import sys
from countwise.filewriter import locked
with locked(sys.argv[1]):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    (tmp_path / "m.json").write_text("{}")
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "m.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "ready\n"
    yield child
    child.kill()
    child.communicate()


def test_a_lock_is_waited_for_with_a_message_and_a_time_limit(tmp_path, holder):
    said: list[str] = []
    with (
        pytest.raises(ModelFileError, match="being changed by another process"),
        locked(tmp_path / "m.json", said.append, patience=1.2),
    ):
        pass
    assert len(said) == 1
    assert "Waiting for another process" in said[0]


def test_the_lock_of_a_killed_process_ends(tmp_path, holder):
    holder.kill()
    holder.wait()
    with locked(tmp_path / "m.json", patience=5):
        pass


@posix
def test_a_lock_needs_no_right_to_write(tmp_path):
    (tmp_path / "m.json").write_text("{}")
    (tmp_path / "m.json").chmod(0o444)
    with locked(tmp_path / "m.json"):
        assert os.listdir(tmp_path) == ["m.json"]


def test_a_file_that_does_not_exist_is_not_locked(tmp_path):
    with locked(tmp_path / "none.json"):
        pass
    assert os.listdir(tmp_path) == []


@posix
def test_a_file_replaced_while_its_lock_is_waited_for_is_locked_anew(tmp_path):
    path, order = tmp_path / "m", []
    path.write_text("0")

    def work() -> None:
        for _ in range(20):
            with locked(path):
                number = int(path.read_text())
                write_whole(path, str(number + 1).encode())
                order.append(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == list(range(80))
