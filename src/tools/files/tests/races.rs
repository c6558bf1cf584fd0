//! Directories that are swapped for links while tools work below them (C21).

use std::{
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::{CWD, RenameFlags};

use super::*;

/// Swaps `d` and a link to the outside, as fast as it can, while `work` runs.
async fn while_swapping(world: &World, work: impl AsyncFnOnce()) {
    let stop = Arc::new(AtomicBool::new(false));
    let (root, outside, stopped) = (world.root.clone(), world.outside.clone(), Arc::clone(&stop));
    let swapper = Tasks::thread("swapper", move || {
        let (real, aside) = (root.join("d"), root.join("aside"));
        symlink(&outside, &aside).unwrap();
        while !stopped.load(Ordering::Relaxed) {
            rustix::fs::renameat_with(CWD, &real, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
        }
    });
    work().await;
    stop.store(true, Ordering::Relaxed);
    let joined = Tasks::new().blocking(move || swapper.unwrap().join()).await;
    joined.unwrap().unwrap();
}

#[tokio::test]
async fn c21_a_directory_swapped_for_a_link_redirects_no_write() {
    let world = World::new();
    fs::create_dir(world.root.join("d")).unwrap();
    while_swapping(&world, async || {
        for round in 0..300 {
            let ended = world.write(&format!("d/f{round}"), "written").await;
            if ended.is_err() {
                let code = code(&ended);
                let known = [
                    "GUARD_DENIED",
                    "FS_IO",
                    "FS_DENIED",
                    "FS_STALE",
                    "FS_NOT_FOUND",
                ];
                assert!(known.contains(&code.as_str()), "{ended:?}");
            }
        }
    })
    .await;
    let outside = fs::read_dir(&world.outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        outside.collect::<Vec<_>>(),
        ["x"],
        "nothing was written outside"
    );
    let real = ["d", "aside"]
        .into_iter()
        .find(|name| !world.root.join(name).is_symlink());
    let left = world.names(real.unwrap());
    assert!(!left.is_empty(), "the race let nothing through");
    assert!(
        left.iter().all(|name| !name.contains(".toold-")),
        "{left:?}"
    );
}

#[tokio::test]
async fn c21_a_directory_swapped_for_a_link_redirects_no_read() {
    let world = World::new();
    world.put("d/x", "inside");
    let mut reads = 0;
    while_swapping(&world, async || {
        for _ in 0..1_000 {
            if let Ok(value) = world.read("d/x").await {
                assert_eq!(value.get("content").unwrap().as_str(), Some("inside"));
                reads += 1;
            }
            if let Ok(value) = world.list("d").await {
                let path = value.get("path").unwrap().as_str().unwrap();
                assert!(["d", "aside"].contains(&path), "{path}");
            }
        }
    })
    .await;
    assert!(reads > 0, "the race let nothing through");
}

#[tokio::test]
async fn c21_a_directory_swapped_between_judgement_and_write_is_noticed() {
    let world = World::new();
    world.put("d/x", "inside");
    world.read("d/x").await.unwrap();
    let (root, outside) = (world.root.clone(), world.outside.clone());
    world.on_record(move |_| {
        fs::rename(root.join("d"), root.join("aside")).unwrap();
        symlink(&outside, root.join("d")).unwrap();
    });
    let ended = world.write("d/x", "new").await;
    assert_eq!(code(&ended), "FS_IO", "{ended:?}");
    assert_eq!(
        fs::read_to_string(world.outside.join("x")).unwrap(),
        "secret"
    );
    assert_eq!(world.text("aside/x"), "inside");
    assert_eq!(world.names("aside"), ["x"]);
}

#[tokio::test]
async fn c21_a_directory_moved_out_of_the_house_takes_no_write_with_it() {
    let world = World::new();
    fs::create_dir(world.root.join("d")).unwrap();
    let (root, outside) = (world.root.clone(), world.outside.clone());
    world.on_record(move |_| fs::rename(root.join("d"), outside.join("d")).unwrap());
    assert_eq!(code(&world.write("d/new", "x").await), "FS_IO");
    assert_eq!(fs::read_dir(world.outside.join("d")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_changes_between_judgement_and_write_is_not_overwritten() {
    let world = World::new();
    let path = world.put("a", "old");
    world.read("a").await.unwrap();
    let replaced = path.clone();
    world.on_record(move |_| fs::write(&replaced, "somebody else's").unwrap());
    assert_eq!(code(&world.write("a", "mine").await), "FS_STALE");
    assert_eq!(world.text("a"), "somebody else's");
    let fresh = world.root.join("fresh");
    world.on_record(move |_| fs::write(&fresh, "first").unwrap());
    assert_eq!(code(&world.write("fresh", "second").await), "FS_STALE");
    assert_eq!(world.text("fresh"), "first");
    assert_eq!(world.names("."), ["a", "fresh"]);
    let linked = world.root.join("linked");
    let target = world.outside.join("made");
    world.on_record(move |_| symlink(&target, &linked).unwrap());
    assert_eq!(code(&world.write("linked", "x").await), "FS_STALE");
    assert!(!world.outside.join("made").exists());
}

#[tokio::test]
async fn a_missing_directory_that_appears_as_a_link_is_not_entered() {
    let world = World::new();
    let (root, outside) = (world.root.clone(), world.outside.clone());
    world.on_record(move |_| symlink(&outside, root.join("new")).unwrap());
    assert_eq!(code(&world.write("new/deep/a", "x").await), "FS_IO");
    assert_eq!(fs::read_dir(&world.outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_path_that_climbs_is_followed_while_files_are_renamed_elsewhere() {
    // the kernel refuses to climb while anything on the machine is being renamed (openat2(2),
    // EAGAIN): what is renamed elsewhere must not fail a read here
    let world = World::new();
    world.put("d/x", "inside");
    world.put("e/x", "inside");
    world.put("f", "here");
    world.link("loop", "e/../loop");
    let climbing = format!("{}f", "e/../".repeat(200));
    while_swapping(&world, async || {
        for _ in 0..500 {
            let read = world.read(&climbing).await;
            assert_eq!(content(&read), "here");
            let ended = world.read("loop").await;
            assert_eq!(code(&ended), "GUARD_DENIED", "{ended:?}");
        }
    })
    .await;
}
