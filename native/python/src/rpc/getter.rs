//! `Getter` for Python: a function that the crate calls with the parameters of a plain request.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use entresol_rpc::block::Block;
use entresol_rpc::hex;
use entresol_rpc::params::{self, Kind, Param};

use crate::convert::{PyAddress, PyHash, PyWord};

/// A function without side effects that matter if it is called again after an error.
///
/// Of its parameters, the first `required` have to be given. A parameter is `hash`, `address`, `quantity`,
/// `quantity64`, `number`, `boolean`, `other`, which is not plain, or a function that makes a block of its number, or the latest of None.
#[pyclass(frozen, module = "entresol._native")]
pub struct Getter {
    function: Py<PyAny>,
    kinds: Vec<Kind>,
    /// For each parameter that is a block, the function that makes it, and the latest one.
    blocks: Vec<Option<(Py<PyAny>, Py<PyAny>)>>,
    required: usize,
    /// Whether a result stays valid for the same parameters, until blocks are reverted.
    pub is_cached: bool,
}

/// The arguments of a call, and whether they always name the same blocks.
pub struct Arguments<'py> {
    values: Bound<'py, PyTuple>,
    /// Whether none of them is the latest block.
    pub are_fixed: bool,
}

#[pymethods]
impl Getter {
    #[new]
    #[pyo3(signature = (function, parameters, *, required, is_cached))]
    fn new(
        py: Python<'_>,
        function: Py<PyAny>,
        parameters: Vec<Bound<'_, PyAny>>,
        required: usize,
        is_cached: bool,
    ) -> PyResult<Self> {
        let kinds = parameters.iter().map(kind_of).collect::<PyResult<_>>()?;
        let block = |it: &Bound<'_, PyAny>| match it.is_callable() {
            true => Ok(Some((it.clone().unbind(), it.call1((py.None(),))?.unbind()))),
            false => Ok(None),
        };
        let blocks = parameters.iter().map(block).collect::<PyResult<_>>()?;
        Ok(Self { function, kinds, blocks, required, is_cached })
    }

    /// Show the function to the garbage collector: it is a method of a chain's API, which owns this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        self.blocks.iter().flatten().try_for_each(|(make, latest)| {
            visit.call(make)?;
            visit.call(latest)
        })
    }
}

impl Getter {
    /// Return the arguments in the text of `params`; None if they are not plain.
    pub fn arguments<'py>(&self, py: Python<'py>, params: &str) -> Option<Arguments<'py>> {
        let given = params::parse(&self.kinds, self.required, params)?;
        let are_fixed = !given.contains(&Param::Block(Block::Latest));
        let values = given.iter().zip(&self.blocks).map(|(param, block)| match param {
            Param::Hash(hash) => Ok(PyHash(*hash).into_pyobject(py)?.into_any()),
            Param::Address(address) => Ok(PyAddress(*address).into_pyobject(py)?.into_any()),
            Param::Quantity(number) => Ok(PyWord(*number).into_pyobject(py)?.into_any()),
            Param::Boolean(value) => Ok(PyBool::new(py, *value).to_owned().into_any()),
            Param::Block(named) => {
                let (make, latest) = block.as_ref().expect("made with the kind");
                match named {
                    Block::Latest => Ok(latest.bind(py).clone()),
                    Block::Number(number) => make.bind(py).call1((*number,)),
                }
            }
        });
        let values = values.collect::<PyResult<Vec<_>>>().ok()?;
        Some(Arguments { values: PyTuple::new(py, values).ok()?, are_fixed })
    }

    /// Call the function; None if it fails, which Python reports when it fails again.
    pub fn call<'py>(&self, arguments: &Arguments<'py>) -> Option<Bound<'py, PyAny>> {
        let values = &arguments.values;
        self.function.bind(values.py()).call1(values).ok()
    }
}

fn kind_of(parameter: &Bound<'_, PyAny>) -> PyResult<Kind> {
    if parameter.is_callable() {
        return Ok(Kind::Block);
    }
    match parameter.extract::<&str>()? {
        "hash" => Ok(Kind::Hash),
        "address" => Ok(Kind::Address),
        "quantity" => Ok(Kind::Quantity(64)),
        "quantity64" => Ok(Kind::Quantity(16)),
        "number" => Ok(Kind::Number),
        "boolean" => Ok(Kind::Boolean),
        "other" => Ok(Kind::Other),
        unknown => Err(PyValueError::new_err(format!("no parameter of a getter: {unknown}"))),
    }
}

/// Return the JSON of a result: null, a boolean, a number, bytes, a text or a list of them, or JSON itself.
pub fn rendered(value: &Bound<'_, PyAny>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(128);
    put(&mut out, value).map(|()| out)
}

fn put(out: &mut Vec<u8>, value: &Bound<'_, PyAny>) -> Option<()> {
    if value.is_none() {
        out.extend_from_slice(b"null");
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        hex::put_data(out, bytes.as_bytes());
    } else if let Ok(boolean) = value.cast_exact::<PyBool>() {
        out.extend_from_slice(if boolean.is_true() { b"true" } else { b"false" });
    } else if value.cast::<PyInt>().is_ok() {
        hex::put_quantity(out, value.extract::<PyWord>().ok()?.0);
    } else if let Ok(text) = value.cast_exact::<PyString>() {
        serde_json::to_writer(out, &text.to_cow().ok()?).ok()?;
    } else if let Ok(list) = value.cast::<PyList>() {
        out.push(b'[');
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            put(out, &item)?;
        }
        out.push(b']');
    } else {
        let json = PyBuffer::<u8>::get(value).ok()?;
        let start = out.len();
        out.resize(start + json.item_count(), 0);
        json.copy_to_slice(value.py(), &mut out[start..]).ok()?;
    }
    Some(())
}
