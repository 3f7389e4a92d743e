//! The machines to explore for.

use weft_kern::Machine;

/// A machine with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its speed.
    pub machine: Machine,
}

/// Every machine.
pub static MACHINES: [Named; 2] = [
    // Two cores of a common processor, with the rates of `Machine::default` except for a third of its `worker_values`.
    Named {
        name: "cpu",
        machine: Machine {
            workers: 2,
            launch_ns: 1_000,
            worker_bytes: 8_000_000_000,
            bytes: 20_000_000_000,
            worker_multiplications: 40_000_000_000,
            worker_float_multiplications: 12_000_000_000,
            worker_values: 4_000_000_000,
            row_workers: 1,
            columns: 32,
        },
    },
    // A large GPU: 132 multiprocessors with four workgroups each, and 4 TB/s. The rest is assumed: a single workgroup reads at
    // twice its share; 67 TFLOPS of `f32` are half as many multiply-adds, shared by all; a workgroup computes 256 values in 25
    // ns.
    Named {
        name: "gpu",
        machine: Machine {
            workers: 132 * 4,
            launch_ns: 3_000,
            worker_bytes: 15_000_000_000,
            bytes: 4_000_000_000_000,
            worker_multiplications: 63_000_000_000,
            worker_float_multiplications: 63_000_000_000,
            worker_values: 10_000_000_000,
            row_workers: 1,
            columns: 32,
        },
    },
];
