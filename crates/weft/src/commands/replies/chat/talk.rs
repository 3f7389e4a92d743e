//! A conversation: messages and commands in, replies out.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::bail;

use super::commands::{self, Does};
use super::input::Input;
use super::partner::{Ended, Partner, Reply};
use super::session::{self, Conversation, Occupant};
use super::settings;
use crate::cli::args::Args;
use crate::commands::Outcome;
use crate::terminal::interrupt;
use crate::terminal::streams::{self, Out, note};

/// Asks the model for a summary.
const SUMMARISE: &str = "Summarise our conversation so far in a few sentences. Keep names, numbers and decisions. Write only the summary.";

/// A conversation.
pub(super) struct Talk<'a> {
    partner: &'a mut dyn Partner,
    input: Input,
    out: Out,
    verbose: bool,
    /// The file of this conversation, in a terminal.
    file: Option<PathBuf>,
    /// The file that it was last saved in or read from, which may be replaced.
    own: Option<PathBuf>,
    /// The statistics of the last reply, and the room that the conversation takes.
    last: Option<String>,
    room: Option<(usize, usize)>,
    /// Whether the user has been told that there is little room left.
    warned: bool,
}

/// The next action.
enum Next {
    /// The next message.
    Message,
    /// The end.
    End,
    /// The end, since Ctrl-C was pressed.
    Stop,
}

impl<'a> Talk<'a> {
    /// Begins a conversation, or continues with one that was saved.
    ///
    /// # Errors
    /// If the terminal cannot be used.
    pub(super) fn new(
        args: Args<'_>,
        partner: &'a mut dyn Partner,
        resumed: Option<(PathBuf, Conversation)>,
    ) -> anyhow::Result<Talk<'a>> {
        let input = Input::new()?;
        let out = Out::new();
        let mut talk = Talk {
            partner,
            file: if input.is_terminal() { session::unnamed() } else { None },
            own: None,
            input,
            out,
            verbose: args.flag("verbose"),
            last: None,
            room: None,
            warned: false,
        };
        if talk.input.is_terminal() {
            note!("{}; /help lists commands, Ctrl-D ends", talk.partner.name());
            session::tidy();
        }
        if let Some((path, conversation)) = resumed {
            talk.resume(path, conversation)?;
        }
        Ok(talk)
    }

    /// Talks until the input ends.
    ///
    /// # Errors
    /// If the input cannot be read; without a terminal, also if there is no reply.
    pub(super) fn run(mut self) -> anyhow::Result<Outcome> {
        while let Some(message) = self.input.message()? {
            let next = match message.strip_prefix('/') {
                Some(command) => self.carry_out(command),
                None => self.say(&message),
            };
            match next {
                Ok(Next::Message) => {}
                Ok(Next::End) => break,
                Ok(Next::Stop) => return Ok(Outcome::Interrupted),
                // A person can try again; a program must see the failure.
                Err(error) if self.input.is_terminal() && !streams::is_closed(&error) => {
                    streams::error(&error)
                }
                Err(error) => return Err(error),
            }
            if interrupt::is_ending() {
                return Ok(Outcome::Interrupted);
            }
        }
        Ok(if interrupt::is_ending() { Outcome::Interrupted } else { Outcome::Done })
    }

    /// Sends a message.
    fn say(&mut self, text: &str) -> anyhow::Result<Next> {
        self.exchange(text).map(|(next, _)| next)
    }

    /// Sends a message. Returns also whether it and a reply are now part of the conversation.
    fn exchange(&mut self, text: &str) -> anyhow::Result<(Next, bool)> {
        self.partner.messages().ask(text);
        loop {
            match self.partner.reply(&mut self.out) {
                Ok(Reply { ended, message, statistics, room }) => {
                    let answered = message.is_some();
                    self.partner.messages().answer(message);
                    self.room = room;
                    self.keep();
                    match ended {
                        Ended::Full => note!("{}", self.partner.full()),
                        Ended::Repeats => note!(
                            "the reply only repeated itself, so it was ended; /retry gives another one, and \
                             /set repeat-penalty 1.1 works against it"
                        ),
                        Ended::Done | Ended::Cancelled => self.warn(),
                    }
                    if self.verbose {
                        note!("{statistics}");
                    }
                    self.last = Some(statistics);
                    // Without a terminal, Ctrl-C is about all messages.
                    let stop = ended == Ended::Cancelled && !self.input.is_terminal();
                    return Ok((if stop { Next::Stop } else { Next::Message }, answered));
                }
                Err(error) => {
                    let full = self.partner.is_full(&error);
                    if full && self.input.is_terminal() && self.make_room()? {
                        continue;
                    }
                    self.partner.messages().answer(None);
                    // Clearing the conversation makes room, unless it is empty already.
                    if full && !self.partner.messages().is_empty() {
                        note!("{}", self.partner.full());
                        return Ok((Next::Message, false));
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Offers to forget the oldest messages. Returns whether one was forgotten.
    fn make_room(&mut self) -> anyhow::Result<bool> {
        let alone = self.partner.messages().all().iter().filter(|message| message.role == "user").count() < 2;
        if alone
            || !self.input.confirm("the context is full; forget the oldest message and its reply? [Y/n] ")?
        {
            return Ok(false);
        }
        Ok(self.partner.messages().drop_oldest())
    }

    /// Says once that there is little room left.
    fn warn(&mut self) {
        let Some((used, context)) = self.room else { return };
        let little = used * 5 > context * 4;
        if little && !self.warned && self.input.is_terminal() {
            note!(
                "the conversation has {used} of {context} tokens; /drop forgets the oldest messages, /summarise shortens all"
            );
        }
        self.warned = little;
    }

    /// Keeps the conversation on disk, in a terminal. Failing to do so is reported once.
    fn keep(&mut self) {
        let Some(file) = &self.file else { return };
        if self.partner.messages().is_empty() && !file.exists() {
            return;
        }
        let with = self.partner.with();
        if let Err(error) = session::save(file, &with, self.partner.messages().all()) {
            note!("{error:#}; this conversation is not kept");
            self.file = None;
        }
    }

    /// Continues with a saved conversation.
    fn resume(&mut self, path: PathBuf, conversation: Conversation) -> anyhow::Result<()> {
        self.partner.messages().replace(conversation.messages);
        let with = self.partner.with();
        if let Some(before) = conversation.with.filter(|before| *before != with) {
            note!("this conversation was held with {before}; {with} goes on with it");
        }
        self.own = Some(path.clone());
        if self.file.is_some() {
            // A file elsewhere is the user's, and stays as it is.
            self.file = if session::is_kept(&path) { Some(path) } else { session::unnamed() };
        }
        self.warned = false;
        if self.input.is_terminal() {
            self.show_last()?;
        }
        Ok(())
    }

    /// Shows the last exchange, so that the user knows where the conversation stands.
    fn show_last(&mut self) -> anyhow::Result<()> {
        let messages = self.partner.messages().all();
        let from = messages.iter().rposition(|message| message.role == "user").unwrap_or(0);
        let last: Vec<(bool, String)> = messages[from..]
            .iter()
            .map(|message| (message.role == "user", message.content.as_str().unwrap_or_default().to_string()))
            .collect();
        for (mine, text) in last {
            self.out.reply(&if mine { format!("> {text}") } else { text })?;
            self.out.end_reply()?;
        }
        Ok(())
    }

    /// Carries out a line that begins with a slash.
    fn carry_out(&mut self, line: &str) -> anyhow::Result<Next> {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let Some(does) = commands::find(name) else {
            note!(
                "there is no command /{name}; /help lists them. To send this as a message, put a space before the slash"
            );
            return Ok(Next::Message);
        };
        match does {
            Does::Quit => return Ok(Next::End),
            Does::Help => writeln!(self.out, "{}", commands::help())?,
            Does::Retry => return self.retry(),
            Does::Undo => match self.partner.messages().undo() {
                Some(text) => {
                    self.keep();
                    note!("removed {:?} and its reply", shortened(&text));
                }
                None => note!("there is nothing to undo"),
            },
            Does::Edit => return self.edit(rest),
            Does::System => self.system(rest)?,
            Does::Set => self.set(rest)?,
            Does::Stats => self.stats()?,
            Does::Model if rest.is_empty() => writeln!(self.out, "{}", self.partner.name())?,
            Does::Model => {
                self.partner.switch(rest)?;
                note!("{}", self.partner.name());
            }
            Does::Drop => self.forget(rest),
            Does::Summarise => return self.summarise(),
            Does::Clear => {
                self.partner.messages().clear();
                self.anew();
                note!("started a new conversation");
            }
            Does::Save if rest.is_empty() => note!("expected a name, such as /save trip"),
            Does::Save => self.save(session::path(rest)?)?,
            Does::Load if rest.is_empty() => writeln!(self.out, "{}", session::overview())?,
            Does::Load => {
                let path = session::path(rest)?;
                let conversation = session::load(&path)?;
                self.resume(path, conversation)?;
            }
        }
        Ok(Next::Message)
    }

    /// Saves a copy. Only a conversation is replaced, and another one only if the user says so.
    fn save(&mut self, path: PathBuf) -> anyhow::Result<()> {
        let shown = path.display();
        match session::occupant(&path)? {
            Occupant::Nothing => {}
            Occupant::Conversation if self.own.as_ref() == Some(&path) => {}
            Occupant::Conversation if !self.input.is_terminal() => {
                bail!("{shown} has another conversation; choose another name");
            }
            Occupant::Conversation => {
                if !self.input.agrees(&format!("{shown} has another conversation; replace it? [y/N] "))? {
                    note!("nothing was saved");
                    return Ok(());
                }
            }
            Occupant::Other => bail!("{shown} exists and is no conversation; choose another name"),
        }
        session::save(&path, &self.partner.with(), self.partner.messages().all())?;
        note!("saved to {shown}");
        // The conversation continues in its own file, which is then the newest.
        self.keep();
        self.own = Some(path);
        Ok(())
    }

    /// Begins a conversation in a file of its own.
    fn anew(&mut self) {
        self.own = None;
        (self.room, self.warned, self.last) = (None, false, None);
        if self.file.is_some() {
            self.file = session::unnamed();
        }
    }

    /// Replaces the last reply with another one.
    fn retry(&mut self) -> anyhow::Result<Next> {
        let Some(text) = self.partner.messages().last_question() else {
            note!("there is no reply yet");
            return Ok(Next::Message);
        };
        self.partner.vary();
        self.ask_instead(&text)
    }

    /// Changes the last message and sends it again.
    fn edit(&mut self, text: &str) -> anyhow::Result<Next> {
        let Some(last) = self.partner.messages().last_question() else {
            note!("there is no message to change");
            return Ok(Next::Message);
        };
        if !text.is_empty() {
            return self.ask_instead(text);
        }
        if !self.input.is_terminal() {
            note!("without a terminal, /edit needs the new message: /edit TEXT");
            return Ok(Next::Message);
        }
        match self.input.edit(&last)? {
            Some(text) => self.ask_instead(&text),
            None => {
                note!("your last message stays as it was");
                Ok(Next::Message)
            }
        }
    }

    /// Replaces the last message and its reply. If there is no reply, they stay.
    fn ask_instead(&mut self, text: &str) -> anyhow::Result<Next> {
        let before = self.partner.messages().all().to_vec();
        self.partner.messages().undo();
        let exchange = self.exchange(text);
        if !matches!(exchange, Ok((_, true))) {
            self.partner.messages().replace(before);
            self.keep();
        }
        exchange.map(|(next, _)| next)
    }

    fn system(&mut self, text: &str) -> anyhow::Result<()> {
        match text {
            "" => {
                let system = self.partner.messages().system().filter(|text| !text.is_empty());
                writeln!(self.out, "{}", system.unwrap_or("there is no system message"))?;
            }
            "\"\"" | "''" => {
                self.partner.messages().set_system(None);
                note!("removed the system message");
            }
            text => self.partner.messages().set_system(Some(text)),
        }
        Ok(())
    }

    fn set(&mut self, rest: &str) -> anyhow::Result<()> {
        match rest.split_once([' ', '=']).map(|(name, value)| (name.trim(), value.trim())) {
            None if rest.is_empty() => writeln!(self.out, "{}", settings::show(self.partner))?,
            None => match self.partner.setting(rest) {
                Some(value) => writeln!(self.out, "{value}")?,
                None => note!("expected a setting and its value, such as /set temperature 0.2"),
            },
            Some((name, value)) => {
                if let Err(problem) = settings::set(self.partner, name, value) {
                    note!("{problem}");
                }
            }
        }
        Ok(())
    }

    fn stats(&mut self) -> anyhow::Result<()> {
        writeln!(self.out, "{}", self.last.as_deref().unwrap_or("there is no reply yet"))?;
        if let Some((used, context)) = self.room {
            let percent = 100 * used / context.max(1);
            writeln!(self.out, "the conversation has {used} of {context} tokens ({percent} %)")?;
        }
        Ok(())
    }

    fn forget(&mut self, text: &str) {
        let Ok(wanted) = (if text.is_empty() { "1" } else { text }).parse::<usize>() else {
            return note!("expected a number of messages, such as /drop 3");
        };
        let dropped = (0..wanted).take_while(|_| self.partner.messages().drop_oldest()).count();
        self.warned = false;
        match dropped {
            0 => note!("there is nothing to forget but the last message; /clear starts a new conversation"),
            1 => note!("forgot the oldest message and its reply"),
            n => note!("forgot the {n} oldest messages and their replies"),
        }
    }

    /// Replaces the conversation with a summary that the model writes.
    fn summarise(&mut self) -> anyhow::Result<Next> {
        if self.partner.messages().is_empty() {
            note!("there is nothing to summarise");
            return Ok(Next::Message);
        }
        self.partner.messages().ask(SUMMARISE);
        let reply = self.partner.reply(&mut self.out);
        self.partner.messages().undo();
        let reply = reply?;
        let text = reply.message.as_ref().and_then(|message| message.content.as_str()).unwrap_or_default();
        if reply.ended == Ended::Done && !text.trim().is_empty() {
            self.partner.messages().clear();
            self.partner.messages().ask("What have we talked about so far?");
            self.partner.messages().answer(Some(weft_text::Message::new("assistant", text.trim())));
            // The whole conversation stays in its file.
            self.anew();
            self.keep();
            note!("the conversation goes on from this summary");
        }
        Ok(Next::Message)
    }
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_string(),
    }
}
