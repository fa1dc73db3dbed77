//! The ABI for Python: numbers are `int`, addresses and bytes are `bytes`, sequences are tuples.

use std::iter::{repeat, repeat_n};

use alloy_dyn_abi::{DynSolType, DynSolValue, DynToken};
use alloy_primitives::{Address, B256, Function, I256, U256};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};

use entresol_core::abi::{self, AbiError, Number};

use super::convert::PyWord;
use super::errors::malformed_value;

/// A tuple of types, parsed once.
#[pyclass(frozen, module = "entresol._native")]
pub struct AbiTuple(abi::AbiTuple);

#[pymethods]
impl AbiTuple {
    #[new]
    #[pyo3(signature = (types, /))]
    fn new(py: Python<'_>, types: &str) -> PyResult<Self> {
        abi::AbiTuple::parse(types).map(Self).map_err(|error| rejected(py, error))
    }

    /// Return the encoding of `values`.
    #[pyo3(signature = (values, /))]
    fn encode<'py>(&self, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(values.py(), &self.encoded(values)?))
    }

    /// Return `selector` and the encoding of `arguments`.
    #[pyo3(signature = (selector, arguments, /))]
    fn encode_call<'py>(
        &self,
        selector: &[u8],
        arguments: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let encoded = self.encoded(arguments)?;
        PyBytes::new_with(arguments.py(), selector.len() + encoded.len(), |bytes| {
            let (first, rest) = bytes.split_at_mut(selector.len());
            first.copy_from_slice(selector);
            rest.copy_from_slice(&encoded);
            Ok(())
        })
    }

    /// Return the values that `data` encodes.
    #[pyo3(signature = (data, /))]
    fn decode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyTuple>> {
        let tokens = self.0.decode(data).map_err(|error| rejected(py, error))?;
        to_python_tuple(py, self.0.types().iter(), &tokens)
    }
}

impl AbiTuple {
    fn encoded(&self, values: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        items(values)
            .and_then(|values| to_sol_values(self.0.types().iter(), &values))
            .map(abi::encode)
            .map_err(|error| rejected(values.py(), error))
    }
}

fn rejected(py: Python<'_>, error: AbiError) -> PyErr {
    let path: String = error.path.iter().rev().map(|index| format!("[{index}]")).collect();
    let field = (!path.is_empty()).then(|| format!("values{path}"));
    malformed_value(py, error.problem, field)
}

fn to_sol_values<'t>(
    kinds: impl ExactSizeIterator<Item = &'t DynSolType>,
    values: &Bound<'_, PyTuple>,
) -> Result<Vec<DynSolValue>, AbiError> {
    if kinds.len() != values.len() {
        let problem = format!("{} values expected, got {}", kinds.len(), values.len());
        return Err(AbiError::new(problem));
    }
    let mut converted = Vec::with_capacity(values.len());
    for (index, (kind, value)) in kinds.zip(values.iter_borrowed()).enumerate() {
        converted.push(to_sol_value(kind, &value).map_err(|error| error.at(index))?);
    }
    Ok(converted)
}

fn to_sol_value(kind: &DynSolType, value: &Bound<'_, PyAny>) -> Result<DynSolValue, AbiError> {
    Ok(match kind {
        DynSolType::Uint(bits) => DynSolValue::Uint(integer(kind, value)?, *bits),
        DynSolType::Int(bits) => DynSolValue::Int(I256::from_raw(integer(kind, value)?), *bits),
        DynSolType::Address => DynSolValue::Address(Address::from_slice(sized(value, 20)?)),
        DynSolType::Function => DynSolValue::Function(Function::from_slice(sized(value, 24)?)),
        DynSolType::FixedBytes(size) => {
            let word = B256::right_padding_from(sized(value, *size)?);
            DynSolValue::FixedBytes(word, *size)
        }
        DynSolType::Bool => match value.cast::<PyBool>() {
            Ok(value) => DynSolValue::Bool(value.is_true()),
            Err(_) => return Err(unexpected("a bool", value)),
        },
        DynSolType::Bytes => DynSolValue::Bytes(bytes(value)?.to_vec()),
        DynSolType::String => DynSolValue::String(text(value)?),
        DynSolType::Array(item) => {
            let values = items(value)?;
            DynSolValue::Array(to_sol_values(repeat_n(&**item, values.len()), &values)?)
        }
        DynSolType::FixedArray(item, size) => {
            DynSolValue::FixedArray(to_sol_values(repeat_n(&**item, *size), &items(value)?)?)
        }
        DynSolType::Tuple(kinds) | DynSolType::CustomStruct { tuple: kinds, .. } => {
            DynSolValue::Tuple(to_sol_values(kinds.iter(), &items(value)?)?)
        }
    })
}

/// Return the number that an `int` is.
pub fn number(value: &Bound<'_, PyInt>) -> PyResult<Number> {
    if let Ok(small) = value.extract::<u64>() {
        return Ok(Number::new(U256::from(small), false));
    }
    let py = value.py();
    // A byte more than a word has, so that all of it is the sign's.
    let signed = [(intern!(py, "signed"), true)].into_py_dict(py)?;
    let arguments = (33, intern!(py, "big"));
    match value.call_method(intern!(py, "to_bytes"), arguments, Some(&signed)) {
        Ok(bytes) => {
            let (sign, word) = bytes.cast::<PyBytes>()?.as_bytes().split_at(1);
            Ok(match sign {
                [0] => Number { word: U256::from_be_slice(word), negative: false },
                [0xff] => Number { word: U256::from_be_slice(word), negative: true },
                _ => Number::TOO_LARGE,
            })
        }
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(Number::TOO_LARGE),
        Err(error) => Err(error),
    }
}

fn integer(kind: &DynSolType, value: &Bound<'_, PyAny>) -> Result<U256, AbiError> {
    let value = match value.cast::<PyInt>() {
        Ok(value) if !value.is_instance_of::<PyBool>() => value,
        _ => return Err(unexpected("an int", value)),
    };
    match number(value) {
        Ok(number) if number.fits(kind) => Ok(number.word),
        _ => Err(AbiError::new(format!("{} does not fit {kind}", in_hex(value)))),
    }
}

fn in_hex(value: &Bound<'_, PyInt>) -> String {
    let text = value.call_method1("__format__", ("#x",));
    text.and_then(|text| text.extract()).unwrap_or_else(|_| "the number".into())
}

fn bytes<'a>(value: &'a Bound<'_, PyAny>) -> Result<&'a [u8], AbiError> {
    value.cast::<PyBytes>().map(|it| it.as_bytes()).map_err(|_| unexpected("bytes", value))
}

fn sized<'a>(value: &'a Bound<'_, PyAny>, size: usize) -> Result<&'a [u8], AbiError> {
    let bytes = bytes(value)?;
    if bytes.len() != size {
        return Err(AbiError::new(format!("{size} bytes expected, got {}", bytes.len())));
    }
    Ok(bytes)
}

fn text(value: &Bound<'_, PyAny>) -> Result<String, AbiError> {
    let text = value.cast::<PyString>().map_err(|_| unexpected("a str", value))?;
    // A lone surrogate has no encoding.
    text.to_str().map(str::to_owned).map_err(|error| AbiError::new(error.to_string()))
}

fn items<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyTuple>, AbiError> {
    if let Ok(values) = value.cast::<PyTuple>() {
        return Ok(values.clone());
    }
    let list = value.cast::<PyList>().map_err(|_| unexpected("a list or a tuple", value))?;
    Ok(list.to_tuple())
}

fn unexpected(expected: &str, value: &Bound<'_, PyAny>) -> AbiError {
    let found = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    AbiError::new(format!("{expected} expected, got {found}"))
}

fn to_python_tuple<'py, 't>(
    py: Python<'py>,
    kinds: impl Iterator<Item = &'t DynSolType>,
    tokens: &[DynToken<'_>],
) -> PyResult<Bound<'py, PyTuple>> {
    let objects: Vec<_> = kinds
        .zip(tokens)
        .map(|(kind, token)| to_python(py, kind, token))
        .collect::<PyResult<_>>()?;
    PyTuple::new(py, objects)
}

fn to_python<'py>(
    py: Python<'py>,
    kind: &DynSolType,
    token: &DynToken<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    match (kind, token) {
        (DynSolType::String, DynToken::PackedSeq(bytes)) => {
            Ok(PyString::new(py, &String::from_utf8_lossy(bytes)).into_any())
        }
        (_, DynToken::PackedSeq(bytes)) => Ok(PyBytes::new(py, bytes).into_any()),
        (_, DynToken::Word(word)) => word_to_python(py, kind, word),
        (DynSolType::Tuple(kinds), DynToken::FixedSeq(tokens, _)) => {
            Ok(to_python_tuple(py, kinds.iter(), tokens)?.into_any())
        }
        (
            DynSolType::Array(item) | DynSolType::FixedArray(item, _),
            DynToken::FixedSeq(tokens, _) | DynToken::DynSeq { contents: tokens, .. },
        ) => Ok(to_python_tuple(py, repeat(&**item), tokens)?.into_any()),
        _ => Err(PyTypeError::new_err(format!("a token of another type than {kind}"))),
    }
}

fn word_to_python<'py>(
    py: Python<'py>,
    kind: &DynSolType,
    word: &B256,
) -> PyResult<Bound<'py, PyAny>> {
    match kind {
        DynSolType::Bool => Ok(PyBool::new(py, !word.is_zero()).to_owned().into_any()),
        DynSolType::Address => Ok(PyBytes::new(py, &word[12..]).into_any()),
        DynSolType::Function => Ok(PyBytes::new(py, &word[..24]).into_any()),
        DynSolType::FixedBytes(size) => Ok(PyBytes::new(py, &word[..*size]).into_any()),
        DynSolType::Int(_) if word[0] >> 7 == 1 => {
            let below = PyWord(!U256::from_be_bytes(word.0)).into_pyobject(py)?;
            below.call_method0(intern!(py, "__invert__"))
        }
        _ => PyWord(U256::from_be_bytes(word.0)).into_pyobject(py),
    }
}
