"""A chain that was created before accounts and paymasters were executed stays as it was.

Its directory has the system contracts of that time, whose code is in `before_accounts.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from entresol.chain.genesis.genesis import GenesisAccount
from entresol.errors import InvalidSignature, PaymasterNotSupported
from entresol.execution.account_senders import has_accounts, transaction_count
from entresol.execution.call.call import CallRequest, ZkCall
from entresol.execution.call.estimate_gas import estimate_gas
from entresol.primitives.l2_to_l1_logs import BOOTLOADER
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import GENERAL, NOBODY, ScriptedWorld
from tests.support.contracts.layer_two import ALICE, BOB, ETHER, FEE

CODES: Final = Path(__file__).parents[2] / "support" / "contracts" / "before_accounts.json"


def old_contracts() -> dict[Address, GenesisAccount]:
    """Return the contracts of a genesis from before that have changed since."""
    codes: dict[str, str] = json.loads(CODES.read_text(encoding="utf-8"))
    return {
        Address(int(number, 16).to_bytes(20)): GenesisAccount(code=bytes.fromhex(code[2:]), nonce=1)
        for number, code in codes.items()
    }


def hashes(l2: ScriptedWorld) -> list[Hash32]:
    """Return the hashes of all blocks."""
    numbers = range(l2.chain.number + 1)
    return [l2.chain.blocks.record(number).header().hash() for number in numbers]


@pytest.fixture
def blocks() -> list[Hash32]:
    """Return where the hashes of the blocks are recorded that the older version has sealed."""
    return []


@pytest.fixture
def l2(tmp_path: Path, blocks: list[Hash32]) -> Iterator[ScriptedWorld]:
    """Return a chain of an older version, opened by this one, with a 0x71 transfer in its last block."""
    old = ScriptedWorld(directory=tmp_path, replaced=old_contracts())
    old.contract(ether=ETHER)
    old.include(old.from_key(value=7))
    blocks += hashes(old)
    old.close()
    # This version would create a chain that calls accounts, and has a paymaster.
    layer = ScriptedWorld(directory=tmp_path, paymaster_balance=ETHER)
    yield layer
    layer.close()


def test_it_has_its_blocks_and_executes_them_as_before(
    l2: ScriptedWorld, blocks: list[Hash32]
) -> None:
    assert hashes(l2) == blocks
    assert not has_accounts(l2.chain.latest)
    root = l2.trace()
    assert (root["from"], root["to"], root["gasUsed"]) == (str(ALICE), str(NOBODY), hex(21_000))


def test_it_has_no_paymaster(l2: ScriptedWorld) -> None:
    assert l2.balance(TESTNET_PAYMASTER) == 0
    with pytest.raises(PaymasterNotSupported, match="paymasters are not supported"):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=TESTNET_PAYMASTER).raw)
    zk = ZkCall(paymaster=TESTNET_PAYMASTER, paymaster_input=GENERAL)
    request = CallRequest(sender=ALICE, to=BOB, zk=zk)
    with pytest.raises(PaymasterNotSupported):
        estimate_gas(l2.evm_env(), request)


def test_its_contracts_are_no_accounts(l2: ScriptedWorld) -> None:
    contract = l2.contract(ether=ETHER)
    with pytest.raises(InvalidSignature):
        InlineSequencer(l2.chain).submit(l2.from_contract(contract).raw)
    assert transaction_count(l2.chain.latest, contract) == l2.nonce(contract) == 1


def test_its_keys_send_as_before(l2: ScriptedWorld) -> None:
    before = l2.balance(ALICE)
    InlineSequencer(l2.chain).submit(l2.from_key(value=5).raw)
    assert l2.last().gas_used == 21_000
    assert l2.balance(ALICE) == before - 5 - 21_000 * FEE
    zk = ZkCall(has_meta=True)
    request = CallRequest(sender=ALICE, to=BOB, value=1, zk=zk)
    assert estimate_gas(l2.evm_env(), request).gas == 21_000


def test_its_bootloader_takes_no_ether(l2: ScriptedWorld) -> None:
    assert not l2.send(BOOTLOADER, b"", value=1).succeeded
