//! Replies of a model to messages, streamed as they are generated.

mod batch;
mod reading;
mod repeats;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::bail;
use serde_json::Value;
use weft_engine::{Engine, Error, Event, Finish, GenerateOptions, Generation, Request, Timings, Usage};
use weft_grammar::ReasoningBudget;
use weft_hub::Settings;
use weft_text::reply::ReplyFormat;
use weft_text::{ChatTemplate, Message, RenderOptions};

use self::reading::Reading;
use crate::chat::messages::Messages;
use crate::chat::reply_form::Form;
use crate::chat::show::Show;
use crate::chat::template;
use crate::cli::args::Args;
use crate::terminal::interrupt::Listener;
use crate::terminal::mode::Quiet;
use crate::terminal::progress::{Progress, Spinner, Unit};
use crate::terminal::streams::note;

/// Prompts of more tokens than this may take long, so they show progress from the start.
const LONG: usize = 128;

/// A reply with its statistics.
pub(crate) struct Generated {
    /// The reply; of models that reason first, what comes after that.
    pub(crate) text: String,
    /// The reasoning.
    pub(crate) reasoning: String,
    /// Why it ended.
    pub(crate) finish: Finish,
    /// The number of tokens.
    pub(crate) usage: Usage,
    /// The time it took.
    pub(crate) timings: Timings,
    /// Whether it was ended because it only repeated itself.
    pub(crate) repeats: bool,
    /// The option whose form it lacks, because it ended early.
    pub(crate) lacks: Option<&'static str>,
}

/// A model that replies to messages.
pub(crate) struct Conversation {
    engine: Engine,
    template: Arc<ChatTemplate>,
    /// The form of replies to this template.
    format: ReplyFormat,
    /// The system message of prompts that stand alone, if there is one.
    system: Option<Message>,
    think: Option<bool>,
    /// The most tokens of reasoning.
    budget: Option<usize>,
    form: Option<Form>,
    /// Whether replies that only repeat themselves are ended.
    guard: bool,
    generate: GenerateOptions,
}

impl Conversation {
    /// Prepares a model for conversations, with the chat template that the arguments name, or else the model's own. `own` are the
    /// model's own settings.
    ///
    /// # Errors
    /// If there is no chat template, or it is invalid.
    pub(crate) fn new(
        engine: Engine,
        args: Args<'_>,
        own: Option<&Settings>,
        generate: GenerateOptions,
    ) -> anyhow::Result<Conversation> {
        let template = template::choose(args, engine.model())?;
        let think = args.switch("think", "no-think");
        if think.is_some() && template.features().thinking.is_none() {
            note!(
                "--think and --no-think have no effect: the model's chat template has no `enable_thinking`"
            );
        }
        let budget = args.count("reasoning-budget");
        // A budget of nothing is the wish for none.
        let think = think.or((budget == Some(0)).then_some(false));
        let system = args.system(own).map(Messages::system_message);
        let form = Form::of(args, engine.model())?;
        let format = reading::format(&template);
        Ok(Conversation { engine, template, format, system, think, budget, form, guard: false, generate })
    }

    /// The engine.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ends replies that only repeat themselves, as small models do, rather than fill the context with them.
    pub(crate) fn guard(&mut self) {
        self.guard = true;
    }

    /// How replies are generated.
    pub(crate) fn generate(&self) -> &GenerateOptions {
        &self.generate
    }

    /// How replies are generated, to change it.
    pub(crate) fn options(&mut self) -> &mut GenerateOptions {
        &mut self.generate
    }

    /// Whether the model reasons first; `None` leaves it to the chat template.
    pub(crate) fn think(&mut self) -> &mut Option<bool> {
        &mut self.think
    }

    /// Answers a prompt that stands alone, and shows the reply until it ends or Ctrl-C is pressed.
    ///
    /// # Errors
    /// If the template rejects the prompt, the context is too small, or a step fails.
    pub(crate) fn answer(&mut self, prompt: &str, show: Show<'_>) -> anyhow::Result<Generated> {
        self.reply(&self.alone(prompt), show)
    }

    /// The messages of a prompt that stands alone.
    fn alone(&self, prompt: &str) -> Vec<Message> {
        self.system.iter().cloned().chain([Message::new("user", prompt)]).collect()
    }

    /// Generates a reply to messages and shows it, until it ends or Ctrl-C is pressed.
    ///
    /// # Errors
    /// If the template rejects a message, the context is too small, or a step fails.
    pub(crate) fn reply(&mut self, messages: &[Message], show: Show<'_>) -> anyhow::Result<Generated> {
        let (request, reading) = self.request(messages)?;
        let how = How { guard: self.guard, form: self.form.as_ref() };
        stream(&mut self.engine, request, reading, how, show)
    }

    /// The request for a reply to these messages, and the parser of the reply.
    fn request(&self, messages: &[Message]) -> anyhow::Result<(Request, Reading)> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|now| i64::try_from(now.as_secs()).ok());
        let mut options = RenderOptions { now, ..RenderOptions::default() };
        let think = self.template.features().thinking.zip(self.think);
        options.extra.extend(think.map(|(name, think)| (name.to_string(), Value::Bool(think))));
        let prompt = self.template.prompt(messages, &options)?;
        let tokenizer = self.engine.model().tokenizer();
        let mut generate = self.generate.clone();
        generate.shown = self.format.shown(tokenizer);
        check_length(&self.engine, prompt.text())?;
        let mut request = Request::new(tokenizer.encode_chat(&prompt)).options(generate);
        if let Some(form) = &self.form {
            request = request.processor(form.processor(Some((&self.template, prompt.text())))?);
        }
        let limit = |most| ReasoningBudget::new(&self.format, &[], prompt.text(), tokenizer, most);
        if let Some(budget) = self.budget.and_then(limit) {
            request = request.processor(budget);
        }
        let mut reading = Reading::new(&self.format, prompt.text());
        reading.trims = self.form.as_ref().is_some_and(Form::is_json);
        Ok((request, reading))
    }

    fn push(&mut self, request: Request) -> anyhow::Result<Generation> {
        self.engine.push(request).map_err(|error| with_numbers(error, &self.engine))
    }
}

/// Continues plain text.
///
/// # Errors
/// If the context is too small, or a step fails.
pub(crate) fn complete(
    engine: &mut Engine,
    text: &str,
    options: &GenerateOptions,
    form: Option<&Form>,
    show: Show<'_>,
) -> anyhow::Result<Generated> {
    check_length(engine, text)?;
    let mut request = Request::new(engine.model().tokens(text)).options(options.clone());
    if let Some(form) = form {
        request = request.processor(form.processor(None)?);
    }
    let reading = Reading::plain(form.is_some_and(Form::is_json));
    stream(engine, request, reading, How { guard: false, form }, show)
}

/// How a reply is generated.
struct How<'a> {
    /// Whether it is ended if it only repeats itself.
    guard: bool,
    /// The form that it must have.
    form: Option<&'a Form>,
}

/// Generates a reply and shows it.
fn stream(
    engine: &mut Engine,
    request: Request,
    mut reading: Reading,
    how: How<'_>,
    mut show: Show<'_>,
) -> anyhow::Result<Generated> {
    let listener = Listener::new();
    let stop = listener.pressed();
    let quiet = Quiet::new();
    let mut progress = None;
    let mut spinner = Some(Spinner::new("reading the prompt"));
    // Whether the model writes what is not shown.
    let mut thinks = false;
    let mut text = String::new();
    let mut written = Ok(());
    let begun = Instant::now();
    let mut generation = engine.push(request).map_err(|error| with_numbers(error, engine))?;
    let (mut cut, mut repeats) = (false, false);
    let finish = loop {
        match generation.poll() {
            Some(Event::Prompt { done, total }) if done < total => {
                // The next event only comes after another step.
                let long = total - done > LONG;
                spinner = None;
                // The first event says what was cached, and may only be seen after the first step.
                let new = || Progress::new("reading the prompt", total as u64, Unit::Tokens);
                let new = || new().at_once(long).since(begun, done as u64);
                progress.get_or_insert_with(new).set(done as u64);
                if written.is_ok() {
                    written = show.prompt(done, total);
                }
            }
            // Text computed before Ctrl-C was pressed is not shown any more.
            Some(Event::Text(_)) if repeats || stop.load(Ordering::SeqCst) => cut = true,
            Some(Event::Text(more)) => {
                progress = None;
                spinner = spinner.filter(|_| thinks);
                let shown = reading.push(&more, &mut show);
                written = written.and(shown);
                text += &more;
                let hidden =
                    reading.text.is_empty() && !reading.reasoning.is_empty() && show.hides_reasoning();
                if hidden != thinks {
                    thinks = hidden;
                    spinner = thinks.then(|| Spinner::new("thinking"));
                }
                repeats = how.guard && repeats::only_repeats(&text);
            }
            Some(Event::Finished(finish)) => break if cut && !repeats { Finish::Cancelled } else { finish },
            Some(_) => {}
            None => {
                // Without a reader there is no reason to continue.
                if repeats || stop.load(Ordering::SeqCst) || written.is_err() {
                    generation.cancel();
                }
                engine.step()?;
            }
        }
    };
    drop((progress, spinner));
    if let Finish::Failed(why) = finish {
        bail!(why);
    }
    if !cut && written.is_ok() {
        written = reading.finish(&mut show);
    }
    written.and_then(|()| show.end())?;
    drop(quiet);
    let (usage, timings) = (generation.usage(), generation.timings());
    let lacks = how.form.and_then(|form| form.lacking(&reading.text, &finish, engine.model()));
    Ok(Generated { text: reading.text, reasoning: reading.reasoning, finish, usage, timings, repeats, lacks })
}

/// A prompt that does not fit in the context.
#[derive(Debug)]
pub(crate) struct TooLong {
    /// The number of tokens of the prompt.
    pub(crate) prompt: usize,
    /// The context, and the most that the model allows.
    pub(crate) context: usize,
    pub(crate) most: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLong { prompt, context, most } = *self;
        write!(f, "the prompt has {prompt} tokens and the context only {context}; ")?;
        // Room for a reply, and a round number.
        let enough = (prompt + 512).next_power_of_two().min(most);
        if enough > prompt {
            write!(f, "use --context {enough} (this model allows up to {most})")
        } else {
            write!(f, "shorten it, since this model allows no more than {most}")
        }
    }
}

impl std::error::Error for TooLong {}

/// Replaces the engine's error for a prompt that is too long.
fn with_numbers(error: Error, engine: &Engine) -> anyhow::Error {
    match error {
        Error::Context { len, more, context } => {
            let most = engine.model().graph().config.context;
            // The token that the engine adds to the prompt is the first of the reply.
            TooLong { prompt: len.max(more), context, most }.into()
        }
        error => error.into(),
    }
}

/// Says that a reply was cut off before it had the form of this option.
pub(crate) fn cut_off(finish: &Finish, option: &str) -> String {
    let (by, more) = match finish {
        Finish::Length => ("--max-tokens", "a larger one leaves room for all of it"),
        Finish::Context => ("the end of the context", "--context sets a larger one"),
        _ => ("--stop", "choose a text that does not come in it"),
    };
    format!("the reply was cut off by {by}, so it does not have the form of {option}; {more}")
}

/// Refuses a prompt that does not fit the context for certain, in less time than it takes to tokenise it.
fn check_length(engine: &Engine, text: &str) -> anyhow::Result<()> {
    let context = engine.context();
    let fewest = if text.len() > context { engine.model().tokenizer().fewest_tokens(text) } else { 0 };
    if fewest > context {
        return Err(with_numbers(Error::Context { len: 0, more: fewest, context }, engine));
    }
    Ok(())
}

/// The statistics of a reply, on one line.
pub(crate) fn timings(generated: &Generated, loaded: Duration, seed: u64) -> String {
    let Generated { usage, timings, .. } = generated;
    let Usage { prompt_tokens, cached_tokens, tokens, guessed, accepted, .. } = *usage;
    let [prompt, decode] = [timings.prompt, timings.decode].map(|time| time.as_secs_f64());
    let rate = |tokens: usize, seconds: f64| if seconds > 0.0 { tokens as f64 / seconds } else { 0.0 };
    let guesses = match guessed {
        0 => String::new(),
        _ => format!(", {accepted} of {guessed} guessed tokens right"),
    };
    format!(
        "loaded in {:.2} s; prompt: {prompt_tokens} tokens ({cached_tokens} cached) in {prompt:.2} s, {:.1} tokens/s; \
         reply: {tokens} tokens in {decode:.2} s, {:.1} tokens/s{guesses}; seed {seed}",
        loaded.as_secs_f64(),
        rate(prompt_tokens - cached_tokens, prompt),
        decode_rate(generated),
    )
}

/// The name of a reason for the end of a reply, in JSON.
pub(crate) fn finish_name(finish: &Finish) -> &'static str {
    match finish {
        Finish::EndOfTurn => "end_of_turn",
        Finish::Stop(_) => "stop",
        Finish::Length => "length",
        Finish::Context => "context",
        Finish::Cancelled => "cancelled",
        _ => "other",
    }
}

/// Tokens per second, without the first token: it comes with the prompt.
pub(crate) fn decode_rate(generated: &Generated) -> f64 {
    let tokens = generated.usage.tokens.saturating_sub(1) as f64;
    let seconds = generated.timings.decode.as_secs_f64();
    if seconds > 0.0 { tokens / seconds } else { 0.0 }
}
