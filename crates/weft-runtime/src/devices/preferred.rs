//! A backend that prefers another one where that works.

use std::io;
use std::path::Path;

use weft_device::{Backend, Departure, Device, DeviceInfo, OpenError, OpenOptions, Target};

/// Opens the best device of `first` if that backend works, otherwise that of `usual`. Names always mean devices of `usual`.
pub(crate) struct Preferred {
    /// The backend to prefer.
    pub(crate) first: &'static dyn Backend,
    /// The backend whose name and devices this one has.
    pub(crate) usual: &'static dyn Backend,
    /// The kind of its devices.
    pub(crate) about: &'static str,
}

impl Preferred {
    /// The backend that opens a device of this name.
    fn of(&self, name: Option<&str>) -> &'static dyn Backend {
        if name.is_none() && self.first.ready().is_ok() { self.first } else { self.usual }
    }
}

impl Backend for Preferred {
    fn name(&self) -> &'static str {
        self.usual.name()
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn has_names(&self) -> bool {
        self.usual.has_names()
    }

    fn variant(&self) -> Option<&'static str> {
        self.usual.variant()
    }

    fn probe(&self) -> Vec<DeviceInfo> {
        self.usual.probe()
    }

    fn missing(&self) -> &'static str {
        self.usual.missing()
    }

    fn note(&self) -> Option<String> {
        let (own, first) = (self.name(), self.first.name());
        let best = self.first.probe().into_iter().next()?;
        Some(match self.first.ready() {
            Ok(()) => format!("`--device {own}` selects `{first}:{}`", best.name),
            Err(why) => format!("`--device {own}` does not select `{first}:{}`: {why}", best.name),
        })
    }

    fn open(&self, name: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        self.of(name).open(name, options)
    }

    fn target(&self, name: Option<&str>, options: &OpenOptions) -> Result<Target, OpenError> {
        self.of(name).target(name, options)
    }

    fn departures(&self) -> Vec<&'static Departure> {
        self.usual.departures()
    }

    fn clear(&self, folder: &Path) -> io::Result<u64> {
        self.usual.clear(folder)
    }
}

#[cfg(test)]
mod tests {
    use weft_device::{DeviceKind, Hardware};

    use super::*;

    /// A backend with a card, which works or not.
    struct Toy {
        name: &'static str,
        cards: usize,
        ready: bool,
    }

    impl Backend for Toy {
        fn name(&self) -> &'static str {
            self.name
        }

        fn about(&self) -> &'static str {
            "a toy"
        }

        fn probe(&self) -> Vec<DeviceInfo> {
            let card = DeviceInfo {
                name: "Card".into(),
                kind: DeviceKind::Discrete,
                interface: None,
                driver: None,
                memory_bytes: None,
                facts: Vec::new(),
            };
            vec![card; self.cards]
        }

        fn ready(&self) -> Result<(), String> {
            if self.ready { Ok(()) } else { Err("it is old".into()) }
        }

        fn open(&self, _: Option<&str>, _: &OpenOptions) -> Result<Box<dyn Device>, OpenError> {
            Err(OpenError::Missing { backend: self.name, why: "a toy" })
        }

        fn target(&self, name: Option<&str>, _: &OpenOptions) -> Result<Target, OpenError> {
            let key = format!("{} {}", self.name, name.unwrap_or("best"));
            Ok(Target { hardware: Hardware::common(&key), text: None })
        }
    }

    static USUAL: Toy = Toy { name: "usual", cards: 1, ready: true };
    static GOOD: Toy = Toy { name: "first", cards: 2, ready: true };
    static OLD: Toy = Toy { name: "first", cards: 1, ready: false };
    static NONE: Toy = Toy { name: "first", cards: 0, ready: false };

    #[test]
    fn the_first_is_preferred_where_it_works() {
        for (first, best, note) in [
            (&GOOD, "first best", Some("`--device usual` selects `first:Card`")),
            (&OLD, "usual best", Some("`--device usual` does not select `first:Card`: it is old")),
            (&NONE, "usual best", None),
        ] {
            let backend = Preferred { first, usual: &USUAL, about: "any" };
            let key = |name| backend.target(name, &OpenOptions::default()).unwrap().hardware.key;
            assert_eq!((key(None), key(Some("card"))), (best.to_string(), "usual card".to_string()));
            assert_eq!(backend.note().as_deref(), note);
            assert_eq!((backend.name(), backend.probe().len()), ("usual", 1));
            let opened = backend.open(None, &OpenOptions::default()).err().unwrap().to_string();
            assert!(opened.contains(best.split(' ').next().unwrap()), "{opened}");
        }
    }
}
