"""The path of a Unix socket: only its owner may connect, and it is removed with the server."""

from __future__ import annotations

import contextlib
import socket
import stat
from pathlib import Path

from entresol.errors import SocketUnavailable


class UnixPath:
    """A path to listen on; what a killed process left there is replaced.

    Remembers: which file it made, so that it removes no other. Persists: nothing.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._inode: int | None = None

    def listen(self) -> socket.socket:
        """Return a socket that listens on the path."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._remove_stale()
            bound.bind(str(self._path))
            # Nobody can connect before it listens.
            self._path.chmod(stat.S_IRUSR | stat.S_IWUSR)
            bound.listen()
            self._inode = self._path.stat().st_ino
        except OSError as error:
            bound.close()
            problem = error.strerror or str(error)
            raise SocketUnavailable(str(self._path), problem) from error
        except SocketUnavailable:
            bound.close()
            raise
        return bound

    def remove(self) -> None:
        """Remove the file, if it is still ours."""
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        self._inode = None

    def _remove_stale(self) -> None:
        try:
            mode = self._path.stat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise SocketUnavailable(str(self._path), "a file that is no socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self._path))
            except OSError:
                self._path.unlink()
                return
        raise SocketUnavailable(str(self._path), "in use by another process")
