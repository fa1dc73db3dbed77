"""How the state of a block is asked for: by its hash if the remote can, else by its number with its hash checked."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from entresol.errors import AnchorLost, NoArchive, RemoteFailed, RemoteRejected
from entresol.fork import results
from entresol.fork.proofs import check_proofs, proven_account
from entresol.fork.transport.client import ForkClient, Guard, Outcome
from entresol.fork.transport.envelopes import Call
from entresol.fork.transport.rejections import is_no_archive, is_unknown_block
from entresol.primitives.values import Address, Hash32

_HASHES_ONLY: Final = False
_PROBED: Final = str(Address.zero())


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
            found = results.described_block(host, method, raw, number_is=self.number)
            if found is None or found.hash != self.hash:
                now = None if found is None else found.hash
                raise AnchorLost(host, self.number, self.hash, now)

        return Guard(Call(method, (hex(self.number), _HASHES_ONLY)), check)


def probes(block: RemoteBlock) -> list[Call]:
    """Return calls that show which names the remote takes, and whether it proves its state: one of each kind."""
    return [
        *(Call("eth_getBalance", (_PROBED, block.param(it))) for it in Naming),
        *(Call("eth_getProof", (_PROBED, [str(Hash32.zero())], block.param(it))) for it in Naming),
    ]


class Served(msgspec.Struct, frozen=True):
    """What a remote serves of the state of a block."""

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
            results.decoded(client.host, "eth_getBalance", outcome, results.balance)
            problem = _proof_problem(client.host, block, proofs[naming])
            return Served(naming, not problem, problem)
    raise explained(client.host, block, _failure(balances[choices[-1]]))


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
        found = results.described_block(client.host, method, raw, number_is=block.number)
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
        account = results.decoded(
            host, "eth_getProof", outcome, lambda it: proven_account(it, slots)
        )
    except RemoteFailed as error:
        return str(error)
    problem = check_proofs(block.state_root, bytes(Address.zero()), slots, account)
    if not problem:
        return ""
    return f"eth_getProof does not prove by the state root of block {block.number}: {problem}"


def _failure(outcome: Outcome) -> RemoteFailed:
    assert isinstance(outcome, RemoteFailed)
    return outcome
