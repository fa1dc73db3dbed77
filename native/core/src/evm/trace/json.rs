//! Configurations of tracers and traces as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::TraceError;

/// Read a configuration; clients send null for one with defaults.
pub fn read<T: DeserializeOwned>(config: Value) -> Result<T, TraceError> {
    let config = if config.is_null() { Value::Object(Default::default()) } else { config };
    serde_json::from_value(config)
        .map_err(|error| TraceError::Tracer(format!("tracerConfig: {error}")))
}

/// Write a trace.
pub fn encode(trace: &impl Serialize) -> Result<Vec<u8>, TraceError> {
    serde_json::to_vec(trace).map_err(|error| TraceError::Tracer(error.to_string()))
}
