"""Writing of files: the only place that writes a file or locks one.

`write_whole` replaces a file atomically, keeps links and permissions, and writes into pipes and devices. `locked`
keeps other processes from changing a file between reading and writing it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from countwise.errors import ModelFileError, warn

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["locked", "write_whole"]

_LEFTOVER = ".countwise-partial"
_OPEN_FILE = re.compile(r"/(?:dev/(?:fd/(\d+)|std(out|err))|proc/self/fd/(\d+))")
# errors for which an existing file may still be written in place: the folder is read-only, or the file is a mount
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
_WAIT, _PATIENCE = 1.0, 600.0  # seconds before a message, and before an error, if a file is locked
_BINARY = getattr(os, "O_BINARY", 0)


def write_whole(place: str | os.PathLike[str], data: bytes) -> None:
    """Write a file as a whole.

    A file is replaced atomically: a temporary file in the same folder is written, synced and renamed. A link is kept;
    the file that it points to is replaced. Permissions, owner and group of an existing file are kept where the system
    allows it; a new file has the permissions of the umask. A pipe or device is written directly. If the folder does
    not allow a new file, an existing file is overwritten in place, which is not atomic.

    Raises
    ------
    ModelFileError
        If the file cannot be written; the old file is unchanged.
    """
    try:
        shared = _open_file(place)
        if shared is not None:
            _write_into(os.dup(shared), data)
            return
        before = _status(place)
        if before is not None and stat.S_ISDIR(before.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if before is not None and not stat.S_ISREG(before.st_mode):
            _write_into(os.open(place, os.O_WRONLY | _BINARY), data)
            return
        _replace(Path(os.path.realpath(place)), data, before)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{place} cannot be written: {_reason(error, place)}.") from None


def _reason(error: OSError | ValueError, place: str | os.PathLike[str]) -> str:
    """Return the reason why a file cannot be written."""
    folder = os.path.dirname(os.path.realpath(place)) if isinstance(error, OSError) else ""
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return f"the folder {folder!r} does not exist"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _open_file(place: str | os.PathLike[str]) -> int | None:
    """Return the descriptor that a path such as /dev/stdout or /dev/fd/63 stands for."""
    found = _OPEN_FILE.fullmatch(os.fspath(place))
    if found is None:
        return None
    return {"out": 1, "err": 2}[found[2]] if found[2] else int(found[1] or found[3])


def _status(place: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return os.stat(place)
    except FileNotFoundError:
        return None


def _write_into(handle: int, data: bytes) -> None:
    """Write to a pipe, device or open file, and close the descriptor."""
    with os.fdopen(handle, "wb", buffering=0) as out:
        _write_all(out.fileno(), data)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _replace(place: Path, data: bytes, before: os.stat_result | None) -> None:
    """Replace a regular file, or create it."""
    if before is not None and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected")
    try:
        _swap(place, data, before)
    except OSError as error:
        if before is None or error.errno not in _IN_PLACE:
            raise
        _overwrite(place, data)


def _swap(place: Path, data: bytes, before: os.stat_result | None) -> None:
    """Write a temporary file, sync it and rename it."""
    _remove_leftovers(place)
    partial, handle = _new_partial(place, 0o666 if before is None else 0o600)
    try:
        try:
            if before is not None:
                _copy_rights(handle, place, before)
            _write_all(handle, data)
            os.fsync(handle)
            if os.name != "nt":
                os.replace(partial, place)  # before the lock on it ends
        finally:
            os.close(handle)
        if os.name == "nt":
            _replace_patiently(partial, place)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)
    _sync_folder(place.parent)


def _prefix(place: Path) -> str:
    """Return how the names of the temporary files of a file start: short, so that a long name stays valid."""
    return f".{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}-"


def _new_partial(place: Path, mode: int) -> tuple[Path, int]:
    """Create and lock a temporary file; the lock shows other processes that its writer is alive."""
    while True:
        partial = place.with_name(f"{_prefix(place)}{secrets.token_hex(8)}{_LEFTOVER}")
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        if os.name == "nt":  # an open file cannot be removed there
            return partial, handle
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        now = _status(partial)
        if now is not None and os.path.samestat(now, os.fstat(handle)):
            return partial, handle
        os.close(handle)  # another process removed it before it was locked


def _remove_leftovers(place: Path) -> None:
    """Remove the temporary files of writers that were killed; those of living writers are locked."""
    prefix = _prefix(place)
    with contextlib.suppress(OSError):
        names = [n for n in os.listdir(place.parent) if n.startswith(prefix) and n.endswith(_LEFTOVER)]
        for leftover in map(place.with_name, names):
            with contextlib.suppress(OSError):
                if os.name == "nt":
                    os.unlink(leftover)
                    continue
                handle = os.open(leftover, os.O_RDONLY)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(leftover)
                finally:
                    os.close(handle)


def _copy_rights(handle: int, place: Path, before: os.stat_result) -> None:
    """Give the new file the owner, group, permissions and access lists of the old one."""
    if os.name == "nt":
        return
    mode, now = stat.S_IMODE(before.st_mode), os.fstat(handle)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except OSError:
            try:
                os.fchown(handle, -1, before.st_gid)
            except OSError:  # another group must not get the rights of the old one
                mode = mode & ~0o070 | (mode & 0o070 & (mode & 0o007) << 3)
    os.fchmod(handle, mode)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(place):
                with contextlib.suppress(OSError):
                    os.setxattr(handle, name, os.getxattr(place, name))


def _replace_patiently(partial: Path, place: Path) -> None:
    """Rename a file on Windows, where a file that another process has open cannot be replaced."""
    for _ in range(200):
        with contextlib.suppress(PermissionError):
            os.replace(partial, place)
            return
        time.sleep(0.01)
    os.replace(partial, place)


def _overwrite(place: Path, data: bytes) -> None:
    """Overwrite a file in place, after the disk space is reserved."""
    handle = os.open(place, os.O_WRONLY | _BINARY)
    try:
        if data and hasattr(os, "posix_fallocate"):
            size = os.fstat(handle).st_size
            try:
                os.posix_fallocate(handle, 0, len(data))
            except OSError as error:
                os.ftruncate(handle, size)
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
        _write_all(handle, data)
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the rename survives a crash, where the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- locks ----------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(
    place: str | os.PathLike[str], waits: Callable[[str], None] = lambda message: None, patience: float = _PATIENCE
) -> Iterator[None]:
    """Keep other processes that call `locked` out until the block ends, or the process.

    The lock is on the file itself, so that it needs no permission to write into the folder. On Windows, where a
    locked file cannot be replaced, it is on a file beside it.

    Parameters
    ----------
    place : str or path
        File that is read and then replaced. If it does not exist, there is nothing to lock.
    waits : callable
        Called with a message if another process has had the lock for a second.
    patience : float
        Seconds to wait for the lock.

    Raises
    ------
    ModelFileError
        If another process has the lock for longer than that.
    """
    handle = _acquired(place, waits, patience)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)  # which ends the lock


def _acquired(place: str | os.PathLike[str], waits: Callable[[str], None], patience: float) -> int | None:
    start, said = time.monotonic(), False
    while True:
        try:
            handle = _try_lock(place)
            if handle is not None:
                return handle
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EISDIR):
                return None  # reading the file will say so
            warn(
                f"{place} cannot be locked ({error.strerror}): if another process changes it at the same time, "
                "one of the changes is lost."
            )
            return None
        passed = time.monotonic() - start
        if passed > patience:
            raise ModelFileError(
                f"{place} is being changed by another process; waited {patience:g} s.",
                hint="wait until that process has ended, or stop it.",
            )
        if passed > _WAIT and not said:
            waits(f"Waiting for another process that changes {place}.")
            said = True
        time.sleep(0.02)


def _try_lock(place: str | os.PathLike[str]) -> int | None:
    """Return the descriptor of the locked file, or None if another process has the lock."""
    if sys.platform == "win32":
        beside = os.open(f"{os.path.realpath(place)}.lock", os.O_RDWR | os.O_CREAT)
        try:
            msvcrt.locking(beside, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(beside)
            return None
        return beside
    if not stat.S_ISREG(os.stat(place).st_mode):
        raise FileNotFoundError(errno.ENOENT, "no file to lock")  # a pipe must not be opened and closed
    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        now = _status(place)
        if now is not None and os.path.samestat(now, os.fstat(handle)):
            return handle
    except BlockingIOError:
        pass
    except OSError:
        os.close(handle)
        raise
    os.close(handle)  # locked by another process, or replaced since it was opened
    return None
