"""Examples of what developers do to a chain of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.tools.examples.example import MANUAL, RESULT, call, example, pending_transfer

if TYPE_CHECKING:
    from docs.tools.examples.example import Example
    from docs.tools.recording import World


def developer_examples(world: World) -> dict[str, Example]:
    """Return the examples of `evm_`, `anvil_`, `hardhat_` and `tenderly_`."""
    alice, bob, counter = world.alice, world.bob, world.counter
    pending = pending_transfer(world)
    return {
        "evm_snapshot": example(),
        "evm_revert": example(RESULT, before=(call("evm_snapshot"),)),
        "evm_mine": example(),
        "evm_increaseTime": example(3_600),
        "evm_setNextBlockTimestamp": example("0x7fffffff"),
        "evm_setAutomine": example(False),
        "evm_setIntervalMining": example(0, before=(MANUAL,)),
        "anvil_setBalance": example(bob, "0xde0b6b3a7640000"),
        "anvil_setNonce": example(bob, "0x5"),
        "anvil_setCode": example(bob, "0x602a5f5260205ff3"),
        "anvil_setStorageAt": example(counter, "0x0", "0x" + "00" * 31 + "2a"),
        "anvil_mine": example("0x2", "0x3c"),
        "evm_mine_detailed": example(before=pending),
        "anvil_mine_detailed": example(before=pending),
        "evm_setBlockGasLimit": example(60_000_000),
        "anvil_setBlockGasLimit": example(60_000_000),
        "evm_setAccountBalance": example(bob, "0xde0b6b3a7640000"),
        "evm_setAccountNonce": example(bob, 5),
        "evm_setAccountCode": example(bob, "0x602a5f5260205ff3"),
        "tenderly_setBalance": example(bob, "0xde0b6b3a7640000"),
        "tenderly_addBalance": example(bob, "0xde0b6b3a7640000"),
        "tenderly_setErc20Balance": example(counter, [alice, bob], "0x5", rejected=True),
        "tenderly_addErc20Balance": example(counter, bob, "0x5", rejected=True),
        "tenderly_setMaxErc20Balance": example(counter, bob, rejected=True),
        "anvil_addBalance": example(bob, "0xde0b6b3a7640000"),
        "anvil_setCoinbase": example(bob),
        "anvil_setNextBlockBaseFeePerGas": example("0x7"),
        "anvil_setBlockTimestampInterval": example(12),
        "anvil_removeBlockTimestampInterval": example(
            before=(call("anvil_setBlockTimestampInterval", 12),)
        ),
        "anvil_setNextBlockPrevRandao": example("0x" + "22" * 32),
        "hardhat_setPrevRandao": example("0x" + "22" * 32),
        "hardhat_intervalMine": example(),
        "anvil_nodeInfo": example(),
        "anvil_metadata": example(before=(call("evm_snapshot"),)),
        "hardhat_metadata": example(),
        "anvil_setLoggingEnabled": example(False),
        "anvil_getGenesisTime": example(),
        "anvil_setRpcUrl": example("http://127.0.0.1:8545"),
        "anvil_getBlobByHash": example("0x01" + "11" * 31),
        "anvil_getBlobsByTransactionHash": example(world.transfer),
        "anvil_dropTransaction": example(RESULT, before=pending),
        "hardhat_dropTransaction": example(RESULT, before=pending),
        "anvil_dropAllTransactions": example(before=pending),
        "anvil_removePoolTransactions": example(alice, before=pending),
        "anvil_dealERC20": example(bob, counter, 5, rejected=True),
        "anvil_setERC20Balance": example(bob, counter, 5, rejected=True),
        "anvil_setERC20Allowance": example(alice, bob, counter, 5, rejected=True),
        # What was, and state files.
        "anvil_rollback": example(1),
        "anvil_reorg": example(1, [[{"from": alice, "to": bob, "value": "0x1"}, 0]]),
        "anvil_reset": example(),
        "hardhat_reset": example(),
        "anvil_dumpState": example(),
        "anvil_loadState": example(RESULT, before=(call("anvil_dumpState"),)),
        # Time, sealing, and accounts of others.
        "evm_setTime": example("0x69570000"),
        "anvil_setTime": example("0x69570000"),
        "anvil_increaseTime": example(3_600),
        "anvil_setNextBlockTimestamp": example("0x69570000"),
        "anvil_setAutomine": example(False),
        "anvil_getAutomine": example(),
        "anvil_setIntervalMining": example(0),
        "anvil_getIntervalMining": example(),
        "anvil_snapshot": example(),
        "anvil_revert": example(RESULT, before=(call("anvil_snapshot"),)),
        "anvil_impersonateAccount": example(counter),
        "anvil_stopImpersonatingAccount": example(
            counter, before=(call("anvil_impersonateAccount", counter),)
        ),
        "anvil_autoImpersonateAccount": example(True),
    }
