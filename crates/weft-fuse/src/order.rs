//! The order kernels run in, and what runs beside what: whatever reads a buffer comes after all that write it.

use weft_ir::NodeId;
use weft_kern::{Access, BufferId, Kernel, Param, ParamId, Part, View};
use weft_kern::{Anchor, Factor, Instr, Pick};

use crate::emit::Piece;

/// A kernel with its arguments, not yet in its place.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) args: Vec<BufferId>,
    /// For each part, the group it computes; none if it is a copy.
    pub(crate) groups: Vec<Option<usize>>,
}

/// Sorts pieces into levels: those of one need only what earlier ones make. A level is one kernel, if `beside`; else every piece is one.
///
/// # Panics
/// If pieces need each other; grouping makes no cycles.
pub(crate) fn order(mut pieces: Vec<Piece>, beside: bool) -> Vec<Launch> {
    pieces.sort_by_key(|p| p.key);
    let levels = levels(&pieces);
    let mut ordered: Vec<(usize, NodeId, Piece)> =
        pieces.into_iter().zip(levels).map(|(piece, level)| (level, piece.key, piece)).collect();
    ordered.sort_by_key(|(level, key, _)| (*level, *key));
    let mut launches: Vec<(usize, Launch)> = Vec::new();
    for (level, _, piece) in ordered {
        let fits = |l: &&mut (usize, Launch)| beside && l.0 == level && !conflict(&l.1, &piece);
        match launches.iter_mut().rev().find(fits) {
            Some((_, launch)) => launch.add(piece),
            None => {
                let kernel = Kernel { name: String::new(), params: Vec::new(), parts: Vec::new() };
                let mut launch = Launch { kernel, args: Vec::new(), groups: Vec::new() };
                launch.add(piece);
                launches.push((level, launch));
            }
        }
    }
    launches.into_iter().map(|(_, launch)| launch).collect()
}

/// For each piece, how many must have run before it, one after another.
fn levels(pieces: &[Piece]) -> Vec<usize> {
    let mut levels: Vec<Option<usize>> = vec![None; pieces.len()];
    let makes = |p: &Piece, b: &BufferId| accesses(p, Access::Write).any(|written| written == *b);
    for _ in 0..pieces.len() {
        let ready = (0..pieces.len()).find_map(|i| {
            if levels[i].is_some() {
                return None;
            }
            let mut level = 0;
            for read in accesses(&pieces[i], Access::Read) {
                for maker in (0..pieces.len()).filter(|m| *m != i && makes(&pieces[*m], &read)) {
                    level = level.max(levels[maker]? + 1);
                }
            }
            Some((i, level))
        });
        let (i, level) = ready.expect("pieces need each other");
        levels[i] = Some(level);
    }
    levels.into_iter().flatten().collect()
}

fn accesses(piece: &Piece, access: Access) -> impl Iterator<Item = BufferId> {
    piece.args.iter().zip(&piece.params).filter(move |(_, p)| p.access == access).map(|(b, _)| *b)
}

/// Whether a piece writes what a launch uses, or the other way round.
fn conflict(launch: &Launch, piece: &Piece) -> bool {
    let written = |p: &Param| p.access == Access::Write;
    launch
        .args
        .iter()
        .zip(&launch.kernel.params)
        .any(|(a, p)| piece.args.iter().zip(&piece.params).any(|(b, q)| a == b && (written(p) || written(q))))
}

impl Launch {
    /// Adds a part, its parameters joined with those there are.
    fn add(&mut self, piece: Piece) {
        let Piece { mut part, params, args, group, .. } = piece;
        let mut numbers: Vec<ParamId> = Vec::with_capacity(params.len());
        for (param, arg) in params.iter().zip(&args) {
            let mut known = self.args.iter().zip(&self.kernel.params);
            let number = known.position(|(a, p)| a == arg && p == param);
            numbers.push(number.unwrap_or_else(|| {
                self.args.push(*arg);
                self.kernel.params.push(*param);
                self.args.len() - 1
            }));
        }
        renumber(&mut part, &numbers);
        self.kernel.parts.push(part);
        self.groups.push(group);
    }
}

/// Gives a part's parameters new numbers.
fn renumber(part: &mut Part, numbers: &[ParamId]) {
    let view = |v: &mut View| v.param = numbers[v.param];
    let program = part.prologue.iter_mut().flat_map(|p| &mut p.body).chain(&mut part.body);
    for instr in program {
        if let Instr::Load { view: at, indexed, .. } | Instr::Store { view: at, indexed, .. } = instr {
            view(at);
            indexed.iter_mut().for_each(|i| view(&mut i.index));
        }
    }
    match &mut part.anchor {
        Anchor::Map | Anchor::Reduce => {}
        Anchor::Dot(products) => {
            for product in products {
                if let Factor::View(x) = &mut product.x {
                    view(x);
                }
                product.w.param = numbers[product.w.param];
                match &mut product.w.pick {
                    Pick::Only | Pick::Axis(_) => {}
                    Pick::Ids(ids) => view(ids),
                    Pick::Sum(sum) => [&mut sum.ids, &mut sum.weights].into_iter().for_each(view),
                }
            }
        }
        Anchor::Attend(a) => {
            view(&mut a.q);
            for param in [&mut a.k.param, &mut a.v.param, &mut a.pos, &mut a.first, &mut a.pages] {
                *param = numbers[*param];
            }
        }
    }
}
