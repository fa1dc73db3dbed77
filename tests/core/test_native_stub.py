"""The stub of the native module matches the built module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_stub_agrees_with_the_built_module(tmp_path: Path) -> None:
    """Compare every name, class member and signature, with mypy's own tool for it.

    A class of the module is `@final` in the stub and declares `__new__`; a name that exists for type
    checkers only is marked `@typing.type_check_only`.
    """
    allowed = tmp_path / "allowed"
    # pyo3 lists every public name in `__all__`, so the stub would only repeat itself; a type alias
    # cannot be marked as one for type checkers only.
    aliases = (
        *("Log", "RlpItem", "RlpSource", "ZkHead", "ZkTail", "DecodedZkFields"),
        *("TransactionFacts", "TransactionLocation", "FailureTexts", "NextSimulatedBlock"),
        "RemoteKey",
    )
    names = ["__all__", *aliases]
    allowed.write_text("".join(f"entresol._native.{name}\n" for name in names), encoding="utf-8")
    # The rest of the package, which the stub imports two classes of, is for `make check`.
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nfollow_imports = skip\n", encoding="utf-8")
    stubtest = [sys.executable, "-m", "mypy.stubtest", "entresol._native", "--concise"]
    checked = subprocess.run(
        [*stubtest, "--allowlist", str(allowed), "--mypy-config-file", str(config)],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
