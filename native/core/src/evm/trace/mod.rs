//! Tracers: inspectors that record an execution, and their traces as JSON.

mod error;
mod frames;
mod inspector;
mod json;
mod limit;
mod preimages;
mod prestate;
mod profile;
mod profile_counts;
mod recorder;
mod root;
mod struct_log;
mod tracer;

pub use error::TraceError;
pub use frames::Position;
pub use inspector::TracerInspector;
pub use root::{close_root, open_root};
pub use tracer::{NAMES, Tracer};
