//! The version of macOS, which is also that of Metal's compiler.

/// The file that says it.
const FILE: &str = "/System/Library/CoreServices/SystemVersion.plist";

/// The build of this macOS: `macOS 23F79`. `None` on other systems.
pub(crate) fn build() -> Option<String> {
    let file = std::fs::read_to_string(FILE).ok()?;
    Some(format!("macOS {}", build_in(&file)?))
}

/// The build in the text of the file.
fn build_in(file: &str) -> Option<&str> {
    let (_, rest) = file.split_once("<key>ProductBuildVersion</key>")?;
    let (build, _) = rest.trim_start().strip_prefix("<string>")?.split_once("</string>")?;
    (!build.is_empty() && build.len() < 32).then_some(build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_found() {
        let file = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<plist version=\"1.0\">
<dict>
\t<key>BuildID</key>
\t<string>3A1</string>
\t<key>ProductBuildVersion</key>
\t<string>23F79</string>
\t<key>ProductName</key>
\t<string>macOS</string>
</dict>
</plist>
";
        assert_eq!(build_in(file), Some("23F79"));
        for wrong in ["", "<key>ProductBuildVersion</key>", "<key>ProductBuildVersion</key><string></string>"]
        {
            assert_eq!(build_in(wrong), None, "{wrong:?}");
        }
        assert_eq!(build().is_some(), cfg!(target_os = "macos"));
    }
}
