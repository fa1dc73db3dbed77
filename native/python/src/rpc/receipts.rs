//! Receipts for Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use entresol_core::blobs::BlobPrices;
use entresol_core::record::Layout;
use entresol_rpc::receipts::{self, Deployer, Place, TransactionFacts};

use super::record_layout::RecordLayout;
use super::response::concatenate;
use crate::convert::{PyAddress, PyHash, PyWord};
use crate::execution::env::Rules;

/// A transaction that Python has read: its hash, type, target, nonce, wei for a unit of gas, and how its calldata begins.
type PyFacts = (PyHash, u8, Option<PyAddress>, PyWord, PyWord, PyBackedBytes);

/// What blob gas costs: a constant, or by the rules of a fork.
#[derive(FromPyObject)]
pub enum PyBlobPrices<'py> {
    Constant(u128),
    Rules(Bound<'py, Rules>),
}

impl From<PyBlobPrices<'_>> for BlobPrices {
    fn from(prices: PyBlobPrices<'_>) -> Self {
        match prices {
            PyBlobPrices::Constant(price) => Self::Constant(price),
            PyBlobPrices::Rules(rules) => Self::Fork(rules.get().0.fork),
        }
    }
}

/// Renders receipts from stored records.
#[pyclass(frozen, module = "entresol._native")]
pub struct ReceiptRenderer {
    layout: Arc<Layout>,
    deployer: Deployer,
}

#[pymethods]
impl ReceiptRenderer {
    #[new]
    #[pyo3(signature = (layout, /, *, deployer, deployed, selectors))]
    fn new(
        layout: &Bound<'_, RecordLayout>,
        deployer: PyAddress,
        deployed: PyHash,
        selectors: Vec<[u8; 4]>,
    ) -> Self {
        let deployer = Deployer { address: deployer.0, topic: deployed.0, selectors };
        Self { layout: Arc::clone(&layout.get().0), deployer }
    }

    /// Return the receipt at `index` of a stored record, or an array of all, as JSON; None if something cannot be read.
    ///
    /// `batch` is the number of the block's batch. `known` are the transactions that Python has read, by index. With
    /// `detached`, the GIL is released meanwhile.
    #[pyo3(signature = (record, index, batch, blobs, known = Vec::new(), /, *, detached = false))]
    #[allow(clippy::too_many_arguments, reason = "what a receipt consists of")]
    fn render<'py>(
        &self,
        py: Python<'py>,
        record: &[u8],
        index: Option<usize>,
        batch: Option<u64>,
        blobs: PyBlobPrices<'py>,
        known: Vec<(usize, PyFacts)>,
        detached: bool,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let place = Place { batch, blobs: blobs.into() };
        let known: Vec<_> = known.into_iter().map(|(at, it)| (at, facts(it))).collect();
        let Self { layout, deployer } = self;
        let renderer = receipts::ReceiptRenderer { layout, deployer, known: &known };
        let render = || renderer.render(record, index, place);
        let text = if detached { py.detach(render) } else { render() };
        text.map(|text| concatenate(py, &[&text])).transpose()
    }

    /// Return the contract that a transaction creates, also if it failed.
    #[pyo3(signature = (sender, transaction, logs, /))]
    fn created_contract(
        &self,
        sender: PyAddress,
        transaction: PyFacts,
        logs: Vec<(PyBackedBytes, Vec<PyBackedBytes>, PyBackedBytes)>,
    ) -> Option<PyAddress> {
        let logs = logs.iter().map(|(address, topics, _)| (&**address, &topics[..]));
        receipts::created_contract(&self.deployer, sender.0, &facts(transaction), logs)
            .map(PyAddress)
    }
}

fn facts(known: PyFacts) -> TransactionFacts {
    let (hash, kind, to, nonce, gas_price, data) = known;
    TransactionFacts {
        hash: hash.0,
        kind,
        to: to.map(|it| it.0),
        // That of a request from L1 may be longer, and creates no contract.
        nonce: nonce.0.saturating_to(),
        gas_price: gas_price.0,
        selector: data.first_chunk().copied(),
        blob_gas: None,
    }
}
