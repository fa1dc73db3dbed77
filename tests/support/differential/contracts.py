"""The contracts of the generated world, driven by their call data."""

from __future__ import annotations

from tests.support.evm.assembler import assemble

# Writes each pair of words (slot, value).
STORE = assemble("""
    0
    loop:
    dup1 calldatasize gt iszero @end jumpi
    dup1 32 add calldataload  dup2 calldataload  sstore
    64 add @loop jump
    end: stop
""")

# Logs what the slots named by its words hold.
LOAD = assemble("""
    0
    loop:
    dup1 calldatasize gt iszero @end jumpi
    dup1 calldataload sload  dup2 mstore
    32 add @loop jump
    end: calldatasize 0 log0 stop
""")

# (flags, gas, target, value, payload...): calls, logs and returns (success, size, return data).
# Flags: 0 call, 1 callcode, 2 delegatecall, 3 staticcall; 16 no log; 32 fail if the call failed.
FORWARD = assemble("""
    128 calldatasize sub  dup1 128 0 calldatacopy
    0 0 dup3 0
    0 calldataload 15 and
    dup1 1 eq @callcode jumpi  dup1 2 eq @delegate jumpi  dup1 3 eq @static jumpi
    pop 96 calldataload 64 calldataload 32 calldataload call @after jump
    callcode: pop 96 calldataload 64 calldataload 32 calldataload callcode @after jump
    delegate: pop 64 calldataload 32 calldataload delegatecall @after jump
    static: pop 64 calldataload 32 calldataload staticcall
    after:
    returndatasize 0 64 returndatacopy
    dup1 0 mstore  returndatasize 32 mstore
    iszero 32 mul 0 calldataload and @fail jumpi
    returndatasize 64 add
    0 calldataload 16 and @quiet jumpi
    dup1 0 log0
    quiet: 0 return
    fail: returndatasize 64 revert
""")

# (way to fail, data...): see `FAULTS`.
FAULTS = (
    "revert",
    "invalid",
    "underflow",
    "jump",
    "loop",
    "overflow",
    "memory",
    "returndata",
    "unknown",
    "static_log",
)
FAULTY = assemble(
    "0 calldataload "
    + " ".join(f"dup1 {n} eq @{name} jumpi" for n, name in enumerate(FAULTS))
    + """
    stop
    revert: 32 calldatasize sub dup1 32 0 calldatacopy 0 revert
    invalid: invalid
    underflow: pop add
    jump: 1 jump
    loop: 1 pop @loop jump
    overflow: dup1 @overflow jump
    memory: 1 0xffffffffff mstore stop
    returndata: 1 0 0 returndatacopy stop
    unknown: #0c
    static_log: 0 0 log0 stop
"""
)

# (depth): calls itself that deep and counts; the outermost logs the count.
RECURSE = assemble("""
    0 calldataload iszero @end jumpi
    1 0 calldataload sub 0 mstore
    32 32 32 0 0 address gas call pop
    1 32 mload add 32 mstore
    caller origin eq iszero @end jumpi
    32 32 log0
    end: 32 32 return
""")

# (value): stores it in transient storage and reads it from inner calls, one of which fails.
TRANSIENT = assemble("""
    caller address eq @inner jumpi
    1 tload 0 mstore 32 0 log0
    0 calldataload 1 tstore
    0 0 0 0 0 address gas call pop
    0 0 32 0 0 address gas call pop
    1 tload 0 mstore 2 tload 32 mstore 64 0 log0
    2 tload 0 calldataload sstore stop
    inner:
    1 tload 0 mstore 32 0 log0
    calldatasize @bad jumpi
    7 2 tstore stop
    bad: 99 1 tstore 0 0 revert
""")

# (flags, value, salt, argument, init code...): creates, and logs what came of it.
# Flags: 1 CREATE2; 2 call the new contract with the argument; 4 then create once more.
FACTORY = assemble("""
    0
    again:
    128 calldatasize sub  dup1 128 0 calldatacopy
    64 calldataload swap1 0 32 calldataload
    0 calldataload 1 and @two jumpi
    create swap1 pop @made jump
    two: create2
    made:
    dup1 0 mstore  returndatasize 32 mstore  dup1 extcodehash 64 mstore  dup1 balance 96 mstore
    128 0 log0
    0 calldataload 2 and iszero @next jumpi
    96 calldataload 0 mstore  0 0 32 0 0 dup6 gas call 0 mstore
    dup1 extcodesize 32 mstore  dup1 balance 64 mstore  96 0 log0
    next:
    pop 0 calldataload 4 and iszero @end jumpi
    dup1 @end jumpi
    pop 1 @again jump
    end: stop
""")

# (beneficiary): destroys itself; without call data it only takes money.
BOMB = assemble("calldatasize iszero @end jumpi 0 calldataload selfdestruct end: stop")
BOMB_CONSTRUCTOR = "0x1234 1 sstore 5 2 sstore"

_TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_BALANCE_SLOT = "0 mstore 0 32 mstore 64 0 keccak256"
_ALLOWANCE_SLOT = "0 mstore 1 32 mstore 64 0 keccak256 32 mstore 0 mstore 64 0 keccak256"

# An ERC-20 with a public mint. From, to and amount are in memory at 128, 160 and 192.
TOKEN = assemble(f"""
    0 calldataload 224 shr
    dup1 0xa9059cbb eq @transfer jumpi
    dup1 0x23b872dd eq @transfer_from jumpi
    dup1 0x095ea7b3 eq @approve jumpi
    dup1 0x70a08231 eq @balance_of jumpi
    dup1 0x40c10f19 eq @mint jumpi
    0 0 revert
    transfer:
    caller 128 mstore 4 calldataload 160 mstore 36 calldataload 192 mstore @move jump
    transfer_from:
    4 calldataload 128 mstore 36 calldataload 160 mstore 68 calldataload 192 mstore
    caller 128 mload {_ALLOWANCE_SLOT}
    dup1 sload dup1 192 mload gt @fail jumpi
    192 mload swap1 sub swap1 sstore
    move:
    128 mload {_BALANCE_SLOT}
    dup1 sload dup1 192 mload gt @fail jumpi
    192 mload swap1 sub swap1 sstore
    credit:
    160 mload {_BALANCE_SLOT}
    dup1 sload 192 mload add swap1 sstore
    160 mload 128 mload {_TRANSFER_TOPIC} 32 192 log3
    1 0 mstore 32 0 return
    approve:
    36 calldataload
    4 calldataload caller {_ALLOWANCE_SLOT}
    sstore 1 0 mstore 32 0 return
    balance_of:
    4 calldataload {_BALANCE_SLOT} sload 0 mstore 32 0 log0 32 0 return
    mint:
    0 128 mstore 4 calldataload 160 mstore 36 calldataload 192 mstore
    2 sload 192 mload add 2 sstore @credit jump
    fail:
    0xe450d38c 0 mstore 4 28 revert
""")
