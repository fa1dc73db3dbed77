"""The bridged token, and attacks on the contracts of L2 by hostile tokens and by callers that choose the gas."""

from __future__ import annotations

from contextlib import closing

import pytest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Checks, TxEnv, execute
from entresol.execution.evm_env import overlay_on
from entresol.primitives.base_token import asset_id
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import (
    ASSET_ROUTER,
    BASE_TOKEN,
    BRIDGED_TOKEN_CODE,
    CONTRACT_DEPLOYER,
    MULTICALL,
    NATIVE_TOKEN_VAULT,
)
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETHER,
    L1_ASSET,
    L1_CHAIN_ID,
    L1_TOKEN,
    ROUTER_ALIAS,
    SECRETS,
    LayerTwo,
    Log,
    artifact_for_tests,
    calldata,
    decode,
    deposit_call,
    encode,
    failing,
    failure,
    logs_of,
    messages_of,
    metadata,
)
from tests.support.evm.assembler import assemble, initcode
from tests.support.run.examples import examples

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
    with failing(error):
        l2.call(token, call)


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


# --- The bridged token ---


CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
PERMIT = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"
FOREVER = 2**256 - 1


def permit(
    token: Address,
    *,
    nonce: int = 0,
    deadline: int = FOREVER,
    value: int = 300,
    chain_id: int = CHAIN_ID,
    signer: int = 0,
    high_s: bool = False,
) -> bytes:
    """Return the call of a permit of Alice for Bob, signed by one of them."""
    domain = {"name": "Crown", "version": "1", "chainId": chain_id}
    kinds = {"owner": "address", "spender": "address"}
    kinds |= dict.fromkeys(("value", "nonce", "deadline"), "uint256")
    message = {"owner": ALICE.checksummed(), "spender": BOB.checksummed()}
    signed = Account.sign_typed_data(
        SECRETS[signer],
        domain | {"verifyingContract": token.checksummed()},
        {"Permit": [{"name": name, "type": kind} for name, kind in kinds.items()]},
        message | {"value": value, "nonce": nonce, "deadline": deadline},
    )
    v, s = (55 - signed.v, CURVE_ORDER - signed.s) if high_s else (signed.v, signed.s)
    r = signed.r.to_bytes(32)
    return calldata(PERMIT, ALICE, BOB, value, deadline, v, r, s.to_bytes(32))


def test_a_spender_transfers_its_allowance(l2: LayerTwo, crown: Address) -> None:
    l2.send(crown, calldata("approve(address,uint256)", BOB, 10))
    take = calldata("transferFrom(address,address,uint256)", ALICE, BOB, 7)
    assert l2.send(crown, take, by=1).succeeded
    assert l2.read(crown, "allowance(address,address)(uint256)", ALICE, BOB) == 3
    assert not l2.send(crown, take, by=1).succeeded


def test_a_permit_can_be_used_once(l2: LayerTwo, crown: Address) -> None:
    assert l2.send(crown, permit(crown), by=1).succeeded
    assert not l2.send(crown, permit(crown), by=1).succeeded
    assert l2.send(crown, permit(crown, nonce=1, value=5), by=1).succeeded
    assert l2.read(crown, "allowance(address,address)(uint256)", ALICE, BOB) == 5


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"signer": 1}, failure("InvalidSignature()")),
        ({"chain_id": 1}, failure("InvalidSignature()")),
        ({"nonce": 1}, failure("InvalidSignature()")),
        ({"high_s": True}, failure("InvalidSignature()")),
        ({"deadline": 5}, failure("PermitExpired(uint256)", 5)),
    ],
    ids=["somebody else", "another chain", "another nonce", "the other signature", "too late"],
)
def test_a_permit_with_a_wrong_field_is_rejected(
    l2: LayerTwo, crown: Address, change: dict[str, int], error: bytes
) -> None:
    with failing(error):
        l2.call(crown, permit(crown, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [
        calldata("bridgeMint(address,uint256)", ALICE, 1),
        calldata("bridgeBurn(address,uint256)", ALICE, 1),
        calldata(
            "bridgeInitialize(bytes32,address,string,string,uint8)", L1_ASSET, BOB, "x", "y", 1
        ),
    ],
    ids=["mint", "burn", "initialise"],
)
def test_only_the_vault_mints_burns_and_initializes_it(
    l2: LayerTwo, crown: Address, call: bytes
) -> None:
    for place in (crown, BRIDGED_TOKEN_CODE):
        with failing(failure("Unauthorized(address)", ALICE)):
            l2.call(place, call)


TOKENS = [L1_TOKEN, Address(b"\x71" * 20)]
AMOUNTS = st.integers(0, 1_000)
STEPS = st.tuples(
    st.sampled_from(["deposit", "by asset", "by token", "transfer"]),
    st.sampled_from(TOKENS),
    st.sampled_from([0, 1]),
    AMOUNTS,
)


@settings(max_examples=examples(15))
@given(st.lists(STEPS, max_size=12))
def test_the_supply_is_what_was_deposited_and_not_withdrawn(
    steps: list[tuple[str, Address, int, int]],
) -> None:
    with closing(LayerTwo()) as l2:
        supply = dict.fromkeys(TOKENS, 0)
        for kind, token, who, amount in steps:
            supply[token] += _do(l2, kind, token, who, amount)
        for token, expected in supply.items():
            _check(l2, _address_of(l2, token), expected)


def _do(l2: LayerTwo, kind: str, l1_token: Address, who: int, amount: int) -> int:
    """Do one action, and return the expected change of the supply."""
    owner, other = (ALICE, BOB) if who == 0 else (BOB, ALICE)
    if kind == "deposit":
        assert l2.deposit(amount, receiver=owner, token=l1_token).succeeded
        return amount
    token = _address_of(l2, l1_token)
    if kind == "transfer":
        l2.send(token, calldata("transfer(address,uint256)", other, amount), by=who)
        return 0
    data = encode("(uint256,address,address)", amount, other, token)
    call = (
        calldata("withdraw(bytes32,bytes)", asset_id(L1_CHAIN_ID, l1_token), data)
        if kind == "by asset"
        else calldata("withdraw(address,address,uint256)", other, token, amount)
    )
    before = l2.token_balance(token, owner) if l2.code(token) else 0
    outcome = l2.send(ASSET_ROUTER, call, by=who)
    assert outcome.succeeded == (0 < amount <= before)
    assert len(outcome.l2_to_l1_logs) == outcome.succeeded
    return -amount if outcome.succeeded else 0


def _address_of(l2: LayerTwo, l1_token: Address) -> Address:
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", l1_token))


def _check(l2: LayerTwo, token: Address, expected: int) -> None:
    if not l2.code(token):
        assert expected == 0
        return
    assert l2.read(token, "totalSupply()(uint256)") == expected
    assert l2.token_balance(token, ALICE) + l2.token_balance(token, BOB) == expected
