//! `edit_file`: exact matches, ambiguity, two edits of one file (C20).

use super::*;

#[tokio::test]
async fn exact_text_is_replaced_and_the_value_tells_what_became_of_it() {
    let world = World::new();
    world.put("a.rs", "fn a() {}\r\nfn b() {}\r\n");
    world.read("a.rs").await.unwrap();
    let value = world.edit("a.rs", "fn b()", "fn c()").await.unwrap();
    assert_eq!(world.text("a.rs"), "fn a() {}\r\nfn c() {}\r\n");
    let digest = Digest::of_bytes(b"fn a() {}\r\nfn c() {}\r\n");
    assert_eq!(
        value.get("digest").unwrap().as_str(),
        Some(&*digest.to_string())
    );
    assert_eq!(value.get("bytes").unwrap().as_u64(), Some(22));
    let (kind, intent) = world.events().remove(0);
    assert_eq!(kind, EventType::FsEditIntent);
    assert_eq!(intent.get("replacements").unwrap().as_u64(), Some(1));
    assert_eq!(intent.get("digest_after"), value.get("digest"));
    let (_, body) = world.tool("edit_file");
    let blocks = body.render(&Object::new(), &value).unwrap();
    let text = blocks[0].as_text().unwrap();
    assert!(
        text.starts_with("Edited a.rs in 1 place.\n@@ -1,2 +1,2 @@\n"),
        "{text}"
    );
    let card = body.meta(&Object::new(), &value).unwrap().unwrap();
    assert_eq!(card.get("card").unwrap().as_str(), Some("diff"));
    world
        .edit("a.rs", "fn c()", "fn d()")
        .await
        .expect("its own edit is not stale");
}

#[tokio::test]
async fn what_occurs_more_than_once_is_ambiguous_with_its_lines() {
    let world = World::new();
    world.put("a", "x\ny\nx\nx\nx\nx\nx\n");
    world.read("a").await.unwrap();
    let refused = world.edit("a", "x", "z").await;
    assert_eq!(code(&refused), "FS_EDIT_AMBIGUOUS");
    assert!(
        message(&refused).contains("6 times (lines 1, 3, 4, 5, 6, …)"),
        "{}",
        message(&refused)
    );
    let arguments = r#"{"path":"a","old_text":"x","new_text":"zz","replace_all":true}"#;
    let value = world.call("edit_file", arguments).await.unwrap();
    assert_eq!(value.get("replacements").unwrap().as_u64(), Some(6));
    assert_eq!(world.text("a"), "zz\ny\nzz\nzz\nzz\nzz\nzz\n");
    world.put("a", "ééé");
    world.read("a").await.unwrap();
    let refused = world.edit("a", "éé", "e").await;
    assert!(
        message(&refused).contains("2 times (lines 1, 1)"),
        "overlapping counts"
    );
}

#[tokio::test]
async fn what_does_not_occur_is_told_with_a_reason_where_one_is_seen() {
    let world = World::new();
    world.put("a", "one\r\ntwo  three\r\n");
    world.read("a").await.unwrap();
    for (old, hint) in [
        ("one\ntwo", "other line ends"),
        ("two three", "other white space"),
        ("four", "read the file again"),
    ] {
        let refused = world.edit("a", old, "x").await;
        assert_eq!(code(&refused), "FS_EDIT_NOT_FOUND");
        assert!(message(&refused).contains(hint), "{}", message(&refused));
    }
    assert!(world.events().is_empty(), "no intent without a change");
}

#[tokio::test]
async fn an_edit_that_can_mean_nothing_is_refused() {
    let world = World::new();
    world.put("a", "x");
    world.read("a").await.unwrap();
    assert_eq!(code(&world.edit("a", "", "x").await), "TOOL_ERROR");
    assert_eq!(code(&world.edit("a", "x", "x").await), "TOOL_ERROR");
    assert_eq!(code(&world.edit("a", "x", "\0").await), "FS_NOT_TEXT");
    assert_eq!(code(&world.edit("none", "x", "y").await), "FS_NOT_FOUND");
    world.put("b", b"x\xff");
    world.read("b").await.unwrap_err();
    assert_eq!(
        code(&world.edit("b", "x", "y").await),
        "FS_NOT_OBSERVED",
        "it was never seen"
    );
}

#[tokio::test]
async fn only_what_was_seen_and_is_unchanged_is_edited() {
    let world = World::new();
    world.put("a", "x");
    assert_eq!(code(&world.edit("a", "x", "y").await), "FS_NOT_OBSERVED");
    world.read("a").await.unwrap();
    world.put("a", "x changed");
    assert_eq!(code(&world.edit("a", "x", "y").await), "FS_STALE");
    assert_eq!(world.text("a"), "x changed");
}

#[tokio::test]
async fn a_file_over_the_bound_of_edits_is_refused() {
    let world = World::new();
    world.put("a", "x\n".repeat(9 << 20));
    world
        .call("read_file", r#"{"path":"a","limit":1}"#)
        .await
        .unwrap();
    assert_eq!(code(&world.edit("a", "x", "y").await), "FS_TOO_LARGE");
    world.put("b", "x".repeat(1 << 20));
    world.read("b").await.unwrap();
    let new = "y".repeat(1 << 20);
    let arguments =
        format!(r#"{{"path":"b","old_text":"x","new_text":"{new}","replace_all":true}}"#);
    let refused = world.call("edit_file", &arguments).await;
    assert_eq!(code(&refused), "FS_TOO_LARGE", "a tebibyte is never built");
}

#[tokio::test]
async fn c20_every_spelling_of_a_file_shares_one_lock_key() {
    let mut world = World::new();
    world.put("s/a", "x");
    world.link("l", "s/a");
    world.link("d", "s");
    let key = world.lock_key("s/a").unwrap();
    assert_eq!(key, "s/a");
    let absolute = world.root.join("s/a").to_str().unwrap().to_owned();
    for spelling in [
        "./s/a", "s//./a", "s/../s/a", "l", "d/a", "d/../s/a", &absolute,
    ] {
        assert_eq!(world.lock_key(spelling).as_ref(), Some(&key), "{spelling}");
    }
    assert_eq!(
        world.lock_key("d/new/b").as_deref(),
        Some("s/new/b"),
        "also of what is to come"
    );
    assert_eq!(world.lock_key("../p-evil/x"), None);
    world.workspace = Workspace("s".into());
    assert_eq!(
        world.lock_key("a"),
        Some(key),
        "whatever the session starts from"
    );
}

#[tokio::test]
async fn c20_two_edits_behind_one_lock_are_both_there_in_every_round() {
    let world = World::new();
    for round in 0..200 {
        world.put("a", "one two");
        world.read("a").await.unwrap();
        // the scheduler's part: whoever has the key goes first
        assert_eq!(world.lock_key("./a"), world.lock_key("a"));
        let lane = tokio::sync::Semaphore::new(1);
        let edit = async |path: &'static str, old: &'static str| {
            let _held = lane.acquire().await.unwrap();
            world.edit(path, old, &old.to_uppercase()).await
        };
        let (one, two) = tokio::join!(edit("./a", "one"), edit("a", "two"));
        assert!(one.is_ok() && two.is_ok(), "round {round}: {one:?} {two:?}");
        assert_eq!(world.text("a"), "ONE TWO", "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c20_two_edits_without_a_lock_never_lose_one_silently() {
    let world = World::new();
    for round in 0..200 {
        world.put("a", "one two");
        world.read("a").await.unwrap();
        let (one, two) = tokio::join!(world.edit("./a", "one", "1"), world.edit("a", "two", "2"));
        let expected = match (&one, &two) {
            (Ok(_), Ok(_)) => "1 2",
            (Ok(_), Err(_)) => "1 two",
            (Err(_), Ok(_)) => "one 2",
            (Err(_), Err(_)) => "one two",
        };
        assert_eq!(world.text("a"), expected, "round {round}: {one:?} {two:?}");
        for ended in [one, two] {
            if ended.is_err() {
                assert_eq!(code(&ended), "FS_STALE", "round {round}");
            }
        }
    }
}
