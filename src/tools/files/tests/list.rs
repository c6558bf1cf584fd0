//! `list_dir`: order, depth, bounds, what is left out.

use super::*;

fn paths(value: &Json) -> Vec<&str> {
    let entries = value.get("entries").unwrap().as_array().unwrap();
    entries
        .iter()
        .map(|entry| entry.get("path").unwrap().as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_directory_is_listed_sorted_with_kinds_and_sizes() {
    let mut world = World::new();
    world.put("s/b/x", "");
    world.put("s/a.txt", "12345");
    world.put("s/a/y", "");
    world.link("s/l", "/etc");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        world.root.join("s/pipe"),
        rustix::fs::Mode::RWXU,
    )
    .unwrap();
    world.workspace = Workspace("s".into());
    let value = world.call("list_dir", "{}").await.unwrap();
    assert_eq!(
        value.to_text(),
        concat!(
            r#"{"path":".","entries":[{"path":"a","kind":"dir"},"#,
            r#"{"path":"a.txt","kind":"file","bytes":5},{"path":"b","kind":"dir"},"#,
            r#"{"path":"l","kind":"symlink"},{"path":"pipe","kind":"other"}],"#,
            r#""hidden":0,"truncated":false}"#
        )
    );
    let (_, body) = world.tool("list_dir");
    let text = body.render(&Object::new(), &value).unwrap().remove(0);
    assert_eq!(
        text.as_text(),
        Some("a/\na.txt (5 bytes)\nb/\nl (symlink)\npipe (other)")
    );
    assert_eq!(paths(&world.list("../s/a").await.unwrap()), ["a/y"]);
}

#[tokio::test]
async fn depth_goes_down_and_never_through_a_link() {
    let world = World::new();
    world.put("a/b/c/d", "");
    world.put("a/z", "");
    world.link("a/out", &world.outside);
    world.link("a/in", "b");
    let deep = |depth: u64| format!(r#"{{"path":"a","depth":{depth}}}"#);
    let two = world.call("list_dir", &deep(2)).await.unwrap();
    assert_eq!(paths(&two), ["a/b", "a/b/c", "a/in", "a/out", "a/z"]);
    let five = world.call("list_dir", &deep(5)).await.unwrap();
    assert_eq!(
        paths(&five),
        ["a/b", "a/b/c", "a/b/c/d", "a/in", "a/out", "a/z"]
    );
    assert_eq!(
        paths(&world.list("a/in").await.unwrap()),
        ["a/b/c"],
        "a named link is followed"
    );
    assert_eq!(code(&world.list("a/out").await), "GUARD_DENIED");
    assert_eq!(code(&world.list("a/z").await), "FS_DENIED", "a file");
    assert_eq!(code(&world.list("none").await), "FS_NOT_FOUND");
}

#[tokio::test]
async fn a_listing_is_bounded_and_keeps_the_upper_levels() {
    let world = World::new();
    for n in 0..1_200 {
        world.put(&format!("a/{n:04}"), "");
    }
    world.put("z", "");
    let value = world.call("list_dir", r#"{"depth":2}"#).await.unwrap();
    let found = paths(&value);
    assert_eq!(found.len(), 1_000);
    assert_eq!(
        (found[0], found[1], found[998], found[999]),
        ("a", "a/0000", "a/0997", "z")
    );
    assert_eq!(value.get("truncated"), Some(&Json::Bool(true)));
    let (_, body) = world.tool("list_dir");
    let text = body.render(&Object::new(), &value).unwrap().remove(0);
    assert!(
        text.as_text()
            .unwrap()
            .ends_with("there are more: list a subdirectory]")
    );
}

#[tokio::test]
async fn what_may_not_be_read_is_left_out_and_counted() {
    let world = World::with(|settings, _| {
        settings.deny_read = vec!["**/.git/credentials".to_owned(), "private".to_owned()];
        settings.ask_read = vec![".env".to_owned()];
        settings.protected = vec![settings.root.join("toold.toml")];
    });
    for path in [
        ".git/credentials",
        ".git/config",
        "private/a",
        ".env",
        "toold.toml",
        "ok",
    ] {
        world.put(path, "");
    }
    let name = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xff");
    fs::write(world.root.join(Path::new::<std::ffi::OsStr>(name)), "").unwrap();
    let value = world.call("list_dir", r#"{"depth":3}"#).await.unwrap();
    assert_eq!(paths(&value), [".git", ".git/config", "ok"]);
    assert_eq!(value.get("hidden").unwrap().as_u64(), Some(5));
    assert_eq!(code(&world.list("private").await), "GUARD_DENIED");
}

#[tokio::test]
async fn a_listing_stops_when_it_is_asked_to() {
    let world = World::new();
    world.put("a", "");
    let ended = world
        .call_under(cancelled(), "list_dir", &Object::new())
        .await;
    assert_eq!(ended, Err(ToolError::Interrupted));
}
