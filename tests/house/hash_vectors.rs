//! The hash is part of the promise: the same in every release, on every platform and from every language. If one of
//! these fails, the code is wrong, not the test.
//!
//! The vectors for bytes were made with the reference implementation of XXH3 in C (xxHash 0.8), those for `u64` ids by
//! their definition.

use windlass::{Key, KeyHash, Namespaced, Seed};

const SEEDS: [Seed; 4] = [Seed(0), Seed(42), Seed(0x9e37_79b9_7f4a_7c15), Seed(u64::MAX)];

const fn hash(both: u128) -> KeyHash {
    #[allow(clippy::cast_possible_truncation)] // the two halves
    KeyHash { hi: (both >> 64) as u64, lo: both as u64 }
}

/// `length` bytes: 0, 1, 2 ..
fn counting(length: u8) -> Vec<u8> {
    (0..length).collect()
}

/// The published value of XXH3-128 for no input and seed 0, high half first as it is written.
#[test]
fn published() {
    assert_eq!(Seed(0).hash(""), hash(0x99aa06d3014798d8_6001c324468d497f));
    assert_eq!(
        format!("{:016x}{:016x}", Seed(0).hash("").hi, Seed(0).hash("").lo),
        "99aa06d3014798d86001c324468d497f"
    );
    // The first number that SplitMix64 gives from the state 0 is the mix of its increment.
    assert_eq!(Seed(0).hash(0x9e37_79b9_7f4a_7c15_u64).lo, 0xe220_a839_7b1d_cdaf);
}

/// All lengths at which the function changes its way: 0, 1-3, 4-8, 9-16, 17-128, 129-240, more than 240, several blocks.
#[test]
fn bytes() {
    let vectors: [(Vec<u8>, [u128; 4]); 13] = [
        (
            b"".to_vec(),
            [
                0x99aa06d3014798d8_6001c324468d497f,
                0x16c20acd33f7af2f_3c1d09e9fe249164,
                0xd142977a2cca554b_4ca5176998171787,
                0x5334ec22748b5fcd_2d10110a247d19dd,
            ],
        ),
        (
            b"a".to_vec(),
            [
                0xa96faf705af16834_e6c632b61e964e1f,
                0x28df5945863b24b7_4c437dd47f0716f4,
                0x227dc992ba0a6e9f_7b013ec73230c3a1,
                0x952ec4387f5e4d9f_43a7e49bc8a25756,
            ],
        ),
        (
            b"abc".to_vec(),
            [
                0x06b05ab6733a6185_78af5f94892f3950,
                0x4bc24859f045e0b4_d8438def21bbdcc3,
                0xfa2ec35ca870fcc0_fc1ae99bb3de2336,
                0xc3e8eb7686bbf97d_291c3db09146c9c9,
            ],
        ),
        (
            "h\u{e4}user".into(),
            [
                0x3ebda28239fd1ba4_1409d845a210a333,
                0x7d8373cd7f3cf88b_16ee2d1ac70b8d59,
                0x052fd2f018b4413f_5e2ecb87801cc43c,
                0xee64d1b0e7d00a5b_7268b43532cf4567,
            ],
        ),
        (
            b"order-4711".to_vec(),
            [
                0x5bb5ea715cb7ee68_0829849f39953227,
                0x88baf260a1f5a0b7_dbcb66090d515a41,
                0xdee68a920aef0400_a55c80effd36ca5f,
                0xb9144b629b562585_84b40dc6db01576b,
            ],
        ),
        (
            b"0123456789abcdef".to_vec(),
            [
                0xccba8085a0434e9e_0befb4873dbe58f8,
                0x0feddd190ab1a4db_87bf450a3908d40d,
                0x3410c252721fb447_31d80e51a35c5e62,
                0x45f79dc930874d06_46ba6650c9744cef,
            ],
        ),
        (
            counting(17),
            [
                0x685bc458b37d057f_c06e233df7729217,
                0xe218637beef5edb4_ff1759db8e15f1ad,
                0x4edfa847c1b8df88_cba03fc2363de8bc,
                0x17c7b437f6a79da6_193a927b32cfc801,
            ],
        ),
        (
            counting(100),
            [
                0xda95ef16fd9566f3_29b20ba5f03ec01e,
                0x676d42f72934e741_001ca09d280b5622,
                0x1eb1d3a770ea43c9_c1261462170637e1,
                0x6878513642299daf_91ad7ba1ff66e4de,
            ],
        ),
        (
            counting(129),
            [
                0xdd5e74ac6b45f54e_bc30b63382b09a3b,
                0x9e41bfeaf492d7e5_40b91a40e61888b9,
                0x47a798bb1fd7483f_952bac83a81876ae,
                0x05f2a94d235a9baf_63dd7f764ad1cd33,
            ],
        ),
        (
            counting(240),
            [
                0x65b5be86da5540e7_c92b68e16f83bbb6,
                0x8e76dd8a173ddbc5_ba3788ebe65051f7,
                0xf0bc4cae6b4ab7eb_5bd854a1231155f7,
                0xba860b4f19a30b59_983092413c4ab9a7,
            ],
        ),
        (
            counting(241),
            [
                0x1da1cb61bcb8a2a1_02e8cd95421c6d02,
                0xd591e680c65b77ff_26e3d358d4e0a1d6,
                0xaa071ba293e7f7d8_172114de208c5a80,
                0x076e03dab3f4b344_b1f001885dc89e7c,
            ],
        ),
        (
            counting(250).repeat(20),
            [
                0xdff76d843c844f29_5f21026f35e1bde8,
                0x806bdc5f3c0d545f_2c1f965f8232f99d,
                0x9358e934f11eb7c8_07dd64440a8213fd,
                0x5d63087088de2768_eb9133ba887fb330,
            ],
        ),
        (
            b"\xff\x00\xfe".to_vec(),
            [
                0x7eb8506d424ff47f_5ce3141893086fa4,
                0x2a4a1f24c3160a41_19105fc1f005b6d7,
                0xe0b22f705e60e10e_3081e0a913966f31,
                0x0729998a0405d8ee_2e5b600d4594b58f,
            ],
        ),
    ];
    for (key, hashes) in &vectors {
        for (seed, &expected) in SEEDS.iter().zip(hashes) {
            assert_eq!(seed.hash(key), hash(expected), "{key:?}, {seed:?}");
        }
    }
}

/// `id`, and its hash under each of the seeds.
#[test]
fn u64_ids() {
    let vectors: [(u64, [u128; 4]); 6] = [
        (
            0x0,
            [
                0xe220a8397b1dcdaf_0000000000000000,
                0x357c342e786dda64_a759ea27d4727622,
                0x7f240897d39f9654_e220a8397b1dcdaf,
                0x7171dc2673885772_b4d055fcf2cbbd7b,
            ],
        ),
        (
            0x1,
            [
                0x07776f161bd8ea27_5692161d100b05e5,
                0xe1b91685eb100b27_4f0a61d9c798d8ca,
                0x4f6891b5c38ed91f_e4d971771b652c20,
                0x14b4a66b317a97cf_da26e52fa3730902,
            ],
        ),
        (
            0x2a,
            [
                0x02e27a83ece52600_a759ea27d4727622,
                0x7888ba9475dab236_0000000000000000,
                0xaca3d7e607fd988d_bdd732262feb6e95,
                0x2927acd58316aaad_12ce2a752fc94c05,
            ],
        ),
        (
            0x9e3779b97f4a7c15,
            [
                0x0397ab29740681d9_e220a8397b1dcdaf,
                0x6bddaf6ced7b6d62_bdd732262feb6e95,
                0x5b0ebd65e67f3511_0000000000000000,
                0xa206b5387febf40f_de0a564cbcd060c4,
            ],
        ),
        (
            0x8000000000000000,
            [
                0xcea3616b3d2feb54_25c26ea579cea98a,
                0xf3a40bc6496c5012_5005d61acc1ec09b,
                0xf40db8bc208b398d_481ec0a212a9f3db,
                0x8fe23042d32caaa1_5a682afe7965debd,
            ],
        ),
        (
            0xffffffffffffffff,
            [
                0x158ed36505bc3e75_b4d055fcf2cbbd7b,
                0x943aab814dc880c1_12ce2a752fc94c05,
                0x2975b114f87b3203_de0a564cbcd060c4,
                0xde0a564cbcd060c4_0000000000000000,
            ],
        ),
    ];
    for (id, hashes) in vectors {
        for (seed, expected) in SEEDS.iter().zip(hashes) {
            assert_eq!(seed.hash(id), hash(expected), "{id}, {seed:?}");
        }
    }
    // The mix has 0 as its fixed point: one id under each seed has fingerprint 0.
    for seed in SEEDS {
        assert_eq!(seed.hash(seed.0).lo, 0);
    }
}

/// No two ids share a fingerprint. (A bijection: here on ids that differ in one bit, or are neighbours.)
#[test]
fn u64_ids_are_exact() {
    let ids = (0..100_000).chain((0..64).map(|bit| 1 << bit)).chain((0..64).map(|bit| !(1_u64 << bit)));
    let ids: std::collections::BTreeSet<u64> = ids.collect();
    for seed in SEEDS {
        let fingerprints: std::collections::HashSet<u64> = ids.iter().map(|id| seed.hash(id).lo).collect();
        assert_eq!(fingerprints.len(), ids.len());
    }
}

#[test]
fn namespaces() {
    let vectors: [(&[u8], [u64; 4]); 4] = [
        (b"", [0x417acfbfe5af514f, 0x8f031e33830ee78a, 0x7b98b73e35783f86, 0xda593e88946a01ec]),
        (b"orders", [0x6cace2d0fcf405a7, 0x770c9e9fcffb297c, 0x4bbecd9ba8166d90, 0xabf5b1d1155bde7b]),
        (b"refunds", [0xa40fb671e7f3e7d3, 0x4730636fcb73d993, 0xd0dfda74bba55984, 0xed283644fd33be76]),
        (b"\xff", [0xd5b1c92ee8cb8f62, 0xa23d407e529e02c5, 0x390f4083b962380b, 0x2dabdbe20fd3882c]),
    ];
    for (name, seeds) in vectors {
        for (seed, expected) in SEEDS.iter().zip(seeds) {
            assert_eq!(seed.namespace(name), Seed(expected), "{name:?}, {seed:?}");
        }
    }
    let orders = Seed(42).namespace("orders");
    assert_eq!(orders.hash("4711"), hash(0xf90cbc93b0fcafec_2c0b4f85dec3e1ef));
    assert_ne!(orders, Seed(42), "a namespace is another seed");
    assert_eq!(Seed(42).hash(Namespaced("orders", "4711")), orders.hash("4711"));
    assert_eq!(Seed(42).hash(Namespaced("orders", 4711_u64)), orders.hash(4711_u64));
}

#[test]
fn fields() {
    let vectors: [(&[&str], [u128; 4]); 6] = [
        (
            &[],
            [
                0x402eacd83dcf4a3a_5f506b6c490cdcec,
                0xf430c2ddf48a6398_f8209c5ae55c480f,
                0x687af15b3b85f713_6dfef5f6816071a6,
                0xd4fd124436d656c2_7ba48d98f6baa1dc,
            ],
        ),
        (
            &["a"],
            [
                0xa96faf705af16834_e6c632b61e964e1f,
                0x28df5945863b24b7_4c437dd47f0716f4,
                0x227dc992ba0a6e9f_7b013ec73230c3a1,
                0x952ec4387f5e4d9f_43a7e49bc8a25756,
            ],
        ),
        (
            &["a", "bc"],
            [
                0xba8ca7ba9e535030_ad7d4aee8bbf7434,
                0xa9b22764b6dc367c_7b3f714efa6da333,
                0xc1e0d4d1ac31f293_d767a1cdf2ffb9ec,
                0x0844083173c4176f_5166390d83fe381b,
            ],
        ),
        (
            &["ab", "c"],
            [
                0x43b51c54d57b33b1_a3539d72aa577beb,
                0x25e731cf4dd1ec05_32c5d21aff1742b2,
                0x82c6ada11e8abf9f_0839cdab31c3c217,
                0x24bf4195bfc163e8_ebc4d87a32933b8a,
            ],
        ),
        (
            &["", ""],
            [
                0xab62a48a352f71a2_41b92690a887893a,
                0x555e82f27b837725_f4461aebe62129e5,
                0x8a54760d9fe4658a_061f3b752813a1fe,
                0x2a442a27eeb1893e_9ef4a41c6ade5425,
            ],
        ),
        (
            &["a", "b", "c"],
            [
                0x646a8c4f341b0ff6_c04c34d55fe8fdb5,
                0x1a849ac66aef6017_66ebdce95b0553de,
                0x1ce1786b0b9c4784_76ea21f7b5a10915,
                0x44d8732622652f18_16f5a3b6be6dad1c,
            ],
        ),
    ];
    for (fields, hashes) in vectors {
        for (seed, expected) in SEEDS.iter().zip(hashes) {
            assert_eq!(seed.hash_fields(fields), hash(expected), "{fields:?}, {seed:?}");
        }
    }
    let all: std::collections::HashSet<KeyHash> =
        vectors.iter().map(|(fields, _)| Seed(0).hash_fields(fields)).collect();
    assert_eq!(all.len(), vectors.len(), "borders count");
    assert_eq!(Seed(9).hash_fields(&["abc"]), Seed(9).hash("abc"), "one field is the key itself");
}

/// Few bytes are put together and hashed, many one after another: the same.
#[test]
fn fields_of_any_length() {
    const FIELDS: u64 = 0x6669_656c_6473_2121;
    for lens in (0..300).map(|len| [len, 3]).chain([[0, 300], [5000, 0], [100, 5000], [1 << 17, 1 << 17]]) {
        let fields = lens.map(|len| (0..=250).cycle().take(len).collect::<Vec<u8>>());
        let joined: Vec<u8> = fields
            .iter()
            .flat_map(|field| [&(field.len() as u64).to_le_bytes()[..], field].concat())
            .collect();
        for seed in SEEDS {
            assert_eq!(seed.hash_fields(&fields), Seed(seed.0 ^ FIELDS).hash(joined.as_slice()), "{lens:?}");
        }
    }
}

/// What holds the bytes does not matter; that they are bytes does.
#[test]
fn the_same_key_in_every_form() {
    let seed = Seed(42);
    let expected = hash(0x4bc24859f045e0b4_d8438def21bbdcc3);
    assert_eq!(seed.hash("abc"), expected);
    assert_eq!(seed.hash(String::from("abc")), expected);
    assert_eq!(seed.hash(b"abc"), expected);
    assert_eq!(seed.hash(*b"abc"), expected);
    assert_eq!(seed.hash(b"abc".as_slice()), expected);
    assert_eq!(seed.hash(b"abc".to_vec()), expected);
    assert_eq!(seed.hash(b"abc".to_vec().into_boxed_slice()), expected);
    assert_eq!("abc".key_hash(seed), expected);
    // A hash is taken as it is.
    assert_eq!(Seed(0).hash(expected), expected);
    // A number is another key than its bytes.
    assert_ne!(seed.hash(7_u64), seed.hash(7_u64.to_le_bytes()));
}
