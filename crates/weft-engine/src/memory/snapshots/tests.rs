//! Tests of slots and snapshots.

use weft_runtime::{KEPT, StepInputs};

use super::super::key::Key;
use super::super::{Begun, Need, WORTH_A_COPY};
use super::*;

const PAGE: usize = 4;

/// The token that begins a message.
const CONTROL: u32 = 99;

fn entries(seqs: &[(SeqId, usize)]) -> Vec<Entry> {
    let of =
        |(seq, tokens): &(SeqId, usize)| (0..*tokens as u32).map(|token| (*seq, token)).collect::<Vec<_>>();
    let all = seqs.iter().flat_map(of);
    all.map(|(seq, token)| Entry { seq, token, logits: false, guess: false }).collect()
}

fn pages(slots: usize) -> Memory {
    Memory::new(PAGE, 64, 64, 256).with_states(Some(slots), vec![CONTROL])
}

/// Computes a step, and returns what it reads and writes: `ends`, `from` and `to`.
fn step(pages: &mut Memory, seqs: &[(SeqId, usize)]) -> [Vec<i32>; 3] {
    let mut out = StepInputs::default();
    pages.place(&entries(seqs), &mut out).unwrap();
    [out.ends, out.from, out.to]
}

/// Computes a token of a sequence and guesses after it. Returns all that the step is told of the sequence's state: `ends`, `from`, `to`,
/// `certain` and `kept`.
fn guess(pages: &mut Memory, seq: SeqId, guesses: usize) -> [i32; 5] {
    let mut out = StepInputs::default();
    let all = (0..=guesses).map(|i| Entry { seq, token: i as u32, logits: true, guess: i > 0 });
    pages.place(&all.collect::<Vec<_>>(), &mut out).unwrap();
    [out.ends, out.from, out.to, out.certain, out.kept].map(|list| list[0])
}

fn available(pages: &Memory) -> usize {
    pages.states.as_ref().unwrap().pool.available()
}

fn begin(pages: &mut Memory, tokens: &[u32]) -> Begun {
    let mut keys = Keys::new(Key::root([]));
    keys.extend(tokens, PAGE);
    let found = pages.find(&keys, tokens);
    let begun = pages.begin(&keys, tokens);
    assert_eq!((found.rows.pages * PAGE, begun.copy), (begun.cached, None));
    begun
}

/// Computes `more` tokens of a sequence whose tokens are `tokens`.
fn compute(pages: &mut Memory, seq: SeqId, tokens: &[u32], more: usize) {
    step(pages, &[(seq, more)]);
    pages.record(seq, &tokens[..pages.len(seq)]);
}

/// Computes all tokens of a sequence, in as few steps as its cuts allow. Returns its lengths after each.
fn compute_all(pages: &mut Memory, seq: SeqId, tokens: &[u32]) -> Vec<usize> {
    let mut lengths = Vec::new();
    while pages.len(seq) < tokens.len() {
        let more = (tokens.len() - pages.len(seq)).min(pages.until_cut(seq));
        compute(pages, seq, tokens, more);
        lengths.push(pages.len(seq));
    }
    lengths
}

fn numbered(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

#[test]
fn each_step_reads_one_slot_and_writes_another() {
    let mut pages = pages(4);
    let (a, b) = (pages.new_sequence(), pages.new_sequence());
    assert_eq!(step(&mut pages, &[(a, 3), (b, 1)]), [vec![3, 4], vec![-1, -1], vec![0, 1]]);
    assert_eq!(step(&mut pages, &[(b, 2)]), [vec![2], vec![1], vec![2]]);
    // The slot before the last step is free again.
    assert_eq!(step(&mut pages, &[(b, 1)]), [vec![1], vec![2], vec![1]]);
    assert_eq!(step(&mut pages, &[(b, 1), (a, 1)]), [vec![1, 2], vec![1, 0], vec![2, 3]]);
    pages.free(a);
    pages.free(b);
    assert_eq!(available(&pages), 4);
}

#[test]
fn models_without_such_states_have_no_slots() {
    let mut pages = Memory::new(PAGE, 8, 32, 64);
    let tokens = numbered(10);
    let seq = begin(&mut pages, &tokens).seq;
    assert_eq!((pages.until_cut(seq), pages.has_slots()), (usize::MAX, true));
    assert_eq!(step(&mut pages, &[(seq, 10)]), [const { Vec::<i32>::new() }; 3]);
}

#[test]
fn a_sequence_goes_back_to_where_its_last_step_began() {
    let mut pages = pages(4);
    let a = pages.new_sequence();
    step(&mut pages, &[(a, 5)]);
    step(&mut pages, &[(a, 4)]);
    assert_eq!((pages.truncate(a, 9), pages.truncate(a, 20)), (9, 9));
    assert_eq!(pages.truncate(a, 5), 5);
    assert_eq!(step(&mut pages, &[(a, 3)]), [vec![3], vec![0], vec![1]]);
    // Within the step there is no state.
    assert_eq!((pages.truncate(a, 7), pages.len(a)), (5, 5));
    step(&mut pages, &[(a, 1)]);
    step(&mut pages, &[(a, 1)]);
    assert_eq!((pages.truncate(a, 5), pages.len(a), available(&pages)), (0, 0, 4));
    assert_eq!(step(&mut pages, &[(a, 2)])[1], [-1]);
    assert_eq!((pages.truncate(a, 1), available(&pages)), (0, 4));
}

#[test]
fn guesses_that_were_right_are_kept_rows_of_the_next_step() {
    let mut pages = pages(4);
    let a = pages.new_sequence();
    step(&mut pages, &[(a, 5)]);
    assert_eq!(guess(&mut pages, a, KEPT), [1 + KEPT as i32, 0, 1, 1, 0]);
    assert_eq!((pages.truncate(a, 8), pages.len(a)), (8, 8));
    assert_eq!(guess(&mut pages, a, 1), [2, 1, 0, 1, 2]);
    // All were right, none was, and a step without any.
    assert_eq!((pages.truncate(a, 10), guess(&mut pages, a, 3)), (10, [4, 0, 1, 1, 1]));
    assert_eq!((pages.truncate(a, 11), guess(&mut pages, a, 0)), (11, [1, 1, 0, 1, 0]));
    // A failed step leaves the rows that it began with.
    assert_eq!(guess(&mut pages, a, 2), [3, 0, 1, 1, 0]);
    assert_eq!(pages.truncate(a, 14), 14);
    guess(&mut pages, a, 2);
    assert_eq!((pages.truncate(a, 14), guess(&mut pages, a, 2)), (14, [3, 1, 0, 1, 1]));
    // Back to fewer rows, to none, and before the last step.
    assert_eq!([16, 15, 14, 13].map(|len| pages.truncate(a, len)), [16, 15, 14, 13]);
    assert_eq!((pages.truncate(a, 12), available(&pages)), (0, 4));
}

#[test]
fn a_step_of_more_guesses_is_certain_or_gone() {
    let mut pages = pages(4);
    let a = pages.new_sequence();
    step(&mut pages, &[(a, 5)]);
    let many = 2 + KEPT as i32;
    assert_eq!(guess(&mut pages, a, 1 + KEPT), [many, 0, 1, many, 0]);
    assert_eq!(pages.truncate(a, 7), 5);
    assert_eq!(guess(&mut pages, a, 1 + KEPT), [many, 0, 1, many, 0]);
    assert_eq!(pages.truncate(a, 20), 5 + many as usize);
}

#[test]
fn the_state_before_guesses_is_a_snapshot_where_a_page_ends() {
    let mut pages = pages(8);
    let tokens = numbered(13);
    let a = begin(&mut pages, &tokens);
    compute(&mut pages, a.seq, &tokens, 7);
    guess(&mut pages, a.seq, 2);
    assert_eq!(pages.truncate(a.seq, 9), 9);
    pages.record(a.seq, &tokens[..9]);
    let b = begin(&mut pages, &tokens);
    assert_eq!((b.cached, guess(&mut pages, b.seq, 0)[4], guess(&mut pages, a.seq, 0)[4]), (8, 0, 1));
}

#[test]
fn a_failed_step_is_undone() {
    let mut pages = pages(8);
    let (a, b) = (pages.new_sequence(), pages.new_sequence());
    let first = step(&mut pages, &[(a, 3)]);
    let failed = [(b, 2), (a, 4)];
    step(&mut pages, &failed);
    pages.undo(&entries(&failed));
    assert_eq!((pages.len(a), pages.len(b), available(&pages)), (3, 0, 7));
    assert_eq!(step(&mut pages, &[(a, 1)])[1], first[2]);
}

#[test]
fn batches_that_do_not_fit_are_errors_and_change_nothing() {
    let mut pages = pages(5);
    let seqs: Vec<SeqId> = (0..3).map(|_| pages.new_sequence()).collect();
    let refused = |pages: &mut Memory, seqs: &[(SeqId, usize)]| {
        pages.place(&entries(seqs), &mut StepInputs::default()).unwrap_err().to_string()
    };
    let apart = refused(&mut pages, &[(seqs[0], 1), (seqs[1], 1), (seqs[0], 1)]);
    assert!(apart.contains("next to each other"), "{apart}");
    let many = refused(&mut pages, &[(seqs[0], 1), (seqs[1], 1), (seqs[2], 1)]);
    assert!(many.contains("3 sequences have a state: expected at most 2"), "{many}");
    assert_eq!((seqs.iter().map(|seq| pages.len(*seq)).sum::<usize>(), available(&pages)), (0, 5));
    step(&mut pages, &[(seqs[0], 1), (seqs[1], 1)]);
    assert!(refused(&mut pages, &[(seqs[2], 1)]).contains("3 sequences"));
    pages.free(seqs[0]);
    step(&mut pages, &[(seqs[2], 1)]);
}

#[test]
fn generations_wait_for_slots() {
    let mut pages = pages(4);
    let (a, _) = (pages.new_sequence(), pages.new_sequence());
    let fits = |pages: &Memory| pages.fits(Default::default(), 1, Need::default());
    assert!(!fits(&pages));
    pages.free(a);
    assert!(fits(&pages));
}

#[test]
fn prompts_are_cut_after_their_last_full_page_and_found_there() {
    let mut pages = pages(16);
    let tokens = numbered(15);
    let a = begin(&mut pages, &tokens);
    assert_eq!((a.cached, compute_all(&mut pages, a.seq, &tokens)), (0, vec![12, 15]));
    pages.end(a.seq, &tokens);
    let b = begin(&mut pages, &tokens);
    assert_eq!(b.cached, 12);
    // It reads the snapshot and leaves it as it is.
    let [_, from, to] = step(&mut pages, &[(b.seq, 3)]);
    assert!(from[0] >= 0 && from != to);
    // A prompt of exactly those pages needs the logits of its last token, and there is no state before it.
    assert_eq!(begin(&mut pages, &tokens[..12]).cached, 0);
    assert_eq!(begin(&mut pages, &tokens[..13]).cached, 12);
}

#[test]
fn of_a_prompt_as_much_is_used_as_ends_with_a_snapshot() {
    let mut pages = pages(16);
    let tokens = numbered(22);
    let a = begin(&mut pages, &tokens);
    // Steps end within pages, but for one.
    for more in [3, 5, 7, 7] {
        compute(&mut pages, a.seq, &tokens, more);
    }
    pages.end(a.seq, &tokens);
    let b = begin(&mut pages, &tokens);
    assert_eq!(b.cached, 8);
    // Five pages are there, of which it computes three again. It leaves a snapshot where the pages end.
    assert_eq!(compute_all(&mut pages, b.seq, &tokens), [20, 22]);
    // A sequence that differs earlier leaves a snapshot there.
    let mut other = tokens.clone();
    other[17] = 99;
    let c = begin(&mut pages, &other);
    assert_eq!((c.cached, compute_all(&mut pages, c.seq, &other)), (8, vec![16, 20, 22]));
    other[18] = 98;
    assert_eq!(begin(&mut pages, &other).cached, 16);
}

#[test]
fn a_sequence_leaves_a_snapshot_for_another() {
    let mut pages = pages(16);
    let tokens = numbered(30);
    let a = begin(&mut pages, &tokens);
    compute(&mut pages, a.seq, &tokens, 3);
    assert!(pages.cut_for_another(a.seq, 0, 16));
    // The cut that is there will do.
    assert!(pages.cut_for_another(a.seq, 0, 20));
    assert_eq!(compute_all(&mut pages, a.seq, &tokens), [16, 28, 30]);
    assert!(!pages.cut_for_another(a.seq, 16, 28) && !pages.cut_for_another(a.seq, 16, 16));
    let mut other = tokens.clone();
    other[17] = 99;
    assert_eq!(begin(&mut pages, &other).cached, 16);
}

#[test]
fn long_replies_do_not_evict_the_snapshots_of_prompts() {
    // Two of a sequence and four snapshots: of two prompts and their replies.
    let mut pages = pages(6);
    let prompts = [numbered(10), vec![7; 10]];
    for prompt in &prompts {
        let a = begin(&mut pages, prompt);
        compute_all(&mut pages, a.seq, prompt);
        let reply: Vec<u32> = prompt.iter().copied().chain(100..140).collect();
        for _ in 0..40 {
            compute(&mut pages, a.seq, &reply, 1);
        }
        pages.end(a.seq, &reply);
        // The next turn finds the end of the reply.
        let next: Vec<u32> = reply.iter().copied().chain([1; 9]).collect();
        let b = begin(&mut pages, &next);
        assert_eq!(b.cached, 48);
        pages.free(b.seq);
    }
    for prompt in &prompts {
        let again = begin(&mut pages, prompt);
        assert_eq!(again.cached, 8);
        pages.free(again.seq);
    }
}

#[test]
fn snapshots_are_evicted_when_sequences_need_slots_and_forgotten_with_pages() {
    let mut pages = pages(4);
    let tokens = numbered(9);
    let a = begin(&mut pages, &tokens);
    compute_all(&mut pages, a.seq, &tokens);
    pages.end(a.seq, &tokens);
    assert_eq!((available(&pages), begin(&mut pages, &tokens).cached), (4, 8));
    pages.forget();
    assert_eq!(begin(&mut pages, &tokens).cached, 0);

    let mut pages = self::pages(4);
    let a = begin(&mut pages, &tokens);
    compute_all(&mut pages, a.seq, &tokens);
    pages.end(a.seq, &tokens);
    let others = [pages.new_sequence(), pages.new_sequence()];
    for _ in 0..2 {
        step(&mut pages, &[(others[0], 1), (others[1], 1)]);
    }
    others.into_iter().for_each(|seq| pages.free(seq));
    assert_eq!(begin(&mut pages, &tokens).cached, 0, "the pages are there, and no state");
}

#[test]
fn rows_of_partial_pages_are_not_copied() {
    let page = 2 * WORTH_A_COPY;
    let mut pages = Memory::new(page, 16, 128, 64).with_states(Some(8), vec![CONTROL]);
    let tokens = numbered(page - 1);
    let mut keys = Keys::new(Key::root([]));
    keys.extend(&tokens, page);
    let a = pages.begin(&keys, &tokens);
    step(&mut pages, &[(a.seq, page - 1)]);
    pages.end(a.seq, &tokens);
    let b = pages.begin(&keys, &tokens);
    assert_eq!((b.cached, b.copy), (0, None));
}

#[test]
fn another_last_message_goes_on_from_the_one_before_it() {
    let mut pages = pages(8);
    // Instructions of 9 tokens, a question of 11, and the beginning of the reply.
    let prompt = |question: u32| [&numbered(9)[..], &[CONTROL], &[question; 10], &[CONTROL, 1]].concat();
    let first = begin(&mut pages, &prompt(50));
    assert_eq!(compute_all(&mut pages, first.seq, &prompt(50)), [8, 20, 22]);
    pages.end(first.seq, &prompt(50));
    let second = begin(&mut pages, &prompt(60));
    assert_eq!(second.cached, 8);
    assert_eq!(compute_all(&mut pages, second.seq, &prompt(60)), [20, 22]);
}
