//! What the documents and scripts say is there, is there.
//!
//! Reads the Markdown files and the shell scripts of the package. Runs `bash -n` and nothing else.

#![expect(
    clippy::disallowed_types,
    reason = "bash itself judges whether a script parses"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories that hold documents. A missing one holds none.
const SHELVES: &[&str] = &["", "deploy", "proto-docs"];

/// Where scripts live; each file is one.
const SCRIPTS: &[&str] = &["scripts", ".ci"];

/// A name in backquotes that begins so is a file of this package.
const ROOTS: &[&str] = &[
    "src/",
    "tests/",
    "scripts/",
    "benches/",
    "examples/",
    "deploy/",
    "proto-docs/",
    ".ci/",
];

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(directory: &str) -> io::Result<Vec<PathBuf>> {
    let directory = package().join(directory);
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let files = entries.filter(|path| path.as_ref().is_ok_and(|path| path.is_file()));
    files.collect()
}

struct Document {
    path: PathBuf,
    text: String,
}

fn documents() -> io::Result<Vec<Document>> {
    let mut documents = Vec::new();
    for shelf in SHELVES {
        let markdown = files(shelf)?
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "md"));
        for path in markdown {
            documents.push(Document {
                text: fs::read_to_string(&path)?,
                path,
            });
        }
    }
    assert!(
        !documents.is_empty(),
        "no document found: this test looked at nothing"
    );
    Ok(documents)
}

/// The text without its fenced blocks: examples are not claims.
fn prose(text: &str) -> String {
    let outside = text.split("```").step_by(2);
    outside.collect::<Vec<_>>().join("\n")
}

/// What stands between each `open` and the `close` behind it, on one line.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    let rest = text.split(open).skip(1);
    rest.filter_map(move |rest| Some(rest.split_once(close)?.0))
        .filter(|found| !found.contains('\n'))
}

/// As the usual renderers name a heading: lower case, blanks to dashes, the rest of the marks gone.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .replace(' ', "-");
        kept.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
            .collect()
    };
    headings.map(anchor).collect()
}

fn link_is_dead(document: &Document, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => document.path.clone(),
        file => document.path.with_file_name("").join(file),
    };
    let has_anchor =
        || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor));
    !target.exists() || (!anchor.is_empty() && !has_anchor())
}

#[test]
fn every_relative_link_resolves() -> io::Result<()> {
    let mut dead = Vec::new();
    for document in documents()? {
        let text = prose(&document.text);
        let relative = |link: &&str| !link.contains("://") && !link.starts_with("mailto:");
        let links = between(&text, "](", ")").filter(relative);
        let links = links.filter(|link| link_is_dead(&document, link));
        dead.extend(links.map(|link| format!("{}: {link}", document.path.display())));
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    Ok(())
}

#[test]
fn every_file_that_a_document_names_exists() -> io::Result<()> {
    let mut missing = Vec::new();
    for document in documents()? {
        let text = prose(&document.text);
        let named = text.split('`').skip(1).step_by(2);
        let names_file = |name: &&str| {
            ROOTS.iter().any(|root| name.starts_with(root)) && !name.contains(['*', '{', '<', ' '])
        };
        let absent = named
            .filter(names_file)
            .filter(|name| !package().join(name).exists());
        missing.extend(absent.map(|name| format!("{}: {name}", document.path.display())));
    }
    assert!(missing.is_empty(), "no such file:\n{}", missing.join("\n"));
    Ok(())
}

#[test]
fn the_map_in_architecture_md_shows_exactly_the_modules_that_there_are() -> io::Result<()> {
    let text = fs::read_to_string(package().join("ARCHITECTURE.md"))?;
    let map = between_blocks(&text, "## The map");
    let drawn: BTreeSet<String> = map
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    let mut there = BTreeSet::new();
    for entry in fs::read_dir(package().join("src"))? {
        let entry = entry?;
        let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
        there.insert(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    assert_eq!(drawn, there, "left: the map, right: src");
    Ok(())
}

/// The first fenced block behind a heading.
fn between_blocks<'a>(text: &'a str, heading: &str) -> &'a str {
    let section = text.split_once(heading).map_or("", |(_, section)| section);
    section
        .split("```")
        .nth(1)
        .map_or("", |block| block.strip_prefix("text").unwrap_or(block))
}

#[test]
fn every_script_parses_and_can_be_executed() -> io::Result<()> {
    let mut scripts = Vec::new();
    for directory in SCRIPTS {
        scripts.extend(files(directory)?);
    }
    assert!(
        !scripts.is_empty(),
        "no script found: this test looked at nothing"
    );
    for script in scripts {
        let shown = script.display();
        let parsed = Command::new("bash").arg("-n").arg(&script).output()?;
        let complaint = String::from_utf8_lossy(&parsed.stderr);
        assert!(parsed.status.success(), "{shown}: {complaint}");
        let mode = fs::metadata(&script)?.permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{shown} is not executable");
    }
    Ok(())
}

#[test]
fn the_readers_of_documents_see_what_they_should() {
    let text = "See [a](b.md#c) and `src/x.rs`.\n```sh\n[no](gone.md)\n```\n# Two Words, here!\n";
    assert_eq!(
        between(&prose(text), "](", ")").collect::<Vec<_>>(),
        ["b.md#c"]
    );
    assert!(anchors(text).contains("two-words-here"));
    let document = Document {
        path: package().join("README.md"),
        text: String::new(),
    };
    assert!(link_is_dead(&document, "no-such-file.md"));
    assert!(link_is_dead(&document, "README.md#no-such-heading"));
    assert!(!link_is_dead(&document, "Cargo.toml"));
}
