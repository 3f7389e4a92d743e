//! Several prompts answered together.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use anyhow::Context as _;
use weft_engine::{Event, Finish, Generation};

use super::{Conversation, Generated, Reading};
use crate::chat::show::Show;
use crate::terminal::interrupt::Listener;
use crate::terminal::progress::{Progress, Unit};

/// A prompt being answered.
struct Running {
    at: usize,
    generation: Generation,
    reading: Reading,
}

impl Conversation {
    /// Answers prompts that know nothing of each other, up to `together` at once. `each` gets the replies in the order of
    /// the prompts. Returns whether all were answered; Ctrl-C leaves out the rest.
    ///
    /// # Errors
    /// If a prompt does not fit, a step fails, or `each` fails.
    pub(crate) fn answer_all(
        &mut self,
        prompts: &[String],
        together: usize,
        mut each: impl FnMut(usize, Generated) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        let listener = Listener::new();
        let mut progress = Progress::new("answering", prompts.len() as u64, Unit::Samples);
        let mut waiting: VecDeque<usize> = (0..prompts.len()).collect();
        let mut running: Vec<Running> = Vec::new();
        let mut done: Vec<Option<Generated>> = prompts.iter().map(|_| None).collect();
        let mut told = 0;
        while told < prompts.len() {
            while running.len() < together {
                let Some(at) = waiting.pop_front() else { break };
                let request = self.request(&self.alone(&prompts[at]));
                let begun = request.and_then(|(request, reading)| Ok((self.push(request)?, reading)));
                let (generation, reading) = begun.with_context(|| format!("prompt {}", at + 1))?;
                running.push(Running { at, generation, reading });
            }
            self.engine.step()?;
            let mut ended = Vec::new();
            for (place, reply) in running.iter_mut().enumerate() {
                while let Some(event) = reply.generation.poll() {
                    match event {
                        Event::Text(more) => reply.reading.push(&more, &mut Show::Nothing)?,
                        Event::Finished(finish) => ended.push((place, finish)),
                        _ => {}
                    }
                }
            }
            for (place, finish) in ended.into_iter().rev() {
                let Running { at, generation, mut reading } = running.remove(place);
                reading.finish(&mut Show::Nothing)?;
                if let Finish::Failed(why) = &finish {
                    anyhow::bail!("prompt {}: {why}", at + 1);
                }
                let (usage, timings) = (generation.usage(), generation.timings());
                let Reading { text, reasoning, .. } = reading;
                let form = self.form.as_ref();
                let lacks = form.and_then(|form| form.lacking(&text, &finish, self.engine.model()));
                done[at] = Some(Generated { text, reasoning, finish, usage, timings, repeats: false, lacks });
            }
            while let Some(reply) = done.get_mut(told).and_then(Option::take) {
                each(told, reply)?;
                told += 1;
                progress.set(told as u64);
            }
            if listener.pressed().load(Ordering::SeqCst) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
