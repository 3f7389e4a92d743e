//! Prologues: row programs that run before the products that read them, inside their kernels.
//!
//! A norm is cheap compared with the product that follows it, and a separate kernel costs a launch. So every worker of the
//! product computes it again. A group becomes a prologue if only products read its values, each whole row by whole row, and it
//! becomes one for all of its readers: if one of them needed it as a kernel, the others could as well read what that kernel
//! wrote.

use weft_ir::{Graph, NodeId, Op, Switches};

use crate::decide::{self, Why};
use crate::group::{Groups, is_product, through_identity};
use crate::place::reads_rounded;
use crate::strided::Space;

/// Turns groups into prologues where possible.
pub(crate) fn absorb(graph: &Graph, groups: &mut Groups, switches: &Switches) {
    let users = graph.users();
    for g in 0..groups.list.len() {
        match readers(graph, groups, &users, g) {
            Ok(readers) if switches.on(&decide::PROLOGUE) => {
                groups.list[g].absorbed = true;
                groups.cuts.retain(|cut| cut.group != g);
                let needs = groups.list[g].needs.clone();
                for reader in readers {
                    let reader = &mut groups.list[reader];
                    reader.prologue = Some(g);
                    reader.needs.extend(&needs);
                }
            }
            Ok(_) => explain(groups, g, Why::Off(&decide::PROLOGUE)),
            Err(Some(why)) => explain(groups, g, why),
            Err(None) => {}
        }
    }
}

/// Records why products that read a group's values do not compute them.
fn explain(groups: &mut Groups, g: usize, why: Why) {
    groups
        .cuts
        .iter_mut()
        .filter(|cut| cut.group == g && cut.why == Why::Anchor)
        .for_each(|cut| cut.why = why);
}

/// The groups that read a group's values, if all of them can have it as their prologue; otherwise the reason, or nothing if no
/// product reads them.
fn readers(
    graph: &Graph,
    groups: &Groups,
    users: &[Vec<NodeId>],
    g: usize,
) -> Result<Vec<usize>, Option<Why>> {
    let group = &groups.list[g];
    if !group.anchors.is_empty() || group.members.is_empty() || group.space.rows.len() > 1 {
        return Err(None);
    }
    let mut readers: Vec<usize> = Vec::new();
    let mut value = None;
    let mut others = false;
    for member in &group.members {
        others |= graph.outputs().iter().any(|(_, output)| output == member);
        for (user, through) in uses(graph, users, *member) {
            match groups.home(user) {
                Some(home) if home == g => {}
                Some(home) if multiplies(graph, groups, user, through, home, g) => {
                    others |= *value.get_or_insert(*member) != *member;
                    readers.push(home);
                }
                _ => others = true,
            }
        }
    }
    readers.sort_unstable();
    readers.dedup();
    if readers.is_empty() {
        return Err(None);
    }
    let alike = readers.iter().all(|r| one_operand(graph, groups, *r, g));
    if others || !alike { Err(Some(Why::ReadElsewhere)) } else { Ok(readers) }
}

/// The users of a value, each with the node that it uses: the value itself, or a reshape of its rows.
fn uses(graph: &Graph, users: &[Vec<NodeId>], id: NodeId) -> Vec<(NodeId, NodeId)> {
    let mut found = Vec::new();
    for user in &users[id.index()] {
        let renames = graph.node(*user).op == Op::Reshape && through_identity(graph, *user) != *user;
        match renames {
            true => {
                let output = graph.outputs().iter().any(|(_, output)| output == user);
                found.extend(output.then_some((*user, id)));
                found.extend(uses(graph, users, *user));
            }
            false => found.push((*user, id)),
        }
    }
    found
}

/// Returns whether a node is a product of whole rows of the value that it reads as `operand`, one for each entry of the node's
/// own first axis.
fn multiplies(graph: &Graph, groups: &Groups, node: NodeId, operand: NodeId, home: usize, g: usize) -> bool {
    let product = graph.node(node);
    let rows = &groups.list[home].space.rows;
    let space = Space::of(&graph.node(operand).ty.shape);
    is_product(&product.op)
        && product.op != Op::SelectSum
        && product.inputs[0] == operand
        && !product.inputs[1..].contains(&operand)
        && groups.list[home].prologue.is_none()
        && space.rows == rows[..rows.len().min(1)]
        && groups.list[g].space.rows == space.rows
}

/// Returns whether the products of a group that read group `g` all read it rounded, or all not.
fn one_operand(graph: &Graph, groups: &Groups, reader: usize, g: usize) -> bool {
    let products = groups.list[reader].anchors.iter().copied();
    let mut kinds = products
        .filter(|p| groups.is_value(graph, graph.node(*p).inputs[0], g))
        .map(|p| reads_rounded(graph, p));
    let first = kinds.next();
    kinds.all(|kind| Some(kind) == first)
}
