//! Who may come in: configured tokens, and the address that needs them.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{super::hex, House, refuses};

const TEST_SHA: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

#[test]
fn an_address_open_to_the_network_needs_configured_tokens() {
    let refusal = "this address is open to the network and no token is configured; add \
                   [[auth.tokens]] (`toold token new` makes one), or listen on 127.0.0.1";
    for open in [
        "0.0.0.0:1",
        "192.0.2.1:1",
        "[::]:1",
        "[::ffff:192.0.2.1]:1",
        "[2001:db8::1]:1",
    ] {
        let text = format!("[server]\nlisten = \"{open}\"\n");
        refuses(
            &text,
            &[&format!("toold.toml:2:1 [server] listen: {refusal}")],
        );
        let with_token = format!(
            "{text}[[auth.tokens]]\nname = \"a\"\nsha256 = \"{TEST_SHA}\"\npermissions = [\"call\"]\nagents = [\"*\"]"
        );
        House::new().accepts(&with_token, &[]);
    }
    for loopback in [
        "127.0.0.1:0",
        "127.9.9.9:1",
        "[::1]:1",
        "[::ffff:127.0.0.1]:1",
    ] {
        House::new().accepts(&format!("server.listen = \"{loopback}\""), &[]);
    }
}

#[test]
fn a_wrong_token_is_not_also_told_as_a_missing_one() {
    refuses(
        "server.listen = \"0.0.0.0:1\"\n[[auth.tokens]]\nname = \"a\"\nsha256 = \"\"\npermissions = [\"call\"]\nagents = [\"*\"]",
        &[
            "toold.toml:4:1 [auth.tokens #1] sha256: expected the SHA-256 of the token: 64 hexadecimal digits, as `toold token new` prints it",
        ],
    );
}

#[test]
fn tokens_have_a_name_one_source_permissions_and_agents() {
    let text = format!(
        r#"[[auth.tokens]]
name = "both"
sha256 = "{TEST_SHA}"
token_env = "BACKEND"
permissions = ["cal", "events", "sudo"]
agents = ["*", "a["]

[[auth.tokens]]
permissions = []
agents = []

[[auth.tokens]]
name = "both"
token = "hush hush"

[[auth.tokens]]
name = "two words"
token_env = "TOOLD_NOT_SET"
permissions = "call"
agents = ["*"]
color = "red"
"#
    );
    House::new().refuses(
        &text,
        &[("BACKEND", "s3cret")],
        &[
            "toold.toml:4:1 [auth.tokens #1] token_env: one source is enough, here are sha256 and token_env",
            r#"toold.toml:5:16 [auth.tokens #1] permissions: expected "call", "events", "approve", "register", "audit" or "admin", this is "cal"; did you mean "call"?"#,
            r#"toold.toml:5:33 [auth.tokens #1] permissions: expected "call", "events", "approve", "register", "audit" or "admin", this is "sudo""#,
            r#"toold.toml:6:16 [auth.tokens #1] agents: "a[" is no glob: unclosed character class; missing ']'"#,
            "toold.toml:8:1 [auth.tokens #2] name: is missing",
            "toold.toml:8:1 [auth.tokens #2]: has no source; give sha256, token_env or token_file",
            r#"toold.toml:9:1 [auth.tokens #2] permissions: names nothing; list what is meant, such as "call""#,
            r#"toold.toml:10:1 [auth.tokens #2] agents: names nothing; list what is meant, such as "*" for all agents"#,
            r#"toold.toml:12:1 [auth.tokens #3] permissions: is missing; list what is meant, such as "call""#,
            r#"toold.toml:12:1 [auth.tokens #3] agents: is missing; list what is meant, such as "*" for all agents"#,
            r#"toold.toml:13:1 [auth.tokens #3] name: "both" is already taken at toold.toml:2:1"#,
            "toold.toml:14:1 [auth.tokens #3] token: a secret is never written here; name its source with token_env or token_file, or give its sha256",
            "toold.toml:17:1 [auth.tokens #4] name: expected a name of 1 to 128 characters without white space",
            "toold.toml:18:1 [auth.tokens #4] token_env: the variable TOOLD_NOT_SET is not set, empty, or not UTF-8",
            "toold.toml:19:1 [auth.tokens #4] permissions: expected a list, found a string",
            "toold.toml:21:1 [auth.tokens #4] color: unknown key",
        ],
    );
}

#[test]
fn two_tokens_are_two_secrets() {
    let token = |name: &str, source: &str| {
        format!(
            "[[auth.tokens]]\nname = \"{name}\"\n{source}\npermissions = [\"call\"]\nagents = [\"*\"]\n"
        )
    };
    let text =
        token("a", &format!("sha256 = \"{TEST_SHA}\"")) + &token("b", "token_env = \"B_TOKEN\"");
    House::new().refuses(
        &text,
        &[("B_TOKEN", "test")],
        &[r#"toold.toml:6:1 [auth.tokens #2]: is the same token as that of "a""#],
    );
}

#[test]
fn a_token_file_is_its_owners_alone() {
    let house = House::new();
    house.write("token", "test\n");
    let text = "[[auth.tokens]]\nname = \"a\"\ntoken_file = \"token\"\npermissions = [\"call\"]\nagents = [\"*\"]\n";
    let mode = |mode| {
        let file = house.path().join("token");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    house.refuses(text, &[], &["toold.toml:3:1 [auth.tokens #1] token_file: token is open to others (mode 0644): make it yours alone with `chmod 600`"]);
    mode(0o600);
    let config = house.accepts(text, &[]);
    assert_eq!(hex(&config.auth.tokens[0].sha256), TEST_SHA);
    assert!(
        config
            .protected_paths()
            .contains(&house.path().join("token"))
    );
}
