//! What policy allows is not yet a permit: the guards lie between.

use toold::pipeline::Judged;

async fn skip(judged: Judged) {
    let _ = judged.dispatch().await;
}

fn main() {
    let _ = skip;
}
