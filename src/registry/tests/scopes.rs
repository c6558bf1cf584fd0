//! Scopes: who sees what, what is refused, who is told.

use std::sync::{Arc, Mutex};

use super::{agent, built, definition, tool, tool_from};
use crate::{
    domain::{AgentName, ApprovalPolicy, ToolName},
    registry::{AgentSpec, Error, Mode, Presence, Restrict, ToolRegistry},
};

fn spec(name: &str, parent: &str) -> AgentSpec {
    AgentSpec {
        parent: Some(agent(parent)),
        ..AgentSpec::new(agent(name))
    }
}

fn masked(name: &str, parent: &str, allow: &[&str], deny: &[&str]) -> AgentSpec {
    let owned = |patterns: &[&str]| {
        patterns
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect()
    };
    let restrict = Restrict {
        allow: owned(allow),
        deny: owned(deny),
    };
    AgentSpec {
        restrict: Some(restrict),
        ..spec(name, parent)
    }
}

/// `global` with these tools.
fn registry(tools: &[&str]) -> ToolRegistry {
    let registry = ToolRegistry::new();
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    registry.register_all(&AgentName::global(), &tools).unwrap();
    registry
}

fn sees(registry: &ToolRegistry, name: &str) -> Vec<String> {
    let view = registry
        .agent(&agent(name))
        .unwrap_or_else(|| panic!("no agent {name}"));
    view.catalogue()
        .tools()
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect()
}

fn source(registry: &ToolRegistry, name: &str, tool: &str) -> Option<String> {
    let tool = registry.resolve(&agent(name), tool)?;
    Some(tool.definition().source.as_str().to_owned())
}

#[test]
fn the_agent_default_always_exists_and_sees_global() {
    let registry = registry(&["b", "a"]);
    assert_eq!(sees(&registry, "default"), ["a", "b"]);
    assert!(registry.resolve(&agent("default"), "a").is_some());
    assert!(registry.resolve(&agent("default"), "c").is_none());
    assert!(registry.resolve(&agent("nobody"), "a").is_none());
    assert!(
        registry.agent(&AgentName::global()).is_none(),
        "global owns no calls"
    );
    assert_eq!(registry.agents().len(), 1);
    assert_eq!(
        registry.delete_agent(&AgentName::default_agent()),
        Err(Error::Default)
    );
}

#[test]
fn a_nearer_tool_shadows_a_farther_one() {
    let registry = registry(&["t"]);
    registry.put_agent(spec("base", "global")).unwrap();
    registry.put_agent(spec("coder", "base")).unwrap();
    assert_eq!(source(&registry, "coder", "t").unwrap(), "library");
    registry
        .register(&agent("base"), tool_from("t", "of base"))
        .unwrap();
    registry
        .register(&agent("coder"), tool_from("t", "of coder"))
        .unwrap();
    assert_eq!(source(&registry, "coder", "t").unwrap(), "of coder");
    assert_eq!(source(&registry, "base", "t").unwrap(), "of base");
    assert_eq!(source(&registry, "default", "t").unwrap(), "library");
    let t = ToolName::parse("t").unwrap();
    assert_eq!(
        registry
            .unregister(&agent("coder"), &t)
            .unwrap()
            .definition()
            .source
            .as_str(),
        "of coder"
    );
    assert_eq!(source(&registry, "coder", "t").unwrap(), "of base");
    assert!(matches!(
        registry.unregister(&agent("coder"), &t),
        Err(Error::UnknownTool { .. })
    ));
}

#[test]
fn two_tools_of_one_name_in_one_layer_are_refused_with_both_origins() {
    let registry = registry(&["a"]);
    let global = AgentName::global();
    registry
        .register(&global, tool_from("execute_sql", "mcp:a"))
        .unwrap();
    let refused = registry
        .register(&global, tool_from("execute_sql", "mcp:b"))
        .unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("one from mcp:a, one from mcp:b"), "{told}");
    let both = [
        tool("new"),
        tool_from("twice", "x"),
        tool_from("twice", "y"),
    ];
    assert!(matches!(
        registry.register_all(&global, &both),
        Err(Error::Conflict { .. })
    ));
    assert_eq!(
        sees(&registry, "default"),
        ["a", "execute_sql"],
        "all or none"
    );
    assert!(matches!(
        registry.register(&agent("nobody"), tool("b")),
        Err(Error::UnknownAgent { .. })
    ));
}

#[test]
fn a_mask_is_over_what_is_inherited_only_and_masks_intersect() {
    let registry = registry(&["read_file", "read_dir", "write_file", "bash"]);
    registry
        .put_agent(masked("base", "global", &["read_*", "bash"], &[]))
        .unwrap();
    registry.register(&agent("base"), tool("deploy")).unwrap();
    registry
        .put_agent(masked("coder", "base", &[], &["bash", "read_d?r"]))
        .unwrap();
    registry
        .register(&agent("coder"), tool_from("bash", "own"))
        .unwrap();
    assert_eq!(
        sees(&registry, "base"),
        ["bash", "deploy", "read_dir", "read_file"]
    );
    assert_eq!(sees(&registry, "coder"), ["bash", "deploy", "read_file"]);
    assert_eq!(source(&registry, "coder", "bash").unwrap(), "own");
    registry
        .put_agent(masked("strict", "coder", &["deploy"], &[]))
        .unwrap();
    assert_eq!(sees(&registry, "strict"), ["deploy"]);
}

#[test]
fn a_mask_without_effect_is_refused_in_words() {
    let registry = registry(&["read_file", "bash"]);
    registry.put_agent(spec("coder", "global")).unwrap();
    registry.register(&agent("coder"), tool("mine")).unwrap();
    registry
        .register(&agent("coder"), tool_from("bash", "own"))
        .unwrap();
    let refusal = |allow: &[&str], deny: &[&str]| {
        registry
            .put_agent(masked("coder", "global", allow, deny))
            .unwrap_err()
    };
    assert!(matches!(refusal(&[], &[]), Error::EmptyRestrict { .. }));
    assert!(matches!(
        refusal(&["raed_file"], &[]),
        Error::RestrictUnmatched { .. }
    ));
    assert!(matches!(
        refusal(&["read_file", "grep*"], &[]),
        Error::RestrictUnmatched { .. }
    ));
    assert!(matches!(
        refusal(&["read_file"], &["run_code"]),
        Error::RestrictReserved { .. }
    ));
    assert!(matches!(refusal(&[], &["mine"]), Error::RestrictOwn { .. }));
    assert!(matches!(refusal(&[], &["bash"]), Error::RestrictOwn { .. }));
    assert!(matches!(refusal(&["[a"], &[]), Error::Glob { .. }));
    assert!(matches!(
        refusal(&[&"x".repeat(300)], &[]),
        Error::Glob { .. }
    ));
    assert!(
        refusal(&["raed_file"], &[])
            .to_string()
            .contains("\"raed_file\" matches no tool")
    );
    assert_eq!(
        sees(&registry, "coder"),
        ["bash", "mine", "read_file"],
        "nothing has changed"
    );
    registry
        .put_agent(masked("coder", "global", &["*"], &["read_*"]))
        .unwrap();
    assert_eq!(sees(&registry, "coder"), ["bash", "mine"]);
}

#[test]
fn chains_have_their_rules() {
    let registry = registry(&["t"]);
    registry.put_agent(spec("a", "global")).unwrap();
    registry.put_agent(spec("b", "a")).unwrap();
    registry.put_agent(spec("c", "b")).unwrap();
    assert!(matches!(
        registry.put_agent(spec("d", "x")),
        Err(Error::UnknownParent { .. })
    ));
    for parent in ["a", "b", "c"] {
        assert!(matches!(
            registry.put_agent(spec("a", parent)),
            Err(Error::ParentCycle { .. })
        ));
    }
    assert_eq!(
        registry.put_agent(AgentSpec::new(AgentName::global())),
        Err(Error::Global)
    );
    assert_eq!(
        registry.delete_agent(&AgentName::global()),
        Err(Error::Global)
    );
    assert!(matches!(
        registry.delete_agent(&agent("a")),
        Err(Error::HasChild { .. })
    ));
    assert!(matches!(
        registry.delete_agent(&agent("x")),
        Err(Error::UnknownAgent { .. })
    ));
    let chain = registry.agent(&agent("c")).unwrap().chain().to_vec();
    assert_eq!(chain, [agent("global"), agent("a"), agent("b"), agent("c")]);
    registry.put_agent(spec("default", "c")).unwrap();
    assert!(matches!(
        registry.delete_agent(&agent("c")),
        Err(Error::HasChild { .. })
    ));
    registry.put_agent(spec("c", "global")).unwrap();
    assert_eq!(registry.agent(&agent("default")).unwrap().chain().len(), 3);
    registry.delete_agent(&agent("b")).unwrap();
    assert!(registry.agent(&agent("b")).is_none());
}

#[test]
fn the_strictest_policy_and_the_nearest_width_count() {
    let registry = registry(&[]);
    let mut base = spec("base", "global");
    base.approval_policy = Some(ApprovalPolicy::Never);
    base.max_parallel = Some(3);
    registry.put_agent(base).unwrap();
    let mut coder = spec("coder", "base");
    coder.approval_policy = Some(ApprovalPolicy::Ask);
    registry.put_agent(coder.clone()).unwrap();
    let view = registry.agent(&agent("coder")).unwrap();
    assert_eq!(view.approval_policy(), ApprovalPolicy::Never);
    assert_eq!(view.max_parallel(), Some(3));
    assert_eq!(view.spec(), &coder);
    coder.max_parallel = Some(1);
    registry.put_agent(coder.clone()).unwrap();
    assert_eq!(
        registry.agent(&agent("coder")).unwrap().max_parallel(),
        Some(1)
    );
    assert_eq!(
        registry.agent(&agent("default")).unwrap().max_parallel(),
        None
    );
    coder.max_parallel = Some(0);
    assert!(matches!(
        registry.put_agent(coder),
        Err(Error::MaxParallel { .. })
    ));
}

#[test]
fn modes_that_are_not_there_say_so() {
    assert_eq!(Mode::parse("native"), Ok(Mode::Native));
    for mode in ["code", "both"] {
        let told = Mode::parse(mode).unwrap_err().to_string();
        assert!(told.contains("not available in this version"), "{told}");
    }
    assert!(matches!(
        Mode::parse("Native"),
        Err(Error::UnknownMode { .. })
    ));
}

#[test]
fn a_captured_tool_is_compared_with_what_is_visible_now() {
    let registry = registry(&["t"]);
    let (global, default, t) = (
        agent("global"),
        agent("default"),
        ToolName::parse("t").unwrap(),
    );
    let captured = registry.resolve(&default, "t").unwrap();
    assert_eq!(registry.still(&default, &captured), Presence::Same);
    registry
        .register(&default, tool_from("t", "nearer"))
        .unwrap();
    assert_eq!(registry.still(&default, &captured), Presence::Changed);
    registry.unregister(&default, &t).unwrap();
    registry.unregister(&global, &t).unwrap();
    assert_eq!(registry.still(&default, &captured), Presence::Gone);
    registry.register(&global, tool("t")).unwrap();
    assert_eq!(
        registry.still(&default, &captured),
        Presence::Same,
        "the same definition again"
    );
    registry
        .put_agent(masked("default", "global", &[], &["t"]))
        .unwrap();
    assert_eq!(registry.still(&default, &captured), Presence::Gone);
    assert_eq!(registry.still(&agent("nobody"), &captured), Presence::Gone);
}

#[test]
fn the_catalogue_shows_the_model_three_members_and_is_stable() {
    let mut first = definition("b");
    first.description = "Says \"b\".".to_owned();
    first.timeout = Some(std::time::Duration::from_secs(7));
    let (one, other) = (registry(&[]), registry(&[]));
    let global = AgentName::global();
    one.register_all(&global, &[built(first.clone()), tool("a")])
        .unwrap();
    other.register(&global, tool("a")).unwrap();
    other.register(&global, built(first)).unwrap();
    let shown = |registry: &ToolRegistry| registry.agent(&agent("default")).unwrap();
    assert_eq!(
        std::str::from_utf8(shown(&one).catalogue().native()).unwrap(),
        r#"{"items":[{"name":"a","description":"Does a.","parameters":{"type":"object"}},{"name":"b","description":"Says \"b\".","parameters":{"type":"object"}}]}"#
    );
    assert_eq!(
        shown(&one).catalogue().native(),
        shown(&other).catalogue().native()
    );
    let etag = shown(&one).catalogue().etag().to_owned();
    assert_eq!(etag, shown(&other).catalogue().etag());
    assert!(
        etag.starts_with("\"sha256:") && etag.ends_with('"'),
        "{etag}"
    );
    one.register(&global, tool("c")).unwrap();
    assert_ne!(etag, shown(&one).catalogue().etag());
    assert_eq!(
        std::str::from_utf8(shown(&registry(&[])).catalogue().native()),
        Ok(r#"{"items":[]}"#)
    );
}

#[test]
fn near_names_are_suggested_and_no_others() {
    let registry = registry(&["read_file", "write_file", "edit_file", "list_dir", "grep"]);
    let near = |name: &str| {
        let near = registry.suggest(&agent("default"), name);
        near.iter()
            .map(|name| name.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(near("readFile"), ["read_file"]);
    assert_eq!(
        near("raed_file").first().map(String::as_str),
        Some("read_file")
    );
    assert_eq!(near("ls_dir"), ["list_dir"]);
    assert_eq!(near("read"), ["read_file"]);
    assert_eq!(near("file").len(), 3);
    assert_eq!(near("gerp"), ["grep"]);
    for strange in ["", "weather", "日本語", &"x".repeat(100_000)] {
        assert_eq!(near(strange), [""; 0], "{strange:.20}");
    }
    assert!(registry.suggest(&agent("nobody"), "grep").is_empty());
}

#[test]
fn listeners_hear_of_the_agents_whose_tools_changed_and_of_nothing_else() {
    let registry = registry(&["t", "u"]);
    registry
        .put_agent(masked("blind", "global", &[], &["t"]))
        .unwrap();
    registry.put_agent(spec("coder", "global")).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (log, reader) = (Arc::clone(&heard), registry.clone());
    registry.on_change(Arc::new(move |agents| {
        // outside all locks: the registry can be read, and it is already changed
        let now = reader.agents().len();
        let names: Vec<_> = agents.iter().map(AgentName::as_str).collect();
        log.lock()
            .unwrap()
            .push(format!("{}/{now}", names.join(",")));
    }));
    let heard = || std::mem::take(&mut *heard.lock().unwrap());

    registry.register(&agent("global"), tool("v")).unwrap();
    assert_eq!(heard(), ["blind,coder,default/3"]);
    registry.register(&agent("coder"), tool("w")).unwrap();
    assert_eq!(heard(), ["coder/3"]);
    let t = ToolName::parse("t").unwrap();
    registry.unregister(&agent("global"), &t).unwrap();
    assert_eq!(heard(), ["coder,default/3"], "blind never saw it");
    registry.register(&agent("global"), tool("w")).unwrap();
    assert_eq!(
        heard(),
        ["blind,default/3"],
        "coder sees its own, the same definition"
    );
    let mut policy = spec("coder", "global");
    policy.approval_policy = Some(ApprovalPolicy::Never);
    registry.put_agent(policy).unwrap();
    assert_eq!(heard(), [""; 0], "tools did not change");
    registry.put_agent(spec("new", "coder")).unwrap();
    assert_eq!(heard(), ["new/4"]);
    registry.delete_agent(&agent("new")).unwrap();
    assert_eq!(heard(), ["new/3"]);
    assert!(registry.register(&agent("global"), tool("w")).is_err());
    assert_eq!(heard(), [""; 0], "nothing happened");
}

#[test]
fn readers_see_whole_changes_while_writers_race() {
    let registry = registry(&[]);
    let pair = [tool("a"), tool("b")];
    let names = [ToolName::parse("a").unwrap(), ToolName::parse("b").unwrap()];
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let (registry, pair, names) = (registry.clone(), &pair, &names);
            scope.spawn(move || {
                for _ in 0..200 {
                    registry.put_agent(spec(name, "global")).unwrap();
                    registry.register_all(&agent(name), pair).unwrap();
                    for gone in names {
                        registry.unregister(&agent(name), gone).unwrap();
                    }
                    registry.delete_agent(&agent(name)).unwrap();
                }
            });
        }
        for _ in 0..1_000 {
            for view in registry.agents() {
                let seen = view.catalogue().tools().len();
                let first = view.catalogue().get("a").is_some();
                assert!(seen != 1 || !first, "half of a registration was visible");
            }
        }
    });
    assert_eq!(registry.agents().len(), 1, "no writer's change was lost");
}
