//! Tests of `report`: the file, and how a browser shows it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Folder, model, weft};

fn call(folder: &Folder, args: &[&str]) -> crate::support::Ran {
    weft(args).env("WEFT_JOURNAL", folder.join("journal.db")).run()
}

/// The report of a benchmark and an ablation, and its folder.
fn page() -> (Folder, String) {
    let folder = Folder::new();
    let model = model("glm-tiny-q4_0");
    let short = ["-p", "2", "-n", "1", "-d", "0", "-t", "1", "--no-cache"];
    call(&folder, &[&["bench", model.to_str().unwrap(), "-r", "2"], &short[..]].concat()).ok();
    call(
        &folder,
        &[&["ablate", model.to_str().unwrap(), "-r", "2", "--knobs", "aa,fuse.tail"], &short[..]].concat(),
    )
    .ok();
    let out = folder.join("page.html");
    call(&folder, &["report", "1", "2", "-o", out.to_str().unwrap()]).ok();
    let page = fs::read_to_string(out).unwrap();
    (folder, page)
}

#[test]
fn a_report_shows_its_runs() {
    let (folder, page) = page();
    for part in ["Run 1: bench", "Run 2: ablate", "fuse.tail=off", "Tokens per second", "From run 1 to run 2"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(call(&folder, &["report", "1", "-o", "-"]).ok().matches("<section").count(), 1);
    assert!(call(&folder, &["report", "9", "-o", "-"]).failed(1).contains("there is no run 9"));
    assert!(call(&folder, &["report"]).failed(2).contains("RUN"));
}

/// The width and height of a PNG.
fn size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn a_browser_shows_it_in_light_and_dark() {
    let browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let Some(browser) = browsers.into_iter().find(|browser| Path::new(browser).exists()) else {
        eprintln!("SKIPPED: Chromium is not installed");
        return;
    };
    let (folder, _) = page();
    let pictures = [("light", "1", (1000, 1200)), ("dark", "0", (1000, 1200)), ("narrow", "1", (500, 1200))]
        .map(|(name, scheme, (width, height))| {
            let picture = folder.join(&format!("{name}.png"));
            let ran = Command::new(browser)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
                .arg(format!("--user-data-dir={}", folder.join("browser").display()))
                .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
                .arg(format!("--window-size={width},{height}"))
                .arg(format!("--screenshot={}", picture.display()))
                .arg(format!("file://{}", folder.join("page.html").display()))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(ran.unwrap().success(), "{name}");
            let png = fs::read(picture).unwrap();
            assert_eq!(size(&png), (width, height), "{name}");
            // A picture of an empty page takes only a few thousand bytes.
            assert!(png.len() > 30_000, "{name}: {} bytes", png.len());
            png
        });
    assert!(pictures[0] != pictures[1], "the dark page must not look like the light one");
}
