//! Conversations on disk: JSON files with the messages, in the user's data folder or where the user says.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use weft_text::Message;

use crate::cli::text_file;

/// How many conversations without a name are kept.
const KEPT: usize = 20;
/// The prefix of their names.
const UNNAMED: &str = "chat-";
const EXTENSION: &str = "json";

/// The model or server that a conversation is held with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct With {
    /// The model, by a name that finds it again.
    pub(super) model: Option<String>,
    /// The address of its server; `None` for this machine.
    pub(super) server: Option<String>,
}

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.model.as_deref().unwrap_or("a model"))?;
        self.server.as_ref().map_or(Ok(()), |server| write!(f, " at {server}"))
    }
}

/// A conversation that was read.
#[derive(Debug, PartialEq)]
pub(super) struct Conversation {
    /// The model or server, where the file names it.
    pub(super) with: Option<With>,
    pub(super) messages: Vec<Message>,
}

/// The file at a path where a conversation is to be saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Occupant {
    Nothing,
    Conversation,
    /// Something that is not replaced.
    Other,
}

/// A saved conversation.
pub(super) struct Saved {
    pub(super) name: String,
    path: PathBuf,
    /// When it was written.
    at: SystemTime,
}

/// The folder of conversations.
///
/// # Errors
/// If the user has no data folder.
fn folder() -> anyhow::Result<PathBuf> {
    let data =
        weft_file::data_folder().context("there is no data folder; save to a file, such as ./chat.json")?;
    Ok(data.join("chats"))
}

/// The file of a new conversation without a name; `None` if there is no data folder.
pub(super) fn unnamed() -> Option<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(folder().ok()?.join(format!("{UNNAMED}{now}.{EXTENSION}")))
}

/// The file that a name of the user's leads to: a path if it looks like one.
///
/// # Errors
/// If the name is not one, or the user has no data folder.
pub(super) fn path(name: &str) -> anyhow::Result<PathBuf> {
    let is_path = name.contains(['/', std::path::MAIN_SEPARATOR]) || name.ends_with(".json");
    if is_path {
        // A shell would have done this.
        let home = name.strip_prefix("~/").and_then(|rest| Some((std::env::home_dir()?, rest)));
        return Ok(home.map_or_else(|| name.into(), |(home, rest)| home.join(rest)));
    }
    ensure!(!name.starts_with('.'), "a conversation's name cannot begin with a dot");
    Ok(folder()?.join(format!("{name}.{EXTENSION}")))
}

/// Whether a file is in the folder of conversations, where it grows with its conversation.
pub(super) fn is_kept(path: &Path) -> bool {
    path.parent().is_some_and(|parent| folder().is_ok_and(|folder| folder == parent))
}

/// Whether this is the name of a conversation without a name.
fn is_unnamed(name: &str) -> bool {
    name.strip_prefix(UNNAMED).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Looks at what is at a path. Only what looks like a file of [`save`] is a conversation.
///
/// # Errors
/// If the name is kept for conversations without one, or the path cannot be looked at.
pub(super) fn occupant(path: &Path) -> anyhow::Result<Occupant> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    ensure!(
        !(is_kept(path) && is_unnamed(name)),
        "{name} is a name of conversations without one; choose another name"
    );
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Occupant::Nothing),
        Err(error) => bail!("cannot look at {}: {}", path.display(), text_file::words(&error)),
        Ok(about) if !about.is_file() => Ok(Occupant::Other),
        Ok(_) => {
            let json = text_file::text(path, "the conversation").and_then(|text| parse(&text));
            let ours = json.is_ok_and(|conversation| conversation.with.is_some());
            Ok(if ours { Occupant::Conversation } else { Occupant::Other })
        }
    }
}

/// Writes a conversation.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save(path: &Path, with: &With, messages: &[Message]) -> anyhow::Result<()> {
    let message = |message: &Message| {
        let mut fields = Map::new();
        fields.insert("role".into(), message.role.as_str().into());
        fields.insert("content".into(), message.content.clone());
        fields.extend(message.extra.clone());
        Value::Object(fields)
    };
    let all: Vec<Value> = messages.iter().map(message).collect();
    let text = format!("{:#}\n", json!({ "model": with.model, "server": with.server, "messages": all }));
    let shown = || format!("cannot save the conversation to {}", path.display());
    if is_kept(path) {
        weft_file::create_private(path.parent().unwrap_or(path)).with_context(shown)?;
    }
    weft_file::write(path, text.as_bytes()).with_context(shown)
}

/// Reads a conversation.
///
/// # Errors
/// If the file cannot be read or is not a conversation.
pub(super) fn load(path: &Path) -> anyhow::Result<Conversation> {
    let text = text_file::text(path, "the conversation")?;
    parse(&text).with_context(|| format!("{} is not a saved conversation", path.display()))
}

fn parse(text: &str) -> anyhow::Result<Conversation> {
    let json: Value = serde_json::from_str(text)?;
    let text = |name: &str| json[name].as_str().map(str::to_string);
    // Files of earlier versions have no server, and a description of the model.
    let with = json.get("server").map(|_| With { model: text("model"), server: text("server") });
    // A bare list, as in requests to servers, will do as well.
    let list = json.as_array().or_else(|| json["messages"].as_array());
    let list = list.ok_or_else(|| anyhow!("messages: expected a list"))?;
    let mut messages = Vec::new();
    for (at, message) in list.iter().enumerate() {
        let (Some(role), Some(fields)) = (message["role"].as_str(), message.as_object()) else {
            bail!("messages[{at}].role: expected a string");
        };
        ensure!(message["content"].is_string(), "messages[{at}].content: expected a string");
        let mut read = Message::new(role, message["content"].clone());
        let more = fields.iter().filter(|(name, _)| !["role", "content"].contains(&name.as_str()));
        read.extra.extend(more.map(|(name, value)| (name.clone(), value.clone())));
        messages.push(read);
    }
    Ok(Conversation { with, messages })
}

/// The saved conversations, the last first.
pub(super) fn list() -> Vec<Saved> {
    let entries = folder().ok().and_then(|folder| weft_file::entries(&folder).ok()).unwrap_or_default();
    let saved = |entry: fs::DirEntry| {
        let path = entry.path();
        let name = path.file_stem()?.to_str()?.to_string();
        let is_one = path.extension().is_some_and(|extension| extension == EXTENSION);
        let at = entry.metadata().and_then(|about| about.modified()).ok()?;
        is_one.then_some(Saved { name, path, at })
    };
    let mut found: Vec<Saved> = entries.into_iter().filter_map(saved).collect();
    // Of two that were written at once, the one without a name is the one that continues, and the other is its copy.
    let order = |saved: &Saved| (saved.at, is_unnamed(&saved.name), saved.name.clone());
    found.sort_by_key(|saved| std::cmp::Reverse(order(saved)));
    found
}

/// The last conversation, named or not.
fn last() -> Option<PathBuf> {
    list().into_iter().next().map(|saved| saved.path)
}

/// The last conversation and its file.
///
/// # Errors
/// If there is none, or it cannot be read.
pub(super) fn resume() -> anyhow::Result<(PathBuf, Conversation)> {
    let path = last().ok_or_else(|| anyhow!("there is no conversation to resume"))?;
    let conversation = load(&path)?;
    Ok((path, conversation))
}

/// Removes the oldest conversations without a name.
pub(super) fn tidy() {
    let unnamed = list().into_iter().filter(|saved| is_unnamed(&saved.name));
    for saved in unnamed.skip(KEPT) {
        let _ = fs::remove_file(saved.path);
    }
}

/// The list that `/load` shows: names, and how the conversations begin.
pub(super) fn overview() -> String {
    let begins = |saved: &Saved| {
        let messages = load(&saved.path).map_or_else(|_| Vec::new(), |conversation| conversation.messages);
        let first = messages.iter().find(|message| message.role == "user");
        let text = first.and_then(|message| message.content.as_str()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(50).collect::<String>()
    };
    let lines: Vec<String> =
        list().iter().map(|saved| format!("{:<20} {}", saved.name, begins(saved))).collect();
    if lines.is_empty() { "there are no saved conversations".to_string() } else { lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn a_conversation_is_read_as_it_was_written() {
        let folder = TestFolder::new("session");
        let path = folder.join("a.json");
        let mut reply = Message::new("assistant", "Grüße\n");
        reply.extra.insert("reasoning_content".into(), "hm".into());
        let messages = [Message::new("system", ""), Message::new("user", "hi"), reply];
        let with = With { model: Some("m".into()), server: None };
        save(&path, &with, &messages).unwrap();
        let read = load(&path).unwrap();
        assert_eq!((read.with, read.messages), (Some(with), messages.to_vec()));
        // An earlier version's, whose model is a description, and a bare list.
        for older in ["{\"model\": \"A on cpu\", \"messages\": []}", "[]"] {
            fs::write(&path, older).unwrap();
            assert_eq!(load(&path).unwrap(), Conversation { with: None, messages: Vec::new() });
        }
        for (wrong, said) in [
            ("{}", "messages: expected a list"),
            ("[{\"role\": 1}]", "messages[0].role: expected a string"),
            ("[{\"role\": \"user\", \"content\": 1}]", "messages[0].content: expected a string"),
            ("", "is not a saved conversation"),
        ] {
            fs::write(&path, wrong).unwrap();
            let error = format!("{:#}", load(&path).unwrap_err());
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn only_conversations_may_be_replaced() {
        let folder = TestFolder::new("occupant");
        let path = folder.join("a.json");
        assert_eq!(occupant(&path).unwrap(), Occupant::Nothing);
        let with = With { model: None, server: Some("http://here".into()) };
        save(&path, &with, &[Message::new("user", "hi")]).unwrap();
        assert_eq!(occupant(&path).unwrap(), Occupant::Conversation);
        // Text, JSON of others that has messages too, and a folder.
        for other in ["precious\n", "{}", "[]", "{\"model\": \"m\", \"messages\": []}", ""] {
            fs::write(&path, other).unwrap();
            assert_eq!(occupant(&path).unwrap(), Occupant::Other, "{other}");
        }
        assert_eq!(occupant(&folder.join(".")).unwrap(), Occupant::Other);
    }

    #[test]
    fn only_numbers_follow_in_names_that_are_none() {
        assert!(is_unnamed("chat-1732789"));
        assert!(!is_unnamed("chat-with-anna") && !is_unnamed("trip"));
    }

    #[test]
    fn names_are_not_paths() {
        assert_eq!(path("./a").unwrap(), Path::new("./a"));
        assert_eq!(path("a.json").unwrap(), Path::new("a.json"));
        assert_eq!(path("~/a").unwrap(), std::env::home_dir().unwrap().join("a"));
        assert!(path("..").is_err());
    }
}
