//! Names of model files, and of models on the hub.
//!
//! Files are named `Some-Model-Q4_K_M.gguf`, or in several parts `Some-Model-Q4_K_M-00001-of-00003.gguf`. This is a
//! convention that not all files follow.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::listed::{LISTED, ListedModel};

/// The parsed name of a model file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileName<'a> {
    /// The name without `.gguf`, and without the number of the part.
    pub(crate) stem: &'a str,
    /// The number of the part, from 1, and how many there are: (1, 1) for a model in one file.
    pub(crate) part: (u32, u32),
}

impl<'a> FileName<'a> {
    /// Parses a file name. Returns `None` if it is not the name of a GGUF model.
    pub(crate) fn parse(name: &'a str) -> Option<FileName<'a>> {
        let stem = name.strip_suffix(".gguf")?;
        // Repositories also contain image encoders and calibration data.
        if stem.contains("mmproj") || stem.contains("imatrix") {
            return None;
        }
        Some(part(stem).unwrap_or(FileName { stem, part: (1, 1) }))
    }

    /// The quantisation, with which names end: `Q4_K_M`, `q8_0`, `BF16`.
    pub(crate) fn quant(&self) -> Option<&'a str> {
        let separators = self.stem.match_indices(['-', '.', '_']).map(|(at, _)| at + 1);
        separators.map(|at| &self.stem[at..]).find(|end| is_quant(end))
    }

    /// Returns whether `wanted` is the name, its quantisation, or a longer part of its end, such as `UD-Q4_K_XL`.
    pub(crate) fn matches(&self, wanted: &str) -> bool {
        let ends = self.stem.match_indices(['-', '.']).map(|(at, _)| &self.stem[at + 1..]);
        ends.chain(self.quant()).any(|end| end.eq_ignore_ascii_case(wanted)) || self.stem == wanted
    }
}

/// Parses `stem-00002-of-00003`.
fn part(stem: &str) -> Option<FileName<'_>> {
    let number = |text: &str| (text.len() == 5).then(|| text.parse().ok()).flatten();
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (stem, own) = rest.rsplit_once('-')?;
    let (own, count) = (number(own)?, number(count)?);
    (1..=count).contains(&own).then_some(FileName { stem, part: (own, count) })
}

fn is_quant(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let digit_after = |prefix| {
        text.strip_prefix(prefix).is_some_and(|rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    letters
        && (["q", "iq", "tq"].into_iter().any(digit_after)
            || ["f16", "f32", "bf16", "fp16", "mxfp4"].iter().any(|name| text.starts_with(name)))
}

/// The name of a model on the hub: `hf:org/repo:QUANT`, or `hf:org/repo` for a repository's only model or the most common
/// quantisation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HubName {
    /// `org/repo`.
    pub repo: String,
    /// The quantisation (`Q4_K_M`), or the name of a file without `.gguf`.
    pub quant: Option<String>,
}

/// The hosts whose addresses name models.
const HOSTS: [&str; 3] = ["huggingface.co", "www.huggingface.co", "hf.co"];

/// Models that Weft runs and knows no repository of.
const NAMELESS: [&str; 1] = ["moonlight"];

impl HubName {
    /// The prefix of all such names.
    pub const PREFIX: &'static str = "hf:";

    /// Recognises the address of a repository or of a file on the Hugging Face hub, as a browser shows it. `None` if the text
    /// is no such address.
    ///
    /// ```
    /// use weft_hub::HubName;
    /// let file = "https://huggingface.co/org/repo-GGUF/blob/main/model-Q4_K_M.gguf";
    /// assert_eq!(HubName::of_address(file).unwrap().to_string(), "hf:org/repo-GGUF:model-Q4_K_M");
    /// ```
    pub fn of_address(text: &str) -> Option<HubName> {
        let rest = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or(text);
        let (host, path) = rest.split_once('/')?;
        if !HOSTS.contains(&host.to_ascii_lowercase().as_str()) {
            return None;
        }
        let path = path.split(['?', '#']).next()?.trim_end_matches('/');
        let mut parts = path.split('/');
        let (org, name) = (parts.next()?, parts.next()?);
        let (name, quant) = name.split_once(':').map_or((name, None), |(name, quant)| (name, Some(quant)));
        let file = parts.next_back().and_then(FileName::parse).map(|file| file.stem);
        let quant =
            quant.or(file).filter(|quant| !quant.is_empty() && *quant != "latest").map(str::to_string);
        (is_plain(org) && is_plain(name)).then(|| HubName { repo: format!("{org}/{name}"), quant })
    }

    /// Reads a [short name](crate::LISTED), which may have another quantisation than the listed one:
    /// `glm-4.7-flash:Q4_0`. `None` if it is not one.
    ///
    /// ```
    /// use weft_hub::HubName;
    /// let short = |text| HubName::of_short(text).unwrap().to_string();
    /// assert_eq!(short("glm-4.7-flash:Q4_0"), "hf:unsloth/GLM-4.7-Flash-GGUF:Q4_0");
    /// assert_eq!(short("glm-4.7-flash"), "hf:unsloth/GLM-4.7-Flash-GGUF:Q4_K_M");
    /// ```
    pub fn of_short(text: &str) -> Option<HubName> {
        let (name, quant) = parts(text);
        let model = LISTED.iter().find(|model| name.eq_ignore_ascii_case(model.name))?;
        match quant {
            None => Some(model.hub_name()),
            Some(other) if !is_quant(other.strip_prefix("UD-").unwrap_or(other)) => None,
            Some(quant) => Some(HubName { repo: model.repo.into(), quant: Some(quant.into()) }),
        }
    }

    /// Reads a name, or the address of a repository or a file. `None` if the text is neither.
    pub(crate) fn recognise(text: &str) -> Option<Result<HubName, Error>> {
        let known = || HubName::of_address(text).or_else(|| HubName::of_short(text)).map(Ok);
        let nameless = || {
            let is_known = NAMELESS.iter().any(|name| parts(text).0.eq_ignore_ascii_case(name));
            let expected = "expected hf:ORG/REPO:QUANT; Weft runs this model, but knows no file of it";
            is_known.then(|| Err(Error::InvalidName { name: text.into(), expected }))
        };
        let own = text.starts_with(HubName::PREFIX).then(|| text.parse());
        own.or_else(known).or_else(nameless)
    }
}

impl ListedModel {
    /// Its name on the hub.
    pub fn hub_name(&self) -> HubName {
        HubName { repo: self.repo.into(), quant: Some(self.quant.into()) }
    }
}

impl FromStr for HubName {
    type Err = Error;

    fn from_str(text: &str) -> Result<HubName, Error> {
        const FORM: &str = "expected hf:ORG/REPO:QUANT";
        let wrong = |expected| Error::InvalidName { name: text.into(), expected };
        let rest = text.strip_prefix(HubName::PREFIX).ok_or_else(|| wrong(FORM))?;
        let (repo, quant) = parts(rest);
        match repo.split_once('/') {
            Some((org, name)) if is_plain(org) && is_plain(name) => {}
            _ => return Err(wrong(FORM)),
        }
        if quant == Some("") {
            return Err(wrong("expected a quantisation after the last colon, such as Q4_K_M"));
        }
        Ok(HubName { repo: repo.into(), quant: quant.map(str::to_string) })
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.repo)?;
        self.quant.as_ref().map_or(Ok(()), |quant| write!(f, ":{quant}"))
    }
}

/// A name and its quantisation.
fn parts(text: &str) -> (&str, Option<&str>) {
    // Ollama writes `:latest` where none is chosen.
    text.split_once(':')
        .map_or((text, None), |(name, quant)| (name, Some(quant).filter(|quant| *quant != "latest")))
}

/// Returns whether a name is safe to use in a path and an address without escaping.
pub(crate) fn is_plain(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.', '+'].contains(&c);
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(allowed)
}

/// Chooses among the models of a repository: the one that `wanted` names, or without a name, the only model or the most
/// common compromise between size and quality.
///
/// # Errors
/// A description of the problem, with the names of the models and their sizes in bytes, where `size` knows them.
pub(crate) fn choose<'m, M>(
    models: &'m [M],
    name: impl Fn(&M) -> FileName<'_>,
    size: impl Fn(&M) -> Option<u64>,
    wanted: Option<&str>,
) -> Result<&'m M, String> {
    const COMMON: [&str; 3] = ["Q4_K_M", "Q4_0", "Q8_0"];
    let matching =
        |wanted: &str| models.iter().filter(|model| name(model).matches(wanted)).collect::<Vec<_>>();
    let found = match wanted {
        Some(wanted) => matching(wanted),
        None if models.len() == 1 => vec![&models[0]],
        None => COMMON.into_iter().map(matching).find(|found| found.len() == 1).unwrap_or_default(),
    };
    if let [model] = found[..] {
        return Ok(model);
    }
    let names = if found.is_empty() {
        choices(models, name, size)
    } else {
        let mut names: Vec<String> = found.iter().map(|model| name(model).stem.to_string()).collect();
        names.sort();
        names
    };
    let names = names.join(", ");
    Err(match wanted {
        _ if models.is_empty() => "it has no GGUF files".into(),
        Some(wanted) if found.is_empty() => format!("it has no {wanted}; it has {names}"),
        Some(wanted) => format!("{wanted} could be any of {names}"),
        None => format!("add a colon and one of {names}"),
    })
}

/// The quantisations of models, or else their names, and their sizes.
pub(crate) fn choices<M>(
    models: &[M],
    name: impl Fn(&M) -> FileName<'_>,
    size: impl Fn(&M) -> Option<u64>,
) -> Vec<String> {
    let shown = |model: &M| {
        let quant = name(model).quant().unwrap_or(name(model).stem).to_string();
        match size(model).map(|bytes| bytes as f64 / 1e9) {
            None => quant,
            Some(size) if size < 1.0 => format!("{quant} ({:.0} MB)", size * 1e3),
            Some(size) => format!("{quant} ({size:.1} GB)"),
        }
    };
    let mut all: Vec<String> = models.iter().map(shown).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_lead_to_repositories_or_say_what_is_missing() {
        let read = |text: &str| HubName::recognise(text).map(|name| name.map(|name| name.to_string()));
        for (text, full) in [
            ("glm-4.7-flash", "hf:unsloth/GLM-4.7-Flash-GGUF:Q4_K_M"),
            ("glm-4.7-flash:latest", "hf:unsloth/GLM-4.7-Flash-GGUF:Q4_K_M"),
            ("GLM-4.7-Flash:q8_0", "hf:unsloth/GLM-4.7-Flash-GGUF:q8_0"),
            ("glm-4.7-flash:UD-Q4_K_XL", "hf:unsloth/GLM-4.7-Flash-GGUF:UD-Q4_K_XL"),
            ("gpt-oss-20b", "hf:ggml-org/gpt-oss-20b-GGUF:MXFP4"),
        ] {
            assert_eq!(read(text).unwrap().unwrap(), full);
        }
        for text in ["moonlight", "moonlight:q4_0"] {
            let error = read(text).unwrap().unwrap_err().to_string();
            assert!(
                error.contains(text) && error.contains("Weft runs this model, but knows no file"),
                "{error}"
            );
        }
        for text in [
            "glm-4.7-flash:",
            "glm-4.7",
            "moonlights",
            "glm-4.7-flash.gguf",
            "qwen3:8b",
            "https://example.com/a.gguf",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_hub() {
        let read = |text| HubName::of_address(text).map(|name| name.to_string());
        for (text, expected) in [
            ("https://huggingface.co/a/b-GGUF", Some("hf:a/b-GGUF")),
            ("https://huggingface.co/a/b/tree/main", Some("hf:a/b")),
            ("huggingface.co/a/b/", Some("hf:a/b")),
            ("https://hf.co/a/b:Q8_0", Some("hf:a/b:Q8_0")),
            ("hf.co/a/b", Some("hf:a/b")),
            ("https://huggingface.co/a/b/blob/main/m-Q4_0.gguf", Some("hf:a/b:m-Q4_0")),
            (
                "https://huggingface.co/a/b/resolve/main/q/m-Q4_0-00001-of-00002.gguf?download=true",
                Some("hf:a/b:m-Q4_0"),
            ),
            ("https://huggingface.co/a", None),
            ("https://huggingface.co/a/..", None),
            ("https://example.org/a/b", None),
            ("a/b", None),
        ] {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn file_names() {
        let parse = |name| FileName::parse(name).map(|file| (file.stem, file.quant(), file.part));
        for (name, expected) in [
            ("SmolLM2-135M-Instruct.Q4_1.gguf", Some(("SmolLM2-135M-Instruct.Q4_1", Some("Q4_1"), (1, 1)))),
            ("smollm2-135m-instruct-q8_0.gguf", Some(("smollm2-135m-instruct-q8_0", Some("q8_0"), (1, 1)))),
            ("tiny_iq4_xs.gguf", Some(("tiny_iq4_xs", Some("iq4_xs"), (1, 1)))),
            ("A-UD-Q4_K_XL-00002-of-00003.gguf", Some(("A-UD-Q4_K_XL", Some("Q4_K_XL"), (2, 3)))),
            ("model-BF16.gguf", Some(("model-BF16", Some("BF16"), (1, 1)))),
            ("gpt-oss-20b-mxfp4.gguf", Some(("gpt-oss-20b-mxfp4", Some("mxfp4"), (1, 1)))),
            ("Qwen2-quick.gguf", Some(("Qwen2-quick", None, (1, 1)))),
            ("A-00004-of-00003.gguf", Some(("A-00004-of-00003", None, (1, 1)))),
            ("A-1-of-3.gguf", Some(("A-1-of-3", None, (1, 1)))),
            ("mmproj-model-f16.gguf", None),
            ("Ministral-3-8B-BF16-mmproj.gguf", None),
            ("model.imatrix.gguf", None),
            ("model.safetensors", None),
        ] {
            assert_eq!(parse(name), expected, "{name}");
        }
    }

    #[test]
    fn hub_names() {
        for text in ["hf:a/b", "hf:a-1/b.c_D:Q4_K_M"] {
            assert_eq!(text.parse::<HubName>().unwrap().to_string(), text);
        }
        for text in ["model.gguf", "hf:a", "hf:a/b/c", "hf:../b", "hf:a/b?x", "hf:a/b:"] {
            let error = text.parse::<HubName>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not a model on the hub: expected ")), "{error}");
        }
    }

    #[test]
    fn choosing() {
        let check = |files: &[&str], wanted, expected: &str| {
            let names: Vec<FileName<'_>> = files.iter().filter_map(|name| FileName::parse(name)).collect();
            let size = |name: &FileName<'_>| name.stem.starts_with("b-").then_some(1_234_000_000);
            let chosen = choose(&names, |name| *name, size, wanted);
            let chosen = chosen.map_or_else(|error| error.to_string(), |name| name.stem.to_string());
            assert_eq!(chosen, expected, "{files:?} {wanted:?}");
        };
        let three = ["a-Q2_K.gguf", "a-Q4_K_M.gguf", "a-Q8_0.gguf"];
        check(&three, Some("q8_0"), "a-Q8_0");
        check(&three, Some("a-Q2_K"), "a-Q2_K");
        check(&three, None, "a-Q4_K_M");
        check(&three, Some("Q6_K"), "it has no Q6_K; it has Q2_K, Q4_K_M, Q8_0");
        check(&["a-UD-Q4_K_XL.gguf", "a-Q8_0.gguf"], Some("ud-q4_k_xl"), "a-UD-Q4_K_XL");
        check(&["a-UD-Q4_K_XL.gguf", "a-Q8_0.gguf"], Some("Q4_K_XL"), "a-UD-Q4_K_XL");
        check(&["a-Q2_K.gguf"], None, "a-Q2_K");
        check(&["a-Q2_K.gguf", "a-Q3_K.gguf"], None, "add a colon and one of Q2_K, Q3_K");
        check(&["a-Q2_K.gguf", "b-Q3_K.gguf"], None, "add a colon and one of Q2_K, Q3_K (1.2 GB)");
        check(&["a-F16.gguf", "b-F16.gguf"], Some("F16"), "F16 could be any of a-F16, b-F16");
        check(&[], Some("F16"), "it has no GGUF files");
    }
}
