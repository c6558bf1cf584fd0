//! Every kind of problem, with its place and its words.

use std::fs;

use proptest::prelude::*;

use super::{super::Config, House, refuses};

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_file() {
    refuses(
        r#"# toold
[sever]
[server]
listen = "localhost:80"
  max_bodi = "4MiB"
[streams]
heartbeat = 15
[store]
durability = "powr"
"#,
        &[
            r#"toold.toml:2:2 sever: unknown key; did you mean "server"?"#,
            r#"toold.toml:4:1 [server] listen: expected an IP address and a port such as "127.0.0.1:7878", this is "localhost:80""#,
            r#"toold.toml:5:3 [server] max_bodi: unknown key; did you mean "max_body"?"#,
            r#"toold.toml:7:1 [streams] heartbeat: expected a duration such as "30s" or "10m", found an integer"#,
            r#"toold.toml:9:1 [store] durability: expected "process" or "power", this is "powr"; did you mean "power"?"#,
        ],
    );
}

#[test]
fn a_key_or_section_that_is_given_twice_is_refused_and_the_rest_is_read_on() {
    refuses(
        "[server]\ndrain = \"1s\"\ndrain = \"2s\"\nmax_wait = 3\n[store]\n[server]\n",
        &[
            "toold.toml:3:1 drain: given twice; TOML has each key and each section once, so remove one",
            r#"toold.toml:4:1 [server] max_wait: expected a duration such as "30s" or "10m", found an integer"#,
            "toold.toml:6:2 server: given twice; TOML has each key and each section once, so remove one",
        ],
    );
}

#[test]
fn what_is_not_toml_is_told_with_its_places_and_nothing_else() {
    let house = House::new();
    let found = house
        .load("[server\nlisten = 3\nmax_body = = 4\n", &[])
        .unwrap_err();
    assert!(
        found[0].starts_with("toold.toml:1:8: not TOML: "),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|problem| problem.starts_with("toold.toml:3:12: ")),
        "{found:?}"
    );
    assert!(
        found.iter().all(|problem| problem.contains("not TOML")),
        "{found:?}"
    );
    assert!(house.load("a = \"\u{0}\"", &[]).is_err());
}

#[test]
fn what_a_list_holds_wrongly_is_told_once() {
    refuses(
        "[agents.a]\nrestrict = { allow = [\"[x\"] }\n[[auth.tokens]]\nname = \"t\"\n\
         token_env = \"TOKEN\"\npermissions = [1]\nagents = [\"*\"]\n",
        &[
            r#"toold.toml:2:23 [agents.a.restrict] allow: "[x" is no glob: unclosed character class; missing ']'"#,
            "toold.toml:5:1 [auth.tokens #1] token_env: the variable TOKEN is not set, empty, or not UTF-8",
            r#"toold.toml:6:16 [auth.tokens #1] permissions: expected "call", "events", "approve", "register", "audit" or "admin", found an integer"#,
        ],
    );
}

#[test]
fn columns_count_characters() {
    refuses(
        "\"ключ\".x = 1\na = { \"é\" = 1 }",
        &[
            "toold.toml:1:1 ключ: unknown key",
            "toold.toml:2:1 a: unknown key",
        ],
    );
    refuses(
        "server = { \"é\" = 1, drain = \"x\" }",
        &[
            "toold.toml:1:12 [server] é: unknown key",
            r#"toold.toml:1:21 [server] drain: expected a duration such as "30s" or "10m", this is "x""#,
        ],
    );
}

#[test]
fn numbers_sizes_and_durations_have_bounds() {
    refuses(
        r#"[server]
max_body = "1B"
max_wait = "25h"
drain = "10"
max_connections = 0
max_calls = -1
[streams]
heartbeat = "0s"
reader_bytes = "2GiB"
reader_events = 1.5
"#,
        &[
            r"toold.toml:2:1 [server] max_body: must be from 1.0 KiB to 1.0 GiB, this is 1 B",
            r"toold.toml:3:1 [server] max_wait: must be from 0s to 1day, this is 1day 1h",
            r#"toold.toml:4:1 [server] drain: expected a duration such as "30s" or "10m", this is "10""#,
            r"toold.toml:5:1 [server] max_connections: must be from 1 to 1000000, this is 0",
            r"toold.toml:6:1 [server] max_calls: expected a whole number from 1 to 1000000, this is -1",
            r"toold.toml:8:1 [streams] heartbeat: must be from 10ms to 1m, this is 0s",
            r"toold.toml:9:1 [streams] reader_bytes: must be from 1.0 KiB to 1.0 GiB, this is 2.0 GiB",
            r"toold.toml:10:1 [streams] reader_events: expected a whole number, found a fraction",
        ],
    );
}

#[test]
fn elements_of_lists_are_judged_one_by_one_at_their_own_place() {
    refuses(
        r#"[server]
allowed_hosts = ["tools.example", "http://x", 7]
allowed_origins = "https://a.example"
[workspace]
deny_read = [
  "**/.git/credentials",
  "a[",
  "",
]
"#,
        &[
            r#"toold.toml:2:35 [server] allowed_hosts: expected a host name such as "tools.example", this is "http://x""#,
            r#"toold.toml:2:47 [server] allowed_hosts: expected a host name such as "tools.example", found an integer"#,
            "toold.toml:3:1 [server] allowed_origins: expected a list, found a string",
            r#"toold.toml:7:3 [workspace] deny_read: "a[" is no glob: unclosed character class; missing ']'"#,
            "toold.toml:8:3 [workspace] deny_read: an empty glob matches nothing; remove it",
        ],
    );
    for origin in [
        "null",
        "*",
        "https://a/b",
        "a.example",
        "https://",
        "file://x",
    ] {
        let text = format!("server.allowed_origins = [\"{origin}\"]");
        let found = House::new().load(&text, &[]).unwrap_err();
        assert!(
            found[0].contains("expected an origin such as"),
            "{origin}: {found:?}"
        );
    }
}

#[test]
fn what_can_match_nothing_is_refused_where_it_was_typed() {
    for pattern in ["/etc/**", "./hidden", "secrets/", "a//b", "a/../b"] {
        let text = format!("workspace.deny_read = [\"{pattern}\"]");
        let found = House::new().load(&text, &[]).unwrap_err();
        assert!(found[0].contains("matches no path"), "{pattern}: {found:?}");
    }
    for host in ["2001:db8::1", "a..b", "a.example:99999", "-_.:[]"] {
        let text = format!("server.allowed_hosts = [\"{host}\"]");
        let found = House::new().load(&text, &[]).unwrap_err();
        assert!(
            found[0].contains("expected a host name"),
            "{host}: {found:?}"
        );
    }
    for origin in ["https://a.example:443", "http://a.example:80"] {
        let text = format!("server.allowed_origins = [\"{origin}\"]");
        let found = House::new().load(&text, &[]).unwrap_err();
        assert!(
            found[0].contains("leave the usual port out"),
            "{origin}: {found:?}"
        );
    }
    let text = "server.allowed_origins = [\"http://a.example:443\"]\n\
                [workspace]\ndeny_read = [\".env\", \"**/.git/*\"]";
    House::new().load(text, &[]).unwrap();
}

#[test]
fn what_may_be_a_token_is_not_repeated() {
    for name in ["toold_0123456789", "s3cret!"] {
        let text = format!(
            "[[auth.tokens]]\nname = \"t\"\ntoken_env = \"{name}\"\npermissions = [\"call\"]\nagents = [\"*\"]"
        );
        let found = House::new().load(&text, &[]).unwrap_err();
        assert!(
            found[0].contains("is not shown") && !found[0].contains(name),
            "{found:?}"
        );
    }
}

#[test]
fn what_this_version_does_not_have_says_so() {
    let absent = |line: usize, what: &str| {
        format!("toold.toml:{line}:1 {what}: not available in this version of toold; remove it")
    };
    refuses(
        "[server]\nruntime_command_tools = true\n[store]\nretention = \"30d\"\nretention_events = 1\n\
         inline_value = \"1KiB\"\n[approvals]\nexpires = \"1h\"\nself_approval = false\n",
        &[
            &absent(2, "[server] runtime_command_tools"),
            &absent(4, "[store] retention"),
            &absent(5, "[store] retention_events"),
            &absent(6, "[store] inline_value"),
            &absent(8, "[approvals] expires"),
            &absent(9, "[approvals] self_approval"),
        ],
    );
    for header in [
        "[spill]",
        "[sandbox]",
        "[[rules]]",
        "[policy]",
        "[limits]",
        "[[guards]]",
        "[[screens]]",
        "[[tools.command]]",
        "[[tools.http]]",
        "[[mcp.servers]]",
        "[hooks]",
        "[[hooks.webhook]]",
        "[audit]",
        "[workers]",
        "[telemetry]",
        "[tls]",
        "[code_mode]",
        "[auth.oidc]",
        "[[approvals.notify]]",
    ] {
        let found = House::new().load(header, &[]).unwrap_err();
        assert_eq!(found.len(), 1, "{header}: {found:?}");
        assert!(found[0].ends_with("not available in this version of toold; remove it"));
    }
}

#[test]
fn a_store_that_is_not_sqlite_is_refused_without_showing_its_password() {
    refuses(
        "store.url = \"postgres://toold:hush@db/toold\"",
        &[
            r#"toold.toml:1:7 [store] url: postgres:// is not available in this version of toold; use "sqlite:PATH""#,
        ],
    );
    for url in [
        "sqlite:",
        "sqlite::memory:",
        "sqlite://",
        "sqlite:a?mode=ro",
        "/var/lib/x.db",
    ] {
        let found = House::new()
            .load(&format!("store.url = \"{url}\""), &[])
            .unwrap_err();
        assert!(
            found[0].contains("expected \"sqlite:PATH\""),
            "{url}: {found:?}"
        );
    }
}

#[test]
fn agents_have_known_parents_and_no_cycles() {
    refuses(
        r#"[agents.coder]
parent = "bose"
mode = "code"
preset = "workspace-write"
[agents.base]
approval_policy = "always"
max_parallel = 0
[agents.a]
parent = "b"
[agents.b]
parent = "c"
[agents.c]
parent = "a"
[agents.d]
parent = "a"
[agents.self]
parent = "self"
restrict = {}
[agents.global]
[agents."not a name"]
[agents.masked]
restrict = { allow = ["read_*", "["], denny = [] }
[agents]
number = 3
"#,
        &[
            r#"toold.toml:2:1 [agents.coder] parent: no agent is named "bose"; did you mean "base"?"#,
            r#"toold.toml:3:1 [agents.coder] mode: "code" is not available in this version of toold; use "native" or remove it"#,
            "toold.toml:4:1 [agents.coder] preset: not available in this version of toold; remove it",
            r#"toold.toml:6:1 [agents.base] approval_policy: expected "ask" or "never", this is "always""#,
            "toold.toml:7:1 [agents.base] max_parallel: must be from 1 to 1000, this is 0",
            "toold.toml:9:1 [agents.a] parent: the chain of parents has no end: a → b → c → a",
            "toold.toml:17:1 [agents.self] parent: the chain of parents has no end: self → self",
            "toold.toml:18:1 [agents.self.restrict]: masks nothing; name tools in allow or deny, or remove it",
            "toold.toml:19:9 [agents.global]: is the root of every chain and owns no calls; configure `default` or an agent of your own",
            r#"toold.toml:20:9 [agents.not a name]: an agent name must match ^[A-Za-z0-9_.-]{1,64}$, this is "not a name""#,
            r#"toold.toml:22:33 [agents.masked.restrict] allow: "[" is no glob: unclosed character class; missing ']'"#,
            r#"toold.toml:22:39 [agents.masked.restrict] denny: unknown key; did you mean "deny"?"#,
            "toold.toml:24:1 [agents] number: expected a table, found an integer",
        ],
    );
}

#[test]
fn a_workspace_is_a_directory() {
    let house = House::new();
    house.write("file", "");
    for root in ["missing", "file"] {
        let shown = format!(
            "toold.toml:1:11 [workspace] root: {root} is not a directory; make it, or name another"
        );
        house.refuses(&format!("workspace.root = \"{root}\""), &[], &[&shown]);
    }
}

#[test]
fn a_section_is_a_table() {
    refuses(
        "server = 3\nauth.tokens = [1]\n",
        &[
            "toold.toml:1:1 server: expected a table, found an integer",
            "toold.toml:2:16 [auth] tokens: expected a table, found an integer",
        ],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_one_problem() {
    let house = House::new();
    let load = |name: &str| {
        let file = house.path().join(name);
        let problems = Config::load(Some(&file), &house.environment(&[])).unwrap_err();
        let here = format!("{}/", house.path().display());
        problems
            .iter()
            .map(|p| p.to_string().replace(&here, ""))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(load("absent.toml").starts_with("absent.toml: the configuration cannot be read: "));
    fs::write(house.path().join("bytes.toml"), b"[server]\n# \xff").unwrap();
    assert_eq!(
        load("bytes.toml"),
        "bytes.toml: not UTF-8, from byte 11 on; TOML is UTF-8"
    );
    house.write("long.toml", &"#".repeat((1 << 20) + 1));
    assert_eq!(
        load("long.toml"),
        "long.toml: over 1 MiB long, which is no configuration of toold"
    );
}

/// Texts of pieces that TOML knows, put together in any order.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        " = ",
        ".",
        ",",
        "\n",
        "\n[",
        "]\n",
        "\"",
        "'",
        "\"\"\"",
        "#",
        "server",
        "auth",
        "tokens",
        "auth.tokens",
        "agents",
        "agents.a",
        "listen",
        "parent",
        "\"a\"",
        "\"*\"",
        "1",
        "-",
        "1.5",
        "true",
        "1979-05-27",
        "é",
        "\r",
        "\u{0}",
        "\\u",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_places_inside_it(text in texts()) {
        let house = House::new();
        for problem in house.load(&text, &[]).err().unwrap_or_default() {
            let mut place = problem.split([':', ' ']).skip(1).map(str::parse::<usize>);
            let (Some(Ok(line)), Some(Ok(column))) = (place.next(), place.next()) else {
                panic!("a problem without a place: {problem}");
            };
            let lines: Vec<_> = text.split('\n').collect();
            prop_assert!((1..=lines.len()).contains(&line), "{}", problem);
            prop_assert!((1..=lines[line - 1].chars().count() + 1).contains(&column), "{}", problem);
        }
    }
}
