//! Running a model with the float oracle, [`weft_ir::eval`].

use weft_gguf::Gguf;
use weft_ir::{EvalError, Op, Sizes, Tensor, Values, WeightRows, eval};

use crate::model::ModelGraph;
use crate::segment::Segment;

impl ModelGraph {
    /// Returns zeroed states of `slots` rows each, under their names in the model.
    pub fn oracle_states(&self, slots: usize) -> Values {
        let mut states = Values::new();
        for segment in &self.segments {
            for node in segment.graph.nodes() {
                let Op::State { name, .. } = &node.op else { continue };
                let shape = node.ty.shape.eval(&Sizes::of(0).slots(slots));
                let zeros = vec![0.0; shape.iter().product()];
                if let Some((_, model)) = segment.states.iter().find(|(own, _)| own == name) {
                    states.insert(model.clone(), Tensor::f32(shape, zeros));
                }
            }
        }
        states
    }

    /// Computes one step in plain `f32`, with the weights of `gguf`, the file that the model was built from.
    ///
    /// `values` holds the step's inputs (see the [crate]'s front page) and the states under their names in the model
    /// (`kv.3`). It receives `logits` and the new states.
    ///
    /// # Errors
    ///
    /// If an input or a state is missing or its shape does not match `sizes`, or an id or a position is out of bounds.
    pub fn eval(&self, gguf: &Gguf, sizes: &Sizes, values: &mut Values) -> Result<(), EvalError> {
        for segment in &self.segments {
            rename(values, segment.states.iter().map(|(own, model)| (model, own)));
            let whole = turn_columns(values, &segment.columns);
            let done = eval(&segment.graph, sizes, &segment.rows(gguf), values);
            values.extend(whole);
            rename(values, segment.states.iter().map(|(own, model)| (own, model)));
            done?;
        }
        Ok(())
    }
}

fn rename<'a>(values: &mut Values, names: impl Iterator<Item = (&'a String, &'a String)>) {
    for (from, to) in names {
        if let Some(value) = values.remove(from) {
            values.insert(to.clone(), value);
        }
    }
}

/// Brings each segment's own columns to the front of the values that it reads columns of. Returns these as they were.
fn turn_columns(values: &mut Values, columns: &[(String, usize)]) -> Vec<(String, Tensor)> {
    let mut whole = Vec::new();
    for (name, first) in columns {
        let Some(value) = values.get(name) else { continue };
        let (Some(width), Some(data)) = (value.shape().last().copied(), value.as_f32()) else { continue };
        let mut turned = data.to_vec();
        turned.chunks_exact_mut(width.max(1)).for_each(|row| row.rotate_left(*first));
        let turned = Tensor::f32(value.shape().to_vec(), turned);
        whole.extend(values.insert(name.clone(), turned).map(|value| (name.clone(), value)));
    }
    whole
}

impl Segment {
    /// The weights of this segment under their names in the graph, decoded from `gguf`, the file that the model was built
    /// from.
    pub fn rows<'a>(&'a self, gguf: &'a Gguf) -> impl WeightRows + 'a {
        FileWeights { gguf, segment: self }
    }
}

/// The weights of a segment, decoded row by row from the file.
struct FileWeights<'a> {
    gguf: &'a Gguf,
    segment: &'a Segment,
}

impl WeightRows for FileWeights<'_> {
    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) -> Result<(), String> {
        let bound = self.segment.weights.iter().find(|(own, _)| own == name);
        let tensor = bound.and_then(|(_, tensor)| self.gguf.tensor(tensor));
        let tensor = tensor.ok_or_else(|| format!("weight `{name}` is not in the file"))?;
        let bytes = tensor.ty.row_bytes(out.len() as u64).and_then(|n| usize::try_from(n).ok());
        let range = bytes.and_then(|n| Some(n.checked_mul(row)?..n.checked_mul(row.checked_add(1)?)?));
        let data = range.and_then(|range| self.gguf.data(tensor).get(range));
        let data = data.ok_or_else(|| format!("weight `{name}` has no row {row} of {} values", out.len()))?;
        weft_quant::decode(tensor.ty, data, out).map_err(|e| e.to_string())
    }
}
