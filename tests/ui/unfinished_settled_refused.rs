//! Only a frozen result can be settled.

use toold::pipeline::Dispatched;

async fn early(dispatched: Dispatched) {
    let _ = dispatched.settle().await;
}

fn main() {
    let _ = early;
}
