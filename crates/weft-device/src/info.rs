//! Devices that a backend found on this machine, as plain data.

/// A device that was found. It has not been opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// Its name, from its driver or the system: `NVIDIA H200`.
    pub name: String,
    /// Its kind.
    pub kind: DeviceKind,
    /// The API it is reached through, if any: `Vulkan`.
    pub interface: Option<String>,
    /// Its driver with its version, if it has one.
    pub driver: Option<String>,
    /// Bytes of its memory, or of the memory it shares with the CPU; `None` if unknown.
    pub memory_bytes: Option<u64>,
    /// Limits and features that matter to its kind.
    pub facts: Vec<Fact>,
}

/// The kind of a device, in order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeviceKind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares memory with the CPU.
    Integrated,
    /// A share of a GPU, given to a virtual machine.
    Virtual,
    /// The driver does not say.
    Other,
    /// The CPU.
    Processor,
    /// Software on the CPU that behaves like a device.
    Software,
}

impl DeviceKind {
    /// Its name, in one word.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Discrete => "discrete",
            DeviceKind::Integrated => "integrated",
            DeviceKind::Virtual => "virtual",
            DeviceKind::Other => "other",
            DeviceKind::Processor => "processor",
            DeviceKind::Software => "software",
        }
    }
}

/// A limit or a feature of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// Its name in JSON: `workgroup_bytes`.
    pub name: &'static str,
    /// Its description in text, with `{}` for the value: `{} of workgroup memory`.
    pub phrase: &'static str,
    /// Its value.
    pub value: FactValue,
}

/// The value of a [`Fact`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FactValue {
    /// A number of bytes.
    Bytes(u64),
    /// Any other number.
    Count(u64),
    /// A word or two.
    Text(String),
    /// Whether the device has it. Text output lists only flags that are set.
    Flag(bool),
}

impl Fact {
    /// A fact.
    pub const fn new(name: &'static str, phrase: &'static str, value: FactValue) -> Fact {
        Fact { name, phrase, value }
    }
}
