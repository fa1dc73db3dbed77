"""titanoboa in network mode on the chain of a URL, where every warning is an error; `test_titanoboa.py` runs it."""

from __future__ import annotations

import sys
import warnings
from typing import Final

import boa  # type: ignore[import-not-found]  # it is too large for the environment of the tests
from eth_account import Account

KEY: Final = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
LIMITED_COUNTER: Final = """
# pragma version ^0.4.0

event Counted:
    by: indexed(address)
    total: uint256

count: public(uint256)

@deploy
def __init__(start: uint256):
    self.count = start

@external
def increment() -> uint256:
    assert self.count < 50, "too many"
    self.count += 1
    log Counted(by=msg.sender, total=self.count)
    return self.count
"""


def main(url: str) -> None:
    """Deploy, call, revert, and go back."""
    warnings.simplefilter("error")
    boa.set_network_env(url)
    boa.env.add_account(Account.from_key(KEY), force_eoa=True)
    counter = boa.loads(LIMITED_COUNTER, 41)
    # The result of a transaction is read from its trace.
    assert counter.increment() == 42
    (log,) = counter.get_logs()
    assert (log.by, log.total) == (boa.env.eoa, 42)
    with boa.env.anchor():
        counter.increment()
        assert counter.count() == 43
    assert counter.count() == 42
    full = boa.loads(LIMITED_COUNTER, 50)
    with boa.reverts("too many"):
        full.increment()


if __name__ == "__main__":
    main(sys.argv[1])
