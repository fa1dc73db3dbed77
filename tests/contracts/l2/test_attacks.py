"""Attacks on the contracts of L2, by hostile tokens and by callers that choose the gas."""

from __future__ import annotations

import pytest

from entresol._native import Checks, TxEnv, execute
from entresol.errors import ExecutionReverted
from entresol.execution.evm_env import overlay_on
from entresol.primitives.base_token import asset_id
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import (
    ASSET_ROUTER,
    BASE_TOKEN,
    CONTRACT_DEPLOYER,
    MULTICALL,
    NATIVE_TOKEN_VAULT,
)
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETHER,
    L1_CHAIN_ID,
    L1_TOKEN,
    ROUTER_ALIAS,
    LayerTwo,
    Log,
    artifact_for_tests,
    calldata,
    decode,
    deposit_call,
    encode,
    failure,
    logs_of,
    messages_of,
    metadata,
)
from tests.support.evm.assembler import assemble, initcode

_CHECKS = Checks(base_fee=False, fees=False, nonce=False)
MINT = "(address,address,address,uint256,bytes)"
ODDITIES = ["a word", "reverts", "nothing", "too much", "all gas", "expensive"]


def odd_token(l2: LayerTwo, oddity: str) -> Address:
    """Deploy a token with invalid metadata, of which Alice has a thousand and has approved the vault for all."""
    token = l2.deploy(artifact_for_tests("OddToken"), "(uint8)", ODDITIES.index(oddity))
    l2.send(token, calldata("mint(address,uint256)", ALICE, 1_000))
    l2.send(token, calldata("approve(address,uint256)", NATIVE_TOKEN_VAULT, 2**256 - 1))
    return token


def withdrawal(token: Address, amount: int = 10) -> bytes:
    data = encode("(uint256,address,address)", amount, BOB, token)
    return calldata("withdraw(bytes32,bytes)", asset_id(CHAIN_ID, token), data)


@pytest.mark.parametrize("oddity", ODDITIES)
def test_a_token_with_any_metadata_leaves_for_l1(l2: LayerTwo, oddity: str) -> None:
    token = odd_token(l2, oddity)
    outcome = l2.send(ASSET_ROUTER, withdrawal(token), gas=1_000_000)
    assert outcome.succeeded
    ((_, _, data),) = logs_of(outcome, L1_MESSENGER, L1_MESSAGE_SENT)
    described = decode(MINT, decode("(bytes)", data)[68:])[4]
    word = b"ODD".ljust(32, b"\0") if oddity in ("a word", "expensive") else b""
    assert described == metadata(word, word, word, CHAIN_ID)


def run(l2: LayerTwo, data: bytes, sender: Address, gas: int) -> list[Log] | None:
    """Call the router with a gas limit and change nothing; return the logs if it succeeds."""
    env = l2.evm_env()
    request = TxEnv(sender=sender, to=ASSET_ROUTER, data=data, gas_limit=gas)
    result = execute(overlay_on(env.state), env.rules, env.block.native, request, checks=_CHECKS)
    return result.logs if result.status == "success" else None


def smallest_gas(l2: LayerTwo, data: bytes, sender: Address, described: bytes) -> int:
    """Return about the least gas of a call whose logs have this text, which all that succeed must have."""
    too_little, enough = 21_000, 2_000_000
    while enough - too_little > 100:
        gas = (too_little + enough) // 2
        logs = run(l2, data, sender, gas)
        if logs is None:
            too_little = gas
        else:
            enough = gas
            assert any(described in log[2] for log in logs)
    return enough


def test_no_gas_limit_hides_the_metadata_of_a_withdrawn_token(l2: LayerTwo) -> None:
    # The first withdrawal that is claimed names the token on L1 for good.
    token = odd_token(l2, "expensive")
    assert smallest_gas(l2, withdrawal(token), ALICE, b"ODD") > 3 * 45_000


def test_no_gas_limit_hides_the_metadata_of_a_deposited_token(l2: LayerTwo) -> None:
    # The first deposit names the token on L2 for good, and goes on if the metadata cannot be decoded.
    name = encode("(string)", "Crown of a kingdom".ljust(128, "."))
    call = deposit_call(1, ALICE, L1_TOKEN, metadata(name, name, encode("(uint8)", 6)))
    assert smallest_gas(l2, call, ROUTER_ALIAS, b"Crown of a kingdom") > 200_000


def test_a_token_of_this_chain_that_destroyed_itself_is_not_paid(l2: LayerTwo) -> None:
    token = odd_token(l2, "a word")
    l2.send(ASSET_ROUTER, withdrawal(token))
    l2.chain.edit(token, lambda state: state.set_code(token, b""))
    data = encode(MINT, BOB, BOB, token, 10, b"")
    call = calldata(
        "finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset_id(CHAIN_ID, token), data
    )
    # A deposit that fails is refunded on L1; one that only seems to arrive is lost.
    assert not l2.from_l1(call).succeeded


def test_a_deposit_that_l2_cannot_add_up_fails_and_keeps_the_supply(l2: LayerTwo) -> None:
    assert l2.from_l1(deposit_call(2**256 - 1, ALICE)).succeeded
    assert not l2.from_l1(deposit_call(1, BOB)).succeeded
    token = Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", L1_TOKEN))
    assert l2.read(token, "totalSupply()(uint256)") == 2**256 - 1
    assert l2.token_balance(token, BOB) == 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (
            calldata("transfer(address,uint256)", BOB, 1_001),
            failure("InsufficientBalance(address,uint256,uint256)", ALICE, 1_000, 1_001),
        ),
        (
            calldata("transfer(address,uint256)", Address.zero(), 1),
            failure("InvalidReceiver(address)", Address.zero()),
        ),
        (
            calldata("transferFrom(address,address,uint256)", BOB, ALICE, 4),
            failure("InsufficientAllowance(address,uint256,uint256)", ALICE, 3, 4),
        ),
    ],
    ids=["balance", "zero", "allowance"],
)
def test_a_bridged_token_moves_no_more_than_its_owner_has(
    l2: LayerTwo, call: bytes, error: bytes
) -> None:
    l2.deposit(1_000)
    token = Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", L1_TOKEN))
    l2.send(token, calldata("approve(address,uint256)", ALICE, 3), by=1)
    with pytest.raises(ExecutionReverted) as caught:
        l2.call(token, call)
    assert caught.value.data == error


def test_a_callee_cannot_take_the_ether_of_other_calls_from_multicall(l2: LayerTwo) -> None:
    # Passes its input on to Multicall3, whose balance is then that of the later calls.
    thief = l2.send(
        None,
        initcode(
            assemble(
                f"calldatasize 0 0 calldatacopy 0 0 calldatasize 0 0 {int.from_bytes(MULTICALL)} gas call pop stop"
            )
        ),
    ).created
    assert thief is not None
    three_value = "aggregate3Value((address,bool,uint256,bytes)[])"
    steal = calldata(three_value, [(BOB, False, ETHER, b"")])
    before = l2.balance(BOB)
    calls = [
        (thief, True, 0, steal),
        (BASE_TOKEN, False, ETHER, calldata("withdraw(address)", BOB)),
    ]
    outcome = l2.send(MULTICALL, calldata(three_value, calls), value=ETHER)
    assert outcome.succeeded
    assert l2.balance(BOB) == before
    assert l2.balance(MULTICALL) == 0
    (sent,) = messages_of(outcome)
    assert sent.key[12:] == BASE_TOKEN


def test_a_constructor_that_deploys_again_gets_addresses_of_its_own(l2: LayerTwo) -> None:
    # The init code passes what follows it on to the deployer, as a call of its own.
    inner = artifact_for_tests("TaxedToken").bytecode
    call = calldata("createEVM(bytes)", inner)
    head = "{size} @tail 0 codecopy 0 0 {size} 0 0 {deployer} gas call 0 0 return tail:"
    code = assemble(head.format(size=len(call), deployer=int.from_bytes(CONTRACT_DEPLOYER)))
    outer = code[:-1] + call
    outcome = l2.send(CONTRACT_DEPLOYER, calldata("createEVM(bytes)", outer))
    assert outcome.succeeded
    created = [log[1] for log in outcome.logs if log[0] == CONTRACT_DEPLOYER]
    assert [topics[1][12:] for topics in created] == [created[1][3][12:], ALICE]
    assert l2.code(Address(created[0][3][12:])) == artifact_for_tests("TaxedToken").runtime
