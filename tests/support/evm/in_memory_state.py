"""A state in dictionaries, and short programs that run on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from entresol._native import (
    Account,
    BlockEnv,
    Changes,
    ExecutionResult,
    Overlay,
    Rules,
    Snapshot,
    TxEnv,
    execute,
    keccak256,
)

EMPTY_CODE = keccak256(b"")
ALICE = bytes([0xA1] * 20)
BOB = bytes([0xB0] * 20)
CONTRACT = bytes([0xC0] * 20)
ETHER = 10**18

RULES = Rules(270)
BLOCK = BlockEnv(number=10, timestamp=1_000, gas_limit=30_000_000)


@dataclass
class InMemoryState:
    """A state in dictionaries; it counts reads and can be made to fail."""

    accounts: dict[bytes, Account] = field(default_factory=dict)
    codes: dict[bytes, bytes] = field(default_factory=dict)
    slots: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)
    reads: int = 0
    failure: BaseException | None = None

    @classmethod
    def with_contract(cls, code: str) -> InMemoryState:
        state = cls(accounts={ALICE: Account(0, ETHER, EMPTY_CODE)})
        state.deploy(CONTRACT, code)
        return state

    def deploy(self, address: bytes, code: str) -> None:
        """Put a contract there, its code given in hex; blanks are for the reader."""
        compiled = bytes.fromhex(code)
        self.codes[keccak256(compiled)] = compiled
        self.accounts[address] = Account(1, 0, keccak256(compiled))

    def write(self, changes: Changes) -> None:
        self.codes |= changes.codes
        for change in changes.accounts:
            if change.after is None:
                self.accounts.pop(change.address, None)
            else:
                self.accounts[change.address] = change.after
            if change.destroyed:
                self.slots = {k: v for k, v in self.slots.items() if k[0] != change.address}
            for slot, (_, after) in change.storage.items():
                self.slots[change.address, slot] = after
                if not any(after):
                    del self.slots[change.address, slot]

    def account(self, address: bytes, /) -> Account | None:
        self._read()
        return self.accounts.get(address)

    def code(self, code_hash: bytes, /) -> bytes:
        self._read()
        return self.codes[code_hash]

    def slot(self, address: bytes, slot: bytes, /) -> bytes:
        self._read()
        return self.slots.get((address, slot), b"")

    def block_hash(self, number: int, /) -> bytes:
        self._read()
        return self.hashes.get(number, keccak256(number.to_bytes(32)))

    def _read(self) -> None:
        self.reads += 1
        if self.failure is not None:
            raise self.failure


def to_contract(data: bytes = b"", *, gas_limit: int = 1_000_000, value: int = 0) -> TxEnv:
    return TxEnv(sender=ALICE, to=CONTRACT, data=data, gas_limit=gas_limit, value=value)


def run(code: str, data: bytes = b"") -> ExecutionResult:
    return execute(Snapshot(InMemoryState.with_contract(code)), RULES, BLOCK, to_contract(data))


def produce(state: InMemoryState, overlay: Overlay, *transactions: TxEnv) -> list[ExecutionResult]:
    """Run `transactions` one after the other on `overlay`, then store what they changed."""
    results = []
    for transaction in transactions:
        result = execute(overlay, RULES, BLOCK, transaction)
        overlay.apply(result)
        results.append(result)
    state.write(overlay.changes())
    return results
