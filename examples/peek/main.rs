//! Reads a journal as another process may while a daemon writes it: counts its events, over and
//! over, and says how many there were at last.
//!
//! Run it with `cargo run --example peek -- DATABASE TIMES`.
#![expect(clippy::print_stdout, reason = "the count is what it is for")]

use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), Some(times)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: peek DATABASE TIMES");
    };
    let times: usize = times.to_string_lossy().parse()?;
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.busy_timeout(Duration::from_secs(10))?;
    let mut count: i64 = 0;
    for _ in 0..times {
        count = database.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
    }
    println!("{count}");
    Ok(())
}
