//! The state directory, and the two tokens of a daemon that has none configured (proto-docs/routes.md).

use std::{
    fs::{DirBuilder, OpenOptions, Permissions as Mode},
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    sync::Arc,
};

use anyhow::Context as _;
use globset::Glob;

use crate::config::{Config, GeneratedToken, Secret, TokenSpec};

/// Makes the state directory and, where no token is configured, the generated ones. A token that
/// is there is kept: clients that hold it go on.
pub(super) fn prepare(config: &mut Config) -> anyhow::Result<()> {
    directory(&config.state_dir)?;
    if !config.auth.tokens.is_empty() {
        return Ok(());
    }
    for generated in GeneratedToken::ALL {
        let path = generated.path(&config.state_dir);
        let secret = token(&path)?;
        tracing::debug!(path = %path.display(), "token file of {}", generated.name());
        config.auth.tokens.push(TokenSpec {
            name: Arc::from(generated.name()),
            sha256: secret.sha256(),
            permissions: generated.permissions(),
            agents: vec![
                Glob::new("*")
                    .context("the glob of all agents")?
                    .compile_matcher(),
            ],
        });
    }
    Ok(())
}

fn directory(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("the state directory {}", path.display()))
}

fn token(path: &Path) -> anyhow::Result<Secret> {
    if let Some(parent) = path.parent() {
        directory(parent)?;
        std::fs::set_permissions(parent, Mode::from_mode(0o700))?;
    }
    if path.exists() {
        return Secret::read_file(path)
            .with_context(|| format!("{}: remove it to have a new one made", path.display()));
    }
    let secret = Secret::generate_token()?;
    let aside = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&aside)
        .with_context(|| format!("the token file {}", path.display()))?;
    writeln!(file, "{}", secret.expose())?;
    file.sync_all()?;
    std::fs::rename(&aside, path)?;
    Ok(secret)
}
