//! A permit cannot be made from outside.

use toold::pipeline::Permit;

fn main() {
    let _ = Permit {};
}
