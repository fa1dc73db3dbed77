//! The errors of `entresol.errors` that this crate raises.

use pyo3::import_exception;

import_exception!(entresol.errors, MalformedValue);
