//! A model on its way to GGUF: the metadata and tensors that its family has written so far.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use weft_gguf::{Metadata, Value};
use weft_quant::GgmlType;

use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::error::{Error, Result, refuse};
use crate::packed::{self, Packed};
use crate::safetensors::Dtype;
use crate::source::{Change, Order, Part, Scale, Source};

/// A tensor of the result.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name in GGUF.
    pub name: String,
    /// Its shape in GGML's order, the innermost dimension first.
    pub shape: Vec<u64>,
    /// Whether it stays `F32` whatever the type of the others: vectors, norms and routers.
    pub is_exact: bool,
    /// The quantised type that it is stored as, which it keeps unless another one is asked for.
    pub quantised: Option<GgmlType>,
    pub(crate) source: Source,
}

/// How a stored tensor becomes one of the result.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The stored name, below the name of the layer.
    pub(crate) stored: String,
    /// The name in GGUF, below the name of the layer.
    pub(crate) name: String,
    /// The stored shape, the outermost dimension first.
    pub(crate) shape: Vec<u64>,
    /// An alternative stored shape of the same values, as in some versions of a model.
    or_shape: Option<Vec<u64>>,
    order: Order,
    is_optional: bool,
    /// The number of stored tensors that make it up; `{}` in `stored` stands for the number of each.
    count: Option<u64>,
    /// The shape of the result, outermost first, if it differs.
    becomes: Option<Vec<u64>>,
    /// The change to each value.
    change: Change,
    /// The length that rows are cut to before they are put in order.
    width: Option<u64>,
}

/// A matrix or vector that a model of the family must have.
pub(crate) fn rule(stored: &str, name: &str, shape: &[u64]) -> Rule {
    Rule {
        stored: stored.into(),
        name: name.into(),
        shape: shape.into(),
        or_shape: None,
        order: Order::Rows,
        is_optional: false,
        count: None,
        becomes: None,
        change: Change::Nothing,
        width: None,
    }
}

impl Rule {
    /// A tensor that only some models have.
    pub(crate) fn optional(self) -> Rule {
        Rule { is_optional: true, ..self }
    }

    /// Rows whose values are rotated together become neighbours, in each of `heads` heads.
    pub(crate) fn pairs(self, heads: u64) -> Rule {
        Rule { order: Order::Pairs { heads }, ..self }
    }

    /// One tensor of the matrices of `count` experts, whose number is where `{}` is in the stored name.
    pub(crate) fn stacked(self, count: u64) -> Rule {
        Rule { count: Some(count), ..self }
    }

    /// The values and 1: the model adds it where they are used.
    pub(crate) fn plus_one(self) -> Rule {
        self.changed(Change::PlusOne)
    }

    /// Another value for each.
    pub(crate) fn changed(self, change: Change) -> Rule {
        Rule { change, ..self }
    }

    /// Another stored shape of the same values, which is also accepted.
    pub(crate) fn or_shape(self, shape: &[u64]) -> Rule {
        Rule { or_shape: Some(shape.into()), ..self }
    }

    /// The same values in another shape, outermost dimension first.
    pub(crate) fn becoming(self, shape: &[u64]) -> Rule {
        Rule { becomes: Some(shape.into()), ..self }
    }

    /// Runs of `width` columns in another order, as if they were rows, and the shape that results. `width`
    /// divides the columns.
    pub(crate) fn columns(self, width: u64, order: Order, becomes: &[u64]) -> Rule {
        Rule { width: Some(width), ..self.taking(order, becomes) }
    }

    /// The stored rows in another order, and the shape that results, outermost dimension first.
    pub(crate) fn taking(self, order: Order, becomes: &[u64]) -> Rule {
        Rule { order, becomes: Some(becomes.into()), ..self }
    }
}

/// The checkpoint that a family reads, and the GGUF file that it writes.
#[derive(Debug)]
pub(crate) struct Model<'a> {
    pub(crate) config: &'a Config,
    checkpoint: &'a Checkpoint,
    pub(crate) architecture: &'static str,
    /// The ways to scale rotary embedding that files of the family can express.
    pub(crate) scalings: &'static [&'static str],
    /// Whether layers with a sliding window have a rotary embedding of their own.
    pub(crate) has_local_rope: bool,
    pub(crate) metadata: Metadata,
    pub(crate) tensors: Vec<Tensor>,
    used: BTreeSet<usize>,
    weights: Weights,
    /// Whether the model is the text's part of another, whose stored names say so.
    is_part: bool,
}

/// The ends of names of matrices that stay `F32`.
const EXACT: [&str; 12] = [
    "_norm.weight",
    "hc_attn_fn.weight",
    "hc_ffn_fn.weight",
    "indexer.proj.weight",
    "indexer_compressor_ape.weight",
    "indexer_compressor_gate.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_inp_shexp.weight",
    "ssm_conv1d.weight",
    "ssm_conv1d_q.weight",
    "ssm_conv1d_k.weight",
    "ssm_conv1d_v.weight",
];

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weights {
    /// As they are.
    Plain,
    /// In 8 bits, with a factor for each block of this many rows and columns, or for each matrix.
    Fp8(Option<[u64; 2]>),
    /// Experts in 4 bits.
    Mxfp4,
}

impl<'a> Model<'a> {
    pub(crate) fn new(
        config: &'a Config,
        checkpoint: &'a Checkpoint,
        architecture: &'static str,
        scalings: &'static [&'static str],
        has_local_rope: bool,
    ) -> Result<Model<'a>> {
        let mut metadata = Metadata::new();
        metadata.insert("general.architecture", architecture);
        let (tensors, used) = (Vec::new(), BTreeSet::new());
        Ok(Model {
            config,
            checkpoint,
            architecture,
            scalings,
            has_local_rope,
            metadata,
            tensors,
            used,
            weights: weights(config)?,
            is_part: false,
        })
    }

    /// Takes the model for a part of one that also sees, whose other tensors' names begin with one of
    /// `others`. Images are not seen.
    pub(crate) fn set_part(&mut self, others: &[&str]) {
        self.is_part = true;
        self.leave_out(|name| others.iter().any(|other| name.starts_with(other)));
    }

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Finds a tensor. Versions of models that also see have two names for where the text's part is.
    fn find(&self, name: &str) -> Option<usize> {
        let plain = self.checkpoint.find(name);
        if plain.is_some() || !self.is_part {
            return plain;
        }
        let within = match name.strip_prefix("model.") {
            Some(rest) => format!("model.language_model.{rest}"),
            None => format!("model.{name}"),
        };
        self.checkpoint.find(&format!("language_model.{name}")).or_else(|| self.checkpoint.find(&within))
    }

    /// Sets a key of the architecture.
    pub(crate) fn arch(&mut self, key: &str, value: impl Into<Value>) {
        self.metadata.insert(&format!("{}.{key}", self.architecture), value);
    }

    /// Adds a tensor with values that no file has.
    pub(crate) fn made(&mut self, name: &str, values: Vec<f32>) {
        let shape = vec![values.len() as u64];
        let source = Source::Made(values);
        self.tensors.push(Tensor { name: name.into(), shape, is_exact: true, quantised: None, source });
    }

    /// Adds the tensors of rules, whose names go on from `stored` and `name`.
    ///
    /// # Errors
    ///
    /// If a tensor is missing, or has another type or shape.
    pub(crate) fn add(&mut self, stored: &str, name: &str, rules: &[Rule]) -> Result<()> {
        rules.iter().try_for_each(|rule| self.add_one(stored, name, rule))
    }

    fn add_one(&mut self, stored: &str, name: &str, rule: &Rule) -> Result<()> {
        let name = format!("{name}{}", rule.name);
        let stored = format!("{stored}{}", rule.stored);
        let (mut parts, mut shape) = (Vec::new(), Vec::new());
        for at in 0..rule.count.unwrap_or(1) {
            let stored =
                if rule.count.is_some() { stored.replace("{}", &at.to_string()) } else { stored.clone() };
            let found = self.find(&stored).map(|at| &self.checkpoint.stored(at).shape);
            // Both have the same number of values, and rows that are as long.
            let other = rule.or_shape.as_ref().filter(|other| found == Some(*other));
            let expected = other.unwrap_or(&rule.shape).clone();
            match self.part(&stored, &expected)? {
                Some(part) => {
                    let columns = rule.width.unwrap_or(part.columns);
                    shape = expected;
                    parts.push(Part { rows: part.rows * part.columns / columns, columns, ..part });
                }
                None if rule.is_optional && parts.is_empty() => return Ok(()),
                None => return Err(self.without(&stored)),
            }
        }
        let mut shape = rule.becomes.clone().unwrap_or(shape);
        shape.splice(0..0, rule.count);
        shape.reverse();
        let is_exact =
            shape.len() < 2 || !name.ends_with(".weight") || EXACT.iter().any(|end| name.ends_with(end));
        self.tensors.push(Tensor {
            name,
            shape,
            is_exact,
            quantised: None,
            source: Source::Stored { parts, order: rule.order, change: rule.change },
        });
        Ok(())
    }

    /// Adds matrices in MXFP4: of each `step` rows of `NAME_blocks` and `NAME_scales`, the row `start`. `shape` is the result's:
    /// matrices, rows, columns.
    ///
    /// # Errors
    ///
    /// If a tensor is missing, or has another type or shape.
    pub(crate) fn add_packed(
        &mut self,
        stored: &str,
        name: &str,
        shape: [u64; 3],
        [start, step]: [u64; 2],
    ) -> Result<()> {
        let [matrices, rows, columns] = shape;
        if !columns.is_multiple_of(packed::VALUES) {
            let problem =
                format!("rows of {columns} values are not whole blocks of {} in MXFP4", packed::VALUES);
            return Err(refuse(self.config.path(), problem));
        }
        let blocks = columns / packed::VALUES;
        let stored_shape = [matrices, rows * step, blocks, packed::CODES];
        let codes = self.bytes(&format!("{stored}_blocks"), &stored_shape)?;
        let scales = self.bytes(&format!("{stored}_scales"), &stored_shape[..3])?;
        self.tensors.push(Tensor {
            name: name.into(),
            shape: vec![columns, rows, matrices],
            is_exact: false,
            quantised: Some(Packed::TYPE),
            source: Source::Packed(Packed { codes, scales, blocks, step, start }),
        });
        Ok(())
    }

    /// Finds a tensor of bytes, which must have the shape.
    fn bytes(&mut self, name: &str, shape: &[u64]) -> Result<usize> {
        let at = self.find(name).ok_or_else(|| self.without(name))?;
        let found = self.checkpoint.stored(at);
        if found.shape != shape || found.dtype.to_string() != "U8" {
            let problem = format!(
                "tensor `{}` has the type {} and shape {:?}; by config.json it should be U8 and {shape:?}",
                name.escape_debug(),
                found.dtype,
                found.shape
            );
            return Err(refuse(self.checkpoint.file(at), problem));
        }
        self.used.insert(at);
        Ok(at)
    }

    /// Whether the weights of experts are in MXFP4.
    pub(crate) fn is_mxfp4(&self) -> bool {
        self.weights == Weights::Mxfp4
    }

    /// Finds a tensor, and checks its shape and type.
    fn part(&mut self, name: &str, shape: &[u64]) -> Result<Option<Part>> {
        let Some(at) = self.find(name) else { return Ok(None) };
        let stored = self.checkpoint.stored(at);
        let problem = |problem: String| {
            refuse(self.checkpoint.file(at), format!("tensor `{}` {problem}", name.escape_debug()))
        };
        if stored.shape != shape {
            let expected = format!("has the shape {:?}; by config.json it should be {shape:?}", stored.shape);
            return Err(problem(expected));
        }
        let scale = match (stored.dtype, self.weights) {
            (Dtype::F32 | Dtype::F16 | Dtype::BF16, _) => None,
            (Dtype::F8E4M3, Weights::Fp8(block)) => Some(block),
            (Dtype::F8E4M3, _) => {
                return Err(problem(
                    "has 8-bit weights, but `quantization_config` in config.json does not say so".into(),
                ));
            }
            (Dtype::Other(..), _) => {
                let found = stored.dtype;
                return Err(problem(format!(
                    "has the type {found}; weights can be F32, F16, BF16 or F8_E4M3"
                )));
            }
        };
        let columns = shape.last().copied().unwrap_or(1);
        let rows = shape.iter().rev().skip(1).product();
        // A vector is a column, so that its values can be put in order as rows are.
        let (rows, columns) = if shape.len() < 2 { (columns, 1) } else { (rows, columns) };
        let scale = match scale {
            None => None,
            Some(block) => Some(self.scale(name, shape, columns, block)?),
        };
        self.used.insert(at);
        Ok(Some(Part { at, rows, columns, scale }))
    }

    /// Finds the factors of a matrix, or of several of one shape.
    fn scale(&mut self, name: &str, shape: &[u64], columns: u64, block: Option<[u64; 2]>) -> Result<Scale> {
        let name = format!("{name}_scale_inv");
        let at = self.find(&name).ok_or_else(|| self.without(&name))?;
        let found = self.checkpoint.stored(at);
        // The numbers of matrices before the rows.
        let before = &shape[..shape.len().saturating_sub(2)];
        let rows = shape.iter().rev().nth(1).copied().unwrap_or(1);
        let (expected, block) = match block {
            // Blocks do not continue in the next matrix.
            Some([height, width]) if before.is_empty() || rows.is_multiple_of(height) => {
                ([before, &[rows.div_ceil(height), columns.div_ceil(width)]].concat(), [height, width])
            }
            Some([height, _]) => {
                let problem = format!(
                    "tensor `{}` has matrices of {rows} rows, which are not whole blocks of {height}",
                    name.escape_debug()
                );
                return Err(refuse(self.checkpoint.file(at), problem));
            }
            // However many dimensions of 1 are after them.
            None => {
                let more = found.shape.len().saturating_sub(before.len()).min(2);
                ([before, &vec![1; more]].concat(), [rows, columns])
            }
        };
        let is_number = matches!(found.dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16);
        if found.shape != expected || !is_number {
            let problem = format!(
                "tensor `{}` has the type {} and shape {:?}; expected F32, F16 or BF16, and {expected:?}",
                name.escape_debug(),
                found.dtype,
                found.shape
            );
            return Err(refuse(self.checkpoint.file(at), problem));
        }
        self.used.insert(at);
        Ok(Scale { at, columns, block })
    }

    fn without(&self, name: &str) -> Error {
        let family = self.architecture;
        let problem =
            format!("tensor `{}` is missing; a model of the family `{family}` has it", name.escape_debug());
        refuse(self.checkpoint.folder(), problem)
    }

    /// Leaves out all tensors that `leave` accepts.
    pub(crate) fn leave_out(&mut self, leave: impl Fn(&str) -> bool) {
        let left = self.checkpoint.tensors().enumerate().filter(|(_, tensor)| leave(&tensor.name));
        self.used.extend(left.map(|(at, _)| at));
    }

    /// Checks that every tensor was used.
    ///
    /// # Errors
    ///
    /// If one was not: the model computes something that its family does not.
    pub(crate) fn check_all_used(&self) -> Result<()> {
        // Frequencies of rotary embedding, and masks, which are computed.
        let computed = ["rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"];
        // Of inputs, for kernels that multiply in 8 bits.
        let inputs = [".activation_scale", "_activation_scale"];
        let inputs = if matches!(self.weights, Weights::Fp8(_)) { &inputs[..] } else { &[] };
        let is_left = |(at, name): &(usize, &str)| {
            !self.used.contains(at) && !computed.iter().chain(inputs).any(|end| name.ends_with(end))
        };
        let names = self.checkpoint.tensors().map(|tensor| &*tensor.name).enumerate();
        let mut left = names.filter(is_left);
        let Some((at, name)) = left.next() else { return Ok(()) };
        let (family, more) = (self.architecture, left.count());
        let problem =
            format!("tensor `{}` is none that a model of the family `{family}` has", name.escape_debug());
        Err(refuse(
            self.checkpoint.file(at),
            if more > 0 { format!("{problem}, as are {more} others") } else { problem },
        ))
    }

    /// The type that most weights have: that of the first matrix that says so.
    pub(crate) fn stored_type(&self) -> GgmlType {
        let matrices = self.checkpoint.tensors().filter(|tensor| tensor.shape.len() > 1);
        let types = matrices.filter_map(|tensor| match tensor.dtype {
            Dtype::BF16 => Some(GgmlType::BF16),
            Dtype::F16 => Some(GgmlType::F16),
            _ => None,
        });
        types.into_iter().next().unwrap_or(GgmlType::F16)
    }
}

fn weights(config: &Config) -> Result<Weights> {
    let keys = config.object("quantization_config")?;
    if keys.is_empty() {
        return Ok(Weights::Plain);
    }
    match keys.str("quant_method")? {
        Some("fp8") => {}
        Some("mxfp4") => return Ok(Weights::Mxfp4),
        found => {
            let found = found.map_or(Json::Null, Into::into);
            return Err(keys.mismatch(
                "quant_method",
                "weights that are not quantised, fp8 in blocks, or mxfp4: use the original model",
                &found,
            ));
        }
    }
    const BLOCK: &str = "weight_block_size";
    let Some(sizes) = keys.list(BLOCK)? else { return Ok(Weights::Fp8(None)) };
    match sizes.iter().filter_map(Json::as_u64).collect::<Vec<_>>()[..] {
        [rows @ 1..=4096, columns @ 1..=4096] => Ok(Weights::Fp8(Some([rows, columns]))),
        _ => Err(keys.mismatch(BLOCK, "rows and columns from 1 to 4096, or null", &sizes.to_vec().into())),
    }
}
