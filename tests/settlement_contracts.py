"""The real contract of a chain on a layer 1, with a plain account in the bridgehub's place."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from entresol import contracts
from entresol.chain.accounts import DevAccount
from entresol.l1 import abi
from entresol.l1.contracts import ZkChain
from entresol.l1.layer_one import L1Receipt, LayerOne
from entresol.l1.operator import Operator
from entresol.primitives.addresses import create_address
from entresol.primitives.values import Address, Hash32
from tests.layer_ones import ACCOUNTS

GAS_LIMIT = 1_000_000
L2_GAS_PRICE = 10**12

_FEES = "(uint8,uint32,uint32,uint32,uint32,uint64)"
_SETTINGS = f"((uint256,address,address,address,address,address,uint256,uint8,uint64,uint64,uint64,{_FEES}))"
_REQUEST = "(address,address,uint256,uint256,bytes,uint256,uint256,bytes[],address)"


class SettlementContracts(msgspec.Struct, frozen=True):
    """Where the contracts are."""

    chain: ZkChain
    timelock: Address
    owner: DevAccount

    async def deposit(self, to: Address, value: int, *, data: bytes = b"") -> Hash32:
        """Have L1 send a transaction to L2."""
        mint = value + GAS_LIMIT * L2_GAS_PRICE
        sender = self.owner.address
        request = (sender, to, mint, value, data, GAS_LIMIT, 800, (), sender)
        call = abi.encode_call(f"bridgehubRequestL2Transaction({_REQUEST})", request)
        receipt = await send(self.chain.l1, self.owner, self.chain.address, call)
        assert receipt.succeeded
        return receipt.transaction_hash


async def deploy(
    l1: LayerOne, chain_id: int, genesis_hash: Hash32, validator: Address
) -> SettlementContracts:
    """Deploy the contract of a chain, whose batches `validator` may settle."""
    owner = ACCOUNTS[0]
    verifier = await _create(l1, owner, "DevelopmentVerifier", "()")
    timelock = await _create(l1, owner, "ValidatorTimelock", "(address,uint32)", owner.address, 0)
    long = 10**12
    settings = (
        chain_id,
        owner.address,
        owner.address,
        owner.address,
        timelock,
        verifier,
        30 << 32,
        1,
        long,
        long,
        72_000_000,
        (1, 1_000_000, 120_000, 80_000_000, 99_000, 100_000_000),
    )
    address = await _create(l1, owner, "ZKChain", _SETTINGS, settings)
    begin = abi.encode_call("initialize(bytes32,bytes32)", b"\1" * 32, genesis_hash)
    allow = abi.encode_call("addValidator(address,address)", address, validator)
    assert (await send(l1, owner, address, begin)).succeeded
    assert (await send(l1, owner, timelock, allow)).succeeded
    return SettlementContracts(ZkChain(l1, address), timelock, owner)


async def send(l1: LayerOne, account: DevAccount, to: Address | None, data: bytes) -> L1Receipt:
    """Send a transaction and wait for its receipt."""
    operator = Operator(l1, account.secret)
    outgoing = await operator.prepare(to, data)
    await operator.send(outgoing)
    async with asyncio.timeout(30):
        while (receipt := await l1.receipt(outgoing.hash)) is None:
            pass
    return receipt


async def _create(
    l1: LayerOne, account: DevAccount, name: str, types: str, *arguments: Any
) -> Address:
    address = create_address(account.address, await l1.nonce(account.address))
    code = contracts.artifact(name).bytecode + abi.encode(types, arguments)
    receipt = await send(l1, account, None, code)
    assert receipt.succeeded
    return address
