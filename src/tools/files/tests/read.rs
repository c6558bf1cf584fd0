//! `read_file`: lines, bounds, text, versions.

use std::io::{Seek, SeekFrom, Write};

use super::{
    super::{extract::MAX_CONTENT, version::WHOLE},
    *,
};

async fn lines(world: &World, path: &str, range: &str) -> Result<Json, ToolError> {
    world
        .call("read_file", &format!(r#"{{"path":"{path}",{range}}}"#))
        .await
}

#[tokio::test]
async fn a_whole_file_comes_back_exactly() {
    let world = World::new();
    world.put("package.json", "{\r\n  \"name\": \"ä\"\r\n}");
    let value = world.read("p//../package.json").await;
    assert_eq!(code(&value), "FS_NOT_FOUND", "p does not exist");
    let value = world.read(".//./package.json").await.unwrap();
    assert_eq!(
        value.to_text(),
        r#"{"path":"package.json","content":"{\r\n  \"name\": \"ä\"\r\n}","line_count":3,"truncated":false}"#
    );
    let (_, body) = world.tool("read_file");
    let arguments = object(r#"{"path":"./package.json"}"#);
    let blocks = body.render(&arguments, &value).unwrap();
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0].as_text(), value.get("content").unwrap().as_str());
    assert_eq!(
        body.meta(&arguments, &value).unwrap().unwrap().to_text(),
        r#"{"card":"read","path":"package.json","line_count":3,"truncated":false}"#
    );
}

#[tokio::test]
async fn lines_are_counted_and_cut_as_documented() {
    let world = World::new();
    for (text, range, expected) in [
        ("", r#""offset":1"#, ("", 0, false)),
        ("a", r#""offset":1"#, ("a", 1, false)),
        ("a\nb\nc\n", r#""offset":2"#, ("b\nc\n", 3, false)),
        ("a\nb\nc\n", r#""offset":2,"limit":1"#, ("b\n", 3, true)),
        ("a\nb\nc", r#""offset":3,"limit":1"#, ("c", 3, false)),
        ("a\nb\n", r#""limit":2"#, ("a\nb\n", 2, false)),
        ("a\n\nb", r#""limit":2"#, ("a\n\n", 3, true)),
        ("a\r\nb\r\n", r#""offset":2"#, ("b\r\n", 2, false)),
        ("a\nb\n", r#""offset":4"#, ("", 2, false)),
        ("a\nb\n", r#""offset":9007199254740991"#, ("", 2, false)),
        ("a\nb\n", r#""offset":1.0,"limit":1e0"#, ("a\n", 2, true)),
    ] {
        world.put("f", text);
        let value = lines(&world, "f", range).await.unwrap();
        let found = (
            value.get("content").unwrap().as_str().unwrap(),
            value.get("line_count").unwrap().as_u64().unwrap(),
            value.get("truncated").unwrap().as_bool().unwrap(),
        );
        assert_eq!(found, expected, "{text:?} {range}");
    }
}

#[tokio::test]
async fn content_says_how_to_read_on_and_when_there_is_nothing() {
    let world = World::new();
    world.put("f", "a\nb\nc\n");
    world.put("empty", "");
    let (_, body) = world.tool("read_file");
    for (path, range, remark) in [
        (
            "f",
            r#""offset":2,"limit":1"#,
            "[lines 2 to 2 of 3; the file goes on: read with offset 3",
        ),
        (
            "f",
            r#""offset":9"#,
            "[nothing at line 9: the file has 3 lines]",
        ),
        ("empty", r#""limit":1"#, "[the file is empty]"),
    ] {
        let arguments = object(&format!(r#"{{"path":"{path}",{range}}}"#));
        let value = lines(&world, path, range).await.unwrap();
        let blocks = body.render(&arguments, &value).unwrap();
        assert!(
            blocks[1].as_text().unwrap().starts_with(remark),
            "{blocks:?}"
        );
    }
}

#[tokio::test]
async fn what_is_not_text_is_told_with_the_place_of_its_first_bad_byte() {
    let world = World::new();
    for (bytes, place) in [
        (
            &b"ab\ncd\xff\xfe"[..],
            "invalid UTF-8 (0xff) at byte 5 (line 2)",
        ),
        (b"a\0b", "a NUL character at byte 1 (line 1)"),
        (b"a\n\0\xff", "a NUL character at byte 2 (line 2)"),
        (b"\xff\0", "invalid UTF-8 (0xff) at byte 0 (line 1)"),
        (b"ok \xe2\x82", "invalid UTF-8 (0xe2) at byte 3 (line 1)"),
        (b"\xc0\x80", "invalid UTF-8 (0xc0) at byte 0 (line 1)"),
    ] {
        world.put("b", bytes);
        let refused = world.read("b").await;
        assert_eq!(code(&refused), "FS_NOT_TEXT");
        assert!(message(&refused).contains(place), "{}", message(&refused));
    }
    world.put("b", b"fine\n\xff\n");
    assert_eq!(content(&lines(&world, "b", r#""limit":1"#).await), "fine\n");
    let refused = lines(&world, "b", r#""offset":2"#).await;
    assert!(
        message(&refused).contains("byte 5 (line 2)"),
        "{}",
        message(&refused)
    );
}

#[tokio::test]
async fn the_bound_holds_for_whole_files_and_for_parts() {
    let world = World::new();
    world.put("exact", "x".repeat(MAX_CONTENT));
    assert_eq!(content(&world.read("exact").await).len(), MAX_CONTENT);
    world.put("over", "123456789\n".repeat(MAX_CONTENT / 10 + 1));
    let refused = world.read("over").await;
    assert_eq!(code(&refused), "FS_TOO_LARGE");
    assert!(
        message(&refused).contains("offset and limit"),
        "{}",
        message(&refused)
    );
    let part = lines(&world, "over", r#""offset":1"#).await.unwrap();
    let text = part.get("content").unwrap().as_str().unwrap();
    assert_eq!(text.len(), MAX_CONTENT / 10 * 10, "whole lines only");
    assert_eq!(part.get("truncated"), Some(&Json::Bool(true)));
    assert_eq!(
        part.get("line_count").unwrap().as_u64(),
        Some(MAX_CONTENT as u64 / 10 + 1)
    );
    world.put("long", format!("a\n{}", "x".repeat(MAX_CONTENT + 1)));
    let refused = lines(&world, "long", r#""offset":2"#).await;
    assert_eq!(code(&refused), "FS_TOO_LARGE");
    assert!(
        message(&refused).contains("line 2 alone"),
        "{}",
        message(&refused)
    );
    assert_eq!(
        content(&lines(&world, "long", r#""offset":1"#).await),
        "a\n"
    );
}

#[tokio::test]
async fn a_part_of_a_file_of_many_gigabytes_is_read_without_reading_the_rest() {
    let world = World::new();
    let path = world.put("huge", "first\nsecond\n");
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(64 << 30)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    let value = lines(&world, "huge", r#""offset":2,"limit":1"#)
        .await
        .unwrap();
    assert_eq!(value.get("content").unwrap().as_str(), Some("second\n"));
    assert_eq!(
        value.get("line_count"),
        Some(&Json::Null),
        "its end was not reached"
    );
    assert_eq!(value.get("truncated"), Some(&Json::Bool(true)));
    assert_eq!(code(&world.read("huge").await), "FS_TOO_LARGE");
    let observed = world
        .host
        .observed
        .lock()
        .unwrap()
        .values()
        .next()
        .unwrap()
        .clone();
    assert!(observed.starts_with("stat:"), "{observed}");
}

#[tokio::test]
async fn a_long_read_stops_when_it_is_asked_to() {
    let world = World::new();
    fs::File::create(world.root.join("huge"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    let signal = Signal::root();
    let arguments = object(r#"{"path":"huge","offset":2}"#);
    let reading = world.call_under(signal.clone(), "read_file", &arguments);
    let stopping = async { signal.cancel(Cause::Cancelled { reason: None }) };
    let (ended, _) = tokio::join!(reading, stopping);
    assert_eq!(ended, Err(ToolError::Interrupted));
}

#[tokio::test]
async fn what_was_seen_is_noted_as_digest_or_stamp() {
    let world = World::new();
    world.put("d/small", "a\nb\n");
    world.link("l", "d/small");
    lines(&world, "l", r#""limit":1"#).await.unwrap();
    world.put("large", "x\n".repeat(WHOLE / 2 + 1));
    lines(&world, "large", r#""limit":1"#).await.unwrap();
    let observed = world.host.observed.lock().unwrap();
    let version = |path: &str| observed[&(world.session.clone(), path.to_owned())].clone();
    assert_eq!(
        version("d/small"),
        Digest::of_bytes(b"a\nb\n").to_string(),
        "by its real path"
    );
    assert!(version("large").starts_with("stat:"));
}

#[tokio::test]
async fn only_regular_files_are_read_and_nothing_blocks() {
    let world = World::new();
    fs::create_dir(world.root.join("d")).unwrap();
    let pipe = world.root.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.root.join("socket")).unwrap();
    for (path, what) in [
        ("d", "a directory"),
        ("pipe", "a pipe"),
        ("socket", "socket"),
    ] {
        let refused = world.read(path).await;
        assert_eq!(code(&refused), "FS_DENIED", "{path}");
        assert!(message(&refused).contains(what), "{}", message(&refused));
        assert_eq!(code(&world.write(path, "x").await), "FS_DENIED", "{path}");
    }
    assert_eq!(code(&world.read("none").await), "FS_NOT_FOUND");
    world.put("f", "x");
    assert_eq!(code(&world.read("f/x").await), "FS_NOT_FOUND");
    assert_eq!(
        code(&world.read(&"n".repeat(300)).await),
        "FS_IO",
        "a name that is too long"
    );
}

#[tokio::test]
async fn a_session_reads_from_its_own_directory_and_may_climb_inside_the_root() {
    let mut world = World::new();
    world.put("s/a", "mine");
    world.put("t/a", "theirs");
    world.workspace = Workspace("s".into());
    assert_eq!(content(&world.read("a").await), "mine");
    let other = world.read("../t/a").await.unwrap();
    assert_eq!(other.get("path").unwrap().as_str(), Some("../t/a"));
    let absolute = world.root.join("t/a");
    let other = world.read(absolute.to_str().unwrap()).await.unwrap();
    assert_eq!(other.get("path").unwrap().as_str(), Some("../t/a"));
    assert_eq!(code(&world.read("../../p-evil/x").await), "GUARD_DENIED");
}

#[tokio::test]
async fn without_a_journal_a_read_says_so() {
    let world = World::new();
    world.put("a", "x");
    *world.host.closed.lock().unwrap() = true;
    let failed = world.read("a").await;
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
}
