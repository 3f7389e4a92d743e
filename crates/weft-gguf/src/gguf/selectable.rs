//! LoRA adapters that requests choose: those of all adapters for a matrix become one stack, so that one product can multiply each row
//! of a step by the matrices of its own adapter.
//!
//! Number 0 of a stack is zeros and stands for no adapter; adapter `i` has number `i + 1`. The stacks are made when the adapters are
//! added, and kept in memory, because adapters differ in ranks and types.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weft_quant::GgmlType;

use super::{Data, FileInfo, Gguf, Selection};
use crate::error::Error;
use crate::limits::{MAX_NAME_BYTES, MAX_SELECTABLE, MAX_TENSORS};
use crate::mmap::Mapping;
use crate::tensor::TensorInfo;

/// The alignment of stacks in memory, from the first byte.
const ALIGN: usize = 64;

/// A LoRA adapter that requests choose by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Selectable {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The factor of its additions for a request that gives none.
    pub scale: f32,
    /// A number that identifies its contents.
    pub identity: u64,
}

impl Selectable {
    /// The name, in a model with such adapters, of what they have for `matrix`: the stack `a`, `f32`, `f16` or `bf16` of shape `[from,
    /// rank, n + 1]`; the stack `b`, `[rank, to, n + 1]`; and their `factors`, `f32` of shape `[1, n + 1]`.
    pub fn tensor_name(matrix: &str, which: &str) -> String {
        format!("{matrix}.lora_{which}.all")
    }
}

/// What an adapter has for a matrix: the matrix `a` of shape `[from, rank]`, and `b` of shape `[rank, to]`.
#[derive(Clone, Copy)]
struct Pair<'a> {
    a: &'a TensorInfo,
    b: &'a TensorInfo,
}

impl Pair<'_> {
    fn rank(&self) -> u64 {
        self.a.shape[1]
    }
}

impl Gguf {
    /// Adds LoRA adapters that requests choose, once and after all that [always apply](Gguf::adapt). For each matrix that one of them
    /// adds to, the model then has the tensors that [`Selectable::tensor_name`] says.
    ///
    /// # Errors
    /// [`Error::Adapter`] if a file is not an adapter for this model, a name is not valid or there twice, or there are more than
    /// [`MAX_SELECTABLE`].
    pub fn offer(&mut self, adapters: Vec<(Selectable, Gguf)>) -> Result<(), Error> {
        if adapters.is_empty() {
            return Ok(());
        }
        let problem = |at: usize, problem: String| Error::Adapter {
            file: adapters[at].0.path.display().to_string(),
            problem,
        };
        if self.selection.is_some() || adapters.len() > MAX_SELECTABLE {
            let why = format!(
                "it is one of {} adapters that requests choose: expected at most {MAX_SELECTABLE}",
                adapters.len()
            );
            return Err(problem(adapters.len() - 1, why));
        }
        let mut alphas = Vec::with_capacity(adapters.len());
        let mut matrices: BTreeMap<&str, Vec<Option<Pair<'_>>>> = BTreeMap::new();
        for (at, (one, file)) in adapters.iter().enumerate() {
            check_name(&one.name).map_err(|why| problem(at, why))?;
            if adapters[..at].iter().any(|(other, _)| other.name == one.name) {
                return Err(problem(at, format!("another adapter is named `{}` too", one.name)));
            }
            if !one.scale.is_finite() {
                return Err(problem(at, format!("its scale is {}; expected a number", one.scale)));
            }
            alphas.push(file.check_is_adapter(self).map_err(|why| problem(at, why))?);
            for a in &file.tensors {
                let (matrix, which) = file.pair(a, self).map_err(|why| problem(at, why))?;
                let Some(b) = file.tensor(&format!("{matrix}.lora_b")).filter(|_| which == 'a') else {
                    continue;
                };
                if let Some(tensor) = [a, b].into_iter().find(|tensor| !tensor.ty.can_decode()) {
                    return Err(problem(
                        at,
                        format!("{} is {}, which is not supported", tensor.name, tensor.ty),
                    ));
                }
                matrices.entry(matrix).or_insert_with(|| vec![None; adapters.len()])[at] =
                    Some(Pair { a, b });
            }
        }
        let too_large =
            |at: usize| problem(at, "with it the adapters exceed the memory of this machine".into());
        let file = self.files.len();
        let (mut bytes, mut tensors, mut first) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (matrix, pairs) in &matrices {
            let at = pairs.iter().position(Option::is_some).unwrap_or(0);
            first.insert(matrix.to_string(), at);
            let added =
                stacks(matrix, pairs, (&adapters, &alphas), &mut bytes).ok_or_else(|| too_large(at))?;
            tensors.extend(added.map(|tensor| TensorInfo { file, ..tensor }));
        }
        if (self.tensors.len() + tensors.len()) as u64 > MAX_TENSORS {
            let why = format!("with it the model exceeds the limit of {MAX_TENSORS} tensors");
            return Err(problem(adapters.len() - 1, why));
        }
        self.tensors.extend(tensors);
        self.files.push(FileInfo { path: "LoRA adapters".into(), size: bytes.len() as u64, stamp: None });
        self.data.push(Data { mapping: Arc::new(Mapping::Memory(bytes.into())), start: 0 });
        let all = adapters.into_iter().map(|(one, _)| one).collect();
        self.selection = Some(Selection { file, all, first });
        self.index_names()
    }

    /// The adapters that requests choose, in order.
    pub fn selectable(&self) -> &[Selectable] {
        self.selection.as_ref().map_or(&[], |selection| &selection.all)
    }

    /// The selectable adapter that one of this model's tensors comes from, or the first of several.
    pub fn selectable_of(&self, tensor: &TensorInfo) -> Option<&Selectable> {
        let selection = self.selection.as_ref().filter(|selection| selection.file == tensor.file)?;
        let (matrix, _) = tensor.name.split_once(".lora_")?;
        selection.all.get(*selection.first.get(matrix)?)
    }
}

/// Checks the name of an adapter, which is also a model's in a server.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is no name of an adapter: expected up to {MAX_NAME_BYTES} letters, digits, `.`, `_` and `-`"
    ))
}

/// Appends the stacks and factors of a matrix to `bytes`. `None` if there is no memory for them.
fn stacks(
    matrix: &str,
    pairs: &[Option<Pair<'_>>],
    (adapters, alphas): (&[(Selectable, Gguf)], &[Option<f32>]),
    bytes: &mut Vec<u8>,
) -> Option<impl Iterator<Item = TensorInfo> + use<>> {
    let some = || pairs.iter().flatten();
    let rank = some().map(Pair::rank).max()?;
    let (from, to) = some().next().map(|pair| (pair.a.shape[0], pair.b.shape[1]))?;
    let count = pairs.len() as u64 + 1;
    let mut stack = |which: &str, shape: [u64; 3], own: &dyn Fn(&Pair<'_>) -> TensorInfo| {
        let ty = common_type(some().map(|pair| own(pair).ty));
        let (offset, len) = reserve(bytes, ty, shape)?;
        let row_bytes = ty.row_bytes(shape[0])? as usize;
        let one = usize::try_from(shape[1]).ok()? * row_bytes;
        for (at, pair) in pairs.iter().enumerate() {
            let Some(pair) = pair else { continue };
            let to = &mut bytes[offset..][(at + 1) * one..][..one];
            copy_rows(&adapters[at].1, &own(pair), ty, to.chunks_exact_mut(row_bytes))?;
        }
        Some(info(Selectable::tensor_name(matrix, which), ty, &shape, offset, len))
    };
    let a = stack("a", [from, rank, count], &|pair| pair.a.clone())?;
    let b = stack("b", [rank, to, count], &|pair| pair.b.clone())?;
    let (offset, len) = reserve(bytes, GgmlType::F32, [1, count, 1])?;
    let factor = |(pair, alpha): (&Option<Pair<'_>>, &Option<f32>)| match (pair, alpha) {
        (Some(pair), Some(alpha)) => alpha / pair.rank() as f32,
        _ => 1.0,
    };
    let factors = std::iter::once(1.0).chain(pairs.iter().zip(alphas).map(factor));
    let to = bytes[offset..].as_chunks_mut::<4>().0.iter_mut();
    to.zip(factors).for_each(|(to, factor)| *to = factor.to_le_bytes());
    let factors = info(Selectable::tensor_name(matrix, "factors"), GgmlType::F32, &[1, count], offset, len);
    Some([a, b, factors].into_iter())
}

/// The type of a stack: that of all its matrices if rows of it can have any length, and otherwise `f32`.
fn common_type(mut types: impl Iterator<Item = GgmlType>) -> GgmlType {
    let plain = |ty: &GgmlType| matches!(ty, GgmlType::F16 | GgmlType::BF16);
    let first = types.next().filter(plain);
    first.filter(|first| types.all(|ty| ty == *first)).unwrap_or(GgmlType::F32)
}

/// Appends zeros for a tensor. Returns where they begin and how many they are, or `None` if there is no memory for them.
fn reserve(bytes: &mut Vec<u8>, ty: GgmlType, shape: [u64; 3]) -> Option<(usize, usize)> {
    let rows = shape[1].checked_mul(shape[2])?;
    let len = usize::try_from(ty.row_bytes(shape[0])?.checked_mul(rows)?).ok()?;
    let offset = bytes.len().checked_next_multiple_of(ALIGN)?;
    let end = offset.checked_add(len)?;
    bytes.try_reserve(end - bytes.len()).ok()?;
    bytes.resize(end, 0);
    Some((offset, len))
}

/// Copies the rows of a tensor to the beginning of longer ones, as another type if it has another.
fn copy_rows<'t>(
    file: &Gguf,
    tensor: &TensorInfo,
    ty: GgmlType,
    to: impl Iterator<Item = &'t mut [u8]>,
) -> Option<()> {
    let row_bytes = usize::try_from(tensor.ty.row_bytes(tensor.shape[0])?).ok()?;
    let mut values = vec![0.0; usize::try_from(tensor.shape[0]).ok()?];
    for (row, to) in file.data(tensor).chunks_exact(row_bytes).zip(to) {
        if tensor.ty == ty {
            to[..row_bytes].copy_from_slice(row);
        } else {
            weft_quant::decode(tensor.ty, row, &mut values).ok()?;
            to.as_chunks_mut::<4>()
                .0
                .iter_mut()
                .zip(&values)
                .for_each(|(to, value)| *to = value.to_le_bytes());
        }
    }
    Some(())
}

/// A tensor of the file of stacks, whose index is filled in later.
fn info(name: String, ty: GgmlType, shape: &[u64], offset: usize, len: usize) -> TensorInfo {
    TensorInfo { name, ty, shape: shape.to_vec(), offset: offset as u64, bytes: len as u64, file: 0 }
}
