//! A created execution cannot pass the guards before policy has judged it.

use toold::pipeline::Created;

fn skip(created: Created) {
    let _ = created.guard();
}

fn main() {
    let _ = skip;
}
