"""The settlement contracts on an L1, deployed as a node does it, and deposits to them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from entresol._native import keccak256
from entresol.chain.genesis.accounts import DevAccount
from entresol.l1 import deployment
from entresol.l1.contracts import ZkChain
from entresol.l1.deployment import Deployment, RegisteredChain, SettlementContracts, addresses_of
from entresol.l1.layer_one import L1Receipt, LayerOne
from entresol.l1.operator import Operator
from entresol.primitives import abi
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address, Hash32
from entresol.rpc.namespaces.zks.contracts import L2Contracts
from tests.support.contracts.batches import Batch, stored
from tests.support.rollup.layer_ones import ACCOUNTS

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
        payload = FeeMarketTransaction(
            chain_id=await l1.chain_id(),
            nonce=await l1.nonce(self.owner.address),
            max_priority_fee_per_gas=fees.tip,
            max_fee_per_gas=2 * fees.gas_price,
            gas_limit=_REQUEST_GAS,
            to=self.addresses.bridgehub,
            value=mint,
            data=abi.encode_call(f"requestL2TransactionDirect({_REQUEST})", request),
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
