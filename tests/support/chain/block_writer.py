"""Seals blocks until it is killed, and prints which are durable: `block_writer.py DIRECTORY SEED`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from entresol.primitives.transactions import Transaction
from entresol.storage.store import Store
from tests.support.chain.block_production import ETHER, Producer, call, priority, sender
from tests.support.evm.assembler import assemble, initcode

SENDERS = 4
TARGET = b"\xc1" * 20
# Store the first word of the input in the slot that the second names, and log it.
STORING = assemble("0 calldataload 0x20 calldataload sstore 0x20 calldataload 0 0 log1")


def random_block(randomness: random.Random, producer: Producer) -> list[Transaction]:
    """Return some transfers, calls, creations and deposits."""
    nonces = {name: producer.nonce(sender(name)) for name in range(1, SENDERS + 1)}
    transactions = []
    for _ in range(randomness.randrange(6)):
        name = randomness.randint(1, SENDERS)
        match randomness.randrange(4):
            case 0:
                made = call(name, nonces[name], sender(randomness.randint(1, 20)), value=1)
            case 1:
                words = (randomness.randrange(3), randomness.randrange(30))
                data = b"".join(word.to_bytes(32) for word in words)
                made = call(name, nonces[name], TARGET, data=data)
            case 2:
                code = STORING + randomness.randbytes(2)
                made = call(name, nonces[name], None, data=initcode(code))
            case _:
                transactions.append(priority(sender(5), value=1, nonce=randomness.randrange(10**9)))
                continue
        nonces[name] += 1
        transactions.append(made)
    return transactions


def main() -> None:
    """Seal blocks for ever."""
    directory, seed = sys.argv[1:]
    randomness = random.Random(int(seed))
    balances: dict[bytes, int] = {sender(name): 10**6 * ETHER for name in range(1, SENDERS + 1)}
    # The process may be killed while it opens the store, too.
    sys.stdout.write("begin\n")
    sys.stdout.flush()
    producer = Producer(Store.open(Path(directory)), balances=balances, codes={TARGET: STORING})
    while True:
        sealed = producer.seal(*random_block(randomness, producer))
        sys.stdout.write(f"{sealed.header.number} {sealed.header.hash()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
