//! The waiting requests of a model, in an order that is fair between tenants.

use std::collections::{BTreeMap, VecDeque};

use super::job::Job;
use crate::tenant::Tenant;

/// Waiting jobs. The next is the oldest job of the tenant that was served least: every tenant pays for its jobs with their
/// tokens, and who was away does not come back with credit (start-time fair queueing).
#[derive(Default)]
pub(crate) struct Queue {
    tenants: BTreeMap<Tenant, Lane>,
    /// The tokens that the tenant of the last job had paid when it was served.
    clock: u64,
    tokens: usize,
    len: usize,
}

#[derive(Default)]
struct Lane {
    jobs: VecDeque<Job>,
    paid: u64,
}

impl Queue {
    /// The number of waiting jobs.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of prompt tokens of all waiting jobs.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Adds a job.
    pub(crate) fn push(&mut self, job: Job) {
        let lane = self.tenants.entry(job.tenant.clone()).or_default();
        if lane.jobs.is_empty() {
            lane.paid = lane.paid.max(self.clock);
        }
        self.len += 1;
        self.tokens += job.prompt_tokens;
        lane.jobs.push_back(job);
    }

    /// Takes the next job.
    pub(crate) fn pop(&mut self) -> Option<Job> {
        let (_, lane) = self
            .tenants
            .iter_mut()
            .filter(|(_, lane)| !lane.jobs.is_empty())
            .min_by_key(|(_, lane)| lane.paid)?;
        let job = lane.jobs.pop_front()?;
        self.clock = lane.paid;
        // A reply token costs about as much as several prompt tokens, and few replies use all they may.
        lane.paid = lane.paid.saturating_add((job.prompt_tokens + job.reply_tokens) as u64);
        self.len -= 1;
        self.tokens -= job.prompt_tokens;
        // Lanes that are empty and behind the clock hold nothing that is not known.
        let clock = self.clock;
        self.tenants.retain(|_, lane| !lane.jobs.is_empty() || lane.paid > clock);
        Some(job)
    }

    /// Removes the jobs that `gone` picks.
    pub(crate) fn remove(&mut self, mut gone: impl FnMut(&Job) -> bool) -> Vec<Job> {
        let mut removed = Vec::new();
        for lane in self.tenants.values_mut() {
            let (out, kept) = lane.jobs.drain(..).partition::<VecDeque<Job>, _>(&mut gone);
            lane.jobs = kept;
            removed.extend(out);
        }
        self.len -= removed.len();
        self.tokens -= removed.iter().map(|job| job.prompt_tokens).sum::<usize>();
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::sync::mpsc;

    use super::*;
    use crate::tenant::Keys;

    fn job(tenant: &Tenant, tokens: usize) -> Job {
        let now = Instant::now();
        Job {
            tenant: tenant.clone(),
            requests: Vec::new(),
            prompt_tokens: tokens,
            reply_tokens: 0,
            since: now,
            deadline: now,
            signals: mpsc::unbounded_channel().0,
        }
    }

    fn tenants() -> [Tenant; 2] {
        let keys = Keys::new(&["a".into(), "b".into()]);
        ["a", "b"].map(|key| keys.tenant(key).unwrap())
    }

    /// The tokens of the jobs in the order in which they are served.
    fn order(queue: &mut Queue) -> Vec<usize> {
        std::iter::from_fn(|| queue.pop()).map(|job| job.prompt_tokens).collect()
    }

    #[test]
    fn a_tenant_with_many_jobs_does_not_delay_another() {
        let [a, b] = tenants();
        let mut queue = Queue::default();
        (0..4).for_each(|i| queue.push(job(&a, 100 + i)));
        (0..2).for_each(|i| queue.push(job(&b, 10 + i)));
        assert_eq!((queue.len(), queue.tokens()), (6, 427));
        let order = order(&mut queue);
        // b's second job comes before a's second.
        let place = |tokens: usize| order.iter().position(|found| *found == tokens).unwrap();
        assert!(place(11) < place(101), "{order:?}");
        assert!(place(100) < place(101) && place(101) < place(102) && place(102) < place(103), "{order:?}");
        assert_eq!((queue.len(), queue.tokens()), (0, 0));
    }

    #[test]
    fn who_was_away_has_no_credit() {
        let [a, b] = tenants();
        let mut queue = Queue::default();
        (0..50).for_each(|_| queue.push(job(&a, 100)));
        (0..49).for_each(|_| drop(queue.pop()));
        // b comes late with many jobs: they take turns with a's.
        (0..6).for_each(|_| queue.push(job(&b, 90)));
        queue.push(job(&a, 100));
        let order = order(&mut queue);
        assert!(order[..3].contains(&100), "{order:?}");
    }

    #[test]
    fn removed_jobs_are_not_counted() {
        let [a, b] = tenants();
        let mut queue = Queue::default();
        queue.push(job(&a, 1));
        queue.push(job(&b, 2));
        queue.push(job(&a, 3));
        let gone = queue.remove(|job| job.prompt_tokens == 1);
        assert_eq!(gone.len(), 1);
        assert_eq!((queue.len(), queue.tokens()), (2, 5));
        let mut left = order(&mut queue);
        left.sort_unstable();
        assert_eq!(left, [2, 3]);
    }
}
