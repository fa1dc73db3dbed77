//! The last or the pending block, as calls and simulations need it.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::B256;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use entresol_core::evm::env::{self, ExecutionEnv};
use entresol_core::state::remote::rounds;
use entresol_core::state::{State, overlay, snapshot};

use crate::execution::env::{BlockEnv, Rules};
use crate::execution::evm::AnyState;
use crate::execution::limits::Limits;
use crate::execution::state::Overlay;
use crate::gil;

/// The environment of a block.
pub struct Head {
    /// The `EvmEnv` of Python.
    pub evm_env: Py<PyAny>,
    /// The state after it.
    pub state: HeadState,
    /// The environment of any call on it.
    pub env: Arc<ExecutionEnv>,
    /// What simulated blocks build on, once there are any.
    pub parent: Option<Arc<Parent>>,
}

impl Head {
    /// Show to the garbage collector what it has of Python.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.evm_env)?;
        match &self.state {
            HeadState::Snapshot(_) => Ok(()),
            HeadState::Overlay(overlay) => visit.call(overlay),
        }
    }
}

/// The header, the hash and the state root of the last block.
#[derive(Clone)]
pub struct Parent {
    /// The header.
    pub header: Header,
    /// The hash.
    pub hash: B256,
    /// The state root.
    pub state_root: B256,
}

/// The state after the last block, and the edits since then.
pub enum HeadState {
    /// Without edits.
    Snapshot(Arc<snapshot::Snapshot>),
    /// With edits.
    Overlay(Py<Overlay>),
}

impl HeadState {
    /// Take a state.
    pub fn of(state: AnyState<'_>) -> Self {
        match state {
            AnyState::Snapshot(snapshot) => Self::Snapshot(Arc::clone(&snapshot.get().0)),
            AnyState::Overlay(overlay) => Self::Overlay(overlay.unbind()),
        }
    }

    /// Return another reference to it.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Snapshot(snapshot) => Self::Snapshot(Arc::clone(snapshot)),
            Self::Overlay(overlay) => Self::Overlay(overlay.clone_ref(py)),
        }
    }

    /// Return an overlay on the state.
    pub fn overlay(&self) -> overlay::Overlay {
        match self {
            Self::Snapshot(snapshot) => overlay::Overlay::new(Arc::clone(snapshot)),
            Self::Overlay(overlay) => overlay::Overlay::fork(&overlay.get().current()),
        }
    }

    /// Run `work` on the state in an environment, without the GIL; on a fork perhaps several times.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        env: ExecutionEnv,
        work: impl Fn(&dyn State, ExecutionEnv) -> T + Send + Sync,
    ) -> T {
        match self {
            Self::Snapshot(snapshot) => {
                gil::release(py, || rounds::run_on(env, |env| work(snapshot.as_ref(), env)))
            }
            Self::Overlay(overlay) => {
                let overlay = overlay.get();
                gil::release(py, || {
                    let overlay = overlay.current();
                    rounds::run_on(env, |env| work(overlay.as_ref(), env))
                })
            }
        }
    }
}

impl Head {
    /// Return what `cached` is, or becomes, for an `EvmEnv`.
    pub fn cached<'a>(
        cached: &'a mut Option<Self>,
        evm_env: &Bound<'_, PyAny>,
    ) -> PyResult<&'a Self> {
        let head = match cached.take() {
            Some(head) if head.evm_env.is(evm_env) => head,
            _ => Self::of(evm_env)?,
        };
        Ok(cached.insert(head))
    }

    /// Return the state and the environment.
    pub fn parts(&self, py: Python<'_>) -> (HeadState, Arc<ExecutionEnv>) {
        (self.state.clone_ref(py), Arc::clone(&self.env))
    }

    /// Read an `EvmEnv`.
    pub fn of(evm_env: &Bound<'_, PyAny>) -> PyResult<Self> {
        let rules = evm_env.getattr("rules")?.cast_into::<Rules>()?;
        let block = evm_env.getattr("block")?.getattr("native")?.cast_into::<BlockEnv>()?;
        let env = ExecutionEnv {
            rules: rules.get().0,
            block: block.get().under(&rules.get().0),
            block_hashes: block.get().block_hashes.clone(),
            precompiles: block.get().precompiles.clone(),
            tx: env::TxEnv::default(),
            checks: env::Checks::ALL,
            limits: Limits::none(),
        };
        Ok(Self {
            evm_env: evm_env.clone().unbind(),
            state: HeadState::of(evm_env.getattr("state")?.extract()?),
            env: Arc::new(env),
            parent: None,
        })
    }
}
