//! A thousand subscribers: what an idle one costs, and how fast one session's events reach all.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{io::AsyncReadExt as _, task::JoinSet};

use crate::{
    load::Target,
    server::{Kind, Server},
};

const SUBSCRIBERS: u64 = 1000;

pub(crate) async fn measure(each: Duration) {
    let server = Server::start(Kind::Process);
    let target = Target::of(&server, 1).await;
    target.drive(1, Duration::from_millis(500)).await;
    let before = server.resident();
    let frames = Arc::new(AtomicU64::new(0));
    let greeted = Arc::new(AtomicU64::new(0));
    let mut readers = JoinSet::new();
    for _ in 0..SUBSCRIBERS {
        let mut socket = target.subscribe().await;
        let (frames, greeted) = (Arc::clone(&frames), Arc::clone(&greeted));
        readers.spawn(async move {
            let mut buffer = vec![0; 1 << 14];
            let mut first = true;
            loop {
                let Ok(read @ 1..) = socket.read(&mut buffer).await else {
                    return;
                };
                if std::mem::take(&mut first) {
                    greeted.fetch_add(1, Ordering::Relaxed);
                }
                let ends = buffer[..read]
                    .windows(2)
                    .filter(|two| two == b"\n\n")
                    .count();
                frames.fetch_add(ends as u64, Ordering::Relaxed);
            }
        });
    }
    while greeted.load(Ordering::Relaxed) < SUBSCRIBERS {
        tokio::task::yield_now().await;
    }
    let idle = server.resident().saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "a count of KiB")]
    let per_subscriber = idle as f64 / SUBSCRIBERS as f64;
    let seen = frames.load(Ordering::Relaxed);
    let began = Instant::now();
    let calls = target.drive(1, each).await;
    let delivered = frames.load(Ordering::Relaxed) - seen;
    #[expect(clippy::cast_precision_loss, reason = "a count of frames")]
    let rate = delivered as f64 / began.elapsed().as_secs_f64();
    println!("{SUBSCRIBERS} subscribers of one session, one connection calling:");
    println!("memory per idle subscriber: {per_subscriber:.1} KiB (under 20)");
    println!(
        "deliveries per second:      {rate:.0} ({:.0} calls/s)",
        calls.rate
    );
}
