"""The supply invariant: what L1 holds for a chain is what circulates on it, was burnt there or is on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from entresol.chain.chain import Chain
from entresol.errors import LayerOneRejected, MalformedValue
from entresol.execution.calls import CallRequest, call
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.l1.contracts import Deposit, ZkChain, read_contract
from entresol.l1.deployment import SettlementContracts
from entresol.l1.layer_one import LayerOne
from entresol.primitives import abi
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.interop_bundles import (
    BASE_TOKEN_HOLDER,
    BUNDLE_SENT,
    INTEROP_CENTER,
    INTEROP_HANDLER,
    BundleCall,
    InteropBundle,
)
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import PriorityTransaction, SystemTransaction
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN, NATIVE_TOKEN_VAULT
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.records import dump

_FINALIZE = abi.selector("finalizeDeposit(uint256,bytes32,bytes)")
_MINT = "(address,address,address,uint256,bytes)"


class Crossing(NamedTuple):
    """An amount of an asset in a call of a bundle."""

    source: int
    destination: int
    bundle: Hash32
    call: int
    asset: Hash32
    amount: int
    batch: int | None
    """The batch of the source that has the bundle, once it is sealed."""
    leaf: int
    """The position of the bundle among the logs of that."""


def crossings_from(store: Store, chain_id: int) -> Iterator[Crossing]:
    for block, record in enumerate(store.records()):
        logs = [l2_to_l1_log for result in record.results for l2_to_l1_log in result.l2_to_l1_logs]
        for result in record.results:
            for address, topics, data in result.logs:
                if address != INTEROP_CENTER or topics[:1] != (BUNDLE_SENT,):
                    continue
                place = store.batches.position_of_block(block)
                message, bundle_hash, bundle = InteropBundle.of_event(data)
                before = 0 if place is None else place.logs_before
                (leaf,) = (index for index, it in enumerate(logs, before) if it.endswith(message))
                for index, sent in enumerate(bundle.calls):
                    for asset, amount in _carried(bundle, sent):
                        yield Crossing(
                            *(chain_id, bundle.destination, bundle_hash, index, asset, amount),
                            *(None if place is None else place.batch, leaf),
                        )


def _carried(bundle: InteropBundle, sent: BundleCall) -> Iterator[tuple[Hash32, int]]:
    if sent.value:
        yield bundle.base_token, sent.value
    if sent.to == sent.sender == ASSET_ROUTER and sent.data.startswith(_FINALIZE):
        _, asset, mint = abi.decode("(uint256,bytes32,bytes)", sent.data[4:])
        yield Hash32(asset), int(abi.decode(_MINT, mint)[3])


FINALIZE_DEPOSIT = "finalizeDeposit(uint256,bytes32,bytes)"
MINT = "(address,address,address,uint256,bytes)"
ETH_WITHDRAWAL = bytes.fromhex("6c0960f9")


class Supply(NamedTuple):
    """Where an asset is."""

    owed: int
    """The amount of which the vault on L1 records that it owes to the chain."""
    circulating: int
    """The balances of accounts of the L2; of what genesis gave them, only what the vault began with."""
    burnt: int
    """The fees of L2 transactions and of bundles, which no account gets: their ether stays in the vault for good."""
    arriving: int
    """Deposits that no L2 block has yet, and those that failed there and were not claimed back."""
    leaving: int
    """Withdrawals that are not claimed on L1 yet."""
    sent: int = 0
    """The value that has left in bundles whose batch L1 has not booked: it is still owed to the source."""
    due: int = 0
    """The value that comes in bundles that L1 has booked and the chain has not executed; of cancelled calls for ever."""
    forged: int = 0
    """Value that a test has made out of nothing on the chain."""

    @property
    def total(self) -> int:
        """Everything that L1 owes to the chain, counted by where it is."""
        here = self.circulating + self.burnt - self.forged
        return here + self.arriving + self.leaving + self.sent + self.due

    def check(self) -> None:
        assert self.owed == self.total, self


class Withdrawal(NamedTuple):
    """A message that releases funds, and its leaf, once its batch is sealed."""

    asset: Hash32
    amount: int
    leaf: tuple[int, int] | None


async def check_books(
    keepers: Sequence[Bookkeeper],
    tokens: Iterable[Address] = (),
    own: Iterable[tuple[int, Address]] = (),
) -> None:
    """Assert of ether and of some tokens that the vault holds what it owes to all chains, and each chain has its part.

    Tokens of an L2, named by its chain id and their address there, are held by its own vault.
    """
    # L1 books bundles at any moment: everything is read as of one block.
    at = await keepers[0].head()
    ways = await _ways(keepers, at)
    for token in (ETH_TOKEN, *tokens):
        supplies = [await keeper.supply(token, at, ways) for keeper in keepers]
        for supply in supplies:
            supply.check()
        assert await keepers[0].held(token) == sum(supply.owed for supply in supplies)
    for origin, token in own:
        await _check_own(keepers, origin, token, at, ways)


async def _check_own(
    keepers: Sequence[Bookkeeper], origin: int, token: Address, at: int, ways: Sequence[Way]
) -> None:
    """Assert that the vault of a chain holds what others have of its token, and what is on its way."""
    asset = asset_id(origin, token)
    (home,) = (keeper for keeper in keepers if keeper.chain_id == origin)
    abroad = [
        await keeper.bridged_supply(asset, at, ways) for keeper in keepers if keeper is not home
    ]
    for supply in abroad:
        supply.check()
    there = sum(entry.owed for entry in abroad)
    assert home.locked(token) == there + _sent(ways, origin, asset) + _due(ways, origin, asset)


class Way(NamedTuple):
    crossing: Crossing
    is_booked: bool
    is_executed: bool


async def _ways(keepers: Sequence[Bookkeeper], at: int) -> list[Way]:
    """Return everything that has left one of the chains for another, as of a block of L1."""
    of_chain = {keeper.chain_id: keeper for keeper in keepers}
    found = []
    for keeper in keepers:
        booked: dict[tuple[int | None, int], bool] = {}
        for crossing in keeper.crossings():
            place = crossing.batch, crossing.leaf
            if place not in booked:
                booked[place] = await keeper.is_booked(crossing, at)
            status = of_chain[crossing.destination].call_status(crossing)
            assert booked[place] or not status, f"executed before L1 has booked it: {crossing}"
            found.append(Way(crossing, booked[place], status == 1))
    return found


def _sent(ways: Iterable[Way], chain_id: int, asset: Hash32) -> int:
    named = (way for way in ways if (way.crossing.source, way.crossing.asset) == (chain_id, asset))
    return sum(entry.crossing.amount for entry in named if not entry.is_booked)


def _due(ways: Iterable[Way], chain_id: int, asset: Hash32) -> int:
    named = (
        way for way in ways if (way.crossing.destination, way.crossing.asset) == (chain_id, asset)
    )
    return sum(
        entry.crossing.amount for entry in named if entry.is_booked and not entry.is_executed
    )


class Bookkeeper:
    """Counts the supply on both layers, each from its own records."""

    def __init__(self, chain: Chain, l1: LayerOne, contracts: SettlementContracts) -> None:
        self._chain = chain
        self._store = chain.ledger.store
        self._l1 = l1
        self._contracts = contracts
        self.chain_id = chain.rules.chain_id
        self.forged: Counter[Hash32] = Counter()

    async def head(self) -> int:
        return await self._l1.block_number()

    async def supply(self, token: Address, at: int, ways: Sequence[Way]) -> Supply:
        """Count a token of L1, or ether, as of a block of L1."""
        asset = asset_id(await self._l1.chain_id(), token)
        is_base = asset == await self._base_asset()
        count = self._base_supply if is_base else self.bridged_supply
        return await count(asset, at, ways)

    def locked(self, token: Address) -> int:
        return int.from_bytes(self._read_l2(token, "balanceOf(address)", NATIVE_TOKEN_VAULT))

    def crossings(self) -> Iterator[Crossing]:
        return crossings_from(self._store, self.chain_id)

    async def is_booked(self, crossing: Crossing, at: int) -> bool:
        contract, batch = self._contracts.message_root, crossing.batch
        assert contract is not None
        if batch is None:
            return False
        appended = ("isAppended(uint256,uint256)", "bool", self.chain_id, batch)
        if not await read_contract(self._l1, contract, *appended, block=at):
            return False
        place = (self.chain_id, batch, crossing.leaf)
        left_out = ("isLeftOut(uint256,uint256,uint256)", "bool", *place)
        return not await read_contract(self._l1, contract, *left_out, block=at)

    def call_status(self, crossing: Crossing) -> int:
        named = (crossing.bundle, crossing.call)
        return int.from_bytes(self._read_l2(INTEROP_HANDLER, "callStatus(bytes32,uint256)", *named))

    async def held(self, token: Address) -> int:
        vault = self._contracts.native_token_vault
        if token == ETH_TOKEN:
            return await self._l1.balance(vault)
        return int(await read_contract(self._l1, token, "balanceOf(address)", "uint256", vault))

    async def _base_supply(self, asset: Hash32, at: int, ways: Sequence[Way]) -> Supply:
        last = self._chain.number
        withdrawn = self._balance(BASE_TOKEN, last)
        # What the holder has of genesis is backed by nothing, and what it got since has left or is burnt.
        held = self._balance(BASE_TOKEN_HOLDER, last) - self._balance(BASE_TOKEN_HOLDER, 0)
        pending = [
            deposit for deposit in await self._deposits() if deposit.priority_id >= self._executed
        ]
        return Supply(
            owed=await self._owed(asset, at),
            circulating=self._sum(last) - withdrawn - held - await self._unbacked(asset),
            burnt=sum(_burnt(record) for record in self._store.records()) + self._burnt_fees(),
            arriving=sum(transaction.payload.to_mint for transaction in pending),
            leaving=await self._leaving(asset),
            sent=_sent(ways, self.chain_id, asset),
            due=_due(ways, self.chain_id, asset),
            forged=self.forged[asset],
        )

    async def bridged_supply(self, asset: Hash32, at: int, ways: Sequence[Way]) -> Supply:
        """Count an asset that is a token on the chain, and comes from elsewhere."""
        return Supply(
            owed=await self._owed(asset, at),
            circulating=self._token_supply(asset),
            burnt=0,
            arriving=sum(
                [await self._arriving(deposit, asset) for deposit in await self._deposits()]
            ),
            leaving=await self._leaving(asset),
            sent=_sent(ways, self.chain_id, asset),
            due=_due(ways, self.chain_id, asset),
            forged=self.forged[asset],
        )

    def _burnt_fees(self) -> int:
        if self._store.account(INTEROP_CENTER, self._chain.number) is None:
            return 0
        return int.from_bytes(self._read_l2(INTEROP_CENTER, "burntFees()"))

    async def _base_asset(self) -> Hash32:
        function = ("baseTokenAssetId(uint256)", "bytes32", self.chain_id)
        return Hash32(await read_contract(self._l1, self._contracts.bridgehub, *function))

    @property
    def _executed(self) -> int:
        return self._store.next_priority_id()

    async def _owed(self, asset: Hash32, at: int) -> int:
        vault = self._contracts.native_token_vault
        function = ("chainBalance(uint256,bytes32)", "uint256", self.chain_id, asset)
        return int(await read_contract(self._l1, vault, *function, block=at))

    async def _unbacked(self, asset: Hash32) -> int:
        """Return what genesis gave to accounts of the L2 without anything behind it on L1."""
        call = abi.encode_call("chainBalance(uint256,bytes32)", self.chain_id, asset)
        try:
            begun = await self._l1.call(self._contracts.native_token_vault, call, block=0)
        except LayerOneRejected:
            # A restarted anvil has no history; but then the contracts came after its first block.
            begun = b""
        return self._sum(0) - int.from_bytes(begun)

    async def _deposits(self) -> list[Deposit]:
        contract = ZkChain(self._l1, self._contracts.chain)
        return await contract.deposits(0, await self._l1.block_number())

    async def _arriving(self, deposit: Deposit, asset: Hash32) -> int:
        """Return what a deposit has of a token, unless it has arrived or was claimed back."""
        amount = _deposited(deposit, asset)
        place = self._store.locate_priority(deposit.priority_id)
        if not amount or place is None:
            return amount
        if self._chain.blocks.record(place[0]).results[place[1]].succeeded:
            return 0
        named = (self.chain_id, deposit.payload.hash())
        function = ("depositHappened(uint256,bytes32)", "bytes32", *named)
        return (
            amount
            if any(await read_contract(self._l1, self._contracts.nullifier, *function))
            else 0
        )

    async def _leaving(self, asset: Hash32) -> int:
        left = 0
        for block, record in enumerate(self._store.records()):
            for withdrawal in self._withdrawals(block, record):
                if withdrawal.asset == asset and not await self._claimed(withdrawal):
                    left += withdrawal.amount
        return left

    async def _claimed(self, withdrawal: Withdrawal) -> bool:
        if withdrawal.leaf is None:
            return False
        function = ("isWithdrawalFinalized(uint256,uint256,uint256)", "bool", self.chain_id)
        return bool(
            await read_contract(self._l1, self._contracts.nullifier, *function, *withdrawal.leaf)
        )

    def _withdrawals(self, block: int, record: BlockRecord) -> Iterator[Withdrawal]:
        place = self._store.batches.position_of_block(block)
        leaf = 0 if place is None else place.logs_before
        for outcome in record.results:
            sent = [log for log in outcome.logs if log[0] == L1_MESSENGER and _is_message(log[1])]
            for number, (_, topics, data) in enumerate(sent):
                where = None if place is None else (place.batch, leaf + number)
                (message,) = abi.decode("(bytes)", data)
                yield from self._read(Address(topics[1][12:]), message, where)
            leaf += len(outcome.l2_to_l1_logs)

    def _read(
        self, sender: Address, message: bytes, leaf: tuple[int, int] | None
    ) -> Iterator[Withdrawal]:
        if sender == BASE_TOKEN and message.startswith(ETH_WITHDRAWAL):
            asset = Hash32(self._read_l2(NATIVE_TOKEN_VAULT, "BASE_TOKEN_ASSET_ID()"))
            yield Withdrawal(asset, int.from_bytes(message[24:56]), leaf)
        elif sender == ASSET_ROUTER:
            amount = abi.decode(MINT, message[68:])[3]
            yield Withdrawal(Hash32(message[36:68]), amount, leaf)

    def _token_supply(self, asset: Hash32) -> int:
        token = Address(self._read_l2(NATIVE_TOKEN_VAULT, "tokenAddress(bytes32)", asset)[12:])
        return 0 if not any(token) else int.from_bytes(self._read_l2(token, "totalSupply()"))

    def _read_l2(self, to: Address, signature: str, *arguments: object) -> bytes:
        evm_env = EvmEnv(
            self._chain.latest, self._chain.rules.evm_rules(), BlockEnv.of(self._chain.head)
        )
        return call(evm_env, CallRequest(to=to, data=abi.encode_call(signature, *arguments)))

    def _sum(self, block: int) -> int:
        rows = dump(self._store)
        known = {Address(key[1:21]) for key in rows if key.startswith(tables.ACCOUNT)}
        return sum(self._balance(address, block) for address in known)

    def _balance(self, address: Address, block: int) -> int:
        account = self._store.account(address, block)
        return 0 if account is None else account.balance


def _is_message(topics: tuple[bytes, ...]) -> bool:
    return topics[:1] == (L1_MESSAGE_SENT,) and len(topics) == 3


def _burnt(record: BlockRecord) -> int:
    base_fee = record.header().base_fee_per_gas
    return sum(
        base_fee * outcome.gas_used
        for index, outcome in enumerate(record.results)
        if not isinstance(
            record.transaction(index).payload, PriorityTransaction | SystemTransaction
        )
    )


def _deposited(deposit: Deposit, asset: Hash32) -> int:
    data = deposit.payload.data
    if deposit.payload.to != ASSET_ROUTER or not data.startswith(abi.selector(FINALIZE_DEPOSIT)):
        return 0
    try:
        _, named, mint = abi.decode("(uint256,bytes32,bytes)", data[4:])
        return int(abi.decode(MINT, mint)[3]) if named == asset else 0
    except MalformedValue:
        return 0
