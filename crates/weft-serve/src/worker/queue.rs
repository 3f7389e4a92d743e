//! The waiting requests of a model, in an order that is fair between tenants.

use std::collections::{BTreeMap, VecDeque};

use super::job::Job;
use crate::tenant::Tenant;

/// Replies are expected to have this many tokens until some have ended.
const USUAL: u64 = 128;

/// Waiting jobs. The next is the oldest job of the tenant that was served least: every tenant pays for the tokens that were
/// computed for it, and one that was away has no credit when it comes back (start-time fair queueing). How long replies
/// will be is not known when a job begins, so it pays what is usual, and the rest when it ends.
pub(crate) struct Queue {
    tenants: BTreeMap<Tenant, Lane>,
    /// The tokens that the tenant of the last job had paid when it was served.
    clock: u64,
    /// The reply tokens of a job, averaged over those that ended.
    usual: u64,
    tokens: usize,
    len: usize,
}

#[derive(Default)]
struct Lane {
    jobs: VecDeque<Job>,
    paid: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { tenants: BTreeMap::new(), clock: 0, usual: USUAL, tokens: 0, len: 0 }
    }
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
        let mut job = lane.jobs.pop_front()?;
        self.clock = lane.paid;
        job.paid = job.prompt_tokens as u64 + self.usual.min(job.reply_tokens as u64);
        lane.paid = lane.paid.saturating_add(job.paid);
        self.len -= 1;
        self.tokens -= job.prompt_tokens;
        // Lanes that are empty and behind the clock are dropped, because a new lane would be the same.
        let clock = self.clock;
        self.tenants.retain(|_, lane| !lane.jobs.is_empty() || lane.paid > clock);
        Some(job)
    }

    /// Charges a job that has ended for the tokens that were computed for it, of prompts and replies, instead of what it paid.
    pub(crate) fn settle(&mut self, job: &Job, prompts: u64, replies: u64) {
        self.usual = (7 * self.usual + replies).div_ceil(8);
        let used = prompts.saturating_add(replies);
        let clock = self.clock;
        match self.tenants.get_mut(&job.tenant) {
            Some(lane) => lane.paid = lane.paid.saturating_add(used).saturating_sub(job.paid),
            None if used > job.paid => {
                let lane = Lane { paid: clock.saturating_add(used - job.paid), ..Lane::default() };
                self.tenants.insert(job.tenant.clone(), lane);
            }
            None => {}
        }
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
    use std::sync::Arc;
    use std::time::Instant;

    use tokio::sync::mpsc;

    use super::*;
    use crate::tenant::Keys;
    use crate::worker::Listed;

    fn job(tenant: &Tenant, tokens: usize) -> Job {
        let now = Instant::now();
        Job {
            tenant: tenant.clone(),
            requests: Vec::new(),
            prompt_tokens: tokens,
            reply_tokens: 0,
            paid: 0,
            since: now,
            deadline: now,
            listed: Arc::new(Listed::new(String::new(), now, tokens)),
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
    fn jobs_pay_for_what_was_computed() {
        let [a, b] = tenants();
        // Both ask for replies of any length; those of one are short.
        let mut served = [0, 0];
        let mut queue = Queue::default();
        let endless = |tenant: &Tenant| Job { reply_tokens: 100_000, ..job(tenant, 10) };
        for _ in 0..8 {
            queue.push(endless(&a));
            queue.push(endless(&b));
        }
        for _ in 0..300 {
            let job = queue.pop().unwrap();
            let short = job.tenant == a;
            served[usize::from(!short)] += 1;
            // All of the prompt of a came from the cache.
            let (prompts, replies) = if short { (0, 10) } else { (10, 190) };
            queue.settle(&job, prompts, replies);
            queue.push(endless(&job.tenant));
        }
        // 10 tokens for one and 200 for the other.
        assert!((270..295).contains(&served[0]), "{served:?}");
        // One that ended without having been served pays nothing, also if all its jobs are gone.
        let last = queue.pop().unwrap();
        queue.remove(|_| true);
        queue.settle(&last, 0, 0);
        assert_eq!(queue.len(), 0);
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
