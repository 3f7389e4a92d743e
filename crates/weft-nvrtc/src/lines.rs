//! Lines of a text in the compiler's messages.

/// NVRTC's name for a text that has no name.
const NAMELESS: &str = "default_program";

/// Replaces the places in a log, such as `default_program(12)`, by what `place` says of their lines.
pub fn with_lines(log: &str, place: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(log.len());
    let mut rest = log;
    while let Some((before, after)) = rest.split_once(NAMELESS) {
        out.push_str(before);
        let inner = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        match inner.and_then(|(line, after)| Some((line.parse().ok()?, after))) {
            Some((line, after)) => {
                out.push_str(&place(line));
                rest = after;
            }
            None => {
                out.push_str(NAMELESS);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::with_lines;
    use crate::Nvrtc;

    fn place(line: usize) -> String {
        format!("line {} of a.kernel", line + 40)
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let log = "default_program(3): error: x\n  y\n    ^\ndefault_program: default_program(12): warning";
        let expected =
            "line 43 of a.kernel: error: x\n  y\n    ^\ndefault_program: line 52 of a.kernel: warning";
        assert_eq!(with_lines(log, place), expected);
        assert_eq!(with_lines("default_program(x) none", place), "default_program(x) none");
    }

    /// With other names of texts, or another count, lines would be wrong.
    #[test]
    fn the_compiler_says_lines_like_that() {
        let Some(nvrtc) = Nvrtc::for_test("lines of CUDA texts") else { return };
        let log = nvrtc.compile("// A comment.\n__global__ void f() {\n  int x = y;\n}\n", &[]).unwrap_err();
        let log = with_lines(&log, place);
        assert!(log.starts_with("line 43 of a.kernel: error: identifier \"y\" is undefined"), "{log}");
    }
}
