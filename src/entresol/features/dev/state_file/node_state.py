"""Dump the chains of a node into a state file, and load one: all of it or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from entresol.chain.genesis.genesis import GenesisAccount
from entresol.chain.genesis.genesis_contracts import (
    base_token_in,
    base_token_of,
    registered_contract,
    registered_contract_in,
)
from entresol.errors import ChainReplaced, NotPossible
from entresol.features.dev.node_chains import NodeChains, new_genesis
from entresol.features.dev.state_file.loading import (
    apply_accounts,
    build_foreign,
    build_own,
)
from entresol.features.dev.state_file.reading import FileAnchor, read_state_file
from entresol.features.dev.state_file.writing import ChainDump, write_state_file
from entresol.primitives.base_token import L2_BASE_TOKEN, L2_NATIVE_TOKEN_VAULT
from entresol.primitives.records import StoredChange
from entresol.primitives.values import Hash32
from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from entresol._native import Overlay
    from entresol.chain.chain import Chain
    from entresol.chain.edits import PreparedEdit
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.ledger import RevertedBlocks
    from entresol.features.dev.state_file.reading import ChainPart, FileAccount, StateFile
    from entresol.primitives.base_token import BaseToken
    from entresol.primitives.values import Address
    from entresol.storage.store import Store


class Replacement(NamedTuple):
    """The replacement of a chain."""

    chain: Chain
    store: Store
    edits: tuple[StoredChange, ...] = ()
    codes: tuple[bytes, ...] = ()
    reverted: RevertedBlocks | None = None
    """The blocks that the chain had while this was prepared."""
    copy: Store | None = None
    """A copy of them, if checkpoints need one."""


class PreparedLoad:
    """A state file that was read and checked, ready to take effect on the thread of the chains."""

    def __init__(
        self,
        replacements: list[Replacement],
        accounts: Mapping[Chain, dict[Address, FileAccount]],
    ) -> None:
        self.replacements = replacements
        self.accounts = {chain: found for chain, found in accounts.items() if found}
        self.edits: dict[Chain, PreparedEdit] = {}
        """The states with the accounts, unless chains are replaced first."""

    def close(self) -> None:
        """Delete what was prepared."""
        for replacement in self.replacements:
            replacement.store.close()
            if replacement.copy is not None:
                replacement.copy.close()


class NodeState:
    """Dumps and loads the chains of a node.

    A file that this node wrote has all of its chains and restores them. Another one replaces the chain that it is
    loaded into, over the state of its genesis, and resets the others; on an L2 that settles only its accounts are
    taken, as edits, because batches consist of blocks that the node has executed. `prepare` and the work of `dump` may
    run on any thread.
    """

    def __init__(self, node_chains: NodeChains, settling: Collection[Chain] = ()) -> None:
        self._node_chains = node_chains
        self._settling = settling

    def dump(
        self,
        chain: Chain,
        *,
        historical: bool = False,
        packed: bool = True,
        paced: Callable[[Iterable[bytes]], Iterable[bytes]] = iter,
    ) -> Callable[[], bytes]:
        """Return the work that writes a file of what the chains are now; its pieces pass through `paced`."""
        dumps = {dumped: ChainDump(dumped) for dumped in self._node_chains.chains}
        others = [dump for dumped, dump in dumps.items() if dumped is not chain]

        def work() -> bytes:
            pieces = dumps[chain].written(others, historical=historical)
            return write_state_file(paced(pieces), packed=packed)

        return work

    def prepare(
        self, data: Mapping[Chain, bytes], *, max_memory: int | None = None
    ) -> PreparedLoad:
        """Read and check the files of some chains, and build what the chains will be.

        A chain without a file of its own is taken from that of another chain if this node wrote it. `max_memory` is
        the bound of a file that a client has sent.
        """
        self._node_chains.check_replaceable()
        files = {
            chain: read_state_file(content, chain.rules.chain_id, max_memory=max_memory)
            for chain, content in data.items()
        }
        accounts = {
            chain: file.accounts for chain, file in files.items() if self._is_merged(chain, file)
        }
        for chain, found in accounts.items():
            _check_token_accounts(chain, found)
        load = PreparedLoad([], accounts)
        if accounts.keys() == files.keys():
            load.edits = {
                chain: chain.prepare_edit(_edit(found)) for chain, found in load.accounts.items()
            }
            return load
        try:
            for chain in self._node_chains.chains:
                replacement = self._replacement(chain, files)
                load.replacements.append(replacement)
                chain.ledger.store.prepare_replace(replacement.store)
                reverted = chain.ledger.reverted_by(-1)
                copy = self._node_chains.reverts_of(chain).copy_for(replacement.store)
                load.replacements[-1] = replacement._replace(reverted=reverted, copy=copy)
        except BaseException:
            load.close()
            raise
        return load

    def apply(self, load: PreparedLoad) -> None:
        """Let a prepared file take effect; the caller closes it."""
        if load.replacements:
            if len(load.replacements) != len(self._node_chains.chains):
                raise ChainReplaced("a chain was added meanwhile: send the request again")
            # What a chain keeps for its checkpoints is not closed with the rest.
            replaced = [
                replacement for replacement in load.replacements if not self._replace(replacement)
            ]
            load.replacements = [replacement._replace(copy=None) for replacement in replaced]
            self._node_chains.on_replaced()
        for chain, accounts in load.accounts.items():
            edit = load.edits.get(chain)
            # Whatever changed the state meanwhile, the file is loaded after it.
            while edit is None or not chain.apply_edit(edit, accounts):
                edit = chain.prepare_edit(_edit(accounts))

    def _replace(self, load: Replacement) -> bool:
        return self._node_chains.reverts_of(load.chain).replace(
            load.store,
            load.edits,
            load.codes,
            load.reverted,
            keeps_checkpoints=True,
            copy=load.copy,
        )

    def _is_merged(self, chain: Chain, file: StateFile) -> bool:
        """Return whether only the accounts of a file are taken."""
        if file.part_of(chain.rules.chain_id) is not None:
            return False
        # The blocks of another node do not follow the anchor of a fork.
        if chain in self._settling or chain.ledger.anchor is not None:
            return True
        if not file.blocks and file.best is not None and file.best > chain.number:
            raise NotPossible(f"Best hash not found for best number {file.best}")
        return not file.blocks

    def _replacement(self, chain: Chain, files: Mapping[Chain, StateFile]) -> Replacement:
        key, own = chain.identity, files.get(chain)
        sources = files.values() if own is None else [own]
        parts = (source.part_of(chain.rules.chain_id) for source in sources)
        part = next((known for known in parts if known is not None), None)
        if part is not None:
            _check_anchor(chain, part)
            _check_base_token(chain.genesis, part)
            _check_publishes(chain, part)
            self._check_registered(chain, part)
            self._check_deposits(chain, part, files)
            store = build_own(part, chain.genesis, key)
            return Replacement(chain, store, part.edits, part.edited_codes)
        if self._node_chains.is_added(chain):
            raise NotPossible(
                f"chain {chain.rules.chain_id} was added to the node, and is not in the file: its L1 would not know it"
            )
        if own is None or self._is_merged(chain, own):
            return Replacement(chain, new_genesis(chain))
        for other in own.chains:
            if other.anchor is not None:
                raise NotPossible(
                    f"chain {other.chain_id} is {_named(other.anchor)} in the file, and the chain here is {chain.rules.chain_id}: "
                    "fork the same block to load it"
                )
        return Replacement(chain, build_foreign(own, chain.genesis, key))

    def _other_ids(self, chain: Chain) -> list[int]:
        return [other.rules.chain_id for other in self._node_chains.chains if other is not chain]

    def _check_registered(self, chain: Chain, part: ChainPart) -> None:
        """Reject an L1 that has other contracts for the L2s of this node, or none.

        Of one L2 alone the Bridgehub may be that of an earlier version, which cannot be read.
        """
        ids = self._other_ids(chain)
        for chain_id in ids:
            wanted = registered_contract(chain.genesis, chain_id)
            if wanted is None or not part.records:
                continue
            found = registered_contract_in(part.records[0], chain_id)
            if found != wanted and (found is not None or len(ids) > 1):
                raise NotPossible(
                    f"chain {chain_id} is not registered on the L1 in the file as it is here: start with the chains of "
                    "the node that wrote it, in the same order"
                )

    def _check_deposits(
        self, chain: Chain, part: ChainPart, files: Mapping[Chain, StateFile]
    ) -> None:
        """Reject blocks with transactions of an L1 that is in none of the files."""
        others = self._other_ids(chain)
        if all(any(file.part_of(other) for file in files.values()) for other in others):
            return
        if chain in self._settling and any(record.priority_count() for record in part.records):
            raise NotPossible(
                "the file has transactions from L1, and not the L1 that sent them; dump both layers together"
            )


def _check_anchor(chain: Chain, part: ChainPart) -> None:
    """Reject a fork of another block, a fork where there is none, and a chain of its own on a fork."""
    here, there = FileAnchor.of(chain.ledger.anchor), part.anchor
    if here != there:
        raise NotPossible(
            f"chain {part.chain_id} is {_named(there)} in the file, and {_named(here)} here: fork the same block to load it"
        )


def _check_publishes(chain: Chain, part: ChainPart) -> None:
    """Reject a chain that publishes where this one does not, and the other way round: L1 expects one or the other."""
    publishes = any(key.startswith(tables.RULES) for key, _ in part.rows)
    if publishes != chain.rules.publishes:
        there, here = (
            "calldata" if given else "none" for given in (publishes, chain.rules.publishes)
        )
        raise NotPossible(
            f"chain {part.chain_id} has --data-availability {there} in the file, and {here} here: start with the same"
        )


def _named(anchor: FileAnchor | None) -> str:
    return "no fork" if anchor is None else f"a fork of {anchor}"


def _check_base_token(genesis: Genesis, part: ChainPart) -> None:
    """Reject a chain that is paid in another token: what was given at the start says which one it is."""
    found = base_token_in(part.records[0]) if part.records else None
    if found is not None:
        _check_token(genesis, part.chain_id, found)


def _check_token_accounts(chain: Chain, accounts: Mapping[Address, FileAccount]) -> None:
    """Reject accounts with the contracts of an L2 that is paid in another token."""
    contracts = {
        address: GenesisAccount(
            storage={Hash32(slot): Hash32(word) for slot, word in accounts[address].storage.items()}
        )
        for address in (L2_BASE_TOKEN, L2_NATIVE_TOKEN_VAULT)
        if address in accounts
    }
    if L2_NATIVE_TOKEN_VAULT in contracts:
        _check_token(chain.genesis, chain.rules.chain_id, base_token_of(contracts))


def _check_token(genesis: Genesis, chain_id: int, found: BaseToken) -> None:
    started = base_token_of(genesis.alloc)
    if found != started:
        raise NotPossible(
            f"gas of chain {chain_id} is paid in {found.symbol} with {found.decimals} decimals in the file, and in "
            f"{started.symbol} with {started.decimals} here: start with the same --base-token"
        )


def _edit(accounts: Mapping[Address, FileAccount]) -> Callable[[Overlay], None]:
    return lambda overlay: apply_accounts(overlay, {}, accounts)
