//! Compiled kernels, each kept in a file whose key is the text, the architecture and the compiler's options.

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use weft_device::DeviceError;
use weft_gpu::{CUBINS, CompiledTexts, SealedFile};
use weft_nvrtc::Nvrtc;
use weft_render::{CUDA_OPTIONS, Shader};

use crate::card::Card;
use crate::driver::{Context, Function, Module};
use crate::error::error;

/// The first bytes of a file: the format and its version.
const MAGIC: &[u8; 8] = b"weftcub1";

/// Larger files are not read; an image takes some ten thousand bytes.
const MOST: u64 = 64 << 20;

/// All texts compiled so far.
#[derive(Debug)]
pub(crate) struct Cubins {
    architecture: String,
    driver: (i32, i32),
    folder: Option<PathBuf>,
    nvrtc: OnceLock<Result<Nvrtc, String>>,
    texts: CompiledTexts<Function>,
    /// Whether new images are kept in files.
    keeps: bool,
}

/// The compiler's messages about a text, with the lines of its file if a user gave it.
fn of_text(shader: &Shader, log: &str) -> String {
    match &shader.given {
        Some(place) => {
            let log = weft_nvrtc::with_lines(log, |line| place.of_line(line));
            format!("its text in CUDA C++ does not compile:\n{log}")
        }
        None => log.to_string(),
    }
}

impl Cubins {
    /// None yet. Images are kept in files of `folder`, if there is one.
    pub(crate) fn new(card: &Card, folder: Option<&Path>) -> Cubins {
        Cubins {
            architecture: card.architecture(),
            driver: card.driver,
            folder: folder.map(Path::to_path_buf),
            nvrtc: OnceLock::new(),
            texts: CompiledTexts::default(),
            keeps: true,
        }
    }

    /// Sets whether new images are kept in files: those that are only tried need not be.
    pub(crate) fn keep(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// The kernel of a shader that has been [made](Cubins::make).
    pub(crate) fn get(&self, shader: &Shader) -> Option<&Function> {
        self.texts.get(shader)
    }

    /// Compiles the shaders that are new, on up to `threads` threads.
    ///
    /// # Errors
    /// [`DeviceError::Kernel`] if one does not compile, or there is no compiler.
    pub(crate) fn make<'s>(
        &mut self,
        context: &Arc<Context>,
        device: &str,
        shaders: impl Iterator<Item = &'s Shader>,
        threads: usize,
    ) -> Result<(), DeviceError> {
        let mut texts = mem::take(&mut self.texts);
        let made = texts.make(shaders, threads, |shader| self.function(context, device, shader));
        self.texts = texts;
        made.map(drop)
    }

    /// Loads a shader's kernel, from its file or compiled.
    pub(crate) fn function(
        &self,
        context: &Arc<Context>,
        device: &str,
        shader: &Shader,
    ) -> Result<Function, DeviceError> {
        let file =
            self.folder.as_ref().map(|folder| SealedFile::new(folder, CUBINS, MAGIC, self.key(shader)));
        let load = |image: &[u8]| {
            let module = Module::load(context, image)?;
            module.function(&shader.entry, shader.dynamic_bytes())
        };
        // An image that the driver does not take is compiled again.
        if let Some(image) = file.as_ref().and_then(|file| file.read(MOST))
            && let Ok(function) = load(&image)
        {
            return Ok(function);
        }
        let image = self.compile(shader).map_err(|why| DeviceError::Kernel {
            device: device.to_string(),
            kernel: shader.name.clone(),
            why,
        })?;
        if let Some(file) = file.filter(|_| self.keeps) {
            // The file only saves time.
            let _ = file.write(&image);
        }
        let what = format!("the kernel `{}`", shader.name);
        load(&image).map_err(|failure| match &shader.given {
            // A user's text that the driver refuses is not a bug in Weft.
            Some(place) => DeviceError::Kernel {
                device: device.to_string(),
                kernel: shader.name.clone(),
                why: format!("its text in CUDA C++, {}: {}", place.of_line(0), failure.why),
            },
            None => error(device, &what, image.len(), &failure),
        })
    }

    fn compile(&self, shader: &Shader) -> Result<Vec<u8>, String> {
        let nvrtc = self.nvrtc.get_or_init(|| weft_nvrtc::find(self.driver));
        let nvrtc = nvrtc.as_ref().map_err(Clone::clone)?;
        let architecture = format!("--gpu-architecture={}", self.of(shader));
        let options: Vec<&str> = CUDA_OPTIONS.into_iter().chain([architecture.as_str()]).collect();
        let compiled = nvrtc.compile(&shader.source, &options);
        Ok(compiled.map_err(|log| of_text(shader, &log))?.image)
    }

    /// Identifies what a text is compiled to.
    fn key(&self, shader: &Shader) -> String {
        format!("{} {} {}", self.of(shader), CUDA_OPTIONS.join(" "), shader.source)
    }

    /// NVRTC's name of the architecture that a text is compiled for.
    fn of(&self, shader: &Shader) -> String {
        format!("{}{}", self.architecture, if shader.own_architecture { "a" } else { "" })
    }
}
