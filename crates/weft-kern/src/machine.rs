//! How fast a machine is, in the few numbers that decide between plans.

/// How fast a device is, as far as it takes to say which of two plans is faster, and by how much.
///
/// The numbers are a table's until the device has been measured; `docs/cost.md` says how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Pieces of work that run at the same time: threads, or workgroups of a GPU.
    pub workers: u64,
    /// Nanoseconds that a launch adds to the kernel's own work.
    pub launch_ns: u64,
    /// Bytes of memory that one worker alone reads in a second.
    pub worker_bytes: u64,
    /// Bytes of memory that all workers together read in a second.
    pub bytes: u64,
    /// Multiplications of 8-bit integers, each with its addition, that one worker does in a second.
    pub worker_multiplications: u64,
    /// Multiplications of `f32`, each with its addition, that one worker does in a second.
    pub worker_float_multiplications: u64,
    /// Values that one worker makes in a second with the instructions of a row program.
    pub worker_values: u64,
}

impl Machine {
    /// All of its numbers with their names.
    pub fn numbers(&self) -> [(&'static str, u64); 7] {
        let Machine {
            workers,
            launch_ns,
            worker_bytes,
            bytes,
            worker_multiplications,
            worker_float_multiplications,
            worker_values,
        } = *self;
        [
            ("workers", workers),
            ("launch_ns", launch_ns),
            ("worker_bytes", worker_bytes),
            ("bytes", bytes),
            ("worker_multiplications", worker_multiplications),
            ("worker_float_multiplications", worker_float_multiplications),
            ("worker_values", worker_values),
        ]
    }

    /// The machine with these numbers; `None` if one is not known.
    pub fn from_numbers(number: impl Fn(&str) -> Option<u64>) -> Option<Machine> {
        Some(Machine {
            workers: number("workers")?,
            launch_ns: number("launch_ns")?,
            worker_bytes: number("worker_bytes")?,
            bytes: number("bytes")?,
            worker_multiplications: number("worker_multiplications")?,
            worker_float_multiplications: number("worker_float_multiplications")?,
            worker_values: number("worker_values")?,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_its_numbers() {
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
