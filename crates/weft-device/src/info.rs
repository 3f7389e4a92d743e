//! What a backend found on this machine, as plain data for people and programs.

/// A device that was found. It has not been opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceInfo {
    /// Its name, from its driver or the system: `NVIDIA H200`.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// The API it is reached through, if any: `Vulkan`.
    pub interface: Option<String>,
    /// Its driver with its version, if it has one.
    pub driver: Option<String>,
    /// Bytes of its own memory, or of what it shares with the processor; `None` where that is not known.
    pub memory_bytes: Option<u64>,
    /// Limits and features that matter to its kind.
    pub facts: Vec<Fact>,
}

/// What a device is. The order is that of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DeviceKind {
    /// A card with memory of its own.
    Discrete,
    /// It shares its memory with the processor.
    Integrated,
    /// A share of a card, given to a virtual machine.
    Virtual,
    /// The driver does not say.
    Other,
    /// The processor itself.
    Processor,
    /// Software that runs on the processor and behaves like a device.
    Software,
}

impl DeviceKind {
    /// In a word.
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
    /// For programs: `workgroup_bytes`.
    pub name: &'static str,
    /// For people, `{}` standing for the value: `{} of workgroup memory`.
    pub phrase: &'static str,
    /// What it is.
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
    /// Whether the device has it. People are told only what it has.
    Flag(bool),
}

impl Fact {
    /// A fact.
    pub const fn new(name: &'static str, phrase: &'static str, value: FactValue) -> Fact {
        Fact { name, phrase, value }
    }
}
