//! The rules about files and tests, each shown lines that break it and lines that do not.
//!
//! Owns the two ways to tell such a story; `proof_of_imports` uses them too.

use crate::rules::{self, Finding, Part, report};
use crate::source::Source;

/// What `rule` says of `text`, were it in `file`.
fn say(rule: impl Fn(&Source) -> Vec<Finding>, file: &str, text: &str) -> String {
    report(&[Source::new(file, text)], rule)
}

#[track_caller]
pub(crate) fn refuses(
    rule: impl Fn(&Source) -> Vec<Finding>,
    file: &str,
    text: &str,
    needle: &str,
) {
    let said = say(rule, file, text);
    assert!(
        said.contains(needle),
        "expected {needle:?} of {text:?} in {file}, heard {said:?}"
    );
}

#[track_caller]
pub(crate) fn accepts(rule: impl Fn(&Source) -> Vec<Finding>, file: &str, text: &str) {
    assert_eq!(say(rule, file, text), "", "{text:?} in {file}");
}

#[test]
fn the_shape_of_a_file_is_judged() {
    refuses(
        rules::headers,
        "src/x.rs",
        "// what\nfn f() {}",
        "src/x.rs:1: does not open with `//!`",
    );
    refuses(rules::headers, "src/x.rs", "", "does not open");
    accepts(rules::headers, "src/x.rs", "//! What it is for.\n");
    refuses(
        rules::lengths,
        "src/x.rs",
        &"\n".repeat(501),
        "has 501 lines",
    );
    accepts(rules::lengths, "src/x.rs", &"\n".repeat(500));
    refuses(
        rules::shelves,
        "src/http/utils.rs",
        "",
        "a module `utils` names no subject",
    );
    refuses(
        rules::shelves,
        "tests/common/mod.rs",
        "",
        "a module `common`",
    );
    refuses(
        rules::shelves,
        "src/http/mod.rs",
        "\nmod helpers;",
        "src/http/mod.rs:2: a module `helpers`",
    );
    accepts(rules::shelves, "src/http/mod.rs", "mod auth; fn types() {}");
}

#[test]
fn unfinished_work_is_seen_and_prose_about_it_is_not() {
    refuses(
        rules::unfinished,
        "src/x.rs",
        "fn f() { todo!() }",
        "`todo!` is half-built",
    );
    refuses(
        rules::unfinished,
        "src/x.rs",
        "fn f() { unimplemented!(\"x\") }",
        "`unimplemented!`",
    );
    refuses(
        rules::unfinished,
        "src/x.rs",
        "#[test]\n#[ignore]\nfn f() {}",
        "src/x.rs:2: `#[ignore]`",
    );
    refuses(
        rules::unfinished,
        "src/x.rs",
        "#[cfg_attr(x, ignore = \"slow\")] fn f() {}",
        "`#[ignore]`",
    );
    accepts(
        rules::unfinished,
        "src/x.rs",
        "// todo!()\nfn f(ignore: bool) { let todo = ignore; g(\"todo!\") }",
    );
}

#[test]
fn a_branch_on_test_is_refused_and_a_test_module_is_not() {
    refuses(
        rules::test_branches,
        "src/x.rs",
        "\n#[cfg(test)]\nfn fake() {}",
        "src/x.rs:3: a branch on `test`",
    );
    refuses(
        rules::test_branches,
        "src/x.rs",
        "fn f() { if cfg!(test) {} }",
        "a branch on `test`",
    );
    refuses(
        rules::test_branches,
        "src/x.rs",
        "#[cfg(not(test))] fn f() {}",
        "a branch on `test`",
    );
    accepts(
        rules::test_branches,
        "src/x.rs",
        "#[cfg(test)]\n#[path = \"x\"]\npub(crate) mod tests;",
    );
    accepts(
        rules::test_branches,
        "src/x.rs",
        "#[cfg(test)] mod tests { #[test] fn f() {} }",
    );
}

#[test]
fn a_fixed_sleep_in_a_test_is_seen() {
    let product = |source: &Source| rules::sleeps(source, Part::Product);
    let test = |source: &Source| rules::sleeps(source, Part::Test);
    let sleep = "use tokio::time::sleep; async fn f() { sleep(D).await }";
    refuses(
        test,
        "tests/it/main.rs",
        sleep,
        "`tokio::time::sleep`: a fixed sleep",
    );
    refuses(
        test,
        "tests/it/main.rs",
        "fn f() { std::thread::sleep(D) }",
        "fixed sleep",
    );
    refuses(
        test,
        "tests/it/main.rs",
        "use tokio::time; fn f() { time::sleep(D); }",
        "fixed sleep",
    );
    refuses(
        product,
        "src/x.rs",
        &format!("#[cfg(test)] mod tests {{ {sleep} }}"),
        "fixed sleep",
    );
    accepts(product, "src/x.rs", sleep);
    accepts(
        test,
        "tests/it/main.rs",
        &format!("#[tokio::test(start_paused = true)] {sleep}"),
    );
}

#[test]
fn a_test_module_in_its_own_file_is_known_as_one() {
    let parent = Source::new("src/journal/mod.rs", "mod fold; #[cfg(test)] mod tests;");
    assert_eq!(rules::test_modules(&[parent]), [["journal", "tests"]]);
}
