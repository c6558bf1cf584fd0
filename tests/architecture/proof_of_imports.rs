//! The rules about imports, each shown lines that break it and lines that do not.
//!
//! A checker that finds nothing looks like a house in order; these stories tell the two apart.

use crate::lexer::tokens;
use crate::paths::references;
use crate::proof_of_shape::{accepts, refuses};
use crate::rules;
use crate::source::Source;
use crate::tables::{DIRECTION, EVERYTHING, OPEN};

#[test]
fn the_table_names_only_rows_above_and_none_twice() {
    let mut above: Vec<&str> = Vec::new();
    for (row, names) in DIRECTION {
        assert!(!above.contains(row), "{row} stands twice");
        for name in names
            .split(' ')
            .filter(|name| !matches!(*name, "" | EVERYTHING))
        {
            assert!(
                above.contains(&name),
                "{row} names {name}, which does not stand above it"
            );
            assert!(
                !OPEN.contains(&name),
                "{row} names {name}, which is open to all"
            );
        }
        above.push(row);
    }
}

#[test]
fn an_import_against_the_direction_is_seen_in_every_spelling() {
    let against = |text| {
        let needle = "journal may not import store";
        refuses(rules::directions, "src/journal/mod.rs", text, needle);
    };
    against("use crate::store::Sqlite;");
    against("use crate::{domain::Json, store::{self, Sqlite as Db}};");
    against("fn f() -> crate::store::Sqlite { todo() }");
    against("fn f(x: &'static toold::store::Sqlite) {}");
    against("use super::store::Sqlite;");
    against("use crate as root; fn f() { root::store::open(); }");
    against("#[cfg(test)] mod tests { use crate::store::Sqlite; }");
    against("#[cfg(test)] mod tests { use super::super::store::Sqlite; }");
    against("macro_rules! m { () => { $crate::store::open() }; }");
    against("pub(in crate::journal) use crate::store::Sqlite;");
    against("const A: &str = r#\"\"#; use crate::store::Sqlite;");
}

#[test]
fn an_import_along_the_direction_passes() {
    let along = |file, text| accepts(rules::directions, file, text);
    along(
        "src/journal/mod.rs",
        "use crate::{config::Streams, domain::*, tasks::Tasks};",
    );
    along(
        "src/journal/mod.rs",
        "use self::fold::Fold; use super::journal::tail::Tail;",
    );
    along(
        "src/journal/fold.rs",
        "#[cfg(test)] mod tests { use super::*; use super::super::tail; }",
    );
    along(
        "src/journal/mod.rs",
        "//! See crate::store::Sqlite.\n/* crate::store::x */ const A: &str = \"crate::store::x\";",
    );
    along("src/scheduler/mod.rs", "use crate::pipeline::Permit;");
    along(
        "src/cli/check.rs",
        "use crate::app::offline;\nuse crate::config::Config;",
    );
    along("src/main.rs", "use toold::{app, cli, config, telemetry};");
    along("src/app.rs", "use crate::{store::Sqlite, http, cli};");
    along("src/lib.rs", "pub mod store; pub use crate::store::Sqlite;");
    along("src/mcp/mod.rs", "pub use crate::mcp::server::Server;");
}

#[test]
fn the_single_doors_are_no_wider_than_they_look() {
    let shut = |file, text, needle| refuses(rules::directions, file, text, needle);
    shut(
        "src/cli/mod.rs",
        "use crate::app::Builder;",
        "cli may not import app",
    );
    shut(
        "src/cli/mod.rs",
        "use crate::app::offline_too;",
        "cli may not import app",
    );
    shut(
        "src/main.rs",
        "use toold::store::Sqlite;",
        "main may not import store",
    );
    shut(
        "src/main.rs",
        "use toold::domain::Json;",
        "main may not import domain",
    );
    shut(
        "src/mcp/client/mod.rs",
        "use crate::mcp::server::X;",
        "mcp::client may not import mcp::server",
    );
    shut(
        "src/tools/mod.rs",
        "use crate::scheduler::X;",
        "tools may not import scheduler",
    );
    shut(
        "src/config/mod.rs",
        "use crate::telemetry::X;",
        "config may not import telemetry",
    );
    shut(
        "src/http/mod.rs",
        "use crate::app::X;",
        "http may not import app",
    );
}

#[test]
fn a_module_without_a_row_is_refused_as_a_file_and_as_a_target() {
    refuses(
        rules::unknown_modules,
        "src/cache/mod.rs",
        "",
        "module `cache` is in no row",
    );
    refuses(
        rules::unknown_modules,
        "src/cache.rs",
        "",
        "module `cache` is in no row",
    );
    refuses(
        rules::directions,
        "src/http/mod.rs",
        "use crate::Sqlite;",
        "names no module",
    );
    refuses(
        rules::directions,
        "src/http/mod.rs",
        "use crate::*;",
        "names no module",
    );
    refuses(
        rules::directions,
        "src/http/mod.rs",
        "use super::super::x::Y;",
        "climbs out",
    );
    for file in [
        "src/lib.rs",
        "src/main.rs",
        "src/mcp/mod.rs",
        "src/mcp/server/tail.rs",
        "src/app.rs",
    ] {
        accepts(rules::unknown_modules, file, "");
    }
}

#[test]
fn a_re_export_of_another_module_is_refused() {
    refuses(
        rules::laundering,
        "src/scheduler/mod.rs",
        "pub use crate::journal::Tail;",
        "`crate::journal::Tail`",
    );
    refuses(
        rules::laundering,
        "src/scheduler/mod.rs",
        "pub(crate) use crate::{journal::Tail};",
        "re-export",
    );
    accepts(
        rules::laundering,
        "src/scheduler/mod.rs",
        "use crate::journal::Tail; pub use self::lane::Lane;",
    );
    accepts(
        rules::laundering,
        "src/lib.rs",
        "pub use crate::journal::Tail;",
    );
}

/// Module, code, and what is said of it.
const OUTSIDE: &str = r#"
    journal | use axum::Router;                                 | `axum::Router` belongs to http,
    journal | fn f() -> ::axum::Router {}                       | `axum::Router`
    http    | use rusqlite::Connection;                         | belongs to store
    http    | use std::{env, fs};                               | `std::env` belongs to config
    cli     | fn f() { std::env::var("X"); }                    | `std::env::var`
    tools   | use std::process::{Command, Stdio};               | `std::process::Command`
    tools   | use tokio::process::Command;                      | belongs to sandbox
    app     | fn f() { std::process::exit(1) }                  | belongs to sandbox
    http    | #[derive(clap::Parser)] struct A;                 | `clap::Parser` belongs to cli
    http    | fn f() { tokio::spawn(async {}); }                | use `crate::tasks`
    http    | use tokio::task; fn f() { task::spawn(g); }       | `tokio::task::spawn`
    store   | use std::thread as t; fn f() { t::spawn(g); }     | `std::thread::spawn`
    store   | #[cfg(test)] mod tests { use tokio::task::JoinSet; } | JoinSet
    domain  | extern crate anyhow;                              | `anyhow` belongs to main,
"#;

/// The same, and nothing is said.
const INSIDE: &str = r#"
    http     | use axum::Router; use tower_http::cors::CorsLayer;
    store    | use rusqlite::Connection;
    config   | use std::env;
    cli      | use std::process::ExitCode; fn f() { std::env::args_os(); }
    tasks    | fn f() { tokio::spawn(async {}); std::thread::Builder::new(); }
    journal  | use tokio::task::JoinHandle; async fn f() { tokio::task::yield_now().await }
    journal  | const A: &str = env!("CARGO_PKG_VERSION"); // std::env::var
    journal  | fn f() { foo::axum::bar(); let axum = 1; }
"#;

/// The file and the other columns of each row.
fn stories(table: &str) -> impl Iterator<Item = (String, &str, &str)> {
    table.lines().filter_map(|line| {
        let (module, rest) = line.split_once(" | ")?;
        let (code, said) = rest.split_once(" | ").unwrap_or((rest, ""));
        Some((format!("src/{}/mod.rs", module.trim()), code, said.trim()))
    })
}

#[test]
fn what_is_confined_is_seen_outside_its_rooms() {
    for (file, code, said) in stories(OUTSIDE) {
        refuses(rules::confinement, &file, code, said);
    }
}

#[test]
fn what_is_confined_is_free_inside_its_rooms() {
    for (file, code, _) in stories(INSIDE) {
        accepts(rules::confinement, &file, code);
    }
    let main = "use std::process::ExitCode; fn main() { std::env::args_os(); }";
    accepts(rules::confinement, "src/main.rs", main);
}

#[test]
fn the_lexer_steps_over_everything_that_is_not_code() {
    let text = r##"
        let a = 'x'; let b = '\''; let c = b'"'; fn f<'a>(x: &'a str) {}
        let d = "quote \" inside"; let e = r"raw \"; let g = br#"a " b"#; let h = c"c";
        /* nested /* comment */ still */ let r#type = 1.5; 0..2; end
    "##;
    let words: Vec<String> = tokens(text)
        .iter()
        .filter_map(|t| t.word().map(str::to_owned))
        .collect();
    let expected = "let a let b let c fn f x str let d let e let g let h let type end";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn use_trees_unfold_to_full_paths() {
    let text = "pub use a::{b::{self, c as d, *}, e}; fn f() { d::g::<T>(); x::<Y>::z() }";
    let source = Source::new("src/x.rs", text);
    let paths: Vec<String> = references(&source)
        .iter()
        .map(|found| found.path.join("::"))
        .collect();
    assert_eq!(paths, ["a::b", "a::b::c", "a::b::*", "a::e", "a::b::c::g"]);
}
