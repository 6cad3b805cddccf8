//! Structs of other releases: smaller, larger, impossible.

use super::*;

/// As the first header had them.
const FIRST_CONFIG: u32 = 96;
const FIRST_STATS: u32 = 88;

/// A program that was compiled before there were these settings: they have their defaults, and what lies behind its struct is
/// neither read nor written.
#[test]
fn a_config_of_the_first_header() {
    let mut config = windlass_dedup_config { max_memory: 1, identity: 99, ..windlass_dedup_config::DEFAULT };
    // SAFETY: room for that size.
    assert_eq!(unsafe { windlass_dedup_config_init(&raw mut config, FIRST_CONFIG) }, WINDLASS_OK);
    assert_eq!((config.struct_size, config.max_memory, config.identity), (FIRST_CONFIG, 1, 99));
    (config.window, config.capacity) = (100, 1);
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_dedup_new(&raw const config, &raw mut handle, null_mut()) }, WINDLASS_OK);
    let dedup = Handle(handle);
    // By their hash: of any length. Of one size: it fills up.
    assert_eq!(dedup.observe(&[0; WINDLASS_MAX_ID_LEN + 1], 1), WINDLASS_FRESH);
    let full = (0..1000_u64).any(|id| dedup.observe(&id.to_le_bytes(), 1) == WINDLASS_E_FULL);
    assert_eq!((full, dedup.stats().grown), (true, 0));
}

/// One that knows some of the fields.
#[test]
fn a_config_that_knows_of_growth_alone() {
    let mut config = config(|config| (config.max_memory, config.identity) = (1 << 20, 99));
    config.struct_size = FIRST_CONFIG + 8;
    let mut handle = null_mut();
    // SAFETY: a valid config, a place for the handle.
    assert_eq!(unsafe { windlass_dedup_new(&raw const config, &raw mut handle, null_mut()) }, WINDLASS_OK);
    let dedup = Handle(handle);
    assert!((0..2000_u64).all(|id| dedup.observe(&id.to_le_bytes(), 1) == WINDLASS_FRESH));
    assert!(dedup.stats().grown > 0);
}

#[test]
fn figures_of_other_headers() {
    let dedup = made(|_| {});
    dedup.observe(b"a", 0);
    let mut first = windlass_dedup_stats { tables: 77, forwarded: 78, ..windlass_dedup_stats::DEFAULT };
    // SAFETY: room for that size.
    let status = unsafe { windlass_dedup_get_stats(dedup.0, &raw mut first, FIRST_STATS) };
    assert_eq!((status, first.struct_size, first.live), (WINDLASS_OK, FIRST_STATS, 1));
    assert_eq!((first.tables, first.forwarded), (77, 78), "behind its struct");

    // What we do not know becomes 0.
    let mut longer = [u64::MAX; STATS as usize / 8 + 1];
    // SAFETY: room for that size.
    let status = unsafe { windlass_dedup_get_stats(dedup.0, longer.as_mut_ptr().cast(), STATS + 8) };
    assert_eq!((status, longer[STATS as usize / 8]), (WINDLASS_OK, 0));
}

#[test]
fn a_longer_config_of_a_newer_header() {
    #[repr(C)]
    struct Newer {
        config: windlass_dedup_config,
        more: [u64; 2],
    }
    let mut newer = Newer { config: windlass_dedup_config::DEFAULT, more: [1; 2] };
    let at = (&raw mut newer).cast::<windlass_dedup_config>();
    // SAFETY: room for that size.
    assert_eq!(unsafe { windlass_dedup_config_init(at, CONFIG + 16) }, WINDLASS_OK);
    assert_eq!((newer.config.struct_size, newer.more), (CONFIG + 16, [0; 2]));
    newer.config.window = 1;
    newer.config.capacity = 1;
    let at = (&raw const newer).cast::<windlass_dedup_config>();
    let mut handle = null_mut();
    // SAFETY: a config of the size that it states.
    assert_eq!(unsafe { windlass_dedup_new(at, &raw mut handle, null_mut()) }, WINDLASS_OK);
    drop(Handle(handle));

    // A setting that we do not know.
    newer.more[1] = 1 << 56;
    let at = (&raw const newer).cast::<windlass_dedup_config>();
    handle = null_mut();
    // SAFETY: as above.
    assert_eq!(unsafe { windlass_dedup_new(at, &raw mut handle, null_mut()) }, WINDLASS_E_STRUCT_SIZE);
    assert!(handle.is_null());
}

#[test]
fn structs_of_impossible_sizes_are_not_written() {
    let dedup = made(|_| {});
    for size in [0, 4, 87, 4097, u32::MAX] {
        let mut stats = windlass_dedup_stats { live: 5, ..windlass_dedup_stats::DEFAULT };
        let before = stats;
        // SAFETY: refused.
        let status = unsafe { windlass_dedup_get_stats(dedup.0, &raw mut stats, size) };
        assert_eq!((status, stats), (WINDLASS_E_STRUCT_SIZE, before), "{size}");
    }
    for size in [0, 4, 95, 4097, u32::MAX] {
        let mut config = windlass_dedup_config { window: 5, ..windlass_dedup_config::DEFAULT };
        // SAFETY: refused.
        let status = unsafe { windlass_dedup_config_init(&raw mut config, size) };
        assert_eq!(
            (status, config.window, config.struct_size),
            (WINDLASS_E_STRUCT_SIZE, 5, CONFIG),
            "{size}"
        );
    }
    // SAFETY: NULL is refused.
    unsafe {
        assert_eq!(windlass_dedup_config_init(null_mut(), CONFIG), WINDLASS_E_NULL);
        let mut handle = null_mut();
        assert_eq!(windlass_dedup_new(null(), &raw mut handle, null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_dedup_new(&config(|_| {}), null_mut(), null_mut()), WINDLASS_E_NULL);
        assert_eq!(windlass_dedup_config_memory_bytes(null(), null_mut()), i64::from(WINDLASS_E_NULL));
    }
}
