//! Receipts for Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use entresol_rpc::receipts::{self, Batch};

/// Return the receipt at `index` of a stored record, or an array of all, as JSON; None leaves it to Python.
///
/// `batch` is the number of the block's batch, and the number of the block's first transaction there.
#[pyfunction]
#[pyo3(signature = (record, /, index, batch))]
pub fn receipts_json<'py>(
    py: Python<'py>,
    record: &[u8],
    index: Option<usize>,
    batch: Option<(u64, u64)>,
) -> Option<Bound<'py, PyBytes>> {
    let batch = batch.map(|(number, first_tx_number)| Batch { number, first_tx_number });
    receipts::render(record, index, batch).map(|text| PyBytes::new(py, &text))
}
