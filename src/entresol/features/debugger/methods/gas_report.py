"""`entresol_getGasReport`: the gas that contracts have used, by function and by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import BlockNotFound, MalformedValue, NotInspectable
from entresol.features.debugger.models.gas_report import GasReportPage, gas_report_page
from entresol.offload import Offload
from entresol.rpc.jsonrpc.method import Past, method
from entresol.rpc.types.block_id import LATEST, BlockNumber

if TYPE_CHECKING:
    from entresol.features.debugger.gas_reports import GasReports

MAX_FILE: Final = 1_000


class EntresolGasReport:
    """Gas reports of sealed blocks."""

    prefix = "entresol"

    def __init__(self, reports: GasReports) -> None:
        self._reports = reports

    @method(BlockNotFound, MalformedValue, NotInspectable, past=Past.REPLAY)
    def get_gas_report(
        self, from_block: BlockNumber, to_block: BlockNumber = LATEST, file: str | None = None
    ) -> Offload[GasReportPage]:
        """Return how much gas contracts have used in some blocks, by function.

        With `file` also by line, of up to 10 sources whose names end with it.
        The blocks are executed again: as many as fit into 2 seconds, at most 10,000. `next` is the first that is not in
        the report, and the report of more of them is the sum of their pages. Contracts are named by the sources that the
        node has; others are by address and selector.
        """
        if file is not None and not 0 < len(file) <= MAX_FILE:
            raise MalformedValue(f"from 1 to {MAX_FILE} characters, got {len(file)}", field="file")
        work = self._reports.of_blocks(from_block, to_block, file)
        return Offload(lambda: gas_report_page(*work()))
