//! A user's kernel, in place of one that the compiler makes.

use std::sync::Arc;

use crate::given::GivenText;
use crate::kernel::Kernel;

/// A kernel, and the one that computes the same in its place: `with` the same parameters, in the same order.
///
/// Nothing here proves that they compute the same. Whoever runs a plan with replacements compares them with the interpreter
/// first, on the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// The kernel to replace. Its name does not matter.
    pub replaced: Kernel,
    /// The kernel that takes its place.
    pub by: Kernel,
}

impl Replacement {
    /// The same, with the name of the file that it was read from, for errors about its texts.
    #[must_use]
    pub fn of_file(mut self, name: &str) -> Replacement {
        for text in &mut self.by.texts {
            let mut named = GivenText::clone(text);
            named.place.file = name.into();
            *text = Arc::new(named);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_replacement;

    const REPLACEMENT: &str = "replace
kernel any {
  p0 read f32
  p1 write f32
  rows [T] cols 3
  map
  v0 = load 3 p0[0; 3; 1]
  v1 = add v0 v0
  v2 = store v1 p1[0; 3; 1]
}
with
kernel twice {
  p0 read f32
  p1 write f32
  rows [T] cols 3
  map
  v0 = load 3 p0[0; 3; 1]
  v1 = const 2.0
  v2 = mul v0 v1
  v3 = store v2 p1[0; 3; 1]
}
";

    #[test]
    fn replacements_print_as_they_are_read() {
        let commented = format!("# Twice.\n\n{REPLACEMENT}");
        assert_eq!(parse_replacement(&commented).unwrap().to_string(), REPLACEMENT);
    }

    #[test]
    fn malformed_replacements_are_refused() {
        let refused = |from: &str, to: &str| {
            assert!(REPLACEMENT.contains(from));
            parse_replacement(&REPLACEMENT.replacen(from, to, 1)).unwrap_err().to_string()
        };
        for (from, to, said) in [
            ("replace\n", "", "line 1: expected `replace`, found `kernel any {`"),
            ("with\n", "", "line 11: expected `with`, found `kernel twice {`"),
            (
                "kernel twice {",
                "kernel twice as much {",
                "line 12: expected `kernel NAME {`, found `kernel twice as much {`",
            ),
            (
                "kernel twice {\n  p0 read f32",
                "kernel twice {\n  p0 read f16",
                "line 0: both kernels need the same parameters",
            ),
            (
                "v2 = store v1 p1[0; 3; 1]\n}\nwith\nkernel twice {\n  p0 read f32\n  p1 write f32\n  rows [T]",
                "v2 = store v1 p1[0; 3; 1]\n}\nwith\nkernel twice {\n  p0 read f32\n  p1 write f32\n  rows [0]",
                "line 0: every part needs rows",
            ),
            ("mul v0 v1", "mul v0", "line 19: expected a value"),
            (
                "v3 = store v2 p1[0; 3; 1]\n}\n",
                "v3 = store v2 p1[0; 3; 1]\n",
                "line 12: the kernel is not closed by `}`",
            ),
            (
                "[0; 3; 1]\n}\nwith",
                "[0; 3; 1]\n}\nwith\nwith",
                "line 12: expected `kernel NAME {`, found `with`",
            ),
        ] {
            let found = refused(from, to);
            assert!(found.starts_with(said), "{found}");
        }
        let twice = format!("{REPLACEMENT}with\n");
        let found = parse_replacement(&twice).unwrap_err().to_string();
        assert_eq!(found, "line 22: expected nothing after the second kernel, found `with`");
        assert_eq!(
            parse_replacement("").unwrap_err().to_string(),
            "line 0: expected `replace`, found the end"
        );
    }
}
