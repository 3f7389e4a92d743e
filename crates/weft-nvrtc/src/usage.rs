//! The resources of a multiprocessor that compiled kernels use, from the assembler's report.

/// The option with which the assembler reports what kernels use.
pub const REPORT: &str = "--ptxas-options=-v";

/// The resources that a kernel uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// The kernel's name.
    pub name: String,
    /// The architecture, as `sm_90`.
    pub architecture: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread: arrays whose index is not known, and spilled registers.
    pub stack_bytes: u32,
    /// Bytes that a thread's stores of spilled registers write, each counted once.
    pub spill_store_bytes: u32,
    /// Bytes that a thread's loads of spilled registers read, each counted once.
    pub spill_load_bytes: u32,
}

/// The kernels of a log that was made with [`REPORT`], in its order. Lines in another form are ignored.
pub fn usage(log: &str) -> Vec<Usage> {
    let mut kernels: Vec<Usage> = Vec::new();
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut quoted = rest.split('\'');
            kernels.push(Usage {
                name: quoted.next().unwrap_or_default().into(),
                architecture: quoted.nth(1).unwrap_or_default().into(),
                registers: 0,
                stack_bytes: 0,
                spill_store_bytes: 0,
                spill_load_bytes: 0,
            });
        }
        let Some(kernel) = kernels.last_mut() else { continue };
        for (unit, to) in [
            ("registers", &mut kernel.registers),
            ("bytes stack frame", &mut kernel.stack_bytes),
            ("bytes spill stores", &mut kernel.spill_store_bytes),
            ("bytes spill loads", &mut kernel.spill_load_bytes),
        ] {
            if let Some(count) = before(line, unit) {
                *to = count;
            }
        }
    }
    kernels
}

/// The number before a unit in a line.
fn before(line: &str, unit: &str) -> Option<u32> {
    let (number, _) = line.split_once(unit)?;
    number.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_kernel_by_kernel() {
        let log = "\
ptxas info    : Overriding maximum register limit 256 for 'm' with  32 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'm' for 'sm_75'
ptxas info    : Function properties for m
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compile time = 1.132 ms
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
ptxas         .     256 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 80 registers, used 1 barriers, 256 bytes cumulative stack size, 364 bytes cmem[0]
";
        let kernel =
            |name: &str, [registers, stack_bytes, spill_store_bytes, spill_load_bytes]: [u32; 4]| Usage {
                name: name.into(),
                architecture: "sm_75".into(),
                registers,
                stack_bytes,
                spill_store_bytes,
                spill_load_bytes,
            };
        assert_eq!(usage(log), [kernel("m", [4, 0, 0, 0]), kernel("k", [80, 256, 12, 16])]);
        assert_eq!(
            usage("ptxas info    : Used 80 registers\nCompiling entry function '"),
            [Usage { architecture: String::new(), ..kernel("", [0; 4]) }]
        );
    }
}
