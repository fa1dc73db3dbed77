//! `FeeHistory` for Python.

use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};
use serde::Deserialize;

use entresol_core::blobs::BlobPrices;
use entresol_core::record::Layout;
use entresol_rpc::block::{Block, parse_block};
use entresol_rpc::fee_history::{self, BaseFees, BlockFees};
use entresol_rpc::hex::quantity;
use entresol_rpc::request::Request;

use super::receipts::PyBlobPrices;
use super::record_layout::RecordLayout;
use super::response::joined;
use crate::convert::PyWord;
use crate::errors::MalformedValue;

/// What a request may ask for.
#[derive(Clone, Copy, FromPyObject)]
struct Limits {
    /// The number of blocks that a history has at most.
    blocks: u64,
    /// The number of percentiles.
    percentiles: usize,
    /// The number of figures that are rendered at once; more are left to a thread.
    figures: u64,
}

/// The fees of blocks, in memory once they were requested.
///
/// `load` returns the stored record of a block, `head` the number of the last block, and `next_fees` the base fees of the
/// next one, per gas and per blob gas.
#[pyclass(frozen, module = "entresol._native")]
pub struct FeeHistory {
    layout: Arc<Layout>,
    blobs: BlobPrices,
    limits: Limits,
    load: Py<PyAny>,
    head: Py<PyAny>,
    next_fees: Py<PyAny>,
    blocks: Mutex<fee_history::FeeHistory>,
}

#[pymethods]
impl FeeHistory {
    #[new]
    #[pyo3(signature = (layout, /, *, blobs, limits, load, head, next_fees, capacity))]
    fn new(
        layout: &Bound<'_, RecordLayout>,
        blobs: PyBlobPrices<'_>,
        limits: Limits,
        load: Py<PyAny>,
        head: Py<PyAny>,
        next_fees: Py<PyAny>,
        capacity: usize,
    ) -> Self {
        let layout = Arc::clone(&layout.get().0);
        let blocks = Mutex::new(fee_history::FeeHistory::new(capacity));
        Self { layout, blobs: blobs.into(), limits, load, head, next_fees, blocks }
    }

    /// Show the functions to the garbage collector: they are methods of a chain's services, which own this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        [&self.load, &self.head, &self.next_fees].into_iter().try_for_each(|it| visit.call(it))
    }

    /// Return the first of the `count` blocks up to `newest`, of which there are at least one and at most a limit.
    #[pyo3(signature = (count, newest, oldest, /))]
    fn first(&self, count: PyWord, newest: u64, oldest: u64) -> u64 {
        let count = count.0.saturating_to::<u64>().clamp(1, self.limits.blocks);
        newest + 1 - count.min(newest + 1 - oldest)
    }

    /// Say whether the history of the blocks from `first` to `last` is long enough for a thread.
    #[pyo3(signature = (first, last, percentiles, /))]
    fn is_long(&self, first: u64, last: u64, percentiles: usize) -> bool {
        (last + 1 - first) * (percentiles as u64 + 1) > self.limits.figures
    }

    /// Return how many blocks from `first` to `last` have to be loaded.
    fn missing(&self, first: u64, last: u64) -> usize {
        self.blocks.lock().get(first, last).iter().filter(|it| it.is_none()).count()
    }

    /// Return the history of the blocks from `first` to `last` as JSON.
    fn render<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        last: u64,
        percentiles: Vec<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let head = self.head(py)?;
        let end = if last < head { last + 1 } else { last };
        let mut blocks = self.loaded(py, first, end)?;
        let known = if last < head { blocks.pop() } else { None };
        let next = known.map_or_else(|| self.next_fees(py), |it| Ok(it.base_fees.clone()))?;
        let text = py.detach(|| {
            let blocks: Vec<_> = blocks.iter().map(AsRef::as_ref).collect();
            fee_history::render(first, &blocks, &next, &percentiles)
        });
        Ok(PyBytes::new(py, &text))
    }

    /// Remove the blocks above `number`, which are reverted.
    fn remove_above(&self, number: i64) {
        self.blocks.lock().remove_above(u64::try_from(number).ok());
    }

    /// The size of what is in memory, in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.blocks.lock().size()
    }
}

impl FeeHistory {
    /// Return the response to a plain request, if all of its blocks are in memory.
    pub fn response<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'_>,
    ) -> Option<Bound<'py, PyBytes>> {
        let params: Params = serde_json::from_str(request.params()).ok()?;
        let count = PyWord(quantity(params.0, 16)?);
        let head = self.head(py).ok()?;
        let last = match parse_block(Some(params.1))? {
            Block::Latest => head,
            Block::Number(number) => number,
        };
        let percentiles = params.2.unwrap_or_default();
        if last > head || !self.limits.are_plain(&percentiles) {
            return None;
        }
        // Blocks before the first one are never in memory.
        let first = self.first(count, last, 0);
        let count = last + 1 - first;
        if self.is_long(first, last, percentiles.len()) {
            return None;
        }
        let text = if last < head {
            let known = self.blocks.lock();
            let mut blocks = known.get_all(first, count + 1)?;
            let next = blocks.pop()?;
            fee_history::render(first, &blocks, &next.base_fees, &percentiles)
        } else {
            // Before the lock is taken, for which a thread that holds the GIL may wait.
            let next = self.next_fees(py).ok()?;
            let known = self.blocks.lock();
            fee_history::render(first, &known.get_all(first, count)?, &next, &percentiles)
        };
        joined(py, request.response(&text)).ok()
    }

    fn head(&self, py: Python<'_>) -> PyResult<u64> {
        self.head.bind(py).call0()?.extract()
    }

    fn next_fees(&self, py: Python<'_>) -> PyResult<BaseFees> {
        let (PyWord(gas), PyWord(blob_gas)) = self.next_fees.bind(py).call0()?.extract()?;
        Ok(BaseFees::new(gas, blob_gas))
    }

    fn loaded(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<Vec<Arc<BlockFees>>> {
        let (known, generation) = {
            let blocks = self.blocks.lock();
            (blocks.get(first, last), blocks.generation)
        };
        (first..=last)
            .zip(known)
            .map(|(number, known)| match known {
                Some(fees) => Ok(fees),
                None => {
                    let loaded = self.load.bind(py).call1((number,))?;
                    let stored = loaded.cast::<PyBytes>()?.as_bytes();
                    let fees = BlockFees::read(&self.layout, stored, &self.blobs);
                    let unreadable = || MalformedValue::new_err("a record is not readable");
                    let fees = Arc::new(fees.ok_or_else(unreadable)?);
                    self.blocks.lock().insert(number, Arc::clone(&fees), generation);
                    Ok(fees)
                }
            })
            .collect()
    }
}

#[derive(Deserialize)]
struct Params<'a>(&'a str, &'a str, #[serde(default)] Option<Vec<f64>>);

impl Limits {
    /// Say whether percentiles are some that need no error.
    fn are_plain(&self, percentiles: &[f64]) -> bool {
        percentiles.len() <= self.percentiles
            && percentiles.iter().all(|it| (0.0..=100.0).contains(it))
            && percentiles.is_sorted()
    }
}
