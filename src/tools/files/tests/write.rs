//! `write_file`: creating, replacing, staleness, intents, atomicity.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

#[tokio::test]
async fn creating_is_free_and_makes_the_directories_above() {
    let world = World::new();
    let value = world.write("a/b/c.txt", "hello\n").await.unwrap();
    let digest = Digest::of_bytes(b"hello\n");
    assert_eq!(
        value.to_text(),
        format!(r#"{{"path":"a/b/c.txt","created":true,"bytes":6,"digest":"{digest}"}}"#)
    );
    assert_eq!(world.text("a/b/c.txt"), "hello\n");
    assert_eq!(world.names("a/b"), ["c.txt"], "nothing else is left");
    let intent = format!(r#"{{"path":"a/b/c.txt","digest_after":"{digest}","bytes":6}}"#);
    assert_eq!(
        world.events(),
        [(EventType::FsWriteIntent, intent.parse().unwrap())]
    );
    assert_eq!(
        code(&world.write("a/b", "x").await),
        "FS_DENIED",
        "a directory"
    );
    assert_eq!(
        code(&world.write("new/", "x").await),
        "FS_DENIED",
        "a directory's path"
    );
    assert_eq!(code(&world.write("a/b/c.txt/d", "x").await), "FS_NOT_FOUND");
    assert_eq!(code(&world.write("none/../d", "x").await), "FS_NOT_FOUND");
}

#[tokio::test]
async fn what_this_session_did_not_see_is_not_overwritten() {
    let world = World::new();
    world.put("a", "old");
    let refused = world.write("a", "new").await;
    assert_eq!(code(&refused), "FS_NOT_OBSERVED");
    assert!(
        message(&refused).contains("read_file"),
        "{}",
        message(&refused)
    );
    world.read("a").await.unwrap();
    assert_eq!(
        world.write("a", "new").await.unwrap().get("created"),
        Some(&Json::Bool(false))
    );
    world
        .write("a", "newer")
        .await
        .expect("its own write is not stale");
    assert_eq!(world.text("a"), "newer");
}

#[tokio::test]
async fn what_changed_since_is_not_overwritten() {
    let world = World::new();
    world.put("a", "old");
    world.read("a").await.unwrap();
    world.put("a", "mew");
    let refused = world.write("a", "new").await;
    assert_eq!(code(&refused), "FS_STALE");
    assert!(
        message(&refused).contains("read it again"),
        "{}",
        message(&refused)
    );
    assert_eq!(world.text("a"), "mew");
    world.put("a", "old");
    world
        .write("a", "new")
        .await
        .expect("the same content is no change");
}

#[tokio::test]
async fn observations_are_a_sessions_own() {
    let mut world = World::new();
    world.put("a", "old");
    world.read("a").await.unwrap();
    world.session = SessionId::parse("s2").unwrap();
    assert_eq!(code(&world.write("a", "new").await), "FS_NOT_OBSERVED");
}

#[tokio::test]
async fn a_digest_stands_in_for_an_observation() {
    let world = World::new();
    world.put("a", "old");
    let write = async |digest: Digest| {
        let arguments = format!(r#"{{"path":"a","content":"new","if_digest":"{digest}"}}"#);
        world.call("write_file", &arguments).await
    };
    assert_eq!(code(&write(Digest::of_bytes(b"other")).await), "FS_STALE");
    write(Digest::of_bytes(b"old")).await.unwrap();
    assert_eq!(world.text("a"), "new");
    fs::remove_file(world.root.join("a")).unwrap();
    assert_eq!(
        code(&write(Digest::of_bytes(b"old")).await),
        "FS_STALE",
        "it is gone"
    );
}

#[tokio::test]
async fn a_large_file_read_in_part_is_replaced_by_its_stamp() {
    let world = World::new();
    let path = world.put("large", "line\n".repeat(4 << 20));
    world
        .call("read_file", r#"{"path":"large","limit":1}"#)
        .await
        .unwrap();
    let longer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    longer.set_len(5).unwrap();
    longer.set_len(5 * (4 << 20)).unwrap();
    assert_eq!(code(&world.write("large", "x").await), "FS_STALE");
    world
        .call("read_file", r#"{"path":"large","limit":1}"#)
        .await
        .unwrap();
    world.write("large", "x").await.unwrap();
    assert!(
        world.events()[0].1.get("digest_before").is_none(),
        "it was not read whole"
    );
}

#[tokio::test]
async fn the_intent_is_durable_before_anything_changes() {
    let world = World::new();
    let path = world.put("a", "old");
    world.read("a").await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (hook_seen, hook_path) = (Arc::clone(&seen), path.clone());
    world.on_record(move |event| {
        hook_seen
            .lock()
            .unwrap()
            .push((event.kind, fs::read_to_string(&hook_path).unwrap()));
    });
    world.write("a", "new").await.unwrap();
    world.edit("a", "new", "newer").await.unwrap();
    let expected = [
        (EventType::FsWriteIntent, "old"),
        (EventType::FsEditIntent, "new"),
    ];
    assert_eq!(
        *seen.lock().unwrap(),
        expected.map(|(kind, text)| (kind, text.to_owned()))
    );
    let (_, intent) = &world.events()[0];
    assert_eq!(
        intent.get("digest_before").unwrap().as_str(),
        Some(&*Digest::of_bytes(b"old").to_string())
    );
}

#[tokio::test]
async fn without_a_journal_nothing_is_written() {
    let world = World::new();
    *world.host.closed.lock().unwrap() = true;
    let failed = world.write("new", "x").await;
    assert!(
        matches!(
            failed,
            Err(ToolError::Failed {
                retryable: true,
                ..
            })
        ),
        "{failed:?}"
    );
    assert!(
        message(&failed).contains("nothing was changed"),
        "{}",
        message(&failed)
    );
    assert!(world.names(".").is_empty());
}

#[tokio::test]
async fn a_write_whose_state_cannot_be_noted_says_that_it_happened() {
    let world = World::new();
    let host = Arc::clone(&world.host);
    world.on_record(move |_| *host.closed.lock().unwrap() = true);
    let failed = world.write("new", "x").await;
    assert!(
        message(&failed).contains("the file was written"),
        "{}",
        message(&failed)
    );
    assert_eq!(world.text("new"), "x");
}

#[tokio::test]
async fn a_cancelled_write_leaves_the_old_content_and_nothing_else() {
    let world = World::new();
    world.put("a", "old");
    world.read("a").await.unwrap();
    let signal = Signal::root();
    let hook = signal.clone();
    world.on_record(move |_| {
        hook.cancel(Cause::Cancelled { reason: None });
    });
    let arguments = object(r#"{"path":"a","content":"new"}"#);
    let ended = world.call_under(signal, "write_file", &arguments).await;
    assert_eq!(ended, Err(ToolError::Interrupted));
    assert_eq!(world.text("a"), "old");
    assert_eq!(world.names("."), ["a"]);
    let ended = world
        .call_under(cancelled(), "write_file", &arguments)
        .await;
    assert_eq!(ended, Err(ToolError::Interrupted));
}

#[tokio::test]
async fn a_replacement_keeps_permissions_and_drops_set_id_bits() {
    let world = World::new();
    for (before, after) in [
        (0o755, 0o755),
        (0o600, 0o600),
        (0o6750, 0o750),
        (0o444, 0o444),
    ] {
        let path = world.put("a", "old");
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
        world.read("a").await.unwrap();
        world.write("a", "new").await.unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().mode() & 0o7777,
            after,
            "{before:o}"
        );
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn a_write_through_a_link_inside_replaces_the_target_and_keeps_the_link() {
    let world = World::new();
    world.put("d/real", "old");
    world.link("l", "d/real");
    world.read("l").await.unwrap();
    let value = world.write("l", "new").await.unwrap();
    assert_eq!(value.get("path").unwrap().as_str(), Some("d/real"));
    assert_eq!(world.text("d/real"), "new");
    assert!(
        fs::symlink_metadata(world.root.join("l"))
            .unwrap()
            .is_symlink()
    );
    world
        .write("d/real", "newer")
        .await
        .expect("one observation for all its names");
}

#[tokio::test]
async fn content_must_be_text() {
    let world = World::new();
    let refused = world.write("a", "x\0").await;
    assert_eq!(code(&refused), "FS_NOT_TEXT");
    assert!(world.names(".").is_empty());
}

#[tokio::test]
async fn the_answer_shows_what_changed() {
    let world = World::new();
    let (_, body) = world.tool("write_file");
    let arguments = object(r#"{"path":"a","content":"one\ntwo\n"}"#);
    let created = world.write("a", "one\ntwo\n").await.unwrap();
    let card = body.meta(&arguments, &created).unwrap().unwrap();
    assert_eq!(
        card.get("diff").unwrap().as_str(),
        Some("@@ -0,0 +1,2 @@\n+one\n+two\n")
    );
    let replaced = world.write("a", "one\n2\n").await.unwrap();
    let blocks = body.render(&arguments, &replaced).unwrap();
    assert_eq!(
        blocks[0].as_text(),
        Some("Replaced a (6 bytes).\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    );
    let same = world.write("a", "one\n2\n").await.unwrap();
    assert!(
        body.render(&arguments, &same).unwrap()[0]
            .as_text()
            .unwrap()
            .contains("the same")
    );
}
