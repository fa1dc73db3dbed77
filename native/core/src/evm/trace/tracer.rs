//! Tracers as users name them, with their options.

use alloy_primitives::map::HashSet;
use alloy_rpc_types_trace::filter::TraceFilter;
use alloy_rpc_types_trace::parity::TraceType;
use serde::Deserialize;
use serde_json::Value;

use super::error::TraceError;
use super::frames::{FrameFormat, Position};
use super::json::read;
use super::prestate::PrestateOptions;
use super::struct_log::StructLogOptions;

/// The tracers that users can name; without a name a tracer writes struct logs.
pub const NAMES: [&str; 8] = [
    "4byteTracer",
    "callTracer",
    "erc7562Tracer",
    "flatCallTracer",
    "keccak256PreimageTracer",
    "muxTracer",
    "noopTracer",
    "prestateTracer",
];

/// How much of an unknown name an error repeats: it may be a whole JavaScript program.
const MAX_NAME: usize = 70;

/// A tracer with its options, and the position of the traced transaction.
#[derive(Clone, Debug)]
pub struct Tracer {
    pub(super) kind: Kind,
    pub(super) position: Position,
}

/// What a tracer records, with its options.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Transfers,
    InternalOperations,
    StructLog(StructLogOptions),
    Frames(FrameFormat),
    Prestate(PrestateOptions),
    FourByte,
    Preimages,
    OpcodeGas,
    Profile,
    Noop,
    Mux(Vec<(String, Kind)>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    tracer: Option<String>,
    /// One of those that only methods of other namespaces use.
    own_tracer: Option<String>,
    #[serde(default)]
    tracer_config: Value,
}

impl Tracer {
    /// Read the options object of the `debug_trace` methods.
    ///
    /// `ownTracer`, which no client can name, is one beside those of [`NAMES`]:
    /// `transferTracer`, `internalOperationsTracer` and `otterscanTracer`, `opcodeGasTracer` for how often
    /// each opcode ran and its gas, `profileTracer` for how often
    /// each instruction of each code did, `localizedTracer` for frames of Parity that match a filter, and
    /// `replayTracer` for the types of traces that Parity knows.
    pub fn parse(text: &[u8], position: Position) -> Result<Self, TraceError> {
        let malformed = |error: serde_json::Error| TraceError::Tracer(error.to_string());
        let options: Options = serde_json::from_slice(text).map_err(malformed)?;
        if let Some(name) = options.own_tracer {
            return Ok(Self { kind: Kind::parse_own(&name, options.tracer_config)?, position });
        }
        let kind = match options.tracer.as_deref().unwrap_or_default() {
            "" => Kind::StructLog(serde_json::from_slice(text).map_err(malformed)?),
            name => Kind::parse(name, options.tracer_config)?,
        };
        Ok(Self { kind, position })
    }
}

impl Kind {
    fn parse(name: &str, config: Value) -> Result<Self, TraceError> {
        Ok(match name {
            "4byteTracer" => Self::FourByte,
            "callTracer" => Self::Frames(FrameFormat::Calls(read(config)?)),
            "erc7562Tracer" => Self::Frames(FrameFormat::Erc7562(Box::new(read(config)?))),
            "flatCallTracer" => Self::Frames(FrameFormat::Flat(read(config)?)),
            "keccak256PreimageTracer" => Self::Preimages,
            "muxTracer" => Self::Mux(mux(read(config)?)?),
            "noopTracer" => Self::Noop,
            "prestateTracer" => Self::Prestate(read::<PrestateOptions>(config)?.check()?),
            unknown => return Err(not_found(unknown)),
        })
    }

    fn parse_own(name: &str, config: Value) -> Result<Self, TraceError> {
        Ok(match name {
            "transferTracer" => Self::Transfers,
            "internalOperationsTracer" => Self::InternalOperations,
            "otterscanTracer" => Self::Frames(FrameFormat::Otterscan),
            "opcodeGasTracer" => Self::OpcodeGas,
            "profileTracer" => Self::Profile,
            "localizedTracer" => {
                let filter: TraceFilter = read(config)?;
                Self::Frames(FrameFormat::Localized(Box::new(filter.matcher())))
            }
            "replayTracer" => {
                let types: HashSet<TraceType> = read(config)?;
                Self::Frames(FrameFormat::Replay(types))
            }
            unknown => return Err(not_found(unknown)),
        })
    }
}

fn mux(configs: serde_json::Map<String, Value>) -> Result<Vec<(String, Kind)>, TraceError> {
    let parse = |(name, config): (String, Value)| match name.as_str() {
        // One within another would allow any number of tracers.
        "muxTracer" => Err(TraceError::Tracer("muxTracer cannot contain muxTracer".into())),
        _ => Kind::parse(&name, config).map(|kind| (name, kind)),
    };
    configs.into_iter().map(parse).collect()
}

fn not_found(name: &str) -> TraceError {
    let shown: String = name.chars().take(MAX_NAME).collect();
    let known = NAMES.join(", ");
    TraceError::Tracer(format!(
        "tracer not found: {shown}; there are {known}, and struct logs without a name"
    ))
}
