//! The file tools through the whole daemon (C20, C21).

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::harness::{Client, Daemon, Extra, story};

async fn read(agent: &Client, session: &str, path: &str) -> crate::harness::Answer {
    let id = format!("r-{}", uuid(path));
    agent
        .call(
            session,
            &id,
            "read_file",
            &json!({"path": path}).to_string(),
        )
        .await
        .expect(200)
}

/// A call id that no other call of the test has.
fn uuid(of: &str) -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("{}-{}", of.len(), NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn edit(
    agent: &Client,
    session: &str,
    path: &str,
    old: &str,
    new: &str,
) -> crate::harness::Answer {
    let arguments = json!({"path": path, "old_text": old, "new_text": new}).to_string();
    agent
        .call(session, &uuid(path), "edit_file", &arguments)
        .await
        .expect(200)
}

#[test]
fn c20_two_parallel_edits_of_one_file_are_both_there_every_time() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        for round in 0..200 {
            daemon.file("a", "left\nright\n");
            read(&agent, &session, "a").await;
            let (left, right) = (format!("LEFT{round}"), format!("RIGHT{round}"));
            let (one, two) = futures_util::future::join(
                edit(&agent, &session, "./a", "left", &left),
                edit(&agent, &session, "a", "right", &right),
            )
            .await;
            assert_eq!(
                (one.code(), two.code()),
                (String::new(), String::new()),
                "{}",
                two.text
            );
            let content = std::fs::read_to_string(daemon.workspace().join("a")).unwrap();
            assert_eq!(content, format!("LEFT{round}\nRIGHT{round}\n"));
        }
    });
}

#[test]
fn c20_a_file_that_changed_since_it_was_read_is_a_clear_conflict_also_after_a_restart() {
    story(async {
        let mut daemon = Daemon::start();
        daemon.file("a", "one\n");
        let agent = daemon.agent();
        let session = agent.session().await;
        let unread = edit(&agent, &session, "a", "one", "two").await;
        assert_eq!(unread.code(), "FS_NOT_OBSERVED");
        read(&agent, &session, "a").await;
        daemon.kill();
        daemon.restart();
        let agent = daemon.agent();
        let known = edit(&agent, &session, "a", "one", "two").await;
        assert_eq!(
            known.code(),
            "",
            "what was read before the restart is known: {}",
            known.text
        );
        daemon.file("a", "changed by somebody else\n");
        let stale = edit(&agent, &session, "a", "two", "three").await;
        assert_eq!(stale.code(), "FS_STALE");
        let content = std::fs::read_to_string(daemon.workspace().join("a")).unwrap();
        assert_eq!(content, "changed by somebody else\n");
    });
}

/// A root with a neighbour of a similar name, links that lead out, and one that stays inside.
fn house_with_temptations(daemon: &Daemon) -> std::path::PathBuf {
    daemon.file("a", "inside");
    daemon.file("sub/b", "below");
    let root = daemon.workspace();
    let outside = root.parent().unwrap().join("workspace-evil");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), "SECRET").unwrap();
    symlink("/etc", root.join("etc")).unwrap();
    symlink(outside.join("missing"), root.join("dangling")).unwrap();
    symlink("sub/b", root.join("inner")).unwrap();
    outside
}

#[test]
fn c21_nothing_outside_the_root_is_read_by_any_spelling() {
    story(async {
        let daemon = Daemon::start();
        let outside = house_with_temptations(&daemon);
        let root = daemon.workspace();
        let agent = daemon.agent();
        let session = agent.session().await;
        let evil = outside.join("x").to_str().unwrap().to_owned();
        let paths = [
            evil.as_str(),
            "../workspace-evil/x",
            "sub/../../../etc/passwd",
            "/etc/passwd",
            "etc/passwd",
            "/proc/self/root/etc/passwd",
            "file:///etc/passwd",
            "a\u{0}",
            "a\u{0}.txt",
            "",
        ];
        for path in paths {
            let answer = read(&agent, &session, path).await;
            assert_eq!(answer.json()["is_error"], true, "{path:?}: {}", answer.text);
            assert!(
                !answer.text.contains("SECRET") && !answer.text.contains("root:x"),
                "{path:?}"
            );
            let here = root.parent().unwrap().to_str().unwrap();
            let message = answer.json()["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(
                !message.contains(here) || path.contains(here),
                "a host path: {message}"
            );
        }
        for path in [
            "a",
            "./a",
            "sub//.././a",
            "inner",
            root.join("a").to_str().unwrap(),
        ] {
            let answer = read(&agent, &session, path).await;
            assert_eq!(
                answer.json()["is_error"],
                false,
                "{path:?}: {}",
                answer.text
            );
        }
    });
}

#[test]
fn c21_nothing_outside_the_root_is_written_by_any_spelling() {
    story(async {
        let daemon = Daemon::start();
        let outside = house_with_temptations(&daemon);
        let agent = daemon.agent();
        let session = agent.session().await;
        for path in ["dangling", "etc/passwd-new", "../new", "/tmp/toold-new"] {
            let arguments = json!({"path": path, "content": "x"}).to_string();
            let answer = agent
                .call(&session, &uuid(path), "write_file", &arguments)
                .await;
            assert_eq!(answer.expect(200).json()["is_error"], true, "{path:?}");
        }
        let made = [
            outside.join("missing"),
            outside.with_file_name("new"),
            "/tmp/toold-new".into(),
        ];
        assert!(
            made.iter().all(|path| !path.exists()),
            "nothing was made outside"
        );
    });
}

#[test]
fn the_lists_of_the_workspace_and_the_daemons_own_files_are_held_on_descriptors() {
    story(async {
        let daemon = Daemon::with(Extra {
            workspace: "deny_read = [\"**/.git/credentials\"]\ndeny_write = [\"locked/**\"]",
            ..Default::default()
        });
        daemon.file(".git/credentials", "SECRET");
        daemon.file("locked/f", "f");
        let root = daemon.workspace();
        symlink(".git/credentials", root.join("innocent")).unwrap();
        std::fs::hard_link(daemon.database(), root.join("notes")).unwrap();
        let agent = daemon.agent();
        let session = agent.session().await;
        for path in [
            ".git/credentials",
            "./.git//credentials",
            "innocent",
            "notes",
        ] {
            let answer = read(&agent, &session, path).await;
            assert_eq!(answer.code(), "GUARD_DENIED", "{path}: {}", answer.text);
            assert!(!answer.text.contains("SECRET"));
        }
        read(&agent, &session, "locked/f").await;
        let denied = edit(&agent, &session, "locked/f", "f", "g").await;
        assert_eq!(denied.code(), "GUARD_DENIED", "{}", denied.text);
    });
}

#[test]
fn a_session_works_in_its_own_directory_and_cannot_name_one_outside() {
    story(async {
        let daemon = Daemon::start();
        daemon.file("sub/f", "here");
        let agent = daemon.agent();
        for bad in ["..", "/etc", "missing", "sub/f"] {
            let body = json!({"workspace": bad}).to_string();
            agent.post("/v1/sessions", &body).await.expect(400);
        }
        let opened = agent
            .post("/v1/sessions", r#"{"workspace":"sub"}"#)
            .await
            .expect(201)
            .json();
        let session = opened["session_id"].as_str().unwrap();
        let answer = read(&agent, session, "f").await;
        assert_eq!(answer.json()["value"]["content"], "here");
    });
}

#[test]
fn writing_listing_and_their_cards() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let arguments = r#"{"path":"new/file.txt","content":"one\ntwo\n"}"#;
        let written = agent
            .call(&session, "w", "write_file", arguments)
            .await
            .expect(200)
            .json();
        assert_eq!(written["value"]["created"], true, "{written}");
        assert_eq!(written["meta"]["card"], "diff");
        let listed = agent
            .call(&session, "l", "list_dir", r#"{"depth":2}"#)
            .await
            .expect(200);
        assert!(listed.text.contains("file.txt"), "{}", listed.text);
        let edited = edit(&agent, &session, "new/file.txt", "two", "three")
            .await
            .json();
        assert_eq!(edited["meta"]["card"], "diff", "{edited}");
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events?after=0"))
            .await;
        let intent = stream.until("fs/write-intent").await;
        assert_eq!(intent.data()["path"], "new/file.txt");
        stream.until("fs/edit-intent").await;
    });
}
