//! Compiled kernels: each text is compiled once, several of them in parallel, and kept in a file.
//!
//! The file of a text has a name made from the text, the architecture and the compiler's options, and holds the image
//! after a header: format, checksum, key. A file that is damaged or of another key is ignored, and the text is compiled
//! again. Failing to read or write a file is not an error, since it only saves time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use weft_device::DeviceError;
use weft_gpu::{CUBINS, put};
use weft_render::{CUDA_OPTIONS, Shader, checksum};

use crate::card::Card;
use crate::driver::{Context, Function, Module};
use crate::error::error;
use crate::nvrtc::Nvrtc;
use crate::nvrtc_places;

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
    by_text: BTreeMap<String, Function>,
    /// Whether new images are kept in files.
    keeps: bool,
}

impl Cubins {
    /// None yet. Images are kept in files of `folder`, if there is one.
    pub(crate) fn new(card: &Card, folder: Option<&Path>) -> Cubins {
        Cubins {
            architecture: card.architecture(),
            driver: card.driver,
            folder: folder.map(Path::to_path_buf),
            nvrtc: OnceLock::new(),
            by_text: BTreeMap::new(),
            keeps: true,
        }
    }

    /// Sets whether new images are kept in files: those that are only tried need not be.
    pub(crate) fn keep(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// The kernel of a shader that has been [made](Cubins::make).
    pub(crate) fn get(&self, shader: &Shader) -> Option<&Function> {
        self.by_text.get(&shader.source)
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
        let new: BTreeMap<&str, &Shader> = shaders
            .filter(|shader| !self.by_text.contains_key(&shader.source))
            .map(|shader| (shader.source.as_str(), shader))
            .collect();
        let todo = Mutex::new(new.values());
        let made = Mutex::new(Vec::new());
        let work = || {
            loop {
                let next = todo.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some(shader) = next else { break };
                let function = self.function(context, device, shader);
                let failed = function.is_err();
                made.lock().unwrap_or_else(|e| e.into_inner()).push((*shader, function));
                if failed {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(new.len()) {
                // If threads run out, those there are and this one do the work.
                if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
        for (shader, function) in made.into_inner().unwrap_or_else(|e| e.into_inner()) {
            self.by_text.insert(shader.source.clone(), function?);
        }
        Ok(())
    }

    /// Loads a shader's kernel, from its file or compiled.
    fn function(
        &self,
        context: &Arc<Context>,
        device: &str,
        shader: &Shader,
    ) -> Result<Function, DeviceError> {
        let key = self.key(shader);
        let path = self.folder.as_ref().map(|folder| {
            let name = format!("{CUBINS}{:016x}.bin", checksum(key.as_bytes()));
            folder.join(name)
        });
        let load = |image: &[u8]| {
            let module = Module::load(context, image)?;
            module.function(&shader.entry, 0)
        };
        // An image that the driver does not take is compiled again.
        if let Some(image) = path.as_deref().and_then(|path| read(path, &key))
            && let Ok(function) = load(&image)
        {
            return Ok(function);
        }
        let image = self.compile(shader).map_err(|why| DeviceError::Kernel {
            device: device.to_string(),
            kernel: shader.name.clone(),
            why,
        })?;
        if let Some(path) = path.filter(|_| self.keeps) {
            // The file only saves time.
            let _ = put(&path, &seal(&image, &key));
        }
        let what = format!("the kernel `{}`", shader.name);
        load(&image).map_err(|failure| error(device, &what, image.len(), &failure))
    }

    fn compile(&self, shader: &Shader) -> Result<Vec<u8>, String> {
        let nvrtc = self.nvrtc.get_or_init(|| nvrtc_places::find(self.driver));
        let nvrtc = nvrtc.as_ref().map_err(Clone::clone)?;
        let architecture = format!("--gpu-architecture={}", self.architecture);
        let options: Vec<&str> = CUDA_OPTIONS.into_iter().chain([architecture.as_str()]).collect();
        nvrtc.compile(&shader.source, &options)
    }

    /// Identifies what a text is compiled to.
    fn key(&self, shader: &Shader) -> String {
        format!("{} {} {}", self.architecture, CUDA_OPTIONS.join(" "), shader.source)
    }
}

/// An image after its header: format, checksum of what follows, length of the key, key.
fn seal(image: &[u8], key: &str) -> Vec<u8> {
    let mut rest = (key.len() as u64).to_le_bytes().to_vec();
    rest.extend(key.as_bytes());
    rest.extend(image);
    [MAGIC.as_slice(), &checksum(&rest).to_le_bytes(), &rest].concat()
}

/// The image in a file; `None` if there is none, or it is damaged or has another key.
fn read(path: &Path, key: &str) -> Option<Vec<u8>> {
    fs::metadata(path).ok().filter(|file| file.len() <= MOST)?;
    let file = fs::read(path).ok()?;
    open(&file, key).map(<[u8]>::to_vec)
}

fn open<'f>(file: &'f [u8], key: &str) -> Option<&'f [u8]> {
    let rest = file.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != checksum(rest) {
        return None;
    }
    let (len, rest) = rest.split_first_chunk::<8>()?;
    let (found, image) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    (found == key.as_bytes()).then_some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_is_opened_and_nothing_else() {
        let file = seal(b"image", "text 1");
        assert_eq!(open(&file, "text 1"), Some(b"image".as_slice()));
        assert_eq!(open(&file, "text 2"), None);
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(open(&damaged, "text 1"), None, "byte {at}");
            assert_eq!(open(&file[..at], "text 1"), None, "only {at} bytes");
        }
    }
}
