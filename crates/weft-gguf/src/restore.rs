//! Tensors that a file holds in another form, and that are computed when they are first read.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::tensor::TensorInfo;

/// Computes tensors that a file holds in another form.
pub trait Restore: Any + Send + Sync {
    /// The bytes of a tensor as its GGUF file had them: [`TensorInfo::bytes`] of them.
    fn restore(&self, tensor: &TensorInfo) -> Vec<u8>;
}

/// A tensor that is restored when it is first read.
pub(crate) struct Restored {
    restore: Arc<dyn Restore>,
    tensor: TensorInfo,
    bytes: OnceLock<Vec<u8>>,
}

impl Restored {
    pub(crate) fn new(restore: &Arc<dyn Restore>, tensor: &TensorInfo) -> Restored {
        Restored { restore: Arc::clone(restore), tensor: tensor.clone(), bytes: OnceLock::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.tensor.bytes as usize
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.restore.restore(&self.tensor))
    }
}
