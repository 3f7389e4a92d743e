//! The speed of a machine, in the few numbers that decide between plans.

/// The speed of a device, in as much detail as it takes to predict which of two plans is faster, and by how
/// much.
///
/// The numbers come from a table until the device is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The number of workers that run at the same time: threads, or workgroups of a GPU.
    pub workers: u64,
    /// The time in nanoseconds that a launch adds to a kernel's work.
    pub launch_ns: u64,
    /// The memory bandwidth of a single worker, in bytes per second.
    pub worker_bytes: u64,
    /// The memory bandwidth of all workers together, in bytes per second.
    pub bytes: u64,
    /// 8-bit integer multiply-adds per second of one worker.
    pub worker_multiplications: u64,
    /// `f32` multiply-adds per second of one worker.
    pub worker_float_multiplications: u64,
    /// Values per second that one worker computes with instructions of row programs.
    pub worker_values: u64,
    /// The number of workers that share the products of a row whose program needs all of its columns: 1 where a single worker
    /// computes them.
    pub row_workers: u64,
    /// The fewest columns of a product that a worker computes: work is not divided further.
    pub columns: u64,
}

impl Machine {
    /// All numbers with their names.
    pub fn numbers(&self) -> [(&'static str, u64); 9] {
        let Machine {
            workers,
            launch_ns,
            worker_bytes,
            bytes,
            worker_multiplications,
            worker_float_multiplications,
            worker_values,
            row_workers,
            columns,
        } = *self;
        [
            ("workers", workers),
            ("launch_ns", launch_ns),
            ("worker_bytes", worker_bytes),
            ("bytes", bytes),
            ("worker_multiplications", worker_multiplications),
            ("worker_float_multiplications", worker_float_multiplications),
            ("worker_values", worker_values),
            ("row_workers", row_workers),
            ("columns", columns),
        ]
    }

    /// The machine with these numbers; `None` if one is missing.
    pub fn from_numbers(number: impl Fn(&str) -> Option<u64>) -> Option<Machine> {
        Some(Machine {
            workers: number("workers")?,
            launch_ns: number("launch_ns")?,
            worker_bytes: number("worker_bytes")?,
            bytes: number("bytes")?,
            worker_multiplications: number("worker_multiplications")?,
            worker_float_multiplications: number("worker_float_multiplications")?,
            worker_values: number("worker_values")?,
            row_workers: number("row_workers")?,
            columns: number("columns")?,
        })
    }
}

impl Default for Machine {
    /// One core of a common processor.
    fn default() -> Machine {
        Machine {
            workers: 1,
            launch_ns: 1_000,
            worker_bytes: 8_000_000_000,
            bytes: 20_000_000_000,
            worker_multiplications: 40_000_000_000,
            worker_float_multiplications: 12_000_000_000,
            worker_values: 12_000_000_000,
            row_workers: 1,
            columns: 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_round_trips_through_its_numbers() {
        let numbers: Vec<(&str, u64)> =
            Machine::default().numbers().iter().zip(1..).map(|((name, _), n)| (*name, n)).collect();
        let of = |numbers: &[(&str, u64)], name: &str| Some(numbers.iter().find(|n| n.0 == name)?.1);
        let machine = Machine::from_numbers(|name| of(&numbers, name)).unwrap();
        assert_eq!(machine.numbers()[..], numbers[..]);
        for i in 0..numbers.len() {
            let mut others = numbers.clone();
            others.remove(i);
            assert_eq!(Machine::from_numbers(|name| of(&others, name)), None);
        }
    }
}
