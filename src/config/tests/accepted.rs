//! What a good configuration means.

use std::{net::SocketAddr, path::Path, time::Duration};

use super::{
    super::{Config, Durability, Environment, Permission, Restrict, User},
    House,
};
use crate::domain::ApprovalPolicy;

#[test]
fn without_a_file_the_defaults_hold() {
    let house = House::new();
    let config = Config::load(None, &house.environment(&[])).unwrap();
    assert_eq!(config.file, None);
    assert_eq!(config.state_dir, Path::new("/state/toold"));
    assert_eq!(config.store.path, Path::new("/state/toold/toold.db"));
    assert_eq!(config.store.durability, Durability::Process);
    assert_eq!(
        config.server.listen,
        SocketAddr::from(([127, 0, 0, 1], 7878))
    );
    assert_eq!(config.server.max_body, 4 * 1024 * 1024);
    assert_eq!(config.server.max_wait, Duration::from_mins(10));
    assert_eq!(config.server.drain, Duration::from_secs(30));
    assert_eq!(
        (config.server.max_connections, config.server.max_calls),
        (4096, 1024)
    );
    assert_eq!(config.workspace.root, house.path());
    assert_eq!(config.approvals.policy, ApprovalPolicy::Ask);
    assert_eq!(config.streams.heartbeat, Duration::from_secs(15));
    assert_eq!(config.streams.reader_events, 10_000);
    assert_eq!(config.streams.reader_bytes, 8 * 1024 * 1024);
    assert!(config.auth.tokens.is_empty() && config.agents.is_empty());
}

#[test]
fn everything_that_this_version_has_can_be_said() {
    let house = House::new();
    let config = house.accepts(
        r#"
[server]
listen = "[::1]:0"
address_file = "run/address"
max_body = "1 MiB"
max_wait = "1m 30s"
drain = "0s"
allowed_hosts = ["tools.example", "[2001:db8::1]:7878"]
allowed_origins = ["https://tools.example:8443"]
max_connections = 10
max_calls = 0x10
[store]
url = "sqlite:data/my.db"
durability = "power"
[[auth.tokens]]
name = "backend"
token_env = "TOOLD_BACKEND_TOKEN"
permissions = ["call", "events"]
agents = ["team-*"]
[workspace]
root = "."
deny_read = ["**/.git/credentials"]
deny_write = ["locked/**"]
ask_read = [".env*"]
[approvals]
policy = "never"
[agents.coder]
parent = "base"
mode = "native"
restrict = { allow = ["read_file", "list_*"], deny = [] }
approval_policy = "ask"
max_parallel = 3
[agents.base]
parent = "default"
[streams]
heartbeat = "1s"
reader_events = 5
reader_bytes = "64KiB"
"#,
        &[("TOOLD_BACKEND_TOKEN", "test")],
    );
    assert!(config.server.listen.ip().is_loopback() && config.server.listen.port() == 0);
    assert_eq!(
        config.server.address_file,
        Some(house.path().join("run/address"))
    );
    assert_eq!(config.server.max_wait, Duration::from_secs(90));
    assert_eq!(config.server.max_calls, 16);
    assert_eq!(config.store.path, house.path().join("data/my.db"));
    assert_eq!(config.store.durability, Durability::Power);
    assert_eq!(config.workspace.deny_write, ["locked/**"]);
    assert_eq!(config.approvals.policy, ApprovalPolicy::Never);

    let token = &config.auth.tokens[0];
    assert_eq!(&*token.name, "backend");
    assert!(
        token
            .permissions
            .iter()
            .eq([Permission::Call, Permission::Events])
    );
    assert!(token.agents[0].is_match("team-a") && !token.agents[0].is_match("other"));

    let names: Vec<_> = config
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["base", "coder"],
        "parents stand before their children"
    );
    let coder = &config.agents[1];
    assert_eq!(coder.parent.as_ref().map(AsRef::as_ref), Some("base"));
    assert_eq!(coder.max_parallel, Some(3));
    let mask = Restrict {
        allow: vec!["read_file".into(), "list_*".into()],
        deny: vec![],
    };
    assert_eq!(coder.restrict, Some(mask));
}

#[test]
fn a_parent_named_global_is_no_parent() {
    let config = House::new().accepts("agents.a.parent = \"global\"", &[]);
    assert_eq!(config.agents[0].parent, None);
}

#[test]
fn store_addresses_may_have_slashes() {
    let house = House::new();
    for (url, path) in [
        ("sqlite:/var/lib/x.db", "/var/lib/x.db"),
        ("sqlite:///var/lib/x.db", "/var/lib/x.db"),
        ("sqlite://x.db", &format!("{}/x.db", house.path().display())),
    ] {
        let config = house.accepts(&format!("store.url = \"{url}\""), &[]);
        assert_eq!(config.store.path, Path::new(path), "{url}");
    }
}

#[test]
fn a_daemon_with_its_own_store_and_tokens_needs_no_state_directory() {
    let house = House::new();
    let environment = |variables: &[(&str, &str)]| {
        Environment::new(variables.to_vec(), house.path(), User::Other)
    };
    let store = ("TOOLD_STORE__URL", "sqlite:/data/x.db");
    let tokens = (
        "TOOLD_AUTH__TOKENS",
        r#"[{ name = "a", token_env = "A", permissions = ["call"], agents = ["*"] }]"#,
    );
    let both = [store, tokens, ("A", "test")];
    let config = Config::load(None, &environment(&both)).unwrap();
    assert_eq!(config.state_dir, Path::new("/data/toold"));
    for missing in [&[store][..], &[tokens, ("A", "test")]] {
        let problems = Config::load(None, &environment(missing)).unwrap_err();
        assert!(
            problems[0]
                .to_string()
                .starts_with("XDG_STATE_HOME: neither"),
            "{problems:?}"
        );
    }
}

#[test]
fn the_daemons_own_files_are_listed() {
    let house = House::new();
    let text = "server.address_file = \"address\"\nstore.url = \"sqlite:s/x.db\"";
    let paths = house.accepts(text, &[]).protected_paths();
    let own = [
        "toold.toml",
        "address",
        "s/x.db",
        "s/x.db-wal",
        "s/x.db-shm",
    ];
    for path in own.map(|name| house.path().join(name)) {
        assert!(paths.contains(&path), "{path:?} is missing in {paths:?}");
    }
    assert!(paths.contains(&Path::new("/state/toold").to_owned()));
}
