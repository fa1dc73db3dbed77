"""Write what comes from the code: pages of the documentation, the type of a devnet's settings, addresses of the explorer.

`make docs` runs it; `make check` runs it with `--check`, which writes nothing and fails when a page is stale; `make
docs-site` runs it with `--reference`, which writes the long forms of two pages for the site.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from docs.tools.pages import (
    decisions_page,
    errors_page,
    errors_reference,
    methods_page,
    methods_reference,
    settings_page,
    settings_type,
    system_contracts_module,
)
from docs.tools.recording import document_of_methods, record_all
from docs.tools.two_floors import pictures

DOCS: Final = Path(__file__).resolve().parent.parent
DECISIONS: Final = DOCS / "decisions"
SETTINGS_TYPE: Final = DOCS.parent / "src" / "entresol" / "inprocess" / "devnet_settings.py"
SYSTEM_CONTRACTS: Final = (
    DOCS.parent / "src" / "entresol" / "features" / "explorer" / "static" / "system.js"
)
REFERENCE: Final = DOCS.parent / "build" / "reference"


def main() -> None:
    """Regenerate every page, or with `--check` fail if one is stale."""
    if "--reference" in sys.argv[1:]:
        REFERENCE.mkdir(parents=True, exist_ok=True)
        methods = methods_reference(*asyncio.run(record_all()))
        renew(
            {REFERENCE / "rpc.md": methods, REFERENCE / "errors.md": errors_reference()},
            check=False,
        )
        return
    pages = {
        DOCS / "rpc.md": methods_page(asyncio.run(document_of_methods())),
        DOCS / "config.md": settings_page(),
        DOCS / "errors.md": errors_page(),
        SETTINGS_TYPE: settings_type(),
        SYSTEM_CONTRACTS: system_contracts_module(),
        DECISIONS / "README.md": decisions_page(DECISIONS),
        **{DOCS / "images" / name: picture for name, picture in pictures().items()},
    }
    renew(pages, check="--check" in sys.argv[1:])


def renew(pages: Mapping[Path, str], *, check: bool) -> None:
    """Write the pages that are stale; with `check`, fail instead."""
    stale = [path for path, text in pages.items() if _read(path) != text]
    if check and stale:
        names = ", ".join(f"{path.parent.name}/{path.name}" for path in stale)
        raise SystemExit(f"stale: {names}; run `make docs` and commit the result")
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    main()
