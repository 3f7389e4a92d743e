//! Conversations on disk: JSON files with the messages, in the user's data folder or where the user says.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow, bail, ensure};
use serde_json::{Map, Value, json};
use weft_text::Message;

/// How many conversations without a name are kept.
const KEPT: usize = 20;
/// What their files begin with.
const UNNAMED: &str = "chat-";
const EXTENSION: &str = "json";

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
        return Ok(name.into());
    }
    ensure!(!name.starts_with('.'), "a conversation's name cannot begin with a dot");
    Ok(folder()?.join(format!("{name}.{EXTENSION}")))
}

/// Writes a conversation.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save(path: &Path, model: &str, messages: &[Message]) -> anyhow::Result<()> {
    let message = |message: &Message| {
        let mut fields = Map::new();
        fields.insert("role".into(), message.role.as_str().into());
        fields.insert("content".into(), message.content.clone());
        fields.extend(message.extra.clone());
        Value::Object(fields)
    };
    let all: Vec<Value> = messages.iter().map(message).collect();
    let text = format!("{:#}\n", json!({ "model": model, "messages": all }));
    let shown = || format!("cannot save the conversation to {}", path.display());
    if path.parent().is_some_and(|parent| folder().is_ok_and(|folder| folder == parent)) {
        weft_file::create_private(path.parent().unwrap_or(path)).with_context(shown)?;
    }
    weft_file::write(path, text.as_bytes()).with_context(shown)
}

/// Reads a conversation.
///
/// # Errors
/// If the file cannot be read or is not a conversation.
pub(super) fn load(path: &Path) -> anyhow::Result<Vec<Message>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the conversation {}", path.display()))?;
    parse(&text).with_context(|| format!("{} is not a saved conversation", path.display()))
}

fn parse(text: &str) -> anyhow::Result<Vec<Message>> {
    let json: Value = serde_json::from_str(text)?;
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
    Ok(messages)
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
    found.sort_by(|a, b| (b.at, &b.name).cmp(&(a.at, &a.name)));
    found
}

/// The last conversation, named or not.
pub(super) fn last() -> Option<PathBuf> {
    list().into_iter().next().map(|saved| saved.path)
}

/// Removes the oldest conversations without a name.
pub(super) fn tidy() {
    let unnamed = list().into_iter().filter(|saved| saved.name.starts_with(UNNAMED));
    for saved in unnamed.skip(KEPT) {
        let _ = fs::remove_file(saved.path);
    }
}

/// The list that `/load` shows: names, and how the conversations begin.
pub(super) fn overview() -> String {
    let begins = |saved: &Saved| {
        let messages = load(&saved.path).unwrap_or_default();
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
        save(&path, "m", &messages).unwrap();
        assert_eq!(load(&path).unwrap(), messages);
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
    fn names_are_not_paths() {
        assert_eq!(path("./a").unwrap(), Path::new("./a"));
        assert_eq!(path("a.json").unwrap(), Path::new("a.json"));
        assert!(path("..").is_err());
    }
}
