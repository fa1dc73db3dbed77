//! `RemoteTable` for Python.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use alloy_primitives::{U256, keccak256};
use pyo3::exceptions::{PyBaseException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use entresol_core::state::remote::bounds::WaitLimits;
use entresol_core::state::remote::key::Key;
use entresol_core::state::remote::mode;
use entresol_core::state::remote::table::{self, Hooks};
use entresol_core::state::{Account, ProviderError};

use crate::convert::{PyAddress, PyData, PyHash, PyWord};
use crate::gil;

/// Values of one block of a remote chain, in memory; all snapshots over it share them.
#[pyclass(frozen, weakref, module = "entresol._native")]
pub struct RemoteTable {
    /// The table itself.
    pub table: Arc<table::RemoteTable>,
    wake: Py<PyAny>,
    host: Option<Py<PyAny>>,
}

/// What a table knows of its object, which has the table.
type Reference = OnceLock<Py<PyWeakrefReference>>;

#[pymethods]
impl RemoteTable {
    #[new]
    #[pyo3(signature = (wake, *, max_entries = 500_000, silence = MAX_WAIT, total = MAX_WAIT, host = None, like = None))]
    fn new(
        py: Python<'_>,
        wake: Py<PyAny>,
        max_entries: usize,
        silence: f64,
        total: f64,
        host: Option<Py<PyAny>>,
        like: Option<Bound<'_, Self>>,
    ) -> PyResult<Py<Self>> {
        if max_entries < 2 {
            return Err(PyValueError::new_err("max_entries is at least 2"));
        }
        let limits = WaitLimits { silence: seconds_of(silence)?, total: seconds_of(total)? };
        let shared = like.map_or_else(Arc::default, |it| it.get().table.silence());
        let reference = Arc::new(Reference::new());
        let hooks = Hooks {
            wake: Box::new(waker(Arc::clone(&reference))),
            before_wait: gil::release_held,
            owner: reference.clone(),
        };
        let table = Arc::new(table::RemoteTable::new(max_entries, limits, shared, hooks));
        let made = Bound::new(py, Self { table, wake, host })?;
        let weak = PyWeakrefReference::new(&made)?.unbind();
        reference.get_or_init(|| weak);
        Ok(made.unbind())
    }

    /// Show to the garbage collector what leads to the client that owns this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.wake)?;
        visit.call(&self.host)
    }

    /// Take at most `limit` keys that somebody wants to know.
    fn take_wanted(&self, py: Python<'_>, limit: usize) -> Vec<PyKey> {
        py.detach(|| self.table.take_wanted(limit)).into_iter().map(PyKey).collect()
    }

    /// Put accounts: address, nonce, balance, code.
    fn put_accounts(&self, py: Python<'_>, values: Vec<(PyAddress, u64, PyWord, PyData)>) {
        py.detach(|| {
            let accounts = values.into_iter().map(|(address, nonce, balance, code)| {
                let account = Account { nonce, balance: balance.0, code_hash: keccak256(&code.0) };
                (address.0, account, code.0)
            });
            // Hashed before the table is locked.
            let accounts: Vec<_> = accounts.collect();
            self.table.put_accounts(accounts);
        });
    }

    /// Put slots: address, slot, value.
    fn put_slots(
        &self,
        py: Python<'_>,
        values: Vec<(PyAddress, PyHash, Bound<'_, PyBytes>)>,
    ) -> PyResult<()> {
        let slots = values.iter().map(|(address, slot, value)| {
            let value = value.as_bytes();
            let word = U256::try_from_be_slice(value).ok_or_else(|| {
                PyValueError::new_err(format!("a slot holds 32 bytes, got {}", value.len()))
            })?;
            Ok((address.0, slot.0.into(), word))
        });
        let slots = slots.collect::<PyResult<Vec<_>>>()?;
        py.detach(|| self.table.put_slots(slots));
        Ok(())
    }

    /// Put hashes of blocks: number, hash.
    fn put_hashes(&self, py: Python<'_>, values: Vec<(u64, PyHash)>) {
        py.detach(|| {
            self.table.put_hashes(values.into_iter().map(|(number, hash)| (number, hash.0)));
        });
    }

    /// Note that the remote has delivered values, which are put: it is alive.
    fn delivered(&self) {
        self.table.delivered();
    }

    /// Wake those who wait for keys, with an error.
    fn fail(&self, py: Python<'_>, keys: Vec<PyKey>, error: Bound<'_, PyBaseException>) {
        let error = ProviderError(Arc::new(RemoteFailure(PyErr::from_value(error.into_any()))));
        py.detach(|| self.table.fail(keys.into_iter().map(|key| key.0), &error));
    }

    /// Ask for keys without waiting; `on_known` is called once all of them are known or failed.
    #[pyo3(signature = (keys, on_known = None))]
    fn want(&self, py: Python<'_>, keys: Vec<PyKey>, on_known: Option<Py<PyAny>>) {
        let on_known = on_known.map(|on_known| {
            let call = move || gil::attach(|py| call(py, on_known.bind(py)));
            Box::new(call) as Box<dyn FnOnce() + Send>
        });
        let keys: Vec<Key> = keys.into_iter().map(|key| key.0).collect();
        py.detach(|| self.table.want(&keys, on_known));
    }

    /// Return the error of the keys when they were last wanted, if there was one.
    fn failure(&self, py: Python<'_>, keys: Vec<PyKey>) -> Option<Py<PyBaseException>> {
        let keys: Vec<Key> = keys.into_iter().map(|key| key.0).collect();
        let error = py.detach(|| self.table.failure(&keys))?;
        let failure = error.0.downcast_ref::<RemoteFailure>()?;
        Some(failure.0.clone_ref(py).into_value(py))
    }

    /// Return whether the value of a key is known.
    fn known(&self, key: PyKey) -> bool {
        self.table.is_known(&key.0)
    }

    /// Return the code whose Keccak-256 is `code_hash`, if an account has it that is known.
    fn code(&self, code_hash: PyHash) -> Option<PyData> {
        self.table.code(code_hash.0)?.ok().map(PyData)
    }

    /// How many seconds work waits while nothing arrives.
    #[getter]
    fn silence(&self) -> f64 {
        self.table.limits().silence.as_secs_f64()
    }

    /// How many seconds work waits in all.
    #[getter]
    fn total(&self) -> f64 {
        self.table.limits().total.as_secs_f64()
    }

    /// Scheme, host and port of the remote; nothing if nobody has said it.
    #[getter]
    fn host(&self, py: Python<'_>) -> PyResult<String> {
        self.host.as_ref().map_or_else(|| Ok(String::new()), |it| it.call0(py)?.extract(py))
    }

    /// How many values there are.
    #[getter]
    fn entries(&self) -> usize {
        self.table.entries()
    }

    /// How many threads wait now.
    #[getter]
    fn waiting(&self) -> usize {
        self.table.waiting()
    }

    /// How many keys were ever asked.
    #[getter]
    fn asked(&self) -> u64 {
        self.table.asked()
    }
}

/// Return the object of a table.
pub fn object_of<'py>(
    py: Python<'py>,
    table: &table::RemoteTable,
) -> Option<Bound<'py, RemoteTable>> {
    upgraded(py, table.owner().downcast_ref()?)
}

fn upgraded<'py>(py: Python<'py>, reference: &Reference) -> Option<Bound<'py, RemoteTable>> {
    reference.get()?.bind(py).upgrade()?.cast_into().ok()
}

/// Return what calls the `wake` of an object.
fn waker(reference: Arc<Reference>) -> impl Fn() + Send + Sync {
    move || {
        gil::attach(|py| {
            if let Some(made) = upgraded(py, &reference) {
                call(py, made.get().wake.bind(py));
            }
        });
    }
}

/// Call something that nobody can raise from.
fn call(py: Python<'_>, callable: &Bound<'_, PyAny>) {
    if let Err(error) = callable.call0() {
        error.write_unraisable(py, Some(callable));
    }
}

/// Return the host of a table's remote; nothing if it is gone.
pub fn host_of(py: Python<'_>, table: &table::RemoteTable) -> String {
    object_of(py, table).and_then(|it| it.get().host(py).ok()).unwrap_or_default()
}

/// Let this thread wait for values of remote chains, each at most so many seconds; None: raise `StateMissing`.
///
/// The work that begins was `queued` for so many seconds.
#[pyfunction]
#[pyo3(signature = (seconds, /, queued = 0.0))]
pub fn wait_for_remote(seconds: Option<f64>, queued: f64) -> PyResult<()> {
    let patience = seconds.map(seconds_of).transpose()?;
    mode::set_patience(patience, seconds_of(queued)?);
    Ok(())
}

/// More than anything waits, in seconds.
const MAX_WAIT: f64 = 1e6;

fn seconds_of(seconds: f64) -> PyResult<Duration> {
    if !(0.0..=MAX_WAIT).contains(&seconds) {
        return Err(PyValueError::new_err("seconds is from 0 to 1e6"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The error that a client has given for keys; it is raised as it is.
pub struct RemoteFailure(pub PyErr);

impl fmt::Debug for RemoteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for RemoteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for RemoteFailure {}

/// A key: ("account", address), ("slot", address, slot) or ("hash", number).
#[derive(Clone, Copy)]
pub struct PyKey(pub Key);

impl<'py> FromPyObject<'_, 'py> for PyKey {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let key = object.cast::<PyTuple>().map_err(|_| no_key(&object))?;
        let kind = key.get_item(0).map_err(|_| no_key(&object))?;
        Ok(Self(match (kind.extract::<&str>()?, key.len()) {
            ("account", 2) => Key::Account(key.get_item(1)?.extract::<PyAddress>()?.0),
            ("slot", 3) => {
                let PyHash(slot) = key.get_item(2)?.extract()?;
                Key::Slot(key.get_item(1)?.extract::<PyAddress>()?.0, slot.into())
            }
            ("hash", 2) => Key::Hash(key.get_item(1)?.extract()?),
            _ => return Err(no_key(&object)),
        }))
    }
}

fn no_key(object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("no key of a remote chain: {object}"))
}

impl<'py> IntoPyObject<'py> for PyKey {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self.0 {
            Key::Account(address) => ("account", PyAddress(address)).into_pyobject(py),
            Key::Slot(address, slot) => {
                ("slot", PyAddress(address), PyHash(slot.into())).into_pyobject(py)
            }
            Key::Hash(number) => ("hash", number).into_pyobject(py),
        }
    }
}
