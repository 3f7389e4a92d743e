//! The commands within a conversation.

/// A command within a conversation.
pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    /// Its argument, as the help shows it.
    pub(super) takes: &'static str,
    pub(super) help: &'static str,
    pub(super) does: Does,
}

/// The action of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    Retry,
    Undo,
    Edit,
    System,
    Set,
    Stats,
    Model,
    Drop,
    Summarise,
    Clear,
    Save,
    Load,
    Help,
    Quit,
}

const fn command(name: &'static str, takes: &'static str, help: &'static str, does: Does) -> SlashCommand {
    SlashCommand { name, takes, help, does }
}

/// Every command, in the order the help shows them.
pub(super) const SLASH_COMMANDS: &[SlashCommand] = &[
    command("retry", "", "replace the last reply with another one", Does::Retry),
    command("undo", "", "remove your last message and its reply", Does::Undo),
    command(
        "edit",
        "[TEXT]",
        "change your last message, or replace it with TEXT, and send it again",
        Does::Edit,
    ),
    command("system", "[TEXT]", "show the system message, or set it; \"\" removes it", Does::System),
    command("set", "[NAME [VALUE]]", "show settings, or change one, as in /set temperature 0.2", Does::Set),
    command("stats", "", "show the tokens and the time of the last reply", Does::Stats),
    command("model", "[MODEL]", "show the model, or go on with another one", Does::Model),
    command(
        "drop",
        "[N]",
        "forget the N oldest of your messages and their replies; by default one",
        Does::Drop,
    ),
    command("summarise", "", "replace the conversation with a summary, to make room", Does::Summarise),
    command("clear", "", "start a new conversation", Does::Clear),
    command(
        "save",
        "NAME",
        "save a copy of the conversation under a name, or in a file such as notes.json",
        Does::Save,
    ),
    command("load", "[NAME]", "list saved conversations, or go on with one", Does::Load),
    command("help", "", "show this list", Does::Help),
    command("quit", "", "end the conversation, like Ctrl-D", Does::Quit),
];

/// Finds a command by its name, or by another name that people type.
pub(super) fn find(name: &str) -> Option<Does> {
    let name = match name {
        "?" => "help",
        "exit" | "bye" | "q" => "quit",
        "reset" | "new" => "clear",
        "regen" | "regenerate" => "retry",
        "summarize" | "compact" => "summarise",
        name => name,
    };
    SLASH_COMMANDS.iter().find(|command| command.name == name).map(|command| command.does)
}

/// The list of commands.
pub(super) fn help() -> String {
    let mut text = String::new();
    for SlashCommand { name, takes, help, .. } in SLASH_COMMANDS {
        let call = format!("/{name} {takes}");
        text += &format!("{call:<22} {help}\n");
    }
    text + "End a line with \\ to continue it on the next, or put several lines between \"\"\".\n\
            Tab completes commands. Ctrl-C stops a reply."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_all_their_names() {
        for command in SLASH_COMMANDS {
            assert_eq!(find(command.name), Some(command.does));
            assert!(help().contains(&format!("/{} {}", command.name, command.takes)));
        }
        assert_eq!((find("summarize"), find("exit")), (Some(Does::Summarise), Some(Does::Quit)));
        assert_eq!(find("nothing"), None);
    }
}
