//! Programs that must not compile: illegal orders of the pipeline's stages.

use toold::pipeline::{Created, Ended, Frozen};

/// The one legal order. That it compiles here is what gives the refusals their meaning.
async fn legal_order(created: Created) -> Frozen {
    match stages(created).await {
        Ok(frozen) => frozen,
        Err(ended) => ended.finish().await,
    }
}

async fn stages(created: Created) -> Result<Frozen, Ended> {
    let permit = created.judge().await?.guard()?;
    Ok(permit.dispatch().await?.finish().await)
}

#[test]
fn illegal_stage_orders_do_not_compile() {
    let _ = legal_order;
    trybuild::TestCases::new().compile_fail("tests/ui/*_refused.rs");
}
