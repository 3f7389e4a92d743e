//! A value of the oracle.

/// A dense row-major tensor of `f32` or `i32`.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Data,
}

#[derive(Clone, PartialEq, Debug)]
enum Data {
    F32(Vec<f32>),
    I32(Vec<i32>),
}

impl Default for Tensor {
    /// An empty tensor.
    fn default() -> Tensor {
        Tensor { shape: vec![0], data: Data::F32(Vec::new()) }
    }
}

impl Tensor {
    /// Creates a tensor of `f32`.
    ///
    /// # Panics
    /// If the length of `data` is not the product of `shape`.
    pub fn f32(shape: impl Into<Vec<usize>>, data: Vec<f32>) -> Tensor {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), data.len(), "tensor of shape {shape:?}");
        Tensor { shape, data: Data::F32(data) }
    }

    /// Creates a tensor of `i32`.
    ///
    /// # Panics
    /// If the length of `data` is not the product of `shape`.
    pub fn i32(shape: impl Into<Vec<usize>>, data: Vec<i32>) -> Tensor {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), data.len(), "tensor of shape {shape:?}");
        Tensor { shape, data: Data::I32(data) }
    }

    /// The axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The values, if they are `f32`.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.data {
            Data::F32(v) => Some(v),
            Data::I32(_) => None,
        }
    }

    /// The values, if they are `i32`.
    pub fn as_i32(&self) -> Option<&[i32]> {
        match &self.data {
            Data::I32(v) => Some(v),
            Data::F32(_) => None,
        }
    }

    /// Whether the values are `i32`.
    pub fn is_i32(&self) -> bool {
        matches!(self.data, Data::I32(_))
    }

    /// The `f32` values, without a copy.
    pub(crate) fn into_f32(self) -> Result<Vec<f32>, String> {
        match self.data {
            Data::F32(v) => Ok(v),
            Data::I32(_) => Err("expected f32 values, found i32".into()),
        }
    }

    /// The same values in another shape.
    pub(crate) fn reshaped(mut self, shape: Vec<usize>) -> Tensor {
        debug_assert_eq!(shape.iter().product::<usize>(), self.shape.iter().product::<usize>());
        self.shape = shape;
        self
    }

    /// Values selected by source index, in order.
    pub(crate) fn pick(&self, shape: Vec<usize>, from: impl Iterator<Item = usize>) -> Tensor {
        let data = match &self.data {
            Data::F32(v) => Data::F32(from.map(|i| v[i]).collect()),
            Data::I32(v) => Data::I32(from.map(|i| v[i]).collect()),
        };
        Tensor { shape, data }
    }
}

/// The values of a tensor of floats.
pub(super) fn floats(t: &Tensor) -> Result<&[f32], String> {
    t.as_f32().ok_or_else(|| "expected f32 values, found i32".into())
}

/// The values of a tensor of indices.
pub(super) fn ints(t: &Tensor) -> Result<&[i32], String> {
    t.as_i32().ok_or_else(|| "expected i32 values, found f32".into())
}

/// An index into `len` things, called `what` in the error.
pub(super) fn index(i: i32, len: usize, what: &str) -> Result<usize, String> {
    usize::try_from(i)
        .ok()
        .filter(|i| *i < len)
        .ok_or_else(|| format!("{what} {i} is out of range: there are {len}"))
}

/// The product of two rows, added in `f64` and rounded once.
pub(super) fn multiply(x: &[f32], w: &[f32]) -> f32 {
    x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>() as f32
}
