//! Scans with every instruction set and some numbers of threads.

use weft_check::suite::scan;
use weft_device::Device;

use crate::support::Devices;

#[test]
fn sequences_side_by_side() {
    each(scan::sequences_side_by_side);
}

#[test]
fn any_steps_have_the_same_bits() {
    each(scan::any_steps_have_the_same_bits);
}

#[test]
fn company_changes_no_bit() {
    each(scan::company_changes_no_bit);
}

#[test]
fn a_row_program_over_parts_of_rows() {
    each(scan::a_row_program_over_parts_of_rows);
}

#[test]
fn any_rows_are_kept() {
    each(scan::any_rows_are_kept);
}

#[test]
fn guesses_change_no_bit() {
    each(scan::guesses_change_no_bit);
}

#[test]
fn hostile_lists_are_refused() {
    each(scan::hostile_lists_are_refused);
}

fn each(test: fn(&mut dyn Device)) {
    Devices::all().each(|device| test(device));
}
