//! Mutated snapshots and exports: an error each, and no more memory than their size and the builder's settings justify.

use std::time::{Duration, Instant};

use super::{
    common::{self, Random},
    decoders::{self, Decoder},
    memory,
    mutants::{self, Way},
};

/// Bytes that reading takes beside what it makes: frames, and texts of errors.
const BESIDE: u64 = 1 << 18;

/// Of each way: how many there were, were no longer what they had been, and were read all the same.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    mutants: u64,
    changed: u64,
    read: u64,
}

struct Case {
    decoder: Decoder,
    /// The most memory that a sample takes.
    most: u64,
    found: [Found; 2],
    /// The greatest share of what is allowed.
    highest: f64,
    time: Duration,
}

fn cases() -> Vec<Case> {
    let golden = |name: &str| common::golden(name, || panic!("{name} is there"));
    let case = |decoder: Decoder| {
        let mut most = 0;
        for sample in &decoder.samples {
            let (read, bytes) = memory::peak(|| (decoder.read)(sample));
            let again = read.unwrap_or_else(|error| panic!("{}: {error}", decoder.name))();
            assert!((decoder.read)(&again).is_ok(), "{}: what it writes in its turn", decoder.name);
            most = most.max(bytes);
        }
        Case { decoder, most, found: Default::default(), highest: 0.0, time: Duration::ZERO }
    };
    decoders::all(golden).into_iter().map(case).collect()
}

impl Case {
    fn mutant(&mut self, random: &mut Random, way: Way, others: &[Vec<u8>]) {
        let pick = |random: &mut Random, of: &[Vec<u8>]| -> Vec<u8> {
            of[usize::try_from(random.below(of.len() as u64)).expect("an index")].clone()
        };
        let Decoder { name, samples, read, allows, is_export } = &self.decoder;
        let sample = pick(random, samples);
        // What is spliced in is mostly of its kind.
        let other =
            if *is_export || random.below(4) > 0 { pick(random, samples) } else { pick(random, others) };
        let mutant = match is_export {
            true => mutants::export(random, way, &sample, &other),
            false => mutants::snapshot(random, way, &sample, &other),
        };
        let found = &mut self.found[way as usize];
        found.mutants += 1;
        // (Behind the end of a snapshot nothing belongs to it.)
        let same = samples
            .iter()
            .any(|sample| if *is_export { *sample == mutant } else { mutant.starts_with(sample) });
        found.changed += u64::from(!same);
        let (result, bytes) = memory::peak(|| read(&mutant));
        let allowed = self.most + allows + 4 * mutant.len() as u64 + BESIDE;
        assert!(bytes <= allowed, "{name}: {bytes} bytes for {} of input", mutant.len());
        self.highest = self.highest.max(share(bytes, allowed));
        match result {
            Err(error) => assert!(!same && !error.is_empty(), "{name}: {error}"),
            Ok(used) => {
                found.read += u64::from(!same);
                assert!(same || way == Way::Sealed, "{name}: read, though damaged");
                // What was read is as good as any other.
                let again = used();
                let error = read(&again).err().unwrap_or_default();
                // (One that has used up its memory may take a little more when it is put together anew. And numbers that no calls could have
                // come to go no further.)
                let is_full = *allows > 0 && error.contains("there was room for");
                let at_the_end = error.contains(": number: ") || error.contains(": version: ");
                assert!(
                    error.is_empty() || is_full || at_the_end,
                    "{name}: what it writes in its turn: {error}"
                );
            }
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn share(part: u64, of: u64) -> f64 {
    part as f64 / of as f64
}

/// So many mutants, in turn of each decoder.
fn run(mutants: u64, seed: u64) -> Vec<Case> {
    let (mut cases, before) = (cases(), memory::address_space());
    let others: Vec<Vec<u8>> = {
        let snapshots = cases.iter().filter(|case| !case.decoder.is_export);
        snapshots.flat_map(|case| case.decoder.samples.clone()).collect()
    };
    let count = cases.len() as u64;
    let mut failed = 0;
    for number in 0..mutants {
        let mut random = Random(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        let which = usize::try_from(number % count).expect("an index");
        let way = if (number / count).is_multiple_of(2) { Way::Raw } else { Way::Sealed };
        let begun = Instant::now();
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            cases[which].mutant(&mut random, way, &others);
        }));
        cases[which].time += begun.elapsed();
        if told.is_err() {
            eprintln!("^ mutant {number} of seed {seed}, {way:?}, of {}", cases[which].decoder.name);
            failed += 1;
            assert!(failed < 10, "no more are tried");
        }
    }
    assert_eq!(failed, 0);
    // Large arrays, which do not come from the allocator. (Stacks and arenas of other tests' threads are in it.)
    if let (Some(before), Some(after)) = (before, memory::address_space()) {
        assert!(after - before < 4 << 30, "{} MiB of addresses", (after - before) >> 20);
    }
    cases
}

fn report(cases: &[Case]) -> String {
    let line = |case: &Case| {
        let [raw, sealed] = case.found;
        let share = 100.0 * case.highest;
        format!(
            "{:<26} raw {} (changed {}, read {}), sealed {} (changed {}, read {}), {share:.0} % of the memory allowed, {:.1?}\n",
            case.decoder.name,
            raw.mutants,
            raw.changed,
            raw.read,
            sealed.mutants,
            sealed.changed,
            sealed.read,
            case.time
        )
    };
    cases.iter().map(line).collect()
}

#[test]
fn some_mutants() {
    let cases = run(20_000, 1);
    for Case { decoder, found: [raw, sealed], .. } in &cases {
        assert!(raw.changed > raw.mutants / 2 && raw.read == 0, "{}", decoder.name);
        // Some reach what lies behind the checksums.
        assert!(sealed.changed > sealed.mutants / 2, "{}: {sealed:?}", decoder.name);
    }
    let read: u64 = cases.iter().map(|case| case.found[Way::Sealed as usize].read).sum();
    assert!(read > 500, "{}", report(&cases));
}

/// As many as `WINDLASS_MUTANTS` says, from `WINDLASS_SEED` on.
#[test]
#[ignore = "long: ./check full"]
fn many_mutants() {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}: {value}")))
    };
    let cases = run(number("WINDLASS_MUTANTS", 200_000), number("WINDLASS_SEED", 2));
    eprintln!("{}", report(&cases));
}
