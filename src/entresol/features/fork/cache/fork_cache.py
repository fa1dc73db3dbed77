"""The cache of what a fork has read of its remote chain, across starts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

from entresol._native import keccak256
from entresol.features.fork.cache.cache_files import (
    DefaultPlace,
    DirectoryPlace,
    NoPlace,
    OpenFiles,
    Place,
    WantedFork,
    default_directory,
    place_of,
)
from entresol.features.fork.cache.fork_database import (
    ANCHOR,
    EMPTY_CODE,
    MAX_NUMBER,
    CachedAccount,
    Fork,
    Row,
    RowKey,
    RowValue,
    StartAnswers,
    big_endian,
    name_of,
    text_of,
)
from entresol.features.fork.cache.row_writer import RowWriter
from entresol.features.fork.errors import ForkCacheConflict, ForkCacheFailed, NotRecorded
from entresol.storage.database.directory import FORK_FOLDER

DEFAULT_MAX_BYTES: Final = 4 * 1024**3
"""How much all caches of a directory take together, unless `--fork-cache-size` says otherwise."""
MAX_IN_MEMORY: Final = 64 << 20
"""How much is kept without a disk; the rest is asked for again."""
MAX_ABSENT: Final = 10_000
"""How many results that are nothing are kept: clients can ask for any number of hashes that nobody knows."""
CHECKED_BYTES: Final = 4 << 20
"""After so much is written the size of the directory is looked at again."""

_ANCHOR_ANSWER: Final = "anchor"


class Recording(NamedTuple):
    """How the user would record what is missing: the command, and how its flags begin (`--`, or `--l1-`)."""

    command: str = "entresol"
    flag_prefix: str = "--"


class CacheSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of a fork are cached, and how much of them."""

    place: Path | None = None
    """`--fork-cache`: a directory, or a file; by default in the user's cache directory."""
    data_dir: Path | None = None
    """The directory of the chain, if it is on disk: then what it has read stays with it."""
    max_bytes: int = DEFAULT_MAX_BYTES
    is_stored: bool = True
    """Whether anything is cached on disk (`--no-storage-caching`)."""
    is_offline: bool = False
    recording: Recording = Recording()
    is_verified: bool = False
    """Whether everything is proven (`--fork-verify`): it is cached apart from what is not."""


class ForkCache:
    """The values of one fork that were read before, by this process or another.

    One thread reads and puts; a thread of its own writes. Before `bind`, or a `start` that found something, it is
    empty. Nothing in it says where the values came from: no URL, header or key. Assumes: `block` is the hash of the
    block whose values they are, the anchor or an earlier one. Fails: `ForkCacheConflict` if a value is another than the
    cached one. A disk that is full or fails is reported once, and the fork goes on; `problem` has it.
    """

    def __init__(
        self,
        place: Place,
        *,
        is_offline: bool = False,
        recording: Recording = Recording(),  # noqa: B008
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.place = place
        self.is_offline = is_offline
        self.fork: Fork | None = None
        self._recording = recording
        self._report = report
        self._reported = ""
        self._files = OpenFiles()
        self._writer: RowWriter | None = None
        self._in_memory = 0
        self._absent: int | None = None
        self._unchecked_bytes = CHECKED_BYTES

    @classmethod
    def memory(cls) -> Self:
        """Return a cache that is on no disk."""
        return cls(NoPlace())

    @property
    def problem(self) -> ForkCacheFailed | None:
        """Why values are not written now."""
        return None if self._writer is None else self._writer.problem

    def start(self, wanted: WantedFork = WantedFork()) -> StartAnswers | None:  # noqa: B008
        """Return what the fork was told at an earlier start, and open it; None, if it has to ask.

        A file of one fork knows its block without being told: a start that names none stands on that one. In a
        directory of many, only a hash says that a fork is the same, unless there is no remote to ask.
        """
        is_said = self.is_offline or self.place.is_of_one_fork or wanted.hash is not None
        fork = self.place.find(wanted) if is_said else None
        if fork is not None:
            self.bind(fork)
            found = self._all_answers()
            anchor = found.pop(_ANCHOR_ANSWER, None)
            if anchor is not None:
                return StartAnswers(fork, anchor, found)
        if self.is_offline:
            raise self._not_recorded("the block that the fork stands on", wanted.number)
        return None

    def bind(self, fork: Fork) -> None:
        """Open the cache of a fork; in a file of one fork, another one is an error."""
        if fork == self.fork:
            return
        self.close()
        self._files = self.place.open(fork, is_read_only=self.is_offline)
        self.fork, self._absent, self._in_memory = fork, None, 0
        if self._files.write is not None:
            self._writer = RowWriter(self._write, self._failed)

    def put_start(self, answers: StartAnswers) -> None:
        """Open the cache of a fork, and keep what it was told; answers that are there stay."""
        self.bind(answers.fork)
        given = {**answers.answers, _ANCHOR_ANSWER: answers.anchor}
        known = self._get("answer", [(name,) for name in given])
        self._put(
            Row("answer", (name,), (compact(json),))
            for name, json in given.items()
            if (name,) not in known
        )

    def accounts(self, block: bytes, addresses: Sequence[bytes]) -> dict[bytes, CachedAccount]:
        """Return the accounts that are known."""
        at = self._block(block)
        rows = self._get("account", [(at, bytes(address)) for address in addresses])
        codes = self._codes({value[2] for value in rows.values()})
        return {
            address: CachedAccount(_number(nonce), _number(balance), codes[code_hash])
            for (_, address), (nonce, balance, code_hash) in rows.items()
            if code_hash in codes
        }

    def put_accounts(self, block: bytes, accounts: Mapping[bytes, CachedAccount]) -> None:
        """Keep accounts with their code."""
        at, rows = self._block(block), []
        for address, account in accounts.items():
            code_hash = keccak256(account.code) if account.code else EMPTY_CODE
            if account.code:
                rows.append(Row("code", (code_hash,), (bytes(account.code),)))
            value = (big_endian(account.nonce), big_endian(account.balance), code_hash)
            rows.append(Row("account", (at, bytes(address)), value))
        self._put(rows)

    def slots(
        self, block: bytes, slots: Sequence[tuple[bytes, bytes]]
    ) -> dict[tuple[bytes, bytes], bytes]:
        """Return the values of slots that are known, without leading zeros, by address and slot."""
        at = self._block(block)
        rows = self._get("slot", [(at, bytes(address), bytes(slot)) for address, slot in slots])
        return {(address, slot): value for (_, address, slot), (value,) in rows.items()}

    def put_slots(self, block: bytes, slots: Mapping[tuple[bytes, bytes], bytes]) -> None:
        """Keep the values of slots, by address and slot."""
        at = self._block(block)
        self._put(
            Row("slot", (at, bytes(address), bytes(slot)), (bytes(value).lstrip(b"\0"),))
            for (address, slot), value in slots.items()
        )

    def code(self, code_hash: bytes) -> bytes | None:
        """Return code by its hash, if it is known."""
        return self._codes({bytes(code_hash)}).get(bytes(code_hash))

    def hashes(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return the hashes of blocks that are known, by number."""
        rows = self._get("hash", [(number,) for number in numbers if number <= MAX_NUMBER])
        return {number: block_hash for (number,), (block_hash,) in rows.items()}

    def put_hashes(self, hashes: Mapping[int, bytes]) -> None:
        """Keep the hashes of blocks at or below the anchor."""
        self._put(
            Row("hash", (number,), (bytes(block_hash),))
            for number, block_hash in hashes.items()
            if number <= MAX_NUMBER
        )

    def response(self, method: str, params: bytes) -> bytes | None:
        """Return a result that never changes, as JSON in one line."""
        key = (method, compact(params))
        value = self._get("response", [key]).get(key)
        return None if value is None else value[0]

    def put_response(self, method: str, params: bytes, result: bytes) -> None:
        """Keep a result that never changes: of a block, transaction or receipt at or below the anchor."""
        self._put([Row("response", (method, compact(params)), (compact(result),))])

    def is_absent(self, method: str, params: bytes) -> bool:
        """Return whether a result was nothing when it was recorded, which only a fork without a remote relies on.

        A remote may know less than it should, as one that has dropped its index of old transactions: where it can be
        asked it is, and what it has then takes precedence.
        """
        key = (method, compact(params))
        return key in self._get("absent", [key])

    def put_absent(self, method: str, params: bytes) -> None:
        """Keep that nothing at or below the anchor is the result; of the first 10,000 that clients have asked for."""
        key = (method, compact(params))
        if self._absent is None:
            self._absent = 0 if self._files.read is None else self._files.read.counts()["absent"]
        if self._absent < MAX_ABSENT and key not in self._get("absent", [key]):
            self._absent += 1
            self._put([Row("absent", key, ())])

    def missing(self, kind: str, *key: Any) -> NotRecorded:
        """Return the error of a value that a fork without a remote needs."""
        if kind in {"account", "slot"}:
            key = (self._block(key[0]), *key[1:])
        return self._not_recorded(name_of(kind, key))

    def flush(self) -> None:
        """Wait until everything is written, or raise why it cannot be."""
        if self._writer is not None:
            self._writer.flush()
            self._raise_conflict()
            if self._writer.problem is not None:
                raise self._writer.problem

    def close(self) -> None:
        """Write what is left, and close the files."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        files, self._files, self.fork = self._files, OpenFiles(), None
        files.close()

    def _all_answers(self) -> dict[str, bytes]:
        if self._files.read is None:
            return {}
        return {row.key[0]: row.value[0] for row in self._files.read.rows("answer")}

    def _get(self, kind: str, keys: Sequence[RowKey]) -> dict[RowKey, RowValue]:
        """Return what is known of some keys: not written yet, or in the file."""
        found: dict[RowKey, RowValue] = {}
        if self._writer is not None:
            for key in keys:
                value = self._writer.get(kind, key)
                if value is not None:
                    found[key] = value
        left = [key for key in keys if key not in found]
        return found | self._read(kind, left) if left else found

    def _read(self, kind: str, keys: list[RowKey]) -> dict[RowKey, RowValue]:
        try:
            return {} if self._files.read is None else self._files.read.get(kind, keys)
        except ForkCacheFailed as error:
            if self.is_offline:
                raise
            # The remote has it, too.
            self._failed(error)
            return {}

    def _put(self, rows: Iterable[Row]) -> None:
        self._raise_conflict()
        new = []
        for kind, group in _by_kind(rows).items():
            known = self._get(kind, list(group))
            for key, value in group.items():
                if key not in known:
                    new.append(Row(kind, key, value))
                elif known[key] != value:
                    raise ForkCacheConflict(name_of(kind, key), text_of(known[key]), text_of(value))
        if self._writer is not None:
            self._writer.put(new)
        elif self._files.read is not None and not self.is_offline:
            size = sum(row.size for row in new)
            if self._in_memory + size <= MAX_IN_MEMORY:
                self._in_memory += size
                self._files.read.insert(new)

    def _codes(self, hashes: set[bytes]) -> dict[bytes, bytes]:
        found = {EMPTY_CODE: b""}
        rows = self._get("code", [(code_hash,) for code_hash in hashes - {EMPTY_CODE}])
        for (code_hash,), (code,) in rows.items():
            # A disk may have lost bits, and code is what runs.
            if keccak256(code) == code_hash:
                found[code_hash] = code
        return found

    def _write(self, rows: Sequence[Row]) -> None:
        """Write rows, on the thread of the writer, if there is room."""
        database = self._files.write
        if database is None:
            return
        self._unchecked_bytes += sum(row.size for row in rows)
        if self._unchecked_bytes >= CHECKED_BYTES:
            if not self._files.has_room():
                raise ForkCacheFailed(
                    f"the fork cache {database.path or Path()} takes no more values: --fork-cache-size is reached"
                )
            self._unchecked_bytes = 0
        database.insert(rows)

    def _failed(self, error: ForkCacheFailed) -> None:
        if self._reported != str(error):
            self._reported = str(error)
            self._report(f"{error}; what is read of the remote now is not cached")

    def _raise_conflict(self) -> None:
        if self._writer is not None and self._writer.conflict is not None:
            conflict, self._writer.conflict = self._writer.conflict, None
            raise conflict

    def _block(self, block: bytes) -> bytes:
        return ANCHOR if self.fork is not None and block == self.fork.hash else bytes(block)

    def _not_recorded(self, what: str, number: int | None = None) -> NotRecorded:
        command, prefix = self._recording
        at = number if self.fork is None else self.fork.number
        block = "" if at is None else f" {prefix}fork-block-number {at}"
        place = shlex.quote(str(self.place))
        return NotRecorded(
            what, f"{command} {prefix}fork-url <url>{block} {prefix}fork-cache {place}"
        )


def open_cache(
    settings: CacheSettings,
    environment: Mapping[str, str],
    report: Callable[[str], None] = lambda _: None,
) -> ForkCache:
    """Return the cache of a fork; its files are opened once the fork is known (`start`, `bind`)."""
    return ForkCache(
        _place(settings, environment, report),
        is_offline=settings.is_offline,
        recording=settings.recording,
        report=report,
    )


def compact(json: bytes) -> bytes:
    """Return JSON in one line, its numbers and strings as they are; raise a `ValueError` for anything else."""
    try:
        text = msgspec.json.format(json, indent=-1)
        text.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return text


def _place(
    settings: CacheSettings, environment: Mapping[str, str], report: Callable[[str], None]
) -> Place:
    if not settings.is_stored and not settings.is_offline:
        return NoPlace()
    is_verified = settings.is_verified
    if settings.place is not None:
        return place_of(settings.place, settings.max_bytes, is_verified=is_verified)
    if settings.data_dir is not None:
        return DirectoryPlace(settings.data_dir / FORK_FOLDER, None, is_verified=is_verified)
    directory = default_directory(environment)
    return DefaultPlace(directory, settings.max_bytes, report, is_verified=is_verified)


def _by_kind(rows: Iterable[Row]) -> dict[str, dict[RowKey, RowValue]]:
    found: dict[str, dict[RowKey, RowValue]] = {}
    for row in rows:
        group = found.setdefault(row.kind, {})
        if group.setdefault(row.key, row.value) != row.value:
            raise ForkCacheConflict(
                name_of(row.kind, row.key), text_of(group[row.key]), text_of(row.value)
            )
    return found


def _number(value: bytes) -> int:
    return int.from_bytes(value, "big")
