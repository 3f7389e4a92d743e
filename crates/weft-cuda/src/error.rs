//! The meaning of the driver's failures.

use cudarc::driver::sys::CUresult;
use weft_device::DeviceError;

use crate::driver::Failure;

/// A failure of `what`, for `bytes` bytes.
pub(crate) fn error(device: &str, what: &str, bytes: usize, failure: &Failure) -> DeviceError {
    let device = device.to_string();
    let why = failure.why.clone();
    match failure.code {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::Memory { device, bytes },
        // After these the context is of no use: every later call fails in the same way.
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUresult::CUDA_ERROR_INVALID_PC
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
        | CUresult::CUDA_ERROR_ASSERT
        | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE
        | CUresult::CUDA_ERROR_UNKNOWN => DeviceError::Lost { device, why },
        _ => DeviceError::Refused { device, what: what.into(), why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_to_do() {
        let said = |code| error("cuda:0", "a step", 4096, &Failure { code, why: "why".into() }).to_string();
        for (code, expected) in [
            (CUresult::CUDA_ERROR_OUT_OF_MEMORY, "cuda:0: out of memory: cannot allocate 4096 bytes"),
            (
                CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
                "cuda:0 was lost: why; start again, and check the system log if it happens again",
            ),
            (
                CUresult::CUDA_ERROR_INVALID_VALUE,
                "cuda:0 rejected a step: why; this is a bug in Weft or in the driver, please report it",
            ),
        ] {
            assert_eq!(said(code), expected);
        }
    }
}
