//! A log without its noise: of messages that differ in numbers alone only so many pass in a time, what was left out is counted where the next one passes, and in the end it says
//! which were the noisiest.
//!
//! ```text
//! tail -F app.log | cargo run --release --example denoise -- 3/10s
//! cargo run --release --example denoise                # over a log of its own, which is checked
//! ```

use std::{
    collections::HashMap,
    env,
    error::Error,
    io::{self, BufRead, IsTerminal, Write},
    time::Duration,
};
use windlass::{Clock, KeyedLimiter, Quota, Tick, TopK};

/// The shape of a message: digits are `#`, however many.
fn shape(line: &str, shape: &mut String) {
    shape.clear();
    let mut in_number = false;
    for c in line.chars() {
        let digit = c.is_ascii_digit();
        if !digit || !in_number {
            shape.push(if digit { '#' } else { c });
        }
        in_number = digit;
    }
}

struct Denoiser {
    limiter: KeyedLimiter,
    noisiest: TopK,
    /// Of shapes that are held back at present: how many lines were left out. It has no more entries than there are shapes between two lines that passed.
    left_out: HashMap<String, u64>,
    shape: String,
}

impl Denoiser {
    fn new(quota: Quota) -> Result<Denoiser, Box<dyn Error>> {
        let hour = Duration::from_secs(3600);
        Ok(Denoiser {
            limiter: KeyedLimiter::builder(quota).clients(100_000).build()?,
            noisiest: TopK::builder(hour, hour / 60, 10).capacity(100_000).build()?,
            left_out: HashMap::new(),
            shape: String::new(),
        })
    }

    /// Whether the line passes; if it does, how many like it were left out before.
    fn pass(&mut self, line: &str, now: Tick) -> Option<u64> {
        shape(line, &mut self.shape);
        if self.limiter.check_at(self.shape.as_str(), 1, now).is_allowed() {
            return Some(self.left_out.remove(&self.shape).unwrap_or(0));
        }
        self.noisiest.add_at(self.shape.as_str(), 1, now);
        match self.left_out.get_mut(&self.shape) {
            Some(count) => *count += 1,
            None => drop(self.left_out.insert(self.shape.clone(), 1)),
        }
        None
    }

    fn report(&self, now: Tick, out: &mut impl Write) -> io::Result<()> {
        let list = self.noisiest.refresh_at(now);
        if !list.rows.is_empty() {
            writeln!(out, "left out, of the last hour:")?;
        }
        for row in &list.rows {
            writeln!(out, "{:10}  {}", row.count, row.key)?;
        }
        Ok(())
    }
}

/// Lines of standard input, as they come.
fn follow(quota: Quota) -> Result<(), Box<dyn Error>> {
    let mut denoiser = Denoiser::new(quota)?;
    let clock = Clock::monotonic();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(left_out) = denoiser.pass(&line, clock.now()) {
            if left_out > 0 {
                writeln!(out, ".. {left_out} more like this:")?;
            }
            writeln!(out, "{line}")?;
        }
    }
    denoiser.report(clock.now(), &mut io::stderr())?;
    Ok(())
}

/// Ten minutes of a service in which something fails a hundred times a second, and of which an error that counts must not get lost.
fn own(quota: Quota) -> Result<(), Box<dyn Error>> {
    let mut denoiser = Denoiser::new(quota)?;
    let (mut lines, mut passed, mut told, mut errors) = (0_u64, 0_u64, 0, 0);
    for ms in (0..600_000_u64).step_by(10) {
        let now = Tick(ms * 1_000_000);
        let mut see = |line: &str| {
            lines += 1;
            let pass = denoiser.pass(line, now);
            passed += u64::from(pass.is_some());
            told += pass.unwrap_or(0);
            errors += u64::from(pass.is_some() && line.starts_with("ERROR"));
        };
        see(&format!("WARN cannot reach 10.0.{}.{}:9042, attempt {}", ms % 7, ms % 251, ms / 10));
        if ms % 1000 == 0 {
            see(&format!("INFO {} requests in the last second", ms % 997));
        }
        if ms == 400_000 {
            see("ERROR disk 3 of shard 17 is full");
        }
    }
    let waiting: u64 = denoiser.left_out.values().sum();
    denoiser.report(Tick(600_000_000_000), &mut io::stdout())?;
    println!("{passed} of {lines} lines passed, at {} in {:?} of each shape", quota.permits(), quota.per());
    if passed + told + waiting != lines || errors != 1 || passed >= lines / 50 {
        return Err("not every line was either passed or counted".into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let quota: Quota = env::args().nth(1).as_deref().unwrap_or("3/10s").parse()?;
    if env::args().len() > 1 && !io::stdin().is_terminal() { follow(quota) } else { own(quota) }
}
