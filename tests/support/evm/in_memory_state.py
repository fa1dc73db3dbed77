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
class World:
    """A state provider that counts what it is asked and can be told to fail."""

    accounts: dict[bytes, Account] = field(default_factory=dict)
    codes: dict[bytes, bytes] = field(default_factory=dict)
    slots: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    questions: int = 0
    failure: BaseException | None = None

    @classmethod
    def with_contract(cls, code: str) -> World:
        """Alice is rich, and at `CONTRACT` there is this code."""
        world = cls(accounts={ALICE: Account(0, ETHER, EMPTY_CODE)})
        world.deploy(CONTRACT, code)
        return world

    def deploy(self, address: bytes, code: str) -> None:
        """Put a contract there, its code given in hex; blanks are for the reader."""
        compiled = bytes.fromhex(code)
        self.codes[keccak256(compiled)] = compiled
        self.accounts[address] = Account(1, 0, keccak256(compiled))

    def write(self, changes: Changes) -> None:
        """Store what a block changed."""
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

    def account(self, address: bytes) -> Account | None:
        self._asked()
        return self.accounts.get(address)

    def code(self, code_hash: bytes) -> bytes:
        self._asked()
        return self.codes[code_hash]

    def slot(self, address: bytes, slot: bytes) -> bytes:
        self._asked()
        return self.slots.get((address, slot), b"")

    def block_hash(self, number: int) -> bytes:
        self._asked()
        return keccak256(number.to_bytes(32, "big"))

    def _asked(self) -> None:
        self.questions += 1
        if self.failure is not None:
            raise self.failure


def to_contract(data: bytes = b"", *, gas_limit: int = 1_000_000, value: int = 0) -> TxEnv:
    """Return a message from Alice to the contract."""
    return TxEnv(sender=ALICE, to=CONTRACT, data=data, gas_limit=gas_limit, value=value)


def run(code: str, data: bytes = b"") -> ExecutionResult:
    """Send Alice's first transaction to a contract with this code."""
    return execute(Snapshot(World.with_contract(code)), RULES, BLOCK, to_contract(data))


def produce(world: World, overlay: Overlay, *messages: TxEnv) -> list[ExecutionResult]:
    """Run `messages` one after the other on `overlay`, then store what they changed."""
    results = []
    for message in messages:
        outcome = execute(overlay, RULES, BLOCK, message)
        overlay.apply(outcome)
        results.append(outcome)
    world.write(overlay.changes())
    return results
