//! Options of a request: what ends a reply, what it shows, biases and penalties, and what processors are told.

use std::sync::{Arc, Mutex};

use weft_engine::{
    Engine, EngineOptions, Error, Event, Finish, GenerateOptions, LogitProcessor, Reply, Request, Sampling,
};

use crate::support::{Fixture, THREADS};

fn engine() -> (Engine, Vec<u32>) {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let options = EngineOptions::default().threads(THREADS).context(64).batch(16);
    (options.open(&fixture.path).unwrap(), fixture.tokens)
}

fn greedy(prompt: &[u32], tokens: usize) -> Request {
    Request::new(prompt).ignore_end(true).max_tokens(tokens).sampling(Sampling::greedy())
}

/// Makes the reply these tokens, and notes what it is told.
struct Script(Vec<u32>, Arc<Mutex<Vec<u32>>>);

impl LogitProcessor for Script {
    fn process(&mut self, tokens: &[u32], reply: usize, logits: &mut [f32]) -> Result<(), String> {
        assert_eq!(tokens[reply..], *self.1.lock().unwrap());
        let token = self.0.get(tokens.len() - reply).ok_or("the script has ended")?;
        logits[*token as usize] = f32::INFINITY;
        Ok(())
    }

    fn chosen(&mut self, token: u32) {
        self.1.lock().unwrap().push(token);
    }
}

/// The reply to a request that follows a script, and the tokens that the script was told of.
fn scripted(engine: &mut Engine, request: Request, script: &[u32]) -> (Reply, Vec<u32>) {
    let told = Arc::default();
    // Boxed, as a grammar chosen at run time is.
    let script: Box<dyn LogitProcessor> = Box::new(Script(script.to_vec(), Arc::clone(&told)));
    let reply = engine.complete(request.processor(script)).unwrap();
    let told = told.lock().unwrap().clone();
    (reply, told)
}

/// The ids of a reply.
fn ids(reply: &Reply) -> Vec<u32> {
    reply.tokens.iter().map(|token| token.id).collect()
}

/// A word, a control token that does not end the turn, and one that does.
fn tokens(engine: &Engine) -> [u32; 3] {
    let tokenizer = engine.model().tokenizer();
    let ends = |id: &u32| tokenizer.is_end_of_generation(*id);
    let mut all = 0..tokenizer.vocab_len() as u32;
    let word = tokenizer.encode("a", Default::default())[0];
    let control = all.find(|id| tokenizer.is_control(*id) && !ends(id)).unwrap();
    [word, control, tokenizer.end_of_generation()[0]]
}

#[test]
fn processors_are_told_every_token_but_the_last() {
    let (mut engine, prompt) = engine();
    let [word, control, end] = tokens(&engine);
    let (reply, told) = scripted(&mut engine, greedy(&prompt, 3), &[word, control, end]);
    assert_eq!((reply.finish, told.as_slice()), (Finish::Length, &[word, control][..]));
    let (reply, told) = scripted(&mut engine, greedy(&prompt, 9).ignore_end(false), &[word, end]);
    assert_eq!((reply.finish, reply.usage.tokens, told), (Finish::EndOfTurn, 2, vec![word]));
}

#[test]
fn a_stop_token_ends_the_reply_and_is_not_text() {
    let (mut engine, prompt) = engine();
    let [word, control, end] = tokens(&engine);
    for stop in [word, control, end] {
        let request = greedy(&prompt, 9).stop_token(7).stop_token(stop).shown(stop);
        let other = if stop == word { 65 } else { word };
        let (reply, _) = scripted(&mut engine, request, &[other, other, stop]);
        assert_eq!(reply.finish, Finish::StopToken(stop));
        assert_eq!(ids(&reply), [other, other, stop]);
        let text = engine.model().tokenizer().decode(&[other, other], false);
        assert_eq!(reply.text, text);
    }
}

#[test]
fn only_chosen_control_tokens_are_shown() {
    let (mut engine, prompt) = engine();
    let [word, control, end] = tokens(&engine);
    let script = [word, control, end, word];
    let text = |engine: &Engine, ids: &[u32]| engine.model().tokenizer().decode(ids, false);
    let (hidden, _) = scripted(&mut engine, greedy(&prompt, 4), &script);
    assert_eq!(hidden.text, text(&engine, &[word, word]));
    let (shown, _) = scripted(&mut engine, greedy(&prompt, 4).shown(control), &script);
    assert_eq!(shown.text, text(&engine, &[word, control, word]));
    // A stop string can be in the text of a control token.
    let stop = text(&engine, &[control]);
    let request = greedy(&prompt, 4).shown(control).stop(stop.clone());
    let (stopped, _) = scripted(&mut engine, request, &script);
    assert_eq!((stopped.finish, stopped.text), (Finish::Stop(stop), text(&engine, &[word])));
}

#[test]
fn a_reply_has_its_fewest_tokens() {
    let (mut engine, prompt) = engine();
    let [word, _, end] = tokens(&engine);
    let stop = engine.model().tokenizer().decode(&[word], false);
    let script = [word; 5];
    let request = || greedy(&prompt, 5).stop(stop.clone());
    let (early, _) = scripted(&mut engine, request(), &script);
    assert_eq!((early.finish, early.usage.tokens, early.text.as_str()), (Finish::Stop(stop.clone()), 1, ""));
    let (late, _) = scripted(&mut engine, request().min_tokens(3), &script);
    assert_eq!((late.finish, late.usage.tokens, late.text), (Finish::Stop(stop.clone()), 3, stop.repeat(2)));
    // The end of the turn is forbidden, even if a processor insists on it.
    let request = greedy(&prompt, 5).ignore_end(false).min_tokens(2);
    let told: Arc<Mutex<Vec<u32>>> = Arc::default();
    struct Ends(u32, Arc<Mutex<Vec<u32>>>);
    impl LogitProcessor for Ends {
        fn process(&mut self, _: &[u32], _: usize, logits: &mut [f32]) -> Result<(), String> {
            logits[self.0 as usize] = f32::INFINITY;
            Ok(())
        }
        fn chosen(&mut self, token: u32) {
            self.1.lock().unwrap().push(token);
        }
    }
    let reply = engine.complete(request.processor(Ends(end, Arc::clone(&told)))).unwrap();
    let told = told.lock().unwrap();
    assert_eq!((&reply.finish, ids(&reply)), (&Finish::EndOfTurn, vec![told[0], told[1], end]));
}

#[test]
fn biases_choose_tokens_and_leave_log_probabilities_alone() {
    let (mut engine, prompt) = engine();
    let free = engine.complete(greedy(&prompt, 1).logprobs(3)).unwrap();
    let third = free.tokens[0].likeliest[2];
    let request = greedy(&prompt, 1).logprobs(3).logit_bias(third.0, 100.0);
    let biased = engine.complete(request).unwrap();
    assert_eq!((biased.tokens[0].id, biased.tokens[0].logprob), (third.0, Some(third.1)));
    assert_eq!(biased.tokens[0].likeliest, free.tokens[0].likeliest);
    let first = free.tokens[0].id;
    let banned = engine.complete(greedy(&prompt, 1).logit_bias(first, -100.0)).unwrap();
    assert_eq!(ids(&banned), [free.tokens[0].likeliest[1].0]);
}

#[test]
fn penalties_can_ignore_the_prompt() {
    let (mut engine, prompt) = engine();
    let free = ids(&engine.complete(greedy(&prompt, 1)).unwrap());
    // The token that the model would choose is in the prompt.
    let prompt = [free.as_slice(), &prompt].concat();
    let mut sampling = Sampling::greedy();
    (sampling.presence_penalty, sampling.repeat_last_n) = (1000.0, usize::MAX);
    let first = ids(&engine.complete(greedy(&prompt, 1)).unwrap())[0];
    let with_first = [&[first], prompt.as_slice()].concat();
    let expected = ids(&engine.complete(greedy(&with_first, 1)).unwrap())[0];
    let with_both = [&[expected], with_first.as_slice()].concat();
    let reply = |engine: &mut Engine, sampling| {
        ids(&engine.complete(greedy(&with_both, 8).sampling(sampling)).unwrap())
    };
    let unpenalised = reply(&mut engine, Sampling::greedy());
    let penalised = reply(&mut engine, sampling);
    assert!(penalised.iter().all(|id| !with_both.contains(id)), "{penalised:?}");
    sampling.penalize_prompt = false;
    let of_reply = reply(&mut engine, sampling);
    assert_eq!(of_reply[0], unpenalised[0], "nothing is in the reply yet");
    let mut distinct = of_reply.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), of_reply.len(), "no token comes twice: {of_reply:?}");
}

#[test]
fn tokens_of_a_prompt_are_scored_as_if_they_were_chosen() {
    let (mut engine, prompt) = engine();
    let scored = engine.complete(greedy(&prompt, 1).prompt_logprobs(3)).unwrap();
    let plain = engine.complete(greedy(&prompt, 1)).unwrap();
    assert_eq!((plain.usage.cached_tokens, plain.prompt.len()), (31, 0), "others find a scored prompt");
    assert_eq!(scored.prompt.iter().map(|token| token.id).collect::<Vec<_>>(), prompt);
    assert_eq!((scored.prompt[0].logprob, scored.prompt[0].likeliest.len()), (None, 0));
    for (at, token) in scored.prompt.iter().enumerate().skip(1) {
        // A bias makes the reply that token.
        let forced = greedy(&prompt[..at], 1).logprobs(3).logit_bias(token.id, 1e4);
        assert_eq!(engine.complete(forced).unwrap().tokens[0], *token);
    }
    // Without a reply, and with no likeliest tokens.
    let alone = engine.complete(greedy(&prompt, 0).prompt_logprobs(0)).unwrap();
    let logprobs = |reply: &Reply| reply.prompt.iter().map(|token| token.logprob).collect::<Vec<_>>();
    assert_eq!((logprobs(&alone), alone.finish.clone()), (logprobs(&scored), Finish::Length));
    assert!(alone.prompt.iter().all(|token| token.likeliest.is_empty()));
    assert_eq!((alone.usage.cached_tokens, alone.usage.tokens), (0, 0));
    let one = engine.complete(greedy(&prompt[..1], 1).prompt_logprobs(3)).unwrap();
    assert_eq!((one.prompt.len(), one.tokens.len()), (1, 1));
}

/// Scores do not depend on chunks, preemptions, other requests or the prefix cache.
#[test]
fn scores_do_not_depend_on_the_batch() {
    let fixture = Fixture::load("glm-tiny-q4_k_m");
    let open = |sequences, batch| {
        let options =
            EngineOptions::default().threads(THREADS).context(128).sequences(sequences).batch(batch);
        options.open(&fixture.path).unwrap()
    };
    let prompt: Vec<u32> =
        fixture.tokens.iter().chain(&fixture.tokens[3..]).chain(&[5, 6]).copied().collect();
    // The first soon needs a third page, which it takes from the second while that is scored.
    let request = |i: usize| greedy(&prompt[i % 2..63 - 3 * i], 20).prompt_logprobs(2).logprobs(2);
    let mut single = open(1, 512);
    let alone: Vec<Reply> = (0..6).map(|i| single.complete(request(i).cache(false)).unwrap()).collect();
    for (sequences, batch) in [(1, 7), (1, 64), (6, 40)] {
        let mut engine = open(sequences, batch);
        for warm in [false, true] {
            let mut all: Vec<_> = (0..6).map(|i| engine.push(request(i)).unwrap()).collect();
            while engine.step().unwrap() {}
            for (one, alone) in all.iter_mut().zip(&alone) {
                let (mut prompt, mut tokens) = (Vec::new(), Vec::new());
                while let Some(event) = one.poll() {
                    match event {
                        Event::PromptToken(token) => prompt.push(token),
                        Event::Token(token) => tokens.push(token),
                        _ => {}
                    }
                }
                assert!(prompt == alone.prompt, "{sequences} sequences, batches of {batch}, warm {warm}");
                assert!(tokens == alone.tokens, "{sequences} sequences, batches of {batch}, warm {warm}");
                assert_eq!(one.usage().cached_tokens, 0);
            }
        }
        assert_eq!(engine.stats().preempted > 0, sequences == 1);
    }
}

#[test]
fn options_are_checked() {
    let (mut engine, prompt) = engine();
    let vocab = engine.model().graph().config.vocab;
    let unknown = vocab as u32;
    let not_in = |name: &str| format!("{name}: token {unknown} is not in the vocabulary of {vocab} tokens");
    for (request, expected) in [
        (greedy(&prompt, 4).stop_token(unknown), not_in("stop_tokens")),
        (greedy(&prompt, 4).shown(unknown), not_in("shown")),
        (greedy(&prompt, 4).logit_bias(unknown, 0.0), not_in("logit_bias")),
        (
            greedy(&prompt, 4).logit_bias(0, f32::INFINITY),
            "logit_bias is inf: expected a finite number".into(),
        ),
        (greedy(&prompt, 4).min_tokens(5), "min_tokens is 5: expected at most max_tokens, 4".into()),
    ] {
        let Err(Error::Batch(why)) = engine.push(request) else { panic!("expected: {expected}") };
        assert_eq!(why, expected);
    }
    assert!(engine.push(greedy(&prompt, 4).min_tokens(4)).is_ok());
}

#[test]
fn setters_set_their_options() {
    let mut expected = GenerateOptions::default();
    expected.max_tokens = Some(9);
    expected.min_tokens = 2;
    expected.sampling = Sampling::greedy();
    expected.stop = vec!["x".into(), "y".into()];
    expected.stop_tokens = vec![3, 4];
    expected.logit_bias = vec![(1, 0.5), (2, -0.5)];
    expected.shown = vec![5];
    expected.logprobs = Some(3);
    expected.prompt_logprobs = Some(4);
    (expected.ignore_end, expected.cache, expected.salt) = (true, false, "s".into());
    let built = Request::new([1])
        .max_tokens(9)
        .min_tokens(2)
        .sampling(Sampling::greedy())
        .stop("x")
        .stop("y")
        .stop_token(3)
        .stop_token(4)
        .logit_bias(1, 0.5)
        .logit_bias(2, -0.5)
        .shown(5)
        .logprobs(3)
        .prompt_logprobs(4)
        .ignore_end(true)
        .cache(false)
        .salt("s");
    assert_eq!(format!("{built:?}"), format!("{:?}", Request::new([1]).options(expected)));
}
