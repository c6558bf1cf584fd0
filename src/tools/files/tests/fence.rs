//! Deny lists on descriptors, and the daemon's own files out of reach.

use super::{super::OpenError, *};

fn refused(settings: &WorkspaceSettings) -> OpenError {
    WorkspaceRoot::open(settings).unwrap_err()
}

#[tokio::test]
async fn deny_lists_hold_for_every_name_of_a_file() {
    let world = World::with(|settings, _| {
        settings.deny_read = vec!["**/.git/credentials".to_owned(), "secrets".to_owned()];
    });
    for path in [".git/credentials", "sub/.git/credentials", "secrets/deep/a"] {
        world.put(path, "secret");
    }
    world.link("innocent", ".git/credentials");
    world.link("d", "secrets");
    world.link("g", ".git");
    for path in [
        ".git/credentials",
        "./.git//credentials",
        "sub/../.git/credentials",
        "sub/.git/credentials",
        "innocent",
        "g/credentials",
        "d/deep/a",
        "secrets/deep/a",
    ] {
        let read = world.read(path).await;
        assert_eq!(code(&read), "GUARD_DENIED", "{path}");
        assert!(message(&read).contains("deny_read"), "{}", message(&read));
        assert_eq!(
            code(&world.write(path, "x").await),
            "GUARD_DENIED",
            "{path}"
        );
        assert_eq!(
            code(&world.edit(path, "secret", "x").await),
            "GUARD_DENIED",
            "{path}"
        );
    }
    assert_eq!(world.text(".git/credentials"), "secret");
    world.put("GIT/CREDENTIALS", "other");
    let read = world.read("GIT/CREDENTIALS").await;
    assert_eq!(content(&read), "other", "letters are told apart");
}

#[tokio::test]
async fn what_is_not_there_is_not_told_apart_where_nothing_may_be_known() {
    let world = World::with(|settings, _| settings.deny_read = vec!["secrets/**".to_owned()]);
    world.put("secrets/known", "secret");
    world.link("d", "secrets");
    for name in ["known", "nosuch", "nosuch/deeper"] {
        for directory in ["secrets", "d", "./secrets/."] {
            let path = format!("{directory}/{name}");
            assert_eq!(code(&world.read(&path).await), "GUARD_DENIED", "{path}");
            let edited = world.edit(&path, "a", "b").await;
            assert_eq!(code(&edited), "GUARD_DENIED", "{path}");
        }
    }
    assert_eq!(code(&world.read("elsewhere").await), "FS_NOT_FOUND");
}

#[tokio::test]
async fn a_file_that_may_only_be_read_takes_no_write() {
    let world = World::with(|settings, _| settings.deny_write = vec!["*.lock".to_owned()]);
    world.put("a.lock", "secret");
    world.put("secrets/a", "");
    world.link("d", "secrets");
    assert_eq!(content(&world.read("a.lock").await), "secret");
    assert_eq!(
        code(&world.edit("a.lock", "secret", "x").await),
        "GUARD_DENIED"
    );
    for path in ["a.lock", "d/new.lock", "x/y.lock/z"] {
        let refused = world.write(path, "x").await;
        assert_eq!(code(&refused), "GUARD_DENIED", "{path}");
        assert!(
            message(&refused).contains("deny_write"),
            "{}",
            message(&refused)
        );
    }
    assert_eq!(world.names("."), ["a.lock", "d", "secrets"]);
}

#[tokio::test]
async fn what_a_person_must_allow_is_denied_as_long_as_nobody_can_be_asked() {
    let world = World::with(|settings, _| settings.ask_read = vec![".env*".to_owned()]);
    world.put(".env.local", "KEY=1");
    let read = world.read(".env.local").await;
    assert_eq!(code(&read), "GUARD_DENIED");
    assert!(
        message(&read).contains("a person's consent"),
        "{}",
        message(&read)
    );
    assert_eq!(code(&world.write(".env.local", "x").await), "GUARD_DENIED");
}

#[tokio::test]
async fn the_daemons_own_files_are_out_of_reach_by_every_name() {
    let world = World::with(|settings, _| {
        let own = |name: &str| settings.root.join(name);
        settings.protected = vec![own("state"), own("toold.toml"), own("later.db")];
    });
    world.put("state/tokens/agent", "token");
    world.put("state/toold.db", "rows");
    world.put("toold.toml", "config");
    world.link("s", "state");
    for (original, name) in [
        ("toold.toml", "hard"),
        ("state/toold.db", "also-hard"),
        ("state/tokens/agent", "hard-and-deep"),
    ] {
        fs::hard_link(world.root.join(original), world.root.join(name)).unwrap();
    }
    for path in [
        "toold.toml",
        "state/toold.db",
        "state/tokens/agent",
        "s/tokens/agent",
        "hard",
        "also-hard",
        "hard-and-deep",
        "state/new",
        "later.db",
    ] {
        assert_eq!(
            code(&world.write(path, "x").await),
            "GUARD_DENIED",
            "{path}"
        );
        let read = code(&world.read(path).await);
        let missing = ["state/new", "later.db"].contains(&path);
        assert_eq!(
            read,
            if missing {
                "FS_NOT_FOUND"
            } else {
                "GUARD_DENIED"
            },
            "{path}"
        );
    }
    assert_eq!(code(&world.list("state").await), "GUARD_DENIED");
    assert_eq!(world.text("toold.toml"), "config");
}

#[tokio::test]
async fn a_file_that_the_daemon_replaces_stays_its_own() {
    let world = World::with(|settings, outside| {
        settings.protected = vec![settings.root.join("toold.toml"), outside.join("token")];
    });
    for content in ["one", "two"] {
        let path = world.put("fresh", content);
        fs::rename(path, world.root.join("toold.toml")).unwrap();
        assert_eq!(code(&world.read("toold.toml").await), "GUARD_DENIED");
    }
    fs::write(world.outside.join("token"), "made after the start").unwrap();
    fs::hard_link(world.outside.join("token"), world.root.join("t")).unwrap();
    assert_eq!(
        code(&world.read("t").await),
        "GUARD_DENIED",
        "by device and inode"
    );
}

#[tokio::test]
async fn other_hard_links_are_ordinary_files() {
    let world = World::with(|settings, outside| settings.protected = vec![outside.to_owned()]);
    world.put("a", "x");
    fs::hard_link(world.root.join("a"), world.root.join("b")).unwrap();
    assert_eq!(content(&world.read("b").await), "x");
}

#[test]
fn settings_that_cannot_be_met_are_named() {
    let home = tempfile::tempdir().unwrap();
    let settings = WorkspaceSettings {
        root: home.path().to_owned(),
        ..WorkspaceSettings::default()
    };
    let text = refused(&WorkspaceSettings {
        deny_write: vec!["ok".to_owned(), "a[".to_owned()],
        ..settings.clone()
    })
    .to_string();
    assert!(
        text.contains(r#"workspace.deny_write: the pattern "a[""#),
        "{text}"
    );
    let missing = WorkspaceSettings {
        root: home.path().join("none"),
        ..settings.clone()
    };
    assert!(matches!(refused(&missing), OpenError::Root { .. }));
    fs::write(home.path().join("file"), "").unwrap();
    let file = WorkspaceSettings {
        root: home.path().join("file"),
        ..settings.clone()
    };
    assert!(matches!(refused(&file), OpenError::Root { .. }));
    fs::create_dir(home.path().join("x")).unwrap();
    let own = WorkspaceSettings {
        protected: vec![home.path().join("x/..")],
        ..settings
    };
    assert!(matches!(refused(&own), OpenError::OwnDirectory { .. }));
}
