//! The one legal order, for contrast: if this stops compiling, the others prove nothing.

use toold::pipeline::{Created, Ended, Frozen};

async fn walk(created: Created) -> Frozen {
    match stages(created).await {
        Ok(frozen) => frozen,
        Err(ended) => ended.finish().await,
    }
}

async fn stages(created: Created) -> Result<Frozen, Ended> {
    let permit = created.judge().await?.guard()?;
    Ok(permit.dispatch().await?.finish().await)
}

fn main() {
    let _ = walk;
}
