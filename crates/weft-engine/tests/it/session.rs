//! Conversations: what is computed again, when a reply ends, and what is left after an error.

use std::sync::atomic::AtomicBool;

use weft_engine::{
    Engine, EngineOptions, Error, Event, Finish, GenerateOptions, Generated, Sampling, Session,
};

use crate::support::Fixture;

static GO: AtomicBool = AtomicBool::new(false);

fn engine(context: usize) -> (Engine, Vec<u32>) {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let options = EngineOptions { context: Some(context), batch: 7, ..EngineOptions::default() };
    (fixture.engine(options), fixture.tokens)
}

fn options(max_tokens: usize, stop: &[&str]) -> GenerateOptions {
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    let stop = stop.iter().map(ToString::to_string).collect();
    GenerateOptions { max_tokens: Some(max_tokens), sampling, stop }
}

/// A reply, with the text that was shown on the way.
fn reply(
    session: &mut Session,
    engine: &mut Engine,
    prompt: &[u32],
    options: &GenerateOptions,
) -> Result<Generated, Error> {
    let mut shown = String::new();
    let mut on = |event: Event<'_>| {
        if let Event::Text(text) = event {
            shown += text;
        }
    };
    let generated = session.generate(engine, prompt, options, &GO, &mut on)?;
    assert_eq!(shown, generated.text);
    Ok(generated)
}

#[test]
fn what_the_cache_has_is_not_computed_again_and_changes_nothing() {
    let (mut engine, prompt) = engine(128);
    let mut session = Session::new(&mut engine);
    let first = reply(&mut session, &mut engine, &prompt, &options(10, &[])).unwrap();
    assert_eq!((first.prompt_tokens, first.reused_tokens, first.tokens), (32, 0, 10));
    assert_eq!(first.finish, Finish::Length);
    let again = reply(&mut session, &mut engine, &prompt, &options(10, &[])).unwrap();
    assert_eq!((again.reused_tokens, &again.text), (31, &first.text));
    // Another end of the prompt: the common beginning stays.
    let other: Vec<u32> = prompt[..20].iter().chain(&[5, 6, 7]).copied().collect();
    let branched = reply(&mut session, &mut engine, &other, &options(10, &[])).unwrap();
    assert_eq!(branched.reused_tokens, 20);
    session.end(&mut engine);
    let mut fresh = Session::new(&mut engine);
    let expected = reply(&mut fresh, &mut engine, &other, &options(10, &[])).unwrap();
    assert_eq!((expected.reused_tokens, expected.text), (0, branched.text));
}

#[test]
fn a_stop_text_ends_the_reply_and_is_not_shown() {
    let (mut engine, prompt) = engine(128);
    let mut session = Session::new(&mut engine);
    let whole = reply(&mut session, &mut engine, &prompt, &options(20, &[])).unwrap().text;
    let (at, _) = whole.char_indices().nth(whole.chars().count() / 2).unwrap();
    let end = whole[at..].char_indices().nth(3).map_or(whole.len(), |(i, _)| at + i);
    let stop = &whole[at..end];
    let cut = reply(&mut session, &mut engine, &prompt, &options(20, &["never said", stop])).unwrap();
    assert_eq!(cut.text, whole[..whole.find(stop).unwrap()]);
    assert_eq!(cut.finish, Finish::Stop(stop.into()));
}

#[test]
fn replies_end_with_the_context_and_at_a_word() {
    let (mut engine, prompt) = engine(40);
    let mut session = Session::new(&mut engine);
    let full = reply(&mut session, &mut engine, &prompt, &options(1000, &[])).unwrap();
    // The last place is taken by a token whose successor is still chosen.
    assert_eq!((full.finish, full.tokens), (Finish::Context, 40 - 32 + 1));
    let stopped = AtomicBool::new(true);
    let cancelled = session.generate(&mut engine, &prompt, &options(5, &[]), &stopped, &mut |_| {}).unwrap();
    assert_eq!((cancelled.finish, cancelled.tokens), (Finish::Cancelled, 0));
}

#[test]
fn after_an_error_the_conversation_goes_on() {
    let (mut engine, prompt) = engine(40);
    let mut session = Session::new(&mut engine);
    let expected = reply(&mut session, &mut engine, &prompt, &options(4, &[])).unwrap().text;
    let long: Vec<u32> = prompt.iter().chain(&prompt).copied().collect();
    let too_long = reply(&mut session, &mut engine, &long, &options(4, &[]));
    assert!(matches!(too_long, Err(Error::Context { more: 64, context: 40, .. })));
    let unknown = reply(&mut session, &mut engine, &[1, 2, 999_999, 3], &options(4, &[]));
    assert!(matches!(unknown, Err(Error::Batch(_))));
    assert!(matches!(reply(&mut session, &mut engine, &[], &options(4, &[])), Err(Error::Batch(_))));
    assert_eq!(reply(&mut session, &mut engine, &prompt, &options(4, &[])).unwrap().text, expected);
}
