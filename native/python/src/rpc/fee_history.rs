//! `FeeHistory` for Python.

use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};
use serde::Deserialize;

use entresol_rpc::block::{Block, parse_block};
use entresol_rpc::fee_history::{self, BaseFees, BlockFees, Tip};
use entresol_rpc::hex::quantity;
use entresol_rpc::request::Request;

use super::response::joined;
use crate::convert::PyWord;

/// The number of blocks that a history has at most.
const MAX_BLOCKS: u64 = 1_024;
/// The number of percentiles, as in geth.
const MAX_PERCENTILES: usize = 100;
/// The number of figures that are rendered here; more are left to a worker.
const MAX_ITEMS: u64 = 4_096;

type PyBlockFees = (PyWord, String, u64, Vec<(PyWord, u64)>, PyWord, String);

/// The fees of blocks, in memory once they were requested.
///
/// `load` returns those of a block: its base fee, how full it is as JSON, the gas used, the tip and the gas
/// of each transaction by tip, the base fee per blob gas, and which part of its blobs it has as JSON. `head`
/// returns the number of the last block, and `next_fees` the base fees of the next one, per gas and per blob gas.
#[pyclass(frozen, module = "entresol._native")]
pub struct FeeHistory {
    load: Py<PyAny>,
    head: Py<PyAny>,
    next_fees: Py<PyAny>,
    blocks: Mutex<fee_history::FeeHistory>,
}

#[pymethods]
impl FeeHistory {
    #[new]
    #[pyo3(signature = (*, load, head, next_fees, capacity))]
    fn new(load: Py<PyAny>, head: Py<PyAny>, next_fees: Py<PyAny>, capacity: usize) -> Self {
        Self { load, head, next_fees, blocks: Mutex::new(fee_history::FeeHistory::new(capacity)) }
    }

    /// Show the functions to the garbage collector: they are methods of a chain's services, which own this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        [&self.load, &self.head, &self.next_fees].into_iter().try_for_each(|it| visit.call(it))
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
        let count = u64::try_from(quantity(params.0, 16)?).ok()?;
        let head = self.head(py).ok()?;
        let last = match parse_block(Some(params.1))? {
            Block::Latest => head,
            Block::Number(number) => number,
        };
        let percentiles = params.2.unwrap_or_default();
        if last > head || !are_valid(&percentiles) {
            return None;
        }
        let count = count.clamp(1, MAX_BLOCKS).min(last + 1);
        if count * (percentiles.len() as u64 + 1) > MAX_ITEMS {
            return None;
        }
        let first = last + 1 - count;
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
                    let loaded = self.load.bind(py).call1((number,))?.extract()?;
                    let fees = Arc::new(block_fees(loaded));
                    self.blocks.lock().insert(number, Arc::clone(&fees), generation);
                    Ok(fees)
                }
            })
            .collect()
    }
}

#[derive(Deserialize)]
struct Params<'a>(&'a str, &'a str, #[serde(default)] Option<Vec<f64>>);

fn are_valid(percentiles: &[f64]) -> bool {
    percentiles.len() <= MAX_PERCENTILES
        && percentiles.iter().all(|it| (0.0..=100.0).contains(it))
        && percentiles.is_sorted()
}

fn block_fees(loaded: PyBlockFees) -> BlockFees {
    let (base_fee, gas_used_ratio, gas_used, tips, blob_base_fee, blob_gas_used_ratio) = loaded;
    BlockFees {
        base_fees: BaseFees::new(base_fee.0, blob_base_fee.0),
        gas_used_ratio: gas_used_ratio.into(),
        gas_used,
        tips: tips.into_iter().map(|(tip, gas)| Tip::new(tip.0, gas)).collect(),
        blob_gas_used_ratio: blob_gas_used_ratio.into(),
    }
}
