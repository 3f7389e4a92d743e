//! The stages of a model, for clients that wait for it and for those that watch it.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// A step of loading a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// It waits for memory, which other models have.
    Memory,
    /// Its file is read: the task, and the number of bytes.
    Loading {
        /// The task, for people.
        task: &'static str,
        /// The bytes that are done.
        done: u64,
        /// All bytes; 0 if they are not known.
        total: u64,
    },
}

/// How far loading has come.
#[derive(Default, Debug)]
pub(crate) struct Progress(Mutex<Option<Step>>);

/// The stage of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Nothing: a request would load it.
    Unloaded,
    /// It is being loaded, or waits for memory.
    Loading(Option<Step>),
    /// It answers.
    Loaded,
    /// It answers those who came, and is unloaded then.
    Unloading,
    /// It was unloaded because nobody asked for it: the next request loads it.
    Sleeping,
}

impl Progress {
    /// The current step; `None` if the model is not being loaded.
    pub(crate) fn get(&self) -> Option<Step> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the current step.
    pub(crate) fn set(&self, step: Option<Step>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = step;
    }

    /// Forgets the current step when the result is dropped, whatever happens until then.
    pub(crate) fn clear_later(self: &Arc<Progress>) -> Clears {
        Clears(Arc::clone(self))
    }
}

/// Forgets the step of a model when it is dropped.
pub(crate) struct Clears(Arc<Progress>);

impl Drop for Clears {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Step {
    /// The step in words.
    pub(crate) fn text(self) -> String {
        let tenths = |bytes: u64| bytes as f64 / 1e9;
        match self {
            Step::Memory => "waiting for memory, which other models have".to_string(),
            Step::Loading { task, total: 0, .. } => task.to_string(),
            Step::Loading { task, done, total } => {
                format!("{task}, {:.1} of {:.1} GB", tenths(done), tenths(total))
            }
        }
    }
}

impl Stage {
    /// The word that llama-server has for it, or Weft's own.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Unloaded => "unloaded",
            Stage::Loading(_) => "loading",
            Stage::Loaded => "loaded",
            Stage::Unloading => "unloading",
            Stage::Sleeping => "sleeping",
        }
    }

    /// The stage as lists of models show it.
    pub(crate) fn json(self) -> Value {
        let mut value = json!({ "value": self.name() });
        if let Stage::Loading(Some(step)) = self {
            value["progress"] = match step {
                Step::Memory => json!({ "task": step.text() }),
                Step::Loading { task, done, total } => json!({ "task": task, "done": done, "total": total }),
            };
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_words_and_bytes() {
        let step = Step::Loading { task: "packing weights", done: 1_540_000_000, total: 3_000_000_000 };
        assert_eq!(step.text(), "packing weights, 1.5 of 3.0 GB");
        let expected =
            json!({ "task": "packing weights", "done": 1_540_000_000u64, "total": 3_000_000_000u64 });
        assert_eq!(Stage::Loading(Some(step)).json()["progress"], expected);
        assert_eq!(Stage::Sleeping.json(), json!({ "value": "sleeping" }));
        assert_eq!(Step::Loading { task: "opening", done: 0, total: 0 }.text(), "opening");
    }
}
