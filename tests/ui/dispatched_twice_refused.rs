//! A permit is spent by its dispatch.

use toold::pipeline::Permit;

async fn twice(permit: Permit) {
    let _ = permit.dispatch().await;
    let _ = permit.dispatch().await;
}

fn main() {
    let _ = twice;
}
