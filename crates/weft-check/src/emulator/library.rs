//! A compiled program: the texts of its kernels as a library, with the runtime that runs them.
//!
//! Memory safety rests on the compiled texts: their accesses to buffers and arrays are checked by the shim and the
//! compiler, so that a wrong text is reported. A text that forms addresses in other ways could still do any harm. It is
//! one of ours, in a test.

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;

use crate::emulator::memory::Memory;

/// Bytes of a thread's stack.
const STACK: usize = 64 << 10;

/// Bytes of a failure's description.
const MESSAGE: usize = 512;

/// `Words` of the shim.
#[repr(C)]
struct Words {
    words: *mut u32,
    count: u64,
    slot: u64,
}

/// `Launch` of the runtime.
#[repr(C)]
struct RawLaunch {
    entry: u64,
    args: *const u32,
    sizes: *const u32,
    slots: *const Words,
    lanes: u64,
    blocks: [u64; 2],
    seed: u64,
    stacks: *mut u8,
    stack_bytes: u64,
    message: *mut c_char,
    message_bytes: u64,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch<'a> {
    /// Which of the library's texts.
    pub(crate) entry: usize,
    /// The words of `args`, as many as the text declares.
    pub(crate) args: &'a [u32],
    /// The words of `sizes`.
    pub(crate) sizes: [u32; 4],
    /// Threads of a block.
    pub(crate) lanes: u32,
    /// Blocks along two axes.
    pub(crate) blocks: [u32; 2],
    /// The seed of the order in which threads and blocks run.
    pub(crate) seed: u64,
}

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Library {
    launch: unsafe extern "C" fn(*const RawLaunch) -> c_int,
    _library: libloading::Library,
}

impl Library {
    /// Loads a library that the compiler has made.
    ///
    /// # Errors
    /// Those of the loader.
    pub(crate) fn load(path: &Path) -> Result<Library, String> {
        let text = |error: libloading::Error| format!("{}: {error}", path.display());
        // SAFETY: the library is made of our runtime and texts, which have no initialisers.
        let library = unsafe { libloading::Library::new(path) }.map_err(text)?;
        // SAFETY: the runtime defines it with this type. The pointer is used while the library lives, which is kept with it.
        let launch = *unsafe { library.get(b"weft_launch\0") }.map_err(text)?;
        Ok(Library { launch, _library: library })
    }

    /// Runs all blocks of a launch with these buffers as its slots.
    ///
    /// # Errors
    /// What the text did wrong.
    pub(crate) fn launch(
        &self,
        launch: &Launch<'_>,
        slots: &mut dyn Iterator<Item = &mut Memory>,
        stacks: &mut Vec<u8>,
    ) -> Result<(), String> {
        let slot = |(slot, memory): (usize, &mut Memory)| {
            let (words, count) = memory.words();
            Words { words, count: count as u64, slot: slot as u64 }
        };
        let slots: Vec<Words> = slots.enumerate().map(slot).collect();
        let needed = launch.lanes as usize * STACK;
        if stacks.len() < needed {
            // Memory that is zero and not used takes no space.
            *stacks = vec![0; needed];
        }
        let mut message = [0u8; MESSAGE];
        let raw = RawLaunch {
            entry: launch.entry as u64,
            args: launch.args.as_ptr(),
            sizes: launch.sizes.as_ptr(),
            slots: slots.as_ptr(),
            lanes: u64::from(launch.lanes),
            blocks: launch.blocks.map(u64::from),
            seed: launch.seed,
            stacks: stacks.as_mut_ptr(),
            stack_bytes: STACK as u64,
            message: message.as_mut_ptr().cast(),
            message_bytes: MESSAGE as u64,
        };
        // SAFETY: all pointers are to memory that outlives the call, of the sizes given; the slots are distinct buffers, and
        // texts reach them only through checked indices (see the head of this file).
        let status = unsafe { (self.launch)(&raw const raw) };
        if status == 0 {
            return Ok(());
        }
        let message = CStr::from_bytes_until_nul(&message);
        Err(message.map_or_else(|_| "failed".into(), |message| message.to_string_lossy().into_owned()))
    }
}
