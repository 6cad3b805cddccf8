/* What makes two ids the same: by their hash, those that were made to collide; by their bytes, none but the same. */
#include <string.h>

#include <windlass.h>

#include "check.h"

#define N 8
#define LEN 256

static windlass_dedup *made(uint32_t identity) {
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1000;
    config.capacity = 1000;
    config.seed = 0; /* known: so others can do what is done below */
    config.identity = identity;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    return dedup;
}

static void put_le64(uint8_t *to, uint64_t value) {
    int i;
    for (i = 0; i < 8; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/*
 * An id whose hash does not depend on number. XXH3 multiplies the halves of (input ^ secret): where the low half is the
 * secret's the product is 0, whatever the high half is, and of such inputs only the sum counts.
 */
static void colliding(uint8_t *id, uint32_t number) {
    memset(id, 'x', LEN);
    put_le64(id, (uint64_t)number << 32 | 0x396cfeb8u);
    put_le64(id + 64, (uint64_t)(1000u - number) << 32 | 0x2c81017cu);
}

static uint8_t ids[N][LEN];

static void make_ids(void) {
    windlass_hash first = {0, 0}, hash = {0, 0};
    uint32_t i;
    for (i = 0; i < N; i++) {
        colliding(ids[i], i);
        CHECK(i == 0 || memcmp(ids[i], ids[0], LEN) != 0);
        CHECK(windlass_hash_bytes(ids[i], LEN, 0, &hash) == WINDLASS_OK);
        if (i == 0) first = hash;
        CHECK(hash.lo == first.lo && hash.hi == first.hi);
    }
}

/* How many of them are fresh, by single calls and then again by batches. */
static int64_t fresh(windlass_dedup *dedup) {
    uint32_t offsets[N + 1];
    int8_t verdicts[N];
    int64_t single = 0;
    int i;
    for (i = 0; i < N; i++) single += windlass_dedup_observe(dedup, ids[i], LEN, 1) == WINDLASS_FRESH;
    for (i = 0; i < N; i++) CHECK(windlass_dedup_contains(dedup, ids[i], LEN, 1) == 1);
    for (i = 0; i <= N; i++) offsets[i] = (uint32_t)i * LEN;
    CHECK(windlass_dedup_observe_packed(dedup, ids[0], sizeof ids, offsets, N, 1, NULL, verdicts) == 0);
    /* Given up one by one, if they are several. */
    CHECK(windlass_dedup_forget(dedup, ids[0], LEN, 1) == 1);
    CHECK(windlass_dedup_contains(dedup, ids[1], LEN, 1) == (single == N));
    CHECK(windlass_dedup_observe(dedup, ids[0], LEN, 1) == WINDLASS_FRESH);
    CHECK(windlass_dedup_observe_packed(dedup, ids[0], sizeof ids, offsets, N, 1500, NULL, verdicts) == single);
    CHECK(verdicts[0] == WINDLASS_FRESH);
    CHECK(verdicts[N - 1] == (single == N ? WINDLASS_FRESH : WINDLASS_DUPLICATE));
    CHECK(windlass_dedup_observe_fixed(dedup, ids[0], LEN, LEN, N, 2500, NULL, verdicts) == single);
    return single;
}

static void claims(windlass_dedup *dedup) {
    windlass_ticket ours, theirs;
    uint64_t when = 0;
    CHECK(windlass_dedup_claim(dedup, ids[0], LEN, 5000, 100, &ours, NULL) == WINDLASS_FRESH);
    CHECK(windlass_dedup_claim(dedup, ids[1], LEN, 5000, 100, &theirs, NULL) == WINDLASS_FRESH);
    CHECK(windlass_dedup_claim(dedup, ids[0], LEN, 5000, 100, &theirs, &when) == WINDLASS_IN_PROGRESS && when > 5000);
    CHECK(windlass_dedup_abort(dedup, &theirs) == 1);
    CHECK(windlass_dedup_commit(dedup, &ours) == 1);
    CHECK(windlass_dedup_contains(dedup, ids[0], LEN, 5000) == 1);
    CHECK(windlass_dedup_contains(dedup, ids[1], LEN, 5000) == 0);
}

/* Ids given as hashes are the same if all of their bits are. */
static void hashes(windlass_dedup *dedup) {
    const windlass_hash given[4] = {{1, 1}, {1, 1}, {2, 1}, {1, 2}};
    int8_t verdicts[4];
    CHECK(windlass_dedup_observe_hash(dedup, given[0], 6000) == WINDLASS_FRESH);
    CHECK(windlass_dedup_observe_hash(dedup, given[1], 6000) == WINDLASS_DUPLICATE);
    CHECK(windlass_dedup_observe_hashes(dedup, given, 4, 6000, NULL, verdicts) == 2);
    CHECK(verdicts[0] == WINDLASS_DUPLICATE && verdicts[1] == WINDLASS_DUPLICATE);
    CHECK(verdicts[2] == WINDLASS_FRESH && verdicts[3] == WINDLASS_FRESH);
}

static void too_long(windlass_dedup *by_bytes, windlass_dedup *by_hash) {
    static uint8_t id[65536];
    const uint32_t offsets[4] = {0, 65536, 65536, 65536};
    windlass_ticket ticket = {{1, 2, 3, 4}};
    int8_t verdicts[3] = {9, 9, 9};
    CHECK(sizeof id == WINDLASS_MAX_ID_LEN + 1);
    CHECK(windlass_dedup_observe(by_bytes, id, sizeof id, 7000) == WINDLASS_E_TOO_LONG);
    CHECK(windlass_dedup_contains(by_bytes, id, sizeof id, 7000) == 0);
    CHECK(windlass_dedup_claim(by_bytes, id, sizeof id, 7000, 10, &ticket, NULL) == WINDLASS_E_TOO_LONG);
    CHECK(ticket.words[0] == 1 && ticket.words[3] == 4);
    CHECK(windlass_dedup_observe_packed(by_bytes, id, sizeof id, offsets, 3, 7000, NULL, verdicts) == 1);
    CHECK(verdicts[0] == WINDLASS_E_TOO_LONG && verdicts[1] == WINDLASS_FRESH && verdicts[2] == WINDLASS_DUPLICATE);
    CHECK(windlass_dedup_observe_fixed(by_bytes, id, sizeof id, sizeof id, 1, 7000, NULL, verdicts) == 0);
    CHECK(verdicts[0] == WINDLASS_E_TOO_LONG);
    CHECK(windlass_dedup_observe(by_bytes, id, sizeof id - 1, 7000) == WINDLASS_FRESH);
    CHECK(windlass_dedup_observe(by_bytes, id, sizeof id - 1, 7000) == WINDLASS_DUPLICATE);

    CHECK(windlass_dedup_observe(by_hash, id, sizeof id, 7000) == WINDLASS_FRESH);
}

int main(void) {
    windlass_dedup *by_hash = made(WINDLASS_IDENTITY_HASH), *by_bytes = made(WINDLASS_IDENTITY_BYTES);
    make_ids();
    CHECK(fresh(by_hash) == 1);
    CHECK(fresh(by_bytes) == N);
    claims(by_bytes);
    hashes(by_bytes);
    too_long(by_bytes, by_hash);
    windlass_dedup_free(by_hash);
    windlass_dedup_free(by_bytes);
    return 0;
}
