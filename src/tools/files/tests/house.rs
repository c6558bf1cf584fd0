//! Nothing leaves the house (C21), and what is no path is refused (C55).

use std::os::unix::ffi::OsStrExt;

use super::*;

/// Every tool, aimed at one path.
async fn everything(world: &World, path: &str) -> Vec<Result<Json, ToolError>> {
    vec![
        world.read(path).await,
        world.write(path, "overwritten").await,
        world.edit(path, "secret", "known").await,
        world.list(path).await,
    ]
}

#[tokio::test]
async fn c21_no_path_leads_out_of_the_house() {
    let world = World::new();
    fs::create_dir(world.root.join("d")).unwrap();
    world.link("etc", "/etc");
    world.link("up", "../../w/p-evil");
    world.link("d/deep", "../../p-evil/x");
    world.link("chain", "up/x");
    let outside = world.outside.join("x");
    let sibling = outside.to_str().unwrap();
    let through = world.root.join("../p-evil/x");
    for path in [
        sibling,
        through.to_str().unwrap(),
        "../p-evil/x",
        "../p/../p-evil/x",
        "d/../../p-evil/x",
        "../../../../../../../../etc/passwd",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "etc/passwd",
        "etc",
        "up",
        "up/x",
        "up/new",
        "d/deep",
        "chain",
        "..",
        "/",
    ] {
        for refused in everything(&world, path).await {
            assert_eq!(code(&refused), "GUARD_DENIED", "{path}: {refused:?}");
            let home = world.root.parent().unwrap().to_str().unwrap();
            let repeated = message(&refused).replace(path, "");
            assert!(
                !repeated.contains(home),
                "a host path is told: {}",
                message(&refused)
            );
        }
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
    assert_eq!(
        fs::read_dir(&world.outside).unwrap().count(),
        1,
        "nothing was made outside"
    );
    assert!(world.events().is_empty());
}

#[tokio::test]
async fn c21_what_is_no_path_is_refused_in_words() {
    let world = World::new();
    for path in [
        "file:///etc/passwd",
        "file:/a",
        "https://a/b",
        "a\0.txt",
        "a\0",
        "~/a",
    ] {
        for refused in everything(&world, path).await {
            assert_eq!(code(&refused), "FS_DENIED", "{path:?}");
        }
    }
    assert_eq!(
        code(&world.call("read_file", r#"{"path":""}"#).await),
        "FS_DENIED"
    );
    assert!(world.names(".").is_empty());
}

#[tokio::test]
async fn c21_dots_and_links_that_stay_inside_work() {
    let world = World::new();
    world.put("a", "here");
    world.put("d/e/f", "deep");
    world.link("relative", "d/e");
    world.link("absolute", world.root.join("d/e/f"));
    world.link("absolute-directory", world.root.join("d"));
    world.link("d/home", "..");
    let absolute = world.root.join("d//e/./f");
    for (path, expected) in [
        ("p//./a", None),
        (".//./a", Some("here")),
        ("d/../a", Some("here")),
        ("d/e/../../a", Some("here")),
        ("relative/f", Some("deep")),
        ("relative/../../a", Some("here")),
        ("absolute", Some("deep")),
        ("absolute-directory/e/f", Some("deep")),
        ("absolute-directory/home/d/home/a", Some("here")),
        (absolute.to_str().unwrap(), Some("deep")),
    ] {
        let value = world.read(path).await;
        match expected {
            Some(text) => assert_eq!(content(&value), text, "{path}"),
            None => assert_eq!(code(&value), "FS_NOT_FOUND", "{path}"),
        }
    }
    fs::create_dir(world.root.join("p")).unwrap();
    fs::write(world.root.join("p/a"), "inner").unwrap();
    assert_eq!(content(&world.read("p//./a").await), "inner");
}

#[tokio::test]
async fn c21_a_dangling_link_is_no_target() {
    let world = World::new();
    world.link("inside", "missing");
    world.link("outside", world.outside.join("made"));
    world.link("directory", "missing/deeper");
    for path in ["inside", "directory", "directory/a"] {
        assert_eq!(code(&world.write(path, "x").await), "FS_DENIED", "{path}");
    }
    assert_eq!(code(&world.write("outside", "x").await), "GUARD_DENIED");
    assert_eq!(world.names("."), ["directory", "inside", "outside"]);
    assert!(!world.outside.join("made").exists());
}

#[tokio::test]
async fn loops_of_links_end() {
    let world = World::new();
    world.link("a", "b");
    world.link("b", "a");
    world.link("c", world.root.join("c"));
    for path in ["a", "c", "a/x"] {
        for refused in everything(&world, path).await {
            assert_eq!(code(&refused), "GUARD_DENIED", "{path}");
        }
    }
}

#[tokio::test]
async fn a_root_that_is_reached_by_a_link_may_be_named_by_it() {
    let home = tempfile::tempdir().unwrap();
    let (real, named) = (home.path().join("real"), home.path().join("named"));
    fs::create_dir(&real).unwrap();
    fs::write(real.join("a"), "x").unwrap();
    std::os::unix::fs::symlink(&real, &named).unwrap();
    let world = World::with(|settings, _| settings.root.clone_from(&named));
    for path in [named.join("a"), real.join("a")] {
        let value = world.read(path.to_str().unwrap()).await.unwrap();
        assert_eq!(value.get("path").unwrap().as_str(), Some("a"));
    }
    fs::rename(&real, home.path().join("moved")).unwrap();
    assert_eq!(
        content(&world.read("a").await),
        "x",
        "the root is held, not looked up"
    );
}

#[tokio::test]
async fn a_name_that_json_cannot_say_is_refused() {
    let world = World::new();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff");
    fs::write(world.root.join(name), "x").unwrap();
    world.link("l", name);
    assert_eq!(code(&world.read("l").await), "FS_DENIED");
}

#[tokio::test]
async fn messages_show_what_hides_in_a_path() {
    let world = World::new();
    let refused = world.read("a\u{202e}\u{200b}b").await;
    assert!(
        message(&refused).contains(r"a\u{202e}\u{200b}b"),
        "{}",
        message(&refused)
    );
}

#[tokio::test]
async fn a_sessions_directory_that_is_gone_or_leads_out_reaches_nothing() {
    let mut world = World::new();
    world.put("a", "x");
    world.link("out", &world.outside);
    for (workspace, expected) in [("gone", "FS_NOT_FOUND"), ("out", "GUARD_DENIED")] {
        world.workspace = Workspace(workspace.into());
        for refused in everything(&world, "x").await {
            assert_eq!(code(&refused), expected, "{workspace}");
        }
    }
}
