//! The plain spelling of a simulation: calls without overrides on top of the last block.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::request::{BlockCalls, Simulation};
use crate::block::{Block, parse_block};
use crate::call::PlainCall;

impl Simulation {
    /// Parse the parameters; None if they are not plain, or name a block other than the last one.
    pub fn parse(params: &str) -> Option<Self> {
        let Params(simulation, block) = serde_json::from_str(params).ok()?;
        let is_plain = !simulation.blocks.is_empty() && parse_block(block)? == Block::Latest;
        is_plain.then_some(simulation)
    }
}

/// The parameters of the method.
#[derive(Deserialize)]
struct Params<'a>(Simulation, #[serde(borrow, default)] Option<&'a str>);

impl<'a> Deserialize<'a> for Simulation {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SimulationVisitor)
    }
}

struct SimulationVisitor;

impl<'a> Visitor<'a> for SimulationVisitor {
    type Value = Simulation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain simulation")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Simulation, A::Error> {
        let mut simulation = Simulation::default();
        let mut blocks: Option<Vec<BlockCalls>> = None;
        while let Some(key) = members.next_key::<&str>()? {
            let is_plain = match key {
                "blockStateCalls" => blocks.replace(members.next_value()?).is_none(),
                "validation" => set(&mut simulation.validation, members.next_value()?),
                "traceTransfers" => set(&mut simulation.trace_transfers, members.next_value()?),
                "returnFullTransactions" => {
                    set(&mut simulation.full_transactions, members.next_value()?)
                }
                _ => false,
            };
            if !is_plain {
                return Err(A::Error::custom("a member that is not plain"));
            }
        }
        simulation.blocks = blocks.unwrap_or_default();
        Ok(simulation)
    }
}

impl<'a> Deserialize<'a> for BlockCalls {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BlockCallsVisitor)
    }
}

struct BlockCallsVisitor;

impl<'a> Visitor<'a> for BlockCallsVisitor {
    type Value = BlockCalls;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the calls of a block")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<BlockCalls, A::Error> {
        let mut calls: Option<Vec<PlainCall>> = None;
        while let Some(key) = members.next_key::<&str>()? {
            if key != "calls" || calls.replace(members.next_value()?).is_some() {
                return Err(A::Error::custom("a member that is not plain"));
            }
        }
        let calls = calls.unwrap_or_default().into_iter().map(|call| call.0).collect();
        Ok(BlockCalls { calls, ..BlockCalls::default() })
    }
}

/// Set an option; false is what it is without being named.
const fn set(option: &mut bool, value: bool) -> bool {
    // Named twice, Python takes the last.
    let is_first = !*option;
    *option = value;
    is_first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_without_overrides_on_the_last_block_are_plain() {
        let call = r#"{"to":"0x1111111111111111111111111111111111111111"}"#;
        let blocks = format!(r#"[{{"calls":[{call},{call}]}},{{}}]"#);
        let items = |params: &str| Simulation::parse(params).map(|it| it.items());
        assert_eq!(items(&format!(r#"[{{"blockStateCalls":{blocks}}}]"#)), Some(4));
        let options = r#""validation":true,"traceTransfers":false"#;
        let optional = format!(r#"[{{"blockStateCalls":{blocks},{options}}},"latest"]"#);
        assert_eq!(items(&optional), Some(4));
        for params in [
            r#"[{"blockStateCalls":[]}]"#.into(),
            r#"[[[{"calls":[]}]]]"#.into(),
            format!(r#"[{{"blockStateCalls":{blocks}}},"0x1"]"#),
            format!(r#"[{{"blockStateCalls":{blocks},"validation":true,"validation":true}}]"#),
            format!(r#"[{{"blockStateCalls":{blocks},"validation":1}}]"#),
            format!(r#"[{{"blockStateCalls":{blocks},"blockStateCalls":{blocks}}}]"#),
            format!(r#"[{{"blockStateCalls":[{{"calls":[{call}],"stateOverrides":{{}}}}]}}]"#),
        ] {
            assert_eq!(items(&params), None, "{params}");
        }
    }
}
