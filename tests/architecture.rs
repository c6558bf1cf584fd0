//! The house rules of ARCHITECTURE.md as tests: one rule, one test, and each failure says where and why.
//!
//! The tables are in `architecture/tables.rs`, the rules in `architecture/rules.rs`. They read the
//! files as text and never build the crate. The two `proof` modules show that each rule can fail.

use std::io;

#[path = "architecture/lexer.rs"]
mod lexer;
#[path = "architecture/paths.rs"]
mod paths;
#[path = "architecture/proof_of_imports.rs"]
mod proof_of_imports;
#[path = "architecture/proof_of_shape.rs"]
mod proof_of_shape;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/tables.rs"]
mod tables;

use rules::{Finding, Part, report};
use source::{Source, tree};

/// Checks one rule over the files below `directories`.
fn check(directories: &[&str], rule: impl Fn(&Source) -> Vec<Finding>) -> io::Result<()> {
    let mut sources = Vec::new();
    for directory in directories {
        sources.extend(tree(directory)?);
    }
    assert!(
        !sources.is_empty(),
        "no source file below {directories:?}: the rule looked at nothing"
    );
    let found = report(&sources, rule);
    assert!(found.is_empty(), "\n{found}\n");
    Ok(())
}

const PRODUCT: &[&str] = &["src"];
const ALL: &[&str] = &["src", "tests", "benches", "examples"];

#[test]
fn every_module_has_a_row_in_the_direction_table() -> io::Result<()> {
    check(PRODUCT, rules::unknown_modules)
}

#[test]
fn imports_follow_the_direction_table() -> io::Result<()> {
    check(PRODUCT, rules::directions)
}

#[test]
fn nothing_is_laundered_through_re_exports() -> io::Result<()> {
    check(PRODUCT, rules::laundering)
}

#[test]
fn external_crates_processes_environment_and_spawning_stay_in_their_rooms() -> io::Result<()> {
    check(PRODUCT, rules::confinement)
}

#[test]
fn every_file_opens_by_saying_what_it_is_for() -> io::Result<()> {
    check(ALL, rules::headers)
}

#[test]
fn no_file_is_longer_than_the_bound() -> io::Result<()> {
    check(ALL, rules::lengths)
}

#[test]
fn no_module_is_named_after_having_no_subject() -> io::Result<()> {
    check(ALL, rules::shelves)
}

#[test]
fn nothing_is_left_unfinished_and_no_test_is_switched_off() -> io::Result<()> {
    check(ALL, rules::unfinished)
}

#[test]
fn the_product_has_no_branches_for_tests() -> io::Result<()> {
    check(PRODUCT, rules::test_branches)
}

#[test]
fn tests_do_not_sleep_for_a_fixed_time() -> io::Result<()> {
    check(&["tests"], |source| rules::sleeps(source, Part::Test))?;
    let tests = rules::test_modules(&tree("src")?);
    check(PRODUCT, |source| {
        let is_test = tests.iter().any(|module| source.module.starts_with(module));
        rules::sleeps(source, if is_test { Part::Test } else { Part::Product })
    })
}
