//! Compiled texts: each text is compiled once, several of them in parallel.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use weft_device::DeviceError;
use weft_render::Shader;

/// Stack of a compiling thread: parsers recurse into expressions.
const STACK: usize = 8 << 20;

/// The texts that have been compiled so far.
#[derive(Debug)]
pub struct CompiledTexts<T>(BTreeMap<Key, T>);

/// A text to compile, with all other inputs of the compiler or driver. Those of a rendered text follow from the text, but a user can
/// give one text with several heads, or the text of a rendered kernel.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    source: String,
    /// The entry point, the access of each buffer and the workgroup memory of a user's text.
    given: Option<(String, Vec<bool>, u32, bool)>,
}

impl Key {
    fn of(shader: &Shader) -> Key {
        let Shader { source, entry, slots, shared_bytes, own_architecture, given, .. } = shader;
        let head = || (entry.clone(), slots.clone(), *shared_bytes, *own_architecture);
        Key { source: source.clone(), given: given.as_ref().map(|_| head()) }
    }
}

impl<T> Default for CompiledTexts<T> {
    fn default() -> CompiledTexts<T> {
        CompiledTexts(BTreeMap::new())
    }
}

impl<T: Send> CompiledTexts<T> {
    /// The result of compiling a shader, if it has been [made](CompiledTexts::make).
    pub fn get(&self, shader: &Shader) -> Option<&T> {
        self.0.get(&Key::of(shader))
    }

    /// Compiles the shaders that are new, on up to `threads` threads. Returns whether there were any.
    ///
    /// # Errors
    /// The first error of `compile`; then other shaders may be missing.
    pub fn make<'s>(
        &mut self,
        shaders: impl Iterator<Item = &'s Shader>,
        threads: usize,
        compile: impl Fn(&Shader) -> Result<T, DeviceError> + Sync,
    ) -> Result<bool, DeviceError> {
        let new: BTreeMap<Key, &Shader> = shaders
            .filter(|shader| self.get(shader).is_none())
            .map(|shader| (Key::of(shader), shader))
            .collect();
        let count = new.len();
        // Nothing panics while it holds a lock.
        let todo = Mutex::new(new.into_values());
        let next = || todo.lock().unwrap_or_else(|e| e.into_inner()).next();
        let made = Mutex::new(Vec::with_capacity(count));
        let work = || {
            while let Some(shader) = next() {
                let result = compile(shader);
                if result.is_err() {
                    // The others need not be compiled any more.
                    *todo.lock().unwrap_or_else(|e| e.into_inner()) = BTreeMap::new().into_values();
                }
                made.lock().unwrap_or_else(|e| e.into_inner()).push((shader, result));
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.max(1).min(count) {
                // If threads run out, those there are and this one do the work.
                if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
        });
        work();
        let made = made.into_inner().unwrap_or_else(|e| e.into_inner());
        for (shader, result) in made {
            self.0.insert(Key::of(shader), result?);
        }
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use weft_kern::TextPlace;
    use weft_render::Grid;

    use super::*;

    fn shader(source: &str) -> Shader {
        Shader {
            name: source.into(),
            source: source.into(),
            entry: "main".into(),
            slots: Vec::new(),
            lanes: 1,
            shared_bytes: 0,
            scratch_bytes: 0,
            needs_spirv: false,
            own_architecture: false,
            sizes_read: [false; 4],
            memory: weft_render::Memory::default(),
            grid: Grid { wide: 1, parts: Vec::new() },
            dependent: false,
            releases_early: false,
            given: None,
        }
    }

    #[test]
    fn each_text_is_compiled_once() {
        let calls = AtomicUsize::new(0);
        let compile = |shader: &Shader| {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(shader.source.len())
        };
        let shaders: Vec<Shader> = ["a", "bb", "a", "ccc"].map(shader).into();
        let mut texts = CompiledTexts::default();
        for threads in [0, 1, 3, 100] {
            let made = texts.make(shaders.iter(), threads, compile).unwrap();
            assert_eq!(made, threads == 0, "all are new at first and known afterwards");
        }
        assert_eq!(calls.into_inner(), 3);
        assert_eq!(shaders.iter().filter_map(|s| texts.get(s)).collect::<Vec<_>>(), [&1, &2, &1, &3]);
        assert_eq!(texts.get(&shader("dddd")), None);
    }

    #[test]
    fn a_given_text_is_compiled_by_itself() {
        let calls = AtomicUsize::new(0);
        let compile = |_: &Shader| Ok(calls.fetch_add(1, Ordering::Relaxed));
        let own = shader("a");
        let given = Shader { given: Some(TextPlace::default()), ..own.clone() };
        let elsewhere = Shader { given: Some(TextPlace { line: 7, ..TextPlace::default() }), ..own.clone() };
        let written = Shader { slots: vec![true], ..given.clone() };
        let more = Shader { shared_bytes: 1 << 16, ..given.clone() };
        let mut texts = CompiledTexts::default();
        texts.make([&own, &given, &elsewhere, &written, &more].into_iter(), 1, compile).unwrap();
        assert_eq!(calls.into_inner(), 4, "the same text from another line is the same");
        assert_ne!(texts.get(&own), texts.get(&given));
        assert_eq!(texts.get(&given), texts.get(&elsewhere));
    }

    #[test]
    fn a_failure_is_reported() {
        let compile = |shader: &Shader| match shader.source.as_str() {
            "bad" => Err(DeviceError::Usage("bad".into())),
            _ => Ok(()),
        };
        let shaders: Vec<Shader> = ["a", "b", "bad", "c"].map(shader).into();
        for threads in [1, 4] {
            let mut texts = CompiledTexts::default();
            let made = texts.make(shaders.iter(), threads, compile);
            assert!(matches!(made, Err(DeviceError::Usage(why)) if why == "bad"));
            assert_eq!(texts.get(&shaders[2]), None);
        }
    }
}
