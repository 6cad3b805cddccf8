//! Deduplication over restarts: a process handles a third of a stream, writes what it knows to a file, and ends; the next one goes on from there. No
//! event is admitted twice within its window, whichever process it comes to.
//!
//! ```text
//! cargo run --release --example restart
//! ```
//!
//! The processes are this program again. What they answer is checked against one that did not stop.

use std::{
    env,
    error::Error,
    fs::{self, File},
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};
use windlass::{Dedup, DedupBuilder, Tick};

const PROCESSES: u64 = 3;
/// Of each process.
const EVENTS: u64 = 200_000;

/// The same in all of them, but for the seed: that is the first one's, and comes with the snapshot.
fn builder() -> DedupBuilder {
    Dedup::builder(Duration::from_secs(3600)).capacity(1000).max_memory(64 << 20)
}

fn wall() -> Result<Duration, Box<dyn Error>> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}

/// What was there before, and where its clock stands; or a beginning.
fn start(file: &Path) -> Result<(Dedup, Tick), Box<dyn Error>> {
    if !file.exists() {
        return Ok((builder().build()?, Tick(0)));
    }
    let restored = builder().restore(File::open(file)?, wall()?)?;
    eprintln!("  {} ids restored, {:?} later", restored.entries, restored.elapsed);
    Ok((restored.structure, restored.resumed))
}

/// To a file beside it first: whoever crashes meanwhile leaves the last one as it is.
fn write(dedup: &Dedup, file: &Path) -> Result<(), Box<dyn Error>> {
    let beside = file.with_extension("new");
    let out = File::create(&beside)?;
    let written = dedup.snapshot(&out)?;
    out.sync_all()?;
    fs::rename(&beside, file)?;
    eprintln!("  {} ids in {} bytes", written.entries, written.bytes);
    Ok(())
}

/// The id of the i-th event: three of four come again, a while later.
fn id(i: u64) -> String {
    format!("order-{}", i.checked_sub(i % 4 * 30_001).unwrap_or(i))
}

fn process(number: u64, file: &Path) -> Result<(), Box<dyn Error>> {
    let (dedup, start) = start(file)?;
    // Its own clock goes on from `start`.
    let mut fresh = 0;
    for i in number * EVENTS..(number + 1) * EVENTS {
        fresh += u64::from(dedup.observe(id(i))?.is_fresh());
    }
    write(&dedup, file)?;
    eprintln!("  from tick {start} on: {fresh} of {EVENTS} events were new");
    println!("{fresh}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [number, file] = &args[..] {
        return process(number.parse()?, Path::new(file));
    }
    let file = env::temp_dir().join(format!("windlass-restart-{}.wls", std::process::id()));
    let mut fresh = 0;
    for number in 0..PROCESSES {
        eprintln!("process {number}");
        let child = Command::new(env::current_exe()?).arg(number.to_string()).arg(&file).output()?;
        eprint!("{}", String::from_utf8_lossy(&child.stderr));
        if !child.status.success() {
            return Err("a process has failed".into());
        }
        fresh += String::from_utf8(child.stdout)?.trim().parse::<u64>()?;
    }
    fs::remove_file(&file)?;

    let dedup = builder().build()?;
    let mut expected = 0;
    for i in 0..PROCESSES * EVENTS {
        expected += u64::from(dedup.observe(id(i))?.is_fresh());
    }
    println!("{fresh} events were new to {PROCESSES} processes, {expected} to one that did not stop");
    if fresh == expected { Ok(()) } else { Err("not the same".into()) }
}
