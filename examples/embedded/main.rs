//! A daemon of one's own: the library with tools and a policy layer written in Rust.
//!
//! Run it with `cargo run --example embedded -- CONFIG.toml COUNTED`, where the first file is a
//! configuration as for `toold serve` and the second collects the lines of the tool `counter`.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "literals are sound, and one of the tools panics on purpose"
)]

mod tools;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use toold::{
    app,
    config::Config,
    domain::{AgentName, PreDecision, Vote},
    policy::{Judgement, LayerError, Next, PolicySet, PreExecute},
};

/// Denies whatever names itself forbidden: the smallest layer there is.
#[derive(Debug)]
struct NoForbidden;

#[async_trait]
impl PreExecute for NoForbidden {
    fn name(&self) -> &'static str {
        "no-forbidden"
    }

    async fn judge(
        &self,
        judgement: Judgement<'_>,
        next: Next<'_>,
    ) -> Result<PreDecision, LayerError> {
        let forbidden = judgement.execution.arguments.contains_key("forbidden");
        let mine = if forbidden {
            PreDecision::Deny(Vote::of(
                self.name(),
                "the arguments say that it is forbidden",
            ))
        } else {
            PreDecision::Allow
        };
        Ok(mine.tighten(next.run().await?))
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(file), Some(counted)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: embedded CONFIG.toml COUNTED");
    };
    let config = Config::from_process(Some(&file)).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("{}", lines.join("\n"))
    })?;
    let mut builder =
        app::Builder::new(config).policy(PolicySet::builder().pre(Arc::new(NoForbidden)).build());
    for tool in tools::all(counted) {
        builder = builder.tool(AgentName::global(), tool);
    }
    app::run(builder)
}
