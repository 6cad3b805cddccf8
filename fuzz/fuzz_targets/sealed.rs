//! Contents behind checksums that are right: a sample of which one frame is what the bytes are. The first three say which decoder, sample and frame; of an export
//! all behind its length is theirs.
#![no_main]

#[path = "../shared.rs"]
mod shared;

use shared::common::snapshot::Parts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&[decoder, sample, frame], bytes)) = bytes.split_first_chunk() else { return };
    let decoder = shared::decoder(decoder);
    let sample = &decoder.samples[usize::from(sample) % decoder.samples.len()];
    if decoder.is_export {
        let mut sealed = sample[..16].to_vec();
        sealed.extend_from_slice(bytes);
        let length = sealed.len() as u64 + 8;
        sealed[8..16].copy_from_slice(&length.to_le_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64(&sealed);
        sealed.extend_from_slice(&sum.to_le_bytes());
        return shared::read(decoder, &sealed);
    }
    let mut parts = Parts::of(sample);
    let frame = usize::from(frame) % parts.frames.len();
    parts.frames[frame].1 = bytes[..bytes.len().min(1 << 16)].to_vec();
    shared::read(decoder, &parts.bytes());
});
