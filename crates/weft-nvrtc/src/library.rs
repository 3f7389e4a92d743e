//! NVRTC's functions.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

/// A program being compiled.
type Program = *mut c_void;

/// A status code; 0 is success.
type Status = c_int;

type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Bytes = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Program) -> Status;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;

/// A text that was compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// The image of its kernels, for the architecture that the options name.
    pub image: Vec<u8>,
    /// The compiler's messages: warnings, and reports that options ask for.
    pub log: String,
}

/// The library. It may be used from several threads at once.
#[derive(Debug)]
pub struct Nvrtc {
    create: Create,
    compile: Compile,
    log_size: Size,
    log: Bytes,
    image_size: Size,
    image: Bytes,
    destroy: Destroy,
    version: Version,
    _library: Library,
}

impl Nvrtc {
    /// Loads the library from a file, or by a name that the system finds.
    ///
    /// # Errors
    /// The system's description.
    pub fn load(file: &Path) -> Result<Nvrtc, String> {
        // SAFETY: the library is NVIDIA's, and its initialisers have no demands. The types are those of `nvrtc.h`.
        let loaded = unsafe {
            Library::new(file).and_then(|library| {
                Ok(Nvrtc {
                    create: *library.get(b"nvrtcCreateProgram\0")?,
                    compile: *library.get(b"nvrtcCompileProgram\0")?,
                    log_size: *library.get(b"nvrtcGetProgramLogSize\0")?,
                    log: *library.get(b"nvrtcGetProgramLog\0")?,
                    image_size: *library.get(b"nvrtcGetCUBINSize\0")?,
                    image: *library.get(b"nvrtcGetCUBIN\0")?,
                    destroy: *library.get(b"nvrtcDestroyProgram\0")?,
                    version: *library.get(b"nvrtcVersion\0")?,
                    _library: library,
                })
            })
        };
        loaded.map_err(|error| error.to_string())
    }

    /// Its version, which is that of the CUDA toolkit it belongs to.
    pub fn version(&self) -> (i32, i32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the library stores two numbers.
        unsafe { (self.version)(&raw mut major, &raw mut minor) };
        (major, minor)
    }

    /// Compiles a text. The options name the architecture: `--gpu-architecture=sm_90`.
    ///
    /// # Errors
    /// The compiler's messages.
    pub fn compile(&self, source: &str, options: &[&str]) -> Result<Compiled, String> {
        let c_string = |text: &str| CString::new(text).map_err(|_| "a text has a zero byte".to_string());
        let source = c_string(source)?;
        let options = options.iter().map(|option| c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = ptr::null_mut();
        // SAFETY: the text ends with a zero and lives until the end of this function; there are no headers.
        let created = unsafe {
            (self.create)(&raw mut program, source.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null())
        };
        if created != 0 {
            return Err(format!("nvrtcCreateProgram failed with {created}"));
        }
        // SAFETY: the program was created above; options end with zeros, and there are as many as it says.
        let status = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let log = self.bytes(program, self.log_size, self.log).unwrap_or_default();
        let image = if status == 0 { self.bytes(program, self.image_size, self.image) } else { None };
        // SAFETY: the program was created above and is not used again.
        unsafe { (self.destroy)(&raw mut program) };
        let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().trim().to_string();
        match image {
            Some(image) => Ok(Compiled { image, log }),
            None if log.is_empty() => Err(format!("NVRTC failed with {status}")),
            None => Err(log),
        }
    }

    /// The bytes that a pair of functions returns for a program.
    fn bytes(&self, program: Program, size: Size, read: Bytes) -> Option<Vec<u8>> {
        let mut len = 0;
        // SAFETY: the program exists; the library stores a number.
        if unsafe { size(program, &raw mut len) } != 0 {
            return None;
        }
        let mut bytes = vec![0u8; len];
        // SAFETY: the program exists, and there is room for all of it.
        let done = unsafe { read(program, bytes.as_mut_ptr().cast()) };
        (done == 0).then_some(bytes)
    }
}
