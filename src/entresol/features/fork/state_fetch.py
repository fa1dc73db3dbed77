"""Read accounts and slots of one remote block, in as few requests as it takes.

The block is named by its hash if the remote takes that, else by its number, with its hash checked.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.errors import RemoteFailed
from entresol.features.fork import remote_values
from entresol.features.fork.errors import (
    AnchorLost,
    NoArchive,
    RemoteLied,
    RemoteMalformed,
    RemoteRejected,
)
from entresol.features.fork.remote_values import ProvenAccount, check_proofs, proven_account
from entresol.features.fork.transport.client import ForkClient, Guard, Outcome
from entresol.features.fork.transport.envelopes import Call
from entresol.features.fork.transport.rejections import (
    is_invalid_params,
    is_no_archive,
    is_unknown_block,
)
from entresol.primitives.values import Address, Hash32

_HASHES_ONLY: Final = False
_PROBED: Final = str(Address.zero())

PROVEN_SLOTS: Final = 3
"""From so many slots of one account on, one proof of all of them costs a remote less than they do."""
MAX_PROVEN_SLOTS: Final = 1_024
"""How many slots one proof has; each comes with nodes of some kilobytes."""

MAX_BODY: Final = 16 << 20
"""How long a response may be: 1,024 slots with their proofs in a large state have ten million bytes."""
ROOM: Final = 1 << 20
"""How much longer than its values a response may be: it may have errors instead, and space."""
_MAX_QUANTITY: Final = 1 << 10
_MAX_ACCOUNT: Final = 2 * remote_values.MAX_CODE + 3 * _MAX_QUANTITY
_MAX_PROOF: Final = 16 << 10
"""How long the proof of one value may be: the nodes on the way to it."""

AccountKey: TypeAlias = tuple[str, bytes]
SlotKey: TypeAlias = tuple[str, bytes, bytes]
StateKey: TypeAlias = AccountKey | SlotKey


class Naming(Enum):
    """How a remote takes the block of a state."""

    OBJECT = "object"
    """`{"blockHash": …}` (EIP-1898)."""
    HASH = "hash"
    NUMBER = "number"


class RemoteBlock(msgspec.Struct, frozen=True):
    """A block of the remote whose state is read; without a hash it is final, and its number is enough."""

    number: int
    hash: Hash32
    state_root: Hash32
    is_final: bool = False

    def param(self, naming: Naming) -> object:
        """Return the parameter of a method that names the block."""
        if naming is Naming.NUMBER or self.is_final:
            return hex(self.number)
        if naming is Naming.HASH:
            return str(self.hash)
        return {"blockHash": str(self.hash), "requireCanonical": False}

    def guard(self, naming: Naming, host: str) -> Guard | None:
        """Return what each batch carries if the name does not say which block it is."""
        if naming is not Naming.NUMBER or self.is_final:
            return None
        method = "eth_getBlockByNumber"

        def check(raw: msgspec.Raw) -> None:
            found = remote_values.described_block(host, method, raw, number_is=self.number)
            if found is None or found.hash != self.hash:
                now = None if found is None else found.hash
                raise AnchorLost(host, self.number, self.hash, now)

        return Guard(Call(method, (hex(self.number), _HASHES_ONLY)), check)


def probes(block: RemoteBlock) -> list[Call]:
    """Return calls that show which names the remote takes, and whether it proves its state: one of each kind."""
    return [
        *(Call("eth_getBalance", (_PROBED, block.param(naming))) for naming in Naming),
        *(
            Call("eth_getProof", (_PROBED, [str(Hash32.zero())], block.param(naming)))
            for naming in Naming
        ),
    ]


class Served(msgspec.Struct, frozen=True):
    """The ways in which a remote serves the state of a block."""

    naming: Naming
    proofs: bool
    proof_problem: str = ""
    """Why there are no proofs."""


def served(
    client: ForkClient, block: RemoteBlock, outcomes: list[Outcome], *, by_number: bool
) -> Served:
    """Return what the outcomes of `probes` mean; raises if no name gives the state of the block."""
    kinds = list(Naming)
    choices = [Naming.NUMBER] if by_number else kinds
    balances = dict(zip(kinds, outcomes, strict=False))
    proofs = dict(zip(kinds, outcomes[len(kinds) :], strict=True))
    for naming in choices:
        outcome = balances[naming]
        if not isinstance(outcome, RemoteFailed):
            remote_values.decoded(client.host, "eth_getBalance", outcome, remote_values.balance)
            problem = _proof_problem(client.host, block, proofs[naming])
            return Served(naming, not problem, problem)
    failure = balances[choices[-1]]
    assert isinstance(failure, RemoteFailed)
    raise explained(client.host, block, failure)


def explained(host: str, block: RemoteBlock, error: RemoteFailed) -> RemoteFailed:
    """Return what a rejection of a read of state means, if it means something better."""
    if isinstance(error, RemoteRejected) and is_no_archive(error.message):
        return NoArchive(host, block.number)
    return error


async def lost_or(client: ForkClient, block: RemoteBlock, error: RemoteFailed) -> RemoteFailed:
    """Return the error of an orphaned block if the remote no longer knows it; else what the rejection means."""
    if not isinstance(error, RemoteRejected) or not is_unknown_block(error.message):
        return explained(client.host, block, error)
    method = "eth_getBlockByNumber"
    try:
        raw = await client.request(method, hex(block.number), _HASHES_ONLY)
        found = remote_values.described_block(client.host, method, raw, number_is=block.number)
    except RemoteFailed:
        return error
    if found is not None and found.hash == block.hash:
        # A node behind the same URL that lags: the next attempt may reach another one.
        return error
    return AnchorLost(client.host, block.number, block.hash, None if found is None else found.hash)


def _proof_problem(host: str, block: RemoteBlock, outcome: Outcome) -> str:
    """Return why the remote does not prove the state of a block by a Merkle-Patricia trie, or an empty text."""
    if isinstance(outcome, RemoteRejected):
        return f"it does not serve eth_getProof at this block: {outcome.shown}"
    if isinstance(outcome, RemoteFailed):
        return str(outcome)
    slots = [bytes(Hash32.zero())]
    try:
        account = remote_values.decoded(
            host, "eth_getProof", outcome, lambda it: proven_account(it, slots)
        )
    except RemoteFailed as error:
        return str(error)
    problem = check_proofs(block.state_root, bytes(Address.zero()), slots, account)
    if not problem:
        return ""
    return f"eth_getProof does not prove by the state root of block {block.number}: {problem}"


class FetchedAccount(NamedTuple):
    """An account of the remote; one that is empty is absent."""

    nonce: int
    balance: int
    code: bytes


class StateSink(Protocol):
    """Where values go as soon as they are there."""

    def put_accounts(self, accounts: dict[bytes, FetchedAccount]) -> None:
        """Take accounts."""

    def put_slots(self, slots: dict[tuple[bytes, bytes], bytes]) -> None:
        """Take the values of slots, without leading zeros."""

    def fail(self, keys: Sequence[StateKey], error: RemoteFailed) -> None:
        """Take why keys could not be read."""


class CollectedState:
    """Keeps what is read, and why the rest was not."""

    def __init__(self) -> None:
        self.accounts: dict[bytes, FetchedAccount] = {}
        self.slots: dict[tuple[bytes, bytes], bytes] = {}
        self.failures: list[RemoteFailed] = []

    def put_accounts(self, accounts: dict[bytes, FetchedAccount]) -> None:
        """Keep accounts."""
        self.accounts |= accounts

    def put_slots(self, slots: dict[tuple[bytes, bytes], bytes]) -> None:
        """Keep slots."""
        self.slots |= slots

    def fail(self, keys: Sequence[StateKey], error: RemoteFailed) -> None:
        """Keep a failure."""
        del keys
        self.failures.append(error)


class _Found(NamedTuple):
    """The values of one batch."""

    accounts: dict[bytes, FetchedAccount]
    slots: dict[tuple[bytes, bytes], bytes]

    def put(self, sink: StateSink) -> None:
        """Put all of them at once."""
        if self.accounts:
            sink.put_accounts(self.accounts)
        if self.slots:
            sink.put_slots(self.slots)


class _Part(NamedTuple):
    """Calls that belong together, the keys they are for, and what is to be done with their outcomes."""

    keys: list[StateKey]
    calls: list[Call]
    take: Callable[[list[bytes], _Found], None]
    max_bytes: int
    is_proof: bool = False


class StateFetch:
    """Reads the state of one remote block.

    Assumes: the loop of the client. Fails: never; keys fail, each with a `RemoteFailed`.
    """

    def __init__(
        self,
        client: ForkClient,
        block: RemoteBlock,
        *,
        naming: Naming,
        proofs: bool,
        verify: bool = False,
    ) -> None:
        self._client = client
        self._block = block
        self._naming = naming
        self._param = block.param(naming)
        self._guard = block.guard(naming, client.host)
        self._proofs = proofs
        self._verify = verify

    async def read(self, keys: Iterable[StateKey], sink: StateSink) -> None:
        """Read keys; every one of them is put or fails."""
        slots: defaultdict[bytes, list[bytes]] = defaultdict(list)
        accounts: dict[bytes, None] = {}
        for key in keys:
            if len(key) == 3:
                slots[key[1]].append(key[2])
            else:
                accounts[key[1]] = None
        parts = list(self._parts(accounts, slots))
        pieces = list(self._pieces(parts))
        if len(pieces) == 1:
            # Without a task: each read of a chain of values is one request.
            await self._piece(pieces[0], sink)
        else:
            await asyncio.gather(*(self._piece(piece, sink) for piece in pieces))

    def _parts(
        self, accounts: dict[bytes, None], slots: dict[bytes, list[bytes]]
    ) -> Iterator[_Part]:
        for address in dict.fromkeys([*accounts, *slots]):
            wanted = slots.get(address, [])
            is_proven = self._verify or (
                self._proofs and (len(wanted) >= PROVEN_SLOTS or self._is_bound_by_proofs)
            )
            with_account = address in accounts
            if not is_proven:
                yield from self._plain(address, wanted, with_account=with_account)
                continue
            for n in range(0, max(len(wanted), 1), MAX_PROVEN_SLOTS):
                piece = wanted[n : n + MAX_PROVEN_SLOTS]
                yield self._proven(address, piece, with_account=with_account and n == 0)

    @property
    def _is_bound_by_proofs(self) -> bool:
        """Whether only a proof shows which block a value is of: the remote takes neither hashes nor batches."""
        return self._proofs and self._guard is not None and self._client.batch_size == 1

    def _plain(self, address: bytes, slots: list[bytes], *, with_account: bool) -> Iterator[_Part]:
        name, host = f"0x{address.hex()}", self._client.host
        if with_account:

            def take_account(raw: list[bytes], found: _Found) -> None:
                balance = remote_values.decoded(
                    host, "eth_getBalance", raw[0], remote_values.balance
                )
                nonce = remote_values.decoded(
                    host, "eth_getTransactionCount", raw[1], remote_values.nonce
                )
                code = remote_values.decoded(host, "eth_getCode", raw[2], remote_values.code)
                found.accounts[address] = FetchedAccount(nonce, balance, code)

            methods = ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
            calls = [Call(method, (name, self._param)) for method in methods]
            yield _Part([("account", address)], calls, take_account, _MAX_ACCOUNT)
        for slot in slots:

            def take_slot(raw: list[bytes], found: _Found, slot: bytes = slot) -> None:
                value = remote_values.decoded(host, "eth_getStorageAt", raw[0], remote_values.word)
                found.slots[address, slot] = value

            call = Call("eth_getStorageAt", (name, f"0x{slot.hex()}", self._param))
            yield _Part([("slot", address, slot)], [call], take_slot, _MAX_QUANTITY)

    def _proven(self, address: bytes, slots: list[bytes], *, with_account: bool) -> _Part:
        """Return the part of an account with its slots in one proof."""
        name = f"0x{address.hex()}"
        calls = [Call("eth_getProof", (name, [f"0x{slot.hex()}" for slot in slots], self._param))]
        keys: list[StateKey] = [("slot", address, slot) for slot in slots]
        if with_account:
            calls.append(Call("eth_getCode", (name, self._param)))
            keys.append(("account", address))

        def take(raw: list[bytes], found: _Found) -> None:
            account = self._account(address, slots, raw[0])
            if with_account:
                code = self._code(account, raw[1])
                found.accounts[address] = FetchedAccount(account.nonce, account.balance, code)
            for slot, value in zip(slots, account.slots, strict=True):
                found.slots[address, slot] = value

        max_bytes = (len(slots) + 1) * _MAX_PROOF + (_MAX_ACCOUNT if with_account else 0)
        return _Part(keys, calls, take, max_bytes, is_proof=True)

    def _account(self, address: bytes, slots: list[bytes], raw: bytes) -> ProvenAccount:
        method, host = "eth_getProof", self._client.host
        account = remote_values.decoded(host, method, raw, lambda it: proven_account(it, slots))
        problem = check_proofs(self._block.state_root, address, slots, account)
        if problem:
            raise RemoteLied(host, method, f"account 0x{address.hex()}: {problem}")
        return account

    def _code(self, account: ProvenAccount, raw: bytes) -> bytes:
        method, host = "eth_getCode", self._client.host
        code = remote_values.decoded(host, method, raw, remote_values.code)
        if code if not account.has_code else keccak256(code) != account.code_hash:
            problem = f"the code does not have the hash {account.code_hash}"
            if self._verify:
                raise RemoteLied(host, method, problem)
            # Its hash is proven, so that a read without a proof would be no better.
            raise RemoteMalformed(host, method, problem)
        return code

    def _pieces(self, parts: list[_Part]) -> Iterator[list[_Part]]:
        """Yield parts whose calls fit one batch."""
        size = max(self._client.batch_size - (self._guard is not None), 1)
        piece: list[_Part] = []
        count = 0
        for part in parts:
            if piece and count + len(part.calls) > size:
                yield piece
                piece, count = [], 0
            piece.append(part)
            count += len(part.calls)
        if piece:
            yield piece

    async def _piece(self, parts: list[_Part], sink: StateSink) -> None:
        calls = [call for part in parts for call in part.calls]
        is_bound = self._is_bound_by_proofs and all(part.is_proof for part in parts)
        guard = None if is_bound else self._guard
        # A guard brings a header of any length.
        max_bytes = MAX_BODY if guard is not None else _max_bytes(parts)
        outcomes = iter(await self._client.ask(calls, guard=guard, max_bytes=max_bytes))
        found = _Found({}, {})
        unproven: list[_Part] = []
        misnamed: list[_Part] = []
        explained: dict[str, RemoteFailed] = {}
        for part in parts:
            mine = [next(outcomes) for _ in part.calls]
            failure = _first_failure(mine)
            may_do_without = part.is_proof and not self._verify
            if failure is None:
                failure = _taken(part, mine, found)
                if failure is None:
                    continue
            if is_bound and isinstance(failure, RemoteLied):
                # The remote has proven this state before: it is that of another branch.
                sink.fail(
                    part.keys, AnchorLost(self._client.host, self._block.number, self._block.hash)
                )
            elif may_do_without and isinstance(failure, RemoteRejected | RemoteLied):
                unproven.append(part)
            elif self._is_misnamed(failure):
                misnamed.append(part)
            else:
                text = str(failure)
                if text not in explained:
                    explained[text] = await lost_or(self._client, self._block, failure)
                sink.fail(part.keys, explained[text])
        found.put(sink)
        if misnamed:
            await self._by_number().read([key for part in misnamed for key in part.keys], sink)
        if unproven:
            await self._without_proofs(unproven, sink)

    def _is_misnamed(self, failure: RemoteFailed) -> bool:
        """Return whether a remote does not take the name of the block: of several URLs each may take other names."""
        return (
            self._naming is not Naming.NUMBER
            and isinstance(failure, RemoteRejected)
            and is_invalid_params(failure.code, failure.message)
        )

    def _by_number(self) -> StateFetch:
        return StateFetch(
            self._client,
            self._block,
            naming=Naming.NUMBER,
            proofs=self._proofs,
            verify=self._verify,
        )

    async def _without_proofs(self, parts: list[_Part], sink: StateSink) -> None:
        self._proofs = False
        await self.read([key for part in parts for key in part.keys], sink)


def _max_bytes(parts: Sequence[_Part]) -> int:
    """Return how long a response may be: what nobody has asked for is not received to its end."""
    return min(ROOM + sum(part.max_bytes for part in parts), MAX_BODY)


def _taken(part: _Part, outcomes: list[Outcome], found: _Found) -> RemoteFailed | None:
    try:
        part.take([outcome for outcome in outcomes if not isinstance(outcome, RemoteFailed)], found)
    except RemoteFailed as error:
        return error
    return None


def _first_failure(outcomes: list[Outcome]) -> RemoteFailed | None:
    failures = [outcome for outcome in outcomes if isinstance(outcome, RemoteFailed)]
    archive = (
        failure
        for failure in failures
        if isinstance(failure, RemoteRejected) and is_no_archive(failure.message)
    )
    return next(archive, failures[0] if failures else None)
