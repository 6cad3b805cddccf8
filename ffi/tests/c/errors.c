/* What cannot be is refused with a code of its own; nothing is changed or written then. */
#include <string.h>

#include <windlass.h>

#include "check.h"

#define N 4

static windlass_dedup_config valid(void) {
    windlass_dedup_config config;
    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1000;
    config.capacity = 1000;
    return config;
}

static windlass_dedup *made(void) {
    windlass_dedup_config config = valid();
    windlass_dedup *dedup = NULL;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    CHECK(dedup != NULL);
    return dedup;
}

/* No event was observed. */
static int untouched(const windlass_dedup *dedup) {
    windlass_dedup_stats stats;
    CHECK(windlass_dedup_get_stats(dedup, &stats, sizeof stats) == WINDLASS_OK);
    return stats.live == 0 && stats.refused == 0 && stats.late == 0 && stats.jumps == 0;
}

/* Neither a handle is made nor anything written but the error. */
static void settings_fail(const windlass_dedup_config *config, windlass_status status, const char *detail) {
    char place;
    windlass_dedup *const before = (windlass_dedup *)(void *)&place;
    windlass_dedup *dedup = before;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_dedup_new(config, &dedup, &error) == status);
    CHECK(dedup == before);
    CHECK(error.code == status);
    if (strncmp(error.detail, detail, strlen(detail)) != 0) printf("%s\n", error.detail);
    CHECK(strncmp(error.detail, detail, strlen(detail)) == 0);
    CHECK(windlass_dedup_new(config, &dedup, NULL) == status);
    CHECK(dedup == before);
}

static void settings(void) {
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;

    settings_fail(NULL, WINDLASS_E_NULL, "a pointer is NULL");
    config = valid();
    CHECK(windlass_dedup_new(&config, NULL, &error) == WINDLASS_E_NULL);
    CHECK(error.code == WINDLASS_E_NULL);

    /* The init function was not called, or with another struct. */
    memset(&config, 0, sizeof config);
    settings_fail(&config, WINDLASS_E_STRUCT_SIZE, "a struct has a size");
    config = valid();
    config.struct_size = 8;
    settings_fail(&config, WINDLASS_E_STRUCT_SIZE, "a struct has a size");
    config.struct_size = 0x7fffffff;
    settings_fail(&config, WINDLASS_E_STRUCT_SIZE, "a struct has a size");
    memset(&config, 0x55, sizeof config);
    CHECK(windlass_dedup_config_init(&config, 8) == WINDLASS_E_STRUCT_SIZE);
    CHECK(windlass_dedup_config_init(&config, 1 << 20) == WINDLASS_E_STRUCT_SIZE);
    CHECK(config.struct_size == 0x55555555 && config.reserved[3] == 0x5555555555555555u);
    CHECK(windlass_dedup_config_init(NULL, sizeof config) == WINDLASS_E_NULL);

    config = valid();
    config.window = 0;
    settings_fail(&config, WINDLASS_E_ARG, "window: 0 ns is out of range: 1 to ");
    config = valid();
    config.lateness = UINT64_MAX;
    settings_fail(&config, WINDLASS_E_ARG, "lateness: ");
    config = valid();
    config.capacity = 0;
    settings_fail(&config, WINDLASS_E_ARG, "capacity: 0 is out of range: 1 to ");
    CHECK(windlass_dedup_config_memory_bytes(&config, NULL) == WINDLASS_E_ARG);
    config.capacity = UINT64_MAX;
    settings_fail(&config, WINDLASS_E_ARG, "capacity: ");
    config = valid();
    config.on_full = 2;
    settings_fail(&config, WINDLASS_E_ARG, "on_full: 2 is out of range: ");
    config = valid();
    config.refresh = 2;
    settings_fail(&config, WINDLASS_E_ARG, "refresh: 2 is out of range: ");
    config = valid();
    config.unit = UINT32_MAX;
    settings_fail(&config, WINDLASS_E_ARG, "unit: 4294967295 is out of range: ");
    config = valid();
    config.identity = 2;
    settings_fail(&config, WINDLASS_E_ARG, "identity: 2 is out of range: ");
    config = valid();
    config.max_memory = 1;
    settings_fail(&config, WINDLASS_E_ARG, "max_memory: 1 bytes is out of range: ");
    config = valid();
    config.reserved1 = 1;
    settings_fail(&config, WINDLASS_E_ARG, "reserved: ");
    config = valid();
    config.flags = 1u << 31;
    settings_fail(&config, WINDLASS_E_ARG, "flags: ");
    config = valid();
    config.reserved[0] = 1;
    settings_fail(&config, WINDLASS_E_ARG, "reserved: ");

    /* An error struct that was not begun. */
    config = valid();
    memset(&error, 0, sizeof error);
    CHECK(windlass_dedup_new(&config, &dedup, &error) == WINDLASS_E_STRUCT_SIZE);
    CHECK(dedup == NULL && error.code == 0);

    /* It is left alone when all is well. */
    error.struct_size = sizeof error;
    error.code = 77;
    CHECK(windlass_dedup_new(&config, &dedup, &error) == WINDLASS_OK);
    CHECK(error.code == 77);
    CHECK(windlass_dedup_config_memory_bytes(&config, NULL) == windlass_dedup_memory_bytes(dedup));
    windlass_dedup_free(dedup);
    windlass_dedup_free(NULL);
}

static void single_calls(void) {
    windlass_dedup *dedup = made();
    const uint8_t id[] = {'a', 'b'};
    windlass_hash hash = {1, 2};
    windlass_ticket ticket = {{4, 5, 6, 7}};
    uint64_t seed = 3, when = 8;

    CHECK(windlass_dedup_observe(NULL, id, 2, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe(dedup, NULL, 2, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe(dedup, id, SIZE_MAX, 0) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_hash(NULL, hash, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_u64(NULL, 1, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_contains(NULL, id, 2, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_contains(dedup, NULL, 2, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_contains_hash(NULL, hash, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_contains_u64(NULL, 1, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_forget(NULL, id, 2, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_forget(dedup, NULL, 2, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_forget_hash(NULL, hash, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_forget_u64(NULL, 1, 0) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_claim(NULL, id, 2, 0, 1, &ticket, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_claim(dedup, NULL, 2, 0, 1, &ticket, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_claim(dedup, id, 2, 0, 1, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_claim(dedup, id, SIZE_MAX, 0, 1, &ticket, NULL) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_claim(dedup, id, 2, 0, 0, &ticket, &when) == WINDLASS_E_LEASE);
    CHECK(windlass_dedup_claim(dedup, id, 2, 0, 1001, &ticket, &when) == WINDLASS_E_LEASE);
    CHECK(windlass_dedup_claim_hash(NULL, hash, 0, 1, &ticket, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_claim_u64(NULL, 1, 0, 1, &ticket, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_commit(NULL, &ticket) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_commit(dedup, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_abort(NULL, &ticket) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_abort(dedup, NULL) == WINDLASS_E_NULL);
    CHECK(ticket.words[0] == 4 && ticket.words[3] == 7 && when == 8);
    /* One that was never given. */
    CHECK(windlass_dedup_commit(dedup, &ticket) == 0 && windlass_dedup_abort(dedup, &ticket) == 0);
    CHECK(windlass_dedup_reset(NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_maintain(NULL, 0, 1) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_memory_bytes(NULL) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_seed(NULL, &seed) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_seed(dedup, NULL) == WINDLASS_E_NULL);

    CHECK(windlass_hash_bytes(NULL, 1, 0, &hash) == WINDLASS_E_NULL);
    CHECK(windlass_hash_bytes(id, SIZE_MAX, 0, &hash) == WINDLASS_E_RANGE);
    CHECK(windlass_hash_bytes(id, 2, 0, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_hash_u64(1, 0, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_seed_random(NULL) == WINDLASS_E_NULL);
    CHECK(windlass_seed_namespace(0, NULL, 1, &seed) == WINDLASS_E_NULL);
    CHECK(windlass_seed_namespace(0, id, 2, NULL) == WINDLASS_E_NULL);
    CHECK(hash.lo == 1 && hash.hi == 2 && seed == 3);

    CHECK(untouched(dedup));
    /* An empty id is an id, wherever it points. */
    CHECK(windlass_dedup_observe(dedup, NULL, 0, 0) == WINDLASS_FRESH);
    CHECK(windlass_dedup_observe(dedup, id, 0, 0) == WINDLASS_DUPLICATE);
    windlass_dedup_free(dedup);
}

static void batches(void) {
    windlass_dedup *dedup = made();
    const uint8_t bytes[8] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    const uint64_t numbers[N] = {1, 2, 3, 4};
    const windlass_hash hashes[N] = {{1, 1}, {2, 2}, {3, 3}, {4, 4}};
    const uint32_t good[N + 1] = {0, 2, 4, 6, 8};
    const uint32_t back[N + 1] = {0, 4, 2, 6, 8};
    const uint32_t beyond[N + 1] = {0, 2, 4, 6, 9};
    const uint32_t far_beyond[N + 1] = {0, 2, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    int8_t out[N] = {9, 9, 9, 9};

    CHECK(windlass_dedup_observe_hashes(NULL, hashes, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_hashes(dedup, NULL, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_hashes(dedup, hashes, SIZE_MAX, 0, NULL, out) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_u64s(NULL, numbers, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_u64s(dedup, NULL, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_u64s(dedup, numbers, SIZE_MAX / 8 + 1, 0, NULL, out) == WINDLASS_E_RANGE);

    CHECK(windlass_dedup_observe_fixed(NULL, bytes, 2, 2, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_fixed(dedup, NULL, 2, 2, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_fixed(dedup, bytes, 0, 2, N, 0, NULL, out) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_fixed(dedup, bytes, 2, 0, N, 0, NULL, out) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_fixed(dedup, bytes, 3, 2, N, 0, NULL, out) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_fixed(dedup, bytes, 2, SIZE_MAX / 2, N, 0, NULL, out) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_fixed(dedup, bytes, 2, 2, SIZE_MAX, 0, NULL, out) == WINDLASS_E_RANGE);

    CHECK(windlass_dedup_observe_packed(NULL, bytes, 8, good, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_packed(dedup, NULL, 8, good, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 8, NULL, N, 0, NULL, out) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 8, back, N, 0, NULL, out) == WINDLASS_E_OFFSETS);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 8, beyond, N, 0, NULL, out) == WINDLASS_E_OFFSETS);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 8, far_beyond, N, 0, NULL, out) == WINDLASS_E_OFFSETS);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 7, good, N, 0, NULL, out) == WINDLASS_E_OFFSETS);
    CHECK(windlass_dedup_observe_packed(dedup, NULL, 0, good, N, 0, NULL, out) == WINDLASS_E_OFFSETS);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 8, good, SIZE_MAX, 0, NULL, out) == WINDLASS_E_RANGE);
    CHECK(windlass_dedup_observe_packed(dedup, bytes, SIZE_MAX, good, N, 0, NULL, out) == WINDLASS_E_RANGE);

    CHECK(out[0] == 9 && out[1] == 9 && out[2] == 9 && out[3] == 9);
    CHECK(untouched(dedup));
    CHECK(windlass_dedup_observe_packed(dedup, bytes, 8, good, N, 0, NULL, out) == N);
    CHECK(out[0] == 0 && out[1] == 0 && out[2] == 0 && out[3] == 0);
    windlass_dedup_free(dedup);
}

static void figures(void) {
    windlass_dedup *dedup = made();
    windlass_dedup_stats stats;
    memset(&stats, 0x55, sizeof stats);
    CHECK(windlass_dedup_get_stats(NULL, &stats, sizeof stats) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_get_stats(dedup, NULL, sizeof stats) == WINDLASS_E_NULL);
    CHECK(windlass_dedup_get_stats(dedup, &stats, 8) == WINDLASS_E_STRUCT_SIZE);
    CHECK(windlass_dedup_get_stats(dedup, &stats, 1 << 20) == WINDLASS_E_STRUCT_SIZE);
    CHECK(stats.struct_size == 0x55555555 && stats.overflown_buckets == 0x5555555555555555u);
    CHECK(stats.forwarded == 0x5555555555555555u);
    windlass_dedup_free(dedup);
}

/* No room, and a time too far ahead: refused, counted, and nothing else. */
static void refusals(void) {
    windlass_dedup_config config = valid();
    windlass_dedup *dedup = NULL;
    windlass_dedup_stats stats;
    uint64_t i, refused = 0;
    config.capacity = 1;
    config.max_jump = 5000;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    for (i = 0; i < 500; i++) {
        const int32_t verdict = windlass_dedup_observe_u64(dedup, i, 1);
        CHECK(verdict == WINDLASS_FRESH || verdict == WINDLASS_E_FULL);
        CHECK(windlass_dedup_contains_u64(dedup, i, 1) == (verdict == WINDLASS_FRESH));
        refused += verdict == WINDLASS_E_FULL;
    }
    CHECK(windlass_dedup_observe_u64(dedup, 0, 1000000) == WINDLASS_E_JUMP);
    CHECK(windlass_dedup_observe_u64(dedup, 0, 2) == WINDLASS_DUPLICATE);
    CHECK(windlass_dedup_get_stats(dedup, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.struct_size == sizeof stats);
    CHECK(refused > 0 && stats.refused == refused && stats.live == 500 - refused && stats.jumps == 1);
    windlass_dedup_free(dedup);
}

static void texts(void) {
    windlass_status status;
    for (status = -200; status < 200; status++) {
        const char *text = windlass_status_text(status);
        CHECK(text != NULL && strlen(text) > 1);
    }
    CHECK(strcmp(windlass_status_text(WINDLASS_OK), "ok") == 0);
    CHECK(strcmp(windlass_status_text(WINDLASS_E_FULL), windlass_status_text(WINDLASS_E_JUMP)) != 0);
    CHECK(windlass_version_number() == WINDLASS_VERSION_NUMBER);
    CHECK(windlass_abi_version() == WINDLASS_ABI_VERSION);
    CHECK(strlen(windlass_version()) >= 5);
    CHECK(windlass_now_ns() <= windlass_now_ns());
}

int main(void) {
    settings();
    single_calls();
    batches();
    figures();
    refusals();
    texts();
    return 0;
}
