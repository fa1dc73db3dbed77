"""Transactions of type 0x71 from contract accounts and with paymasters: what each step does, costs and leaves."""

from __future__ import annotations

import msgspec
import pytest

from entresol._native import keccak256
from entresol.errors import AccountRejection
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import CONTRACT_DEPLOYER, NONCE_HOLDER
from tests.support.contracts.accounts import (
    AGREES,
    APPROVAL,
    ASK_PAYMASTER,
    CALLED,
    EAT_GAS,
    EXECUTE,
    GAS,
    GENERAL,
    INVALID,
    NOBODY,
    POST,
    PREPARE,
    REVERT,
    SELECTORS,
    VALIDATE,
    ScriptedWorld,
    approval_based,
    calls_of,
    functions,
    pay,
    use_nonce,
    word,
)
from tests.support.contracts.layer_two import (
    ALICE,
    ETHER,
    FEE,
    calldata,
    encode,
    failure,
    logs_of,
    messages_of,
    padded,
    topic,
)

COST = GAS * FEE


def rejection(l2: ScriptedWorld, transaction: object) -> AccountRejection:
    with pytest.raises(AccountRejection) as raised:
        l2.open().run(transaction)  # type: ignore[arg-type]
    return raised.value


def test_a_contract_is_an_account_while_it_says_so(l2: ScriptedWorld) -> None:
    account = l2.account()
    assert l2.include(l2.from_contract(account)).succeeded
    ((_, topics, data),) = logs_of(
        l2.set_version(account, 0), CONTRACT_DEPLOYER, topic("AccountVersionUpdated(address,uint8)")
    )
    assert topics[0].hex() == "3fb6f4f15ddd4a75588ca934894ad2cdcab25a5012e2515e1783433d0128611a"
    assert (topics[1], data) == (padded(account), bytes(32))
    l2.script(account, VALIDATE, use_nonce(1), output=AGREES)
    assert rejection(l2, l2.from_contract(account, nonce=1)).step == "sender"


def test_an_account_that_resigns_while_it_validates_is_rejected(l2: ScriptedWorld) -> None:
    account = l2.account()
    resign = (CONTRACT_DEPLOYER, 0, calldata("updateAccountVersion(uint8)", 0))
    l2.script(account, VALIDATE, use_nonce(0), resign, output=AGREES)
    assert rejection(l2, l2.from_contract(account)).step == "sender"


def test_a_version_without_code_changes_nothing_for_a_key(l2: ScriptedWorld) -> None:
    call = calldata("updateAccountVersion(uint8)", 1)
    assert l2.send(CONTRACT_DEPLOYER, call).succeeded
    assert l2.include(l2.from_key(value=7)).succeeded
    assert l2.balance(NOBODY) == 7


def test_a_delegated_sender_is_asked_by_its_key(l2: ScriptedWorld) -> None:
    delegate, paymaster = l2.account(), l2.paymaster()
    l2.chain.edit(ALICE, lambda it: it.set_code(ALICE, b"\xef\x01\x00" + delegate))
    l2.chain.builder.seal()
    result = l2.include(l2.from_key(paymaster=paymaster))
    assert functions(result) == [ASK_PAYMASTER, POST]


def test_the_first_nonce_of_a_contract_account_is_0(l2: ScriptedWorld) -> None:
    account = l2.account()
    before = l2.nonce(account)
    assert l2.include(l2.from_contract(account)).succeeded
    assert (l2.min_nonce(account), l2.nonce(account)) == (1, before)


@pytest.mark.parametrize(
    "output",
    [
        AGREES[:31],
        AGREES + bytes(32),
        AGREES[:-1] + b"\x01",
        bytes(32),
        word(SELECTORS[EXECUTE]),
        b"",
    ],
    ids=["31 bytes", "64 bytes", "a dirty tail", "zero", "another selector", "nothing"],
)
def test_an_account_agrees_by_exactly_one_word(l2: ScriptedWorld, output: bytes) -> None:
    account = l2.account()
    l2.script(account, VALIDATE, use_nonce(0), output=output)
    refused = rejection(l2, l2.from_contract(account))
    assert str(refused) == (
        "failed to validate the transaction. reason: Validation revert: Account validation error: "
        "Account validation returned invalid magic value. Most often this means that the signature "
        "is incorrect"
    )


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (failure("Error(string)", "not now"), "not now"),
        (failure("Odd(uint256)", 1), "Error function_selector = 0x{0}, data = 0x{1}"),
        (b"", "Error function_selector = 0x, data = 0x"),
    ],
    ids=["text", "custom error", "empty"],
)
def test_a_revert_gives_its_reason(l2: ScriptedWorld, output: bytes, reason: str) -> None:
    account = l2.account()
    l2.script(account, VALIDATE, ending=REVERT, output=output)
    refused = rejection(l2, l2.from_contract(account))
    assert refused.reason == reason.format(output[:4].hex(), output.hex())


@pytest.mark.parametrize("excess", [0, 1, ETHER // 2], ids=["exact", "one more", "much more"])
def test_what_is_more_than_the_fee_is_back_before_the_execution(
    l2: ScriptedWorld, excess: int
) -> None:
    account = l2.account(fee=COST + excess)
    result = l2.include(l2.from_contract(account))
    executed = calls_of(result)[-1]
    assert executed.balance == ETHER - COST
    assert l2.balance(account) == ETHER - result.gas_used * FEE
    assert l2.balance(BOOTLOADER) == 0


def test_a_fee_that_lacks_a_wei_is_not_enough(l2: ScriptedWorld) -> None:
    account = l2.account(fee=COST - 1)
    refused = rejection(l2, l2.from_contract(account))
    assert "Failed to charge fee: " in str(refused)
    assert refused.estimate_text.startswith("not enough balance to cover the fee. error message: ")
    assert (l2.balance(account), l2.min_nonce(account)) == (ETHER, 0)


def test_the_base_fee_is_charged_whatever_is_offered(l2: ScriptedWorld) -> None:
    account = l2.account(fee=3 * COST)
    result = l2.include(l2.from_contract(account, max_fee_per_gas=3 * FEE))
    assert l2.balance(account) == ETHER - result.gas_used * FEE
    assert {called.gas_price for called in calls_of(result)} == {FEE}


def test_nobody_sends_ether_to_the_bootloader_but_to_pay(l2: ScriptedWorld) -> None:
    account = l2.account()
    l2.script(account, EXECUTE, pay(1))
    assert not l2.include(l2.from_contract(account)).succeeded
    assert not l2.send(BOOTLOADER, b"", value=1).succeeded
    l2.script(account, VALIDATE, use_nonce(1), pay(1), output=AGREES)
    assert rejection(l2, l2.from_contract(account, nonce=1)).step == "validation"
    assert l2.balance(BOOTLOADER) == 0


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "0xb4fa3fb3"),
        (GENERAL[:3], "0xb4fa3fb3"),
        (b"\xde\xad\xbe\xef", "0xff15b069"),
        (approval_based(NOBODY, 1)[:67], "0xb4fa3fb3"),
        (approval_based(NOBODY, 1), "Address: call to non-contract"),
    ],
    ids=["empty", "3 bytes", "unknown", "67 bytes", "no token"],
)
def test_a_key_prepares_for_what_it_knows(l2: ScriptedWorld, message: bytes, reason: str) -> None:
    refused = rejection(l2, l2.from_key(paymaster=l2.paymaster(), paymaster_input=message))
    assert refused.step == "preparation"
    assert reason in refused.reason


@pytest.mark.parametrize(("allowed", "approvals"), [(10, []), (11, []), (9, [0, 10]), (0, [0, 10])])
def test_an_allowance_becomes_exactly_what_the_paymaster_needs(
    l2: ScriptedWorld, allowed: int, approvals: list[int]
) -> None:
    paymaster, token = l2.paymaster(), l2.token()
    l2.send(token, calldata("approve(address,uint256)", paymaster, allowed))
    result = l2.include(l2.from_key(paymaster=paymaster, paymaster_input=approval_based(token, 10)))
    logs = logs_of(result, token, APPROVAL)
    assert [int.from_bytes(data) for _, _, data in logs] == approvals
    left = l2.read(token, "allowance(address,address)(uint256)", ALICE, paymaster)
    assert left == max(allowed, 10)


ALLOWANCE = calldata("allowance(address,address)", ALICE, ALICE)[:4]
APPROVE = calldata("approve(address,uint256)", ALICE, 0)[:4]


@pytest.mark.parametrize(
    ("allowance", "approve", "reason"),
    [
        (bytes(32), bytes(32), "SafeERC20: ERC20 operation did not succeed"),
        (bytes(31), b"", "Error function_selector = 0x, data = 0x"),
        (word(b"")[:-1] + b"\x01", b"", "approve from non-zero to non-zero allowance"),
        (bytes(32), b"", None),
        (bytes(32), (1).to_bytes(32), None),
    ],
    ids=["false", "no allowance", "stays approved", "nothing", "true"],
)
def test_a_token_answers_with_true_or_nothing(
    l2: ScriptedWorld, allowance: bytes, approve: bytes, reason: str | None
) -> None:
    token, paymaster = l2.contract(), l2.paymaster()
    l2.script(token, ALLOWANCE, output=allowance, is_logged=False)
    l2.script(token, APPROVE, output=approve)
    transaction = l2.from_key(paymaster=paymaster, paymaster_input=approval_based(token, 10))
    if reason is not None:
        assert reason in rejection(l2, transaction).reason
        return
    first, second = calls_of(l2.include(transaction))[:2]
    assert (first.caller, first.origin) == (second.caller, second.origin) == (ALICE, BOOTLOADER)


def test_a_paymaster_that_does_not_agree_is_reported_as_the_network_does(l2: ScriptedWorld) -> None:
    paymaster = l2.paymaster(output=encode("(bytes4,bytes)", bytes(4), b""))
    assert str(rejection(l2, l2.from_key(paymaster=paymaster))) == (
        "failed to validate the transaction. reason: Validation revert: Account validation error: "
        "Paymaster validation returned invalid magic value. Please refer to the documentation of "
        "the paymaster for more details"
    )


def context_reply(context: bytes, *, offset: int = 64, size: int | None = None) -> bytes:
    size = len(context) if size is None else size
    head = word(SELECTORS[ASK_PAYMASTER]) + offset.to_bytes(32) + size.to_bytes(32)
    return head + context.ljust(-(-len(context) // 32) * 32, b"\0")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (context_reply(bytes(1025)), "Paymaster returned context that is too long"),
        (context_reply(bytes(1024))[:-1], "Paymaster returned invalid context"),
        (context_reply(b"", offset=65), "Paymaster returned invalid context"),
        (context_reply(b"", offset=2**255), "Paymaster returned invalid context"),
        (context_reply(b"", size=1), "Paymaster returned invalid context"),
        (context_reply(b"")[:63], "Paymaster returned invalid context"),
        (b"", "Paymaster returned invalid context"),
        (context_reply(b"", size=1_000_000), "Paymaster returned context that is too long"),
    ],
    ids=["1025", "cut", "offset", "far offset", "beyond", "63 bytes", "nothing", "1 MB"],
)
def test_a_context_that_is_none_is_rejected(l2: ScriptedWorld, output: bytes, reason: str) -> None:
    refused = rejection(l2, l2.from_key(paymaster=l2.paymaster(output=output)))
    assert (refused.step, refused.reason) == ("paymaster", reason)


def test_the_origin_of_a_keys_execution_is_the_key(l2: ScriptedWorld) -> None:
    target, paymaster = l2.contract(), l2.paymaster()
    l2.script(target, b"call")
    result = l2.include(l2.from_key(paymaster=paymaster, to=target, data=b"call"))
    asked, executed, post = calls_of(result)
    assert (executed.caller, executed.origin) == (ALICE, ALICE)
    assert asked.origin == post.origin == BOOTLOADER


def test_a_reverted_execution_keeps_what_came_before(l2: ScriptedWorld) -> None:
    account, paymaster, target = l2.account(), l2.paymaster(), l2.contract()
    l2.script(account, PREPARE)
    l2.script(account, EXECUTE, (target, 5, b""), ending=REVERT, output=b"no")
    result = l2.include(l2.from_contract(account, paymaster=paymaster))
    assert not result.succeeded
    assert functions(result) == [VALIDATE, PREPARE, ASK_PAYMASTER, POST]
    post = calls_of(result)[-1]
    assert int.from_bytes(post.data[4 + 4 * 32 :][:32]) == 0
    assert (l2.min_nonce(account), l2.balance(target), l2.balance(account)) == (1, 0, ETHER)
    assert l2.balance(paymaster) == ETHER - result.gas_used * FEE


@pytest.mark.parametrize("ending", [INVALID, EAT_GAS])
def test_an_execution_that_halts_costs_everything(l2: ScriptedWorld, ending: int) -> None:
    account, paymaster = l2.account(), l2.paymaster()
    l2.script(account, PREPARE)
    l2.script(account, EXECUTE, ending=ending)
    result = l2.include(l2.from_contract(account, paymaster=paymaster))
    assert (result.succeeded, result.gas_used) == (False, GAS)
    assert functions(result) == [VALIDATE, PREPARE, ASK_PAYMASTER]
    assert l2.balance(paymaster) == ETHER - COST


@pytest.mark.parametrize("ending", [REVERT, INVALID, EAT_GAS])
def test_a_failed_post_transaction_undoes_only_itself(l2: ScriptedWorld, ending: int) -> None:
    target, paymaster = l2.contract(), l2.paymaster()
    l2.script(paymaster, POST, (target, 5, b""), ending=ending)
    result = l2.include(l2.from_key(paymaster=paymaster, value=3, to=NOBODY))
    assert result.succeeded
    assert functions(result) == [ASK_PAYMASTER]
    assert (l2.balance(NOBODY), l2.balance(target)) == (3, 0)
    assert l2.balance(paymaster) == ETHER - result.gas_used * FEE
    assert (result.gas_used == GAS) == (ending != REVERT)


def test_a_transaction_without_gas_for_its_execution_is_rejected(l2: ScriptedWorld) -> None:
    account = l2.account()
    steps = l2.include(l2.from_contract(account)).gas_used
    l2.script(account, VALIDATE, use_nonce(1), output=AGREES)
    limits = range(steps - 60_000, steps, 500)
    seen = set()
    for limit in limits:
        try:
            l2.open().run(l2.from_contract(account, nonce=1, gas_limit=limit))
            seen.add("included")
        except AccountRejection as refused:
            assert "included" not in seen
            seen.add(refused.reason)
    assert "Not enough gas for transaction validation" in seen


def test_nonce_and_version_are_in_the_slots_of_the_network(l2: ScriptedWorld) -> None:
    account = l2.account()
    l2.do(account, (NONCE_HOLDER, 0, calldata("increaseMinNonce(uint256)", 9)))
    slot = keccak256(padded(account) + bytes(32))
    state = l2.chain.latest
    assert int.from_bytes(state.slot(CONTRACT_DEPLOYER, slot)) == 1
    assert int.from_bytes(state.slot(NONCE_HOLDER, slot)) == 9


def test_transient_storage_and_warm_slots_are_shared_by_the_steps(l2: ScriptedWorld) -> None:
    """A contract stores its input transiently, and returns what it had stored, in a log."""
    keeper = Address(b"\x77" * 20)
    program = bytes.fromhex(
        "5f35"  # PUSH0 CALLDATALOAD
        "80156009"
        "57"  # DUP1 ISZERO PUSH1 9 JUMPI
        "5f5d"  # PUSH0 TSTORE  (pops key 0, value)
        "5b"  # JUMPDEST
        "5f5c5f52"  # MSTORE(0, TLOAD(0))
        "5a6007545a"  # GAS SLOAD(7) GAS
        "90509003"  # SWAP1 POP SWAP1 SUB
        "602052"  # MSTORE(32, used)
        "60405fa0"  # LOG0(0, 64)
    )
    l2.chain.edit(keeper, lambda it: it.set_code(keeper, program))
    l2.chain.builder.seal()
    account = l2.account()
    l2.script(account, VALIDATE, use_nonce(0), (keeper, 0, (42).to_bytes(32)), output=AGREES)
    l2.script(account, EXECUTE, (keeper, 0, bytes(32)))
    result = l2.include(l2.from_contract(account))
    first, second = (data for address, _, data in result.logs if address == keeper)
    assert int.from_bytes(second[:32]) == 42
    assert int.from_bytes(first[32:]) - int.from_bytes(second[32:]) == 2_000


def test_messages_of_all_steps_reach_l1(l2: ScriptedWorld) -> None:
    account, paymaster = l2.account(), l2.paymaster()
    send = (L1_MESSENGER, 0, calldata("sendToL1(bytes)", b"hello"))
    l2.script(account, VALIDATE, use_nonce(0), send, output=AGREES)
    l2.script(account, PREPARE)
    l2.script(account, EXECUTE, send, ending=REVERT)
    l2.script(paymaster, POST, send)
    result = l2.include(l2.from_contract(account, paymaster=paymaster))
    senders = [message.key[12:] for message in messages_of(result)]
    assert senders == [account, paymaster]


def test_a_key_that_pays_itself_is_like_type_2(l2: ScriptedWorld) -> None:
    target = l2.contract()
    l2.script(target, b"call")
    plain = l2.send(target, b"call", gas=GAS)
    zk = l2.include(l2.from_key(to=target, data=b"call"))
    assert (zk.gas_used, zk.succeeded) == (plain.gas_used, plain.succeeded)
    assert l2.trace()["from"] == str(ALICE)
    assert zk.logs == plain.logs


def test_a_trace_has_one_root(l2: ScriptedWorld) -> None:
    account, paymaster = l2.account(), l2.paymaster()
    l2.script(account, PREPARE)
    l2.script(account, EXECUTE, output=b"done")
    l2.include(l2.from_contract(account, paymaster=paymaster, data=b"hello"))
    root = l2.trace()
    assert (root["from"], root["to"]) == (str(Address.zero()), str(BOOTLOADER))
    assert (root["input"], root["output"]) == ("0x" + b"hello".hex(), "0x" + b"done".hex())
    assert int(root["gas"], 16) == GAS
    assert int(root["gasUsed"], 16) == l2.last().gas_used
    steps = [call["input"][2:10] for call in root["calls"]]
    assert steps == [
        SELECTORS[it].hex() for it in (VALIDATE, PREPARE, ASK_PAYMASTER, EXECUTE, POST)
    ]


@pytest.mark.parametrize("tracer", ["callTracer", "erc7562Tracer"])
def test_the_trace_of_a_failed_transaction_has_the_logs_of_the_steps_that_succeeded(
    l2: ScriptedWorld, tracer: str
) -> None:
    account, paymaster = l2.account(), l2.paymaster()
    l2.script(account, EXECUTE, ending=REVERT)
    result = l2.include(l2.from_contract(account, paymaster=paymaster))
    config = {"tracer": tracer, "tracerConfig": {"withLog": True}}
    root = l2.trace(msgspec.json.encode(config))
    logs = [log for step in root["calls"] for log in step.get("logs", ())]
    emitted = [[address.hex(), data.hex()] for address, _, data in result.logs]
    assert [[log["address"][2:], log["data"][2:]] for log in logs] == emitted
    assert [log["index"] for log in logs] == [hex(at) for at in range(len(emitted))]
    assert root["error"] == "execution reverted"


def test_a_chain_whose_genesis_has_no_accounts_calls_none(l2: ScriptedWorld) -> None:
    paymaster = l2.paymaster()
    l2.chain.edit(BOOTLOADER, lambda it: it.set_slot(BOOTLOADER, bytes(32), bytes(32)))
    l2.chain.builder.seal()
    before = l2.balance(ALICE)
    result = l2.include(l2.from_key(paymaster=paymaster))
    assert functions(result) == []
    assert l2.balance(ALICE) == before - result.gas_used * FEE
    assert not [log for log in result.logs if log[1][0] == CALLED]
