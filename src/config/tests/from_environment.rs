//! `TOOLD_…` variables over a file.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, time::Duration};

use super::{
    super::{Config, Environment, User},
    House,
};

#[test]
fn a_variable_overrides_the_file_and_need_not_be_in_it() {
    let config = House::new().accepts(
        "[server]\nlisten = \"127.0.0.1:1\"\nmax_wait = \"5s\"\n",
        &[
            ("TOOLD_SERVER__LISTEN", "127.0.0.1:2"),
            ("TOOLD_SERVER__MAX_CALLS", "7"),
            ("TOOLD_SERVER__ALLOWED_HOSTS", "a.example, b.example"),
            ("TOOLD_STREAMS__HEARTBEAT", "2s"),
            ("TOOLD_WORKSPACE__DENY_READ", r#"["a,b", "c"]"#),
            ("TOOLD_STORE__DURABILITY", "power"),
            ("UNRELATED__KEY", "x"),
        ],
    );
    assert_eq!(config.server.listen.port(), 2);
    assert_eq!(config.server.max_wait, Duration::from_secs(5));
    assert_eq!(config.server.max_calls, 7);
    assert_eq!(config.server.allowed_hosts, ["a.example", "b.example"]);
    assert_eq!(config.streams.heartbeat, Duration::from_secs(2));
    assert_eq!(config.workspace.deny_read, ["a,b", "c"]);
}

#[test]
fn an_empty_variable_is_an_empty_list_and_no_other_value() {
    let text = "server.allowed_hosts = [\"a.example\"]";
    let config = House::new().accepts(text, &[("TOOLD_SERVER__ALLOWED_HOSTS", "")]);
    assert!(config.server.allowed_hosts.is_empty());
    House::new().refuses(
        "",
        &[("TOOLD_SERVER__DRAIN", "")],
        &[r#"TOOLD_SERVER__DRAIN [server] drain: expected a duration such as "30s" or "10m", this is """#],
    );
}

#[test]
fn unknown_names_are_refused_and_the_command_lines_own_are_not() {
    House::new().refuses(
        "",
        &[
            ("TOOLD_URL", "u"),
            ("TOOLD_TOKEN", "t"),
            ("TOOLD_CONFIG", "c"),
            ("TOOLD_LOG", "debug"),
            ("TOOLD_EXECUTION_TOKEN", "e"),
            ("TOOLD_SEVER__LISTEN", "127.0.0.1:1"),
            ("TOOLD_SERVER__LISTN", "127.0.0.1:1"),
            ("TOOLD_SANDBOX__MODE", "read-only"),
            ("TOOLD_SERVER____DRAIN", "1s"),
            ("TOOLD_", ""),
        ],
        &[
            "TOOLD_: names no key: between two names stand two underscores",
            "TOOLD_SANDBOX__MODE sandbox: not available in this version of toold; remove it",
            r#"TOOLD_SERVER__LISTN [server] listn: unknown key; did you mean "listen"?"#,
            "TOOLD_SERVER____DRAIN: names no key: between two names stand two underscores",
            r#"TOOLD_SEVER__LISTEN sever: unknown key; did you mean "server"?"#,
        ],
    );
}

#[test]
fn values_are_judged_as_those_of_the_file_are() {
    House::new().refuses(
        "[server]\nmax_body = \"4MiB\"\n",
        &[
            ("TOOLD_SERVER__LISTEN", "0.0.0.0:1"),
            ("TOOLD_SERVER__MAX_BODY", "lots"),
            ("TOOLD_SERVER__MAX_CALLS", "many"),
            ("TOOLD_WORKSPACE__ASK_READ", "ok,a["),
            ("TOOLD_APPROVALS", "never"),
        ],
        &[
            "TOOLD_APPROVALS approvals: expected a table, found a string",
            "TOOLD_SERVER__LISTEN [server] listen: this address is open to the network and no token is configured; add [[auth.tokens]] (`toold token new` makes one), or listen on 127.0.0.1",
            r#"TOOLD_SERVER__MAX_BODY [server] max_body: expected a size such as "4MiB", this is "lots""#,
            "TOOLD_SERVER__MAX_CALLS [server] max_calls: expected a whole number from 1 to 1000000, this is many",
            r#"TOOLD_WORKSPACE__ASK_READ [workspace] ask_read: "a[" is no glob: unclosed character class; missing ']'"#,
        ],
    );
}

#[test]
fn agents_keep_the_spelling_of_the_file() {
    let text = "[agents.Team-Coder]\n[agents.base]\n";
    let config = House::new().accepts(
        text,
        &[
            ("TOOLD_AGENTS__TEAM_CODER__PARENT", "base"),
            ("TOOLD_AGENTS__TEAM_CODER__RESTRICT__DENY", "write_file"),
            ("TOOLD_AGENTS__NEW__RESTRICT", "{ allow = [\"read_file\"] }"),
        ],
    );
    let names: Vec<_> = config
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    assert_eq!(names, ["base", "Team-Coder", "new"]);
    House::new().refuses(
        "[agents.a-b]\n[agents.a.b]\n",
        &[],
        &["toold.toml:2:11 [agents.a] b: unknown key"],
    );
    House::new().refuses(
        "[agents.a-b]\n[agents.A_B]\n",
        &[("TOOLD_AGENTS__A_B__MAX_PARALLEL", "1")],
        &["TOOLD_AGENTS__A_B__MAX_PARALLEL: may mean agent a-b or agent A_B: use the file"],
    );
}

#[test]
fn one_key_is_set_once() {
    House::new().refuses(
        "",
        &[
            ("TOOLD_SERVER", "{ drain = \"1s\" }"),
            ("TOOLD_SERVER__DRAIN", "2s"),
            ("TOOLD_STORE__url", "sqlite:a"),
            ("TOOLD_STORE__URL", "sqlite:b"),
        ],
        &[
            "TOOLD_SERVER__DRAIN: TOOLD_SERVER already sets all of it",
            "TOOLD_STORE__url: TOOLD_STORE__URL sets the same key",
        ],
    );
}

#[test]
fn tokens_can_come_whole_from_the_environment() {
    let tokens = r#"[{ name = "ci", token_env = "TOOLD_CI__SECRET", permissions = ["call"], agents = ["*"] }]"#;
    let config = House::new().accepts(
        "server.listen = \"0.0.0.0:0\"",
        &[("TOOLD_AUTH__TOKENS", tokens), ("TOOLD_CI__SECRET", "test")],
    );
    assert_eq!(&*config.auth.tokens[0].name, "ci");
}

#[test]
fn a_variable_that_is_not_utf_8_is_refused() {
    let variables = [(
        OsStr::new("TOOLD_SERVER__DRAIN"),
        OsStr::from_bytes(b"\xff"),
    )];
    let problems = Config::load(None, &Environment::new(variables, "/", User::Root)).unwrap_err();
    assert_eq!(problems[0].to_string(), "TOOLD_SERVER__DRAIN: is not UTF-8");
}

#[test]
fn what_kubernetes_sets_beside_a_service_of_our_name_is_passed_over() {
    let links = [
        ("TOOLD_SERVICE_HOST", "10.0.0.1"),
        ("TOOLD_SERVICE_PORT", "7878"),
        ("TOOLD_SERVICE_PORT_HTTP", "7878"),
        ("TOOLD_PORT", "tcp://10.0.0.1:7878"),
        ("TOOLD_PORT_7878_TCP", "tcp://10.0.0.1:7878"),
        ("TOOLD_PORT_7878_TCP_ADDR", "10.0.0.1"),
    ];
    House::new().accepts("", &links);
    House::new().refuses(
        "",
        &[("TOOLD_TOOLD_SERVER__DRAIN", "1s")],
        &["TOOLD_TOOLD_SERVER__DRAIN toold_server: unknown key"],
    );
}
