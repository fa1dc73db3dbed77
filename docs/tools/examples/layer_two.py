"""Examples of the methods of a layer 2: its batches, its L1, and what the node indexes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.tools.examples.example import call, example
from entresol.contracts import artifact
from entresol.primitives import abi
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from docs.tools.examples.example import Example
    from docs.tools.recording import World


def layer_two_examples(world: World) -> dict[str, Example]:
    """Return the examples of `zks_`, `unstable_` and `anvil_zks_`, and of what `entresol_` says of a chain."""
    alice, bob, counter = world.alice, world.bob, world.counter
    ether_of_l2 = "0x000000000000000000000000000000000000800a"
    withdraw = {"to": ether_of_l2, "value": "0x1", "data": "0x51cff8d9" + "00" * 12 + bob[2:]}
    withdrawal = call("eth_sendTransaction", {"from": alice, **withdraw})
    code = artifact("TestERC20").bytecode + abi.encode(
        "(string,string,uint8)", ("Test Token", "TEST", 18)
    )
    mint = abi.encode_call("mint(address,uint256)", Address.parse(bob), 10**18)
    minted = tuple(
        call("eth_sendTransaction", {"from": alice, "data": "0x" + data.hex(), **more})
        for data, more in ((code, {}), (mint, {"to": world.next_contract}))
    )
    return {
        "zks_L1BatchNumber": example(),
        "zks_L1ChainId": example(),
        "zks_estimateFee": example({"from": alice, "to": bob, "value": "0x1"}),
        "zks_estimateGasL1ToL2": example({"from": alice, "to": counter, "data": "0x"}),
        "zks_gasPerPubdata": example(),
        "zks_getBaseTokenL1Address": example(),
        "zks_getBatchFeeInput": example(),
        "zks_getBlockDetails": example(4),
        "zks_getBlockMetadataByNumber": example(4),
        "zks_getBridgeContracts": example(),
        "zks_getBridgehubContract": example(),
        "zks_getBytecodeByHash": example(world.counter_code_hash),
        "zks_getBytecodeSupplierContract": example(),
        "zks_getFeeParams": example(),
        "zks_getFinalityStatus": example(),
        "zks_getL1BatchBlockRange": example(1),
        "zks_getL1BatchDetails": example(1),
        "zks_getL1GasPrice": example(),
        "zks_getL2Multicall3": example(),
        "entresol_getBatchBooks": example(1),
        "entresol_getBatchStatistics": example(None, 1),
        "entresol_getBlockStatistics": example(10, None, 1),
        "entresol_getEdits": example(
            "latest", 0, before=(call("anvil_setBalance", bob, hex(10**18)), call("evm_mine"))
        ),
        "entresol_getToken": example(world.next_contract, before=minted),
        "entresol_getTokens": example("test", None, 2, before=minted),
        "entresol_getTokenHolders": example(world.next_contract, None, 2, before=minted),
        "entresol_getTokenTransfers": example(world.next_contract, None, 1, before=minted),
        "entresol_getAccountTokens": example(bob, None, 1, before=minted),
        "entresol_getAccountTransfers": example(bob, None, 1, before=minted),
        "entresol_getAccountTransactions": example(bob, None, 1),
        "entresol_getTransactions": example(None, 1),
        "entresol_findHashes": example(world.transfer[:10]),
        "entresol_getOpenTransfers": example(None, 2, before=(withdrawal,)),
        "entresol_getBundleProblem": example(world.message_hash),
        # The id of the L1.
        "entresol_addChain": example({"chainId": 31337, "port": 0}, rejected=True),
        # The node is paid in ether.
        "entresol_setBaseTokenRatio": example("628/17", rejected=True),
        "zks_getL2ToL1LogProof": example(world.message, 0),
        "zks_getL2ToL1MsgProof": example(4, alice, world.message_hash),
        "zks_getMainContract": example(),
        "zks_getAllAccountBalances": example(alice),
        "zks_getConfirmedTokens": example(0, 10),
        "zks_getGenesis": example(),
        "zks_getProtocolVersion": example(),
        "zks_getProof": example(counter, ["0x" + "00" * 32], 1),
        "zks_getRawBlockTransactions": example(1),
        "zks_getTestnetPaymaster": example(),
        "zks_getTimestampAsserter": example(),
        "zks_getTransactionDetails": example(world.message),
        "zks_sendRawTransactionWithDetailedOutput": example(world.next_transfer),
        "unstable_sendRawTransactionWithDetailedOutput": example(world.next_transfer),
        "anvil_zks_commitBatch": example(1),
        "anvil_zks_proveBatch": example(1),
        "anvil_zks_executeBatch": example(1),
        # L1 has one chain, and nobody asked for it.
        "anvil_zks_bookBatch": example(1),
    }
