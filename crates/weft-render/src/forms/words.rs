//! The text of a form: its name, its numbers, each after its name, and its flags.

/// A form's parameters as words.
pub(crate) trait Words: Sized {
    /// The form's name, which begins its text.
    const NAME: &'static str;

    /// The names of its numbers and of its flags, in order.
    const FIELDS: (&'static [&'static str], &'static [&'static str]);

    /// The values of its numbers and flags, in the same order.
    fn values(&self) -> (Vec<u32>, Vec<bool>);

    /// The form with these values, one for each field.
    fn of(numbers: &[u32], flags: &[bool]) -> Self;

    /// Reads a text; `None` if it is not one of this form. Numbers are positive.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().peekable();
        words.next_if_eq(&Self::NAME)?;
        let mut numbers = Vec::new();
        for name in Self::FIELDS.0 {
            words.next_if_eq(name)?;
            let n = words.next()?.parse::<u32>().ok().filter(|n| *n > 0)?;
            numbers.push(n);
        }
        let flags: Vec<bool> = Self::FIELDS.1.iter().map(|name| words.next_if_eq(name).is_some()).collect();
        words.next().is_none().then(|| Self::of(&numbers, &flags))
    }
}

/// A form that has a text.
pub(crate) trait Text {
    /// Its text.
    fn text(&self) -> String;
}

impl<F: Words> Text for F {
    fn text(&self) -> String {
        let (numbers, flags) = self.values();
        let mut out = String::from(F::NAME);
        for (name, n) in F::FIELDS.0.iter().zip(numbers) {
            out.push_str(&format!(" {name} {n}"));
        }
        for (name, _) in F::FIELDS.1.iter().zip(flags).filter(|(_, is)| *is) {
            out.push(' ');
            out.push_str(name);
        }
        out
    }
}

/// Defines a form's parameters: a name, numbers, and flags.
macro_rules! form {
    (
        $(#[$doc:meta])*
        $form:ident $text:literal
        numbers { $($(#[$of_number:meta])* $number:ident,)* }
        flags { $($(#[$of_flag:meta])* $flag:ident,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $form {
            $($(#[$of_number])* pub $number: u32,)*
            $($(#[$of_flag])* pub $flag: bool,)*
        }

        impl $crate::forms::words::Words for $form {
            const NAME: &'static str = $text;
            const FIELDS: (&'static [&'static str], &'static [&'static str]) =
                (&[$(stringify!($number)),*], &[$(stringify!($flag)),*]);

            fn values(&self) -> (Vec<u32>, Vec<bool>) {
                (vec![$(self.$number),*], vec![$(self.$flag),*])
            }

            fn of(numbers: &[u32], flags: &[bool]) -> Self {
                let (mut numbers, mut flags) = (numbers.iter().copied(), flags.iter().copied());
                let form = $form {
                    $($number: numbers.next().unwrap_or(1),)*
                    $($flag: flags.next().unwrap_or(false),)*
                };
                debug_assert!(numbers.next().is_none() && flags.next().is_none());
                form
            }
        }
    };
}

pub(crate) use form;
