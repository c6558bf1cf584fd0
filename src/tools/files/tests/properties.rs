//! For random trees and random paths: what is opened is inside, and is what the path means.

use std::{collections::VecDeque, ffi::OsString, io::Read, os::unix::fs::symlink, path::Component};

use proptest::{collection::vec, prelude::*, sample::select};

use super::{
    super::{
        boundary::Access,
        place::{Target, ends_as_directory},
    },
    *,
};

/// One thing to make; what cannot be made where it is asked for is left out.
#[derive(Debug, Clone)]
enum Seed {
    Directory(String),
    File(String),
    Link(String, String),
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => name(),
        2 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
    ];
    vec(part, 1..7).prop_map(|parts| parts.join("/").trim_start_matches('/').to_owned())
}

/// A link's target: relative, absolute inside (`I`), or absolute outside (`O`).
fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => path(),
        2 => path().prop_map(|path| format!("I/{path}")),
        1 => path().prop_map(|path| format!("O/{path}")),
    ]
}

fn place() -> impl Strategy<Value = String> {
    vec(name(), 1..4).prop_map(|parts| parts.join("/"))
}

fn seed() -> impl Strategy<Value = Seed> {
    prop_oneof![
        place().prop_map(Seed::Directory),
        place().prop_map(Seed::File),
        (place(), target()).prop_map(|(place, target)| Seed::Link(place, target)),
    ]
}

/// The tree on the disk: `root` inside, `outside` beside it with names of the same kind.
fn grow(home: &Path, seeds: &[Seed]) -> PathBuf {
    let (root, outside) = (home.join("root"), home.join("outside"));
    for directory in [&root, &outside.join("a"), &outside.join("b")] {
        fs::create_dir_all(directory).unwrap();
    }
    for file in ["c", "a/a", "a/b", "b/c"] {
        fs::write(outside.join(file), "outside").unwrap();
    }
    for seed in seeds {
        // a later seed may find its place taken, or below a file or a link
        let made = match seed {
            Seed::Directory(place) => fs::create_dir(root.join(place)),
            Seed::File(place) if root.join(place).symlink_metadata().is_ok() => Ok(()),
            Seed::File(place) => fs::write(root.join(place), format!("inside {place}")),
            Seed::Link(place, target) => {
                let inside = target.replacen("I/", &format!("{}/", root.display()), 1);
                let target = inside.replacen("O/", &format!("{}/", outside.display()), 1);
                symlink(
                    if target.is_empty() { "." } else { &target },
                    root.join(place),
                )
            }
        };
        made.unwrap_or_default();
    }
    root
}

/// Walks a path one name at a time, as the kernel would, and says where it ends: `Err(true)` when
/// it leaves the root on the way, `Err(false)` when it ends nowhere.
fn walk(root: &Path, path: &str) -> Result<PathBuf, bool> {
    let parts = |path: &Path| {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        let parts = parts.map(|part| part.as_os_str().to_owned());
        let spot = ends_as_directory(path.as_os_str()).then(|| ".".into());
        parts.chain(spot).collect::<VecDeque<OsString>>()
    };
    let (mut here, mut todo, mut links) = (root.to_owned(), parts(Path::new(path)), 0);
    while let Some(part) = todo.pop_front() {
        if !fs::metadata(&here).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(false);
        }
        if part == "." {
            continue;
        }
        if part == ".." {
            if here == root {
                return Err(true);
            }
            here.pop();
            continue;
        }
        let next = here.join(&part);
        let Ok(metadata) = fs::symlink_metadata(&next) else {
            return Err(false);
        };
        if !metadata.is_symlink() {
            here = next;
            continue;
        }
        links += 1;
        if links > 40 {
            return Err(true);
        }
        let target = fs::read_link(&next).unwrap();
        let mut steps = parts(&target);
        if target.is_absolute() {
            let depth = root.components().count();
            if !target.starts_with(root) {
                return Err(true);
            }
            steps.drain(..depth);
            here = root.to_owned();
        }
        steps.append(&mut todo);
        todo = steps;
    }
    Ok(here)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_opened_is_inside_and_is_what_the_path_means(
        seeds in vec(seed(), 0..16), paths in vec(path(), 8..24),
    ) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let root = grow(&real, &seeds);
        let settings = WorkspaceSettings { root: root.clone(), ..WorkspaceSettings::default() };
        let opened = WorkspaceRoot::open(&settings).unwrap();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            let route = opened.route(&Workspace::default(), path).unwrap();
            let found = opened.file(&route, Access::Read);
            let expected = walk(&root, path);
            match (found, expected) {
                (Ok(mut file), Ok(place)) => {
                    let canonical = fs::canonicalize(root.join(path)).unwrap();
                    prop_assert!(canonical.starts_with(&root), "{path} left");
                    prop_assert_eq!(&canonical, &place);
                    prop_assert_eq!(&root.join(&file.place.relative), &place);
                    let mut text = String::new();
                    file.content.read_to_string(&mut text).unwrap();
                    prop_assert_eq!(text, fs::read_to_string(&place).unwrap());
                }
                (Ok(file), Err(_)) => {
                    prop_assert!(false, "{} leads nowhere inside, opened {:?}", path, file.place);
                }
                (Err(error), Ok(place)) if place.is_file() => {
                    prop_assert!(false, "{}: {}", path, error);
                }
                (Err(_), Ok(_)) => {}
                (Err(error), Err(left)) => {
                    let code = code(&Err::<(), _>(error.told(path)));
                    prop_assert_eq!(code == "GUARD_DENIED", left, "{} {}", path, code);
                }
            }
        }
    }

    #[test]
    fn a_write_lands_inside_or_nowhere(
        seeds in vec(seed(), 0..16), paths in vec(path(), 1..6),
    ) {
        let home = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(home.path()).unwrap();
        let root = grow(&real, &seeds);
        let settings = WorkspaceSettings { root: root.clone(), ..WorkspaceSettings::default() };
        let opened = WorkspaceRoot::open(&settings).unwrap();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            let route = opened.route(&Workspace::default(), path).unwrap();
            let settled = opened.settle(&route);
            let Ok(target) = opened.target(&route) else { continue };
            let (spot, over) = match target {
                Target::Free(spot) => (spot, None),
                Target::Taken(file) => {
                    let metadata = file.content.metadata().unwrap();
                    (file.spot(), Some((super::super::version::Stamp::of(&metadata), metadata)))
                }
            };
            prop_assert_eq!(&settled.unwrap(), &spot.relative, "the lock is on what is written");
            let place = root.join(&spot.relative);
            let bytes = b"written".to_vec();
            let write = super::super::replace::Replacement { spot, over, bytes };
            opened.put(&write, &Signal::root()).unwrap();
            prop_assert_eq!(fs::read_to_string(&place).unwrap(), "written");
            prop_assert_eq!(&fs::canonicalize(&place).unwrap(), &place);
            prop_assert_eq!(&fs::canonicalize(root.join(path)).unwrap(), &place);
        }
        for file in ["c", "a/a", "a/b", "b/c"] {
            let outside = fs::read_to_string(real.join("outside").join(file)).unwrap();
            prop_assert_eq!(outside, "outside");
        }
    }
}
