//! NVRTC, NVIDIA's run-time compiler: a library that needs no GPU.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write as _;
use std::ptr;

use libloading::Library;

/// A program on its way, as the library has it.
type Program = *mut c_void;

/// What its functions return; 0 is success.
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
type Text = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Program) -> Status;

/// The library's functions.
pub(super) struct Nvrtc {
    create: Create,
    compile: Compile,
    log_size: Size,
    log: Text,
    destroy: Destroy,
    _library: Library,
}

impl Nvrtc {
    /// The library that `WEFT_NVRTC` names. Without one a test has nothing to do, and says so; if `WEFT_TEST_NVRTC` is set, that is a failure.
    pub(super) fn open(test: &str) -> Option<Nvrtc> {
        let Some(path) = std::env::var_os("WEFT_NVRTC") else {
            let why = "WEFT_NVRTC does not say where NVRTC is; .ci/nvrtc installs it";
            assert!(std::env::var_os("WEFT_TEST_NVRTC").is_none(), "{test}: {why}");
            // Past the harness, which keeps what passing tests print to itself.
            let _ = writeln!(std::io::stderr(), "{test} SKIPPED: {why}");
            return None;
        };
        // SAFETY: the library is NVIDIA's; loading it runs its own initialisers, which have no demands. The types are those of `nvrtc.h`.
        let nvrtc = unsafe {
            let library = Library::new(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            Nvrtc {
                create: *library.get(b"nvrtcCreateProgram\0").unwrap(),
                compile: *library.get(b"nvrtcCompileProgram\0").unwrap(),
                log_size: *library.get(b"nvrtcGetProgramLogSize\0").unwrap(),
                log: *library.get(b"nvrtcGetProgramLog\0").unwrap(),
                destroy: *library.get(b"nvrtcDestroyProgram\0").unwrap(),
                _library: library,
            }
        };
        Some(nvrtc)
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// What the compiler says.
    pub(super) fn compile(&self, source: &str, options: &[&str]) -> Result<(), String> {
        let c_string = |text: &str| CString::new(text).unwrap();
        let (source, options) = (c_string(source), options.iter().map(|o| c_string(o)).collect::<Vec<_>>());
        let options: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program = ptr::null_mut();
        // SAFETY: the text and all options end with a zero and live until the end of this function; there are no headers.
        let created = unsafe {
            (self.create)(&raw mut program, source.as_ptr(), ptr::null(), 0, ptr::null(), ptr::null())
        };
        assert_eq!(created, 0, "nvrtcCreateProgram");
        // SAFETY: the program was created above, and the count is that of the options.
        let compiled = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let mut size = 0;
        // SAFETY: the program was created above.
        let sized = unsafe { (self.log_size)(program, &raw mut size) };
        assert_eq!(sized, 0, "nvrtcGetProgramLogSize");
        let mut log = vec![0u8; size.max(1)];
        // SAFETY: the buffer holds the whole log and the zero at its end.
        let read = unsafe { (self.log)(program, log.as_mut_ptr().cast()) };
        assert_eq!(read, 0, "nvrtcGetProgramLog");
        // SAFETY: the program was created above and is not used again.
        unsafe { (self.destroy)(&raw mut program) };
        let log = CStr::from_bytes_until_nul(&log).map(|log| log.to_string_lossy().into_owned());
        if compiled == 0 { Ok(()) } else { Err(log.unwrap_or_default()) }
    }
}
