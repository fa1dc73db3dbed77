"""The settlement contracts on an L1, and a chain that settles there as a test directs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from entresol._native import keccak256
from entresol.chain.genesis.accounts import DevAccount
from entresol.chain.genesis.genesis import Genesis
from entresol.l1 import deployment
from entresol.l1.contracts import ZkChain
from entresol.l1.deployment import Deployment, RegisteredChain, SettlementContracts, addresses_of
from entresol.l1.fee_limits import FeeLimits
from entresol.l1.layer_one import L1Receipt, LayerOne
from entresol.l1.operator import Operator, OperatorKey, OperatorKeys
from entresol.primitives import abi
from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions import sign
from entresol.primitives.values import Address, Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, stored_info_of
from entresol.rollup.deposits.deposit_watcher import DepositWatcher
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.rollup.settlement.settler import SettlementConfig, Settler
from entresol.rpc.namespaces.zks.contracts import L2Contracts
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import fee_market
from tests.support.contracts.batches import Batch, stored
from tests.support.coroutines import completed
from tests.support.known import known
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded, SteeredLayerOne, layer_one
from tests.support.rollup.layer_ones import CHAIN_ID as L1_CHAIN_ID
from tests.support.rollup.settling_chain import CHAIN_ID, GENESIS, SettlingChain

OPERATOR = ACCOUNTS[1]
ONE_KEY = OperatorKeys.of(OPERATOR.secret)
THREE_KEYS = OperatorKeys.of(*(account.secret for account in ACCOUNTS[1:4]))


class Scenario:
    contracts: DeployedContracts

    def __init__(
        self,
        steered: SteeredLayerOne,
        path: Path | None = None,
        config: SettlementConfig | None = None,
        limits: FeeLimits | None = None,
        keys: OperatorKeys = ONE_KEY,
        *,
        genesis: Genesis = GENESIS,
        chains_beside: Sequence[int] = (),
    ) -> None:
        self.keys = keys
        self.genesis = genesis
        self.chains_beside = chains_beside
        self.layer_one = steered
        self.l1 = steered.l1
        self.path = path
        self.config = config
        self.limits = limits
        self.open()

    def open(self) -> None:
        self.chain = SettlingChain.begin(self.path, self.genesis)
        self.batches = self.chain.batches
        self.batcher = Batcher(self.chain.blocks, self.chain.batches, SealingPolicy(max_age=1e9))

    async def deploy(self, on_l1: SettlementContracts | None = None) -> None:
        genesis = stored_info_of(self.batcher.last, CHAIN_ID).hash()
        validators = [key.address for key in self.keys.keys]
        if on_l1 is None:
            self.contracts = await deploy(
                self.l1, CHAIN_ID, genesis, *validators, chains_beside=self.chains_beside
            )
        else:
            chain = ZkChain(self.l1, on_l1.chain)
            self.contracts = DeployedContracts(chain, CHAIN_ID, on_l1, ACCOUNTS[0])
        self.settler = self.new_settler()
        self.watcher = DepositWatcher(self.chain, InlineSequencer(self.chain), self.contracts.chain)

    def new_settler(self, contradicted_block: Callable[[], int | None] = lambda: None) -> Settler:
        return Settler(
            self.chain,
            self.contracts.chain,
            {self._operator(key): key.steps for key in self.keys.keys},
            self.contracts.timelock,
            self.config,
            message_root=self.contracts.addresses.message_root,
            contradicted_block=contradicted_block,
        )

    def _operator(self, key: OperatorKey) -> Operator:
        return Operator(self.l1, key.secret, self.limits, key.name, chain_id=L1_CHAIN_ID)

    def restart(self) -> None:
        """End the process, and start it again."""
        self.chain.close()
        self.open()
        self.settler = self.new_settler()
        self.watcher = DepositWatcher(self.chain, InlineSequencer(self.chain), self.contracts.chain)

    def seal_batch(self, *messages: int) -> int:
        self.chain.seal_messages(*messages)
        batch = known(completed(self.batcher.seal(0.0)))
        return batch.number

    async def settle(self) -> None:
        async with asyncio.timeout(60):
            while await self.settler.step(0.0) or self.is_pending:
                pass

    @property
    def is_pending(self) -> bool:
        return any(self.settler.pending(step) is not None for step in SettlementStep)

    def pending(self) -> PendingSettlement:
        found = [self.settler.pending(step) for step in SettlementStep]
        (pending,) = [entry for entry in found if entry is not None]
        return pending

    def pass_over(self) -> None:
        """Drop the pending transaction on L1, and seal blocks without it."""
        for attempt in self.pending().transactions():
            self.layer_one.drop(attempt.hash)
        self.layer_one.mine(2)

    async def totals(self) -> tuple[int, int, int]:
        totals = await self.contracts.chain.totals()
        return totals.committed, totals.verified, totals.executed


def run(
    steered: SteeredLayerOne,
    play: Callable[[Scenario], Awaitable[None]],
    *,
    on_l1: SettlementContracts | None = None,
    **options: Any,
) -> None:
    """Play a scenario with these options on a layer 1, which may have the contracts already."""

    async def whole() -> None:
        scenario = Scenario(steered, **options)
        try:
            await scenario.deploy(on_l1)
            await play(scenario)
        finally:
            scenario.chain.close()
            await scenario.l1.close()

    asyncio.run(whole())


class DeployedLayerOne:
    """An embedded layer 1 with the contracts of a chain: deployed once, and reverted for each scenario."""

    def __init__(self, keys: OperatorKeys = ONE_KEY) -> None:
        self._embedded = Embedded()
        self._on_l1: SettlementContracts | None = None

        async def remember(scenario: Scenario) -> None:
            self._on_l1 = scenario.contracts.addresses

        run(self._embedded, remember, keys=keys)
        self._l1 = self._embedded.l1
        self._checkpoint = self._embedded.checkpoint()

    def reverted(self) -> tuple[Embedded, SettlementContracts]:
        assert self._on_l1 is not None
        self._embedded.restore(self._checkpoint)
        self._checkpoint = self._embedded.checkpoint()
        self._embedded.chain.schedule.seal_at_once()
        self._embedded.l1 = self._l1
        return self._embedded, self._on_l1

    def close(self) -> None:
        self._embedded.chain.close()


def embedded(play: Callable[[Scenario], Awaitable[None]], **options: Any) -> None:
    with layer_one("embedded") as steered:
        run(steered, play, **options)


def on_disk(play: Callable[[Scenario], Awaitable[None]], tmp_path: Path, **options: Any) -> None:
    """Play a scenario on the embedded layer 1 with a chain that can be started again."""
    embedded(play, path=tmp_path / "chain", **options)


GAS_LIMIT = 1_000_000
L2_GAS_PRICE = 10**12

ON_L1 = addresses_of(ACCOUNTS[0].address)
ON_L2 = L2Contracts(
    asset_router=Address.parse("0x0000000000000000000000000000000000010003"),
    multicall=Address.parse("0xcA11bde05977b3631167028862bE2a173976CA11"),
)

_REQUEST = "(uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address)"
_REQUEST_GAS = 1_000_000


class DeployedContracts(msgspec.Struct, frozen=True):
    chain: ZkChain
    chain_id: int
    addresses: SettlementContracts
    owner: DevAccount

    @property
    def timelock(self) -> Address:
        return self.addresses.validator_timelock

    async def deposit(self, to: Address, value: int, *, data: bytes = b"") -> Hash32:
        mint = value + GAS_LIMIT * L2_GAS_PRICE
        request = (*(self.chain_id, mint, to, value, data, GAS_LIMIT, 800, ()), self.owner.address)
        l1 = self.chain.l1
        fees = await l1.fees()
        payload = fee_market(
            await l1.nonce(self.owner.address),
            self.addresses.bridgehub,
            chain_id=await l1.chain_id(),
            value=mint,
            data=abi.encode_call(f"requestL2TransactionDirect({_REQUEST})", request),
            gas=_REQUEST_GAS,
            fee=2 * fees.gas_price,
            tip=fees.tip,
        )
        sent = await l1.send(sign(payload, self.owner.secret).raw)
        assert (await _receipt(l1, sent)).succeeded
        return sent


async def deploy(
    l1: LayerOne,
    chain_id: int,
    genesis_hash: Hash32,
    validator: Address,
    *others: Address,
    chains_beside: Sequence[int] = (),
    data_scheme: int = 1,
    is_development: bool = True,
) -> DeployedContracts:
    """Deploy the contracts of a chain, whose batches `validator` and others may settle, and of chains beside it."""
    owner = ACCOUNTS[0]
    planned = Deployment(
        l1_chain_id=await l1.chain_id(),
        deployer=owner.address,
        first_nonce=await l1.nonce(owner.address),
        chains=tuple(
            RegisteredChain(
                chain_id=entry,
                operator=validator,
                genesis_batch_hash=genesis_hash,
                data_scheme=data_scheme,
                is_development=is_development,
            )
            for entry in (chain_id, *chains_beside)
        ),
    )
    operator = Operator(l1, owner.secret)
    addresses = await deployment.deploy(l1, operator, planned, lambda _done, _steps, _what: None)
    for other in others:
        call = abi.encode_call("addValidator(address,address)", addresses.chain, other)
        assert (await send(l1, owner, addresses.validator_timelock, call)).succeeded
    return DeployedContracts(ZkChain(l1, addresses.chain), chain_id, addresses, owner)


async def deploy_one(
    l1: LayerOne, chain_id: int, genesis: Batch, **options: Any
) -> tuple[Address, Address]:
    """Deploy the contracts with one chain that its owner settles; return its contract and the timelock."""
    genesis_hash = Hash32(keccak256(stored(genesis.stored())))
    deployed = await deploy(l1, chain_id, genesis_hash, ACCOUNTS[0].address, **options)
    return deployed.addresses.chain, deployed.timelock


async def send(l1: LayerOne, account: DevAccount, to: Address, data: bytes) -> L1Receipt:
    operator = Operator(l1, account.secret)
    outgoing = await operator.sign_call(to, data)
    await operator.send(outgoing)
    return await _receipt(l1, outgoing.hash)


async def _receipt(l1: LayerOne, transaction: Hash32) -> L1Receipt:
    async with asyncio.timeout(30):
        while (receipt := await l1.receipt(transaction)) is None:
            pass
    return receipt
