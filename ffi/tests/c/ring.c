/*
 * The hash ring: what a user would rely on, and the test vectors of docs/ring.md.
 */
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

static windlass_ring *made(uint32_t vnodes, uint64_t seed) {
    windlass_ring_config config;
    windlass_ring *ring = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_ring_config_init(&config, sizeof config) == WINDLASS_OK);
    CHECK(config.vnodes == 128 && config.seed == 0);
    config.vnodes = vnodes;
    config.seed = seed;
    if (windlass_ring_new(&config, &ring, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(ring != NULL);
    return ring;
}

static void add(windlass_ring *ring, uint32_t id, const char *name, uint32_t weight) {
    windlass_error error = WINDLASS_ERROR_INIT;
    if (windlass_ring_add(ring, id, (const uint8_t *)name, strlen(name), weight, NULL, &error) != WINDLASS_OK) {
        fprintf(stderr, "%s\n", error.detail);
        exit(1);
    }
}

/* docs/ring.md. */
static void vectors(void) {
    static const struct {
        const char *key;
        uint32_t first[3], second[3];
    } expected[] = {
        {"", {2, 1, 3}, {2, 1, 3}},
        {"a", {2, 3, 1}, {2, 1, 3}},
        {"user-1", {3, 1, 2}, {1, 2, 3}},
        {"user-2", {2, 3, 1}, {3, 2, 1}},
        {"user-3", {3, 2, 1}, {2, 3, 1}},
        {"user-4711", {3, 2, 1}, {1, 2, 3}},
        {"\xc3\x9c" "n\xc3\xaf" "c\xc3\xb6" "d\xc3\xa9" "", {3, 1, 2}, {2, 1, 3}},
        {"0123456789abcdef0123456789abcdef", {3, 1, 2}, {2, 3, 1}},
    };
    windlass_ring *first = made(128, 0), *second = made(40, 42);
    windlass_ring *both[2];
    size_t i;
    both[0] = first;
    both[1] = second;
    for (i = 0; i < 2; i++) {
        /* In any order. */
        add(both[i], 3, "cache-c", 1);
        add(both[i], 1, "cache-a", 1);
        add(both[i], 2, "cache-b", 2);
    }
    for (i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const uint8_t *key = (const uint8_t *)expected[i].key;
        size_t len = strlen(expected[i].key);
        uint32_t owners[3];
        CHECK(windlass_ring_route_n(first, key, len, 3, owners) == 3);
        CHECK(memcmp(owners, expected[i].first, sizeof owners) == 0);
        CHECK(windlass_ring_route(first, key, len) == owners[0]);
        CHECK(windlass_ring_route_n(second, key, len, 3, owners) == 3);
        CHECK(memcmp(owners, expected[i].second, sizeof owners) == 0);
    }
    windlass_ring_free(first);
    windlass_ring_free(second);
}

enum { KEYS = 200, ROUNDS = 30 };

/* Routes while a node comes and goes. */
static void *route(void *argument) {
    const windlass_ring *ring = (const windlass_ring *)argument;
    int round;
    for (round = 0; round < ROUNDS; round++) {
        uint64_t key;
        for (key = 0; key < KEYS; key++) {
            int64_t owner = windlass_ring_route_u64(ring, key);
            CHECK(owner == 1 || owner == 2);
        }
    }
    return NULL;
}

static void changes_under_readers(void) {
    windlass_ring *ring = made(16, 1);
    windlass_ring_stats stats;
    pthread_t readers[2];
    int i;
    add(ring, 1, "stays", 1);
    for (i = 0; i < 2; i++) CHECK(pthread_create(&readers[i], NULL, route, ring) == 0);
    for (i = 0; i < ROUNDS; i++) {
        double came, went;
        CHECK(windlass_ring_add(ring, 2, (const uint8_t *)"goes", 4, 2, &came, NULL) == WINDLASS_OK);
        CHECK(windlass_ring_remove(ring, 2, &went, NULL) == WINDLASS_OK);
        CHECK(came > 0.4 && came < 0.9 && went > 0.4 && went < 0.9);
    }
    for (i = 0; i < 2; i++) CHECK(pthread_join(readers[i], NULL) == 0);
    CHECK(windlass_ring_get_stats(ring, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.version == 1 + 2 * ROUNDS && stats.nodes == 1);
    windlass_ring_free(ring);
}

int main(void) {
    vectors();
    changes_under_readers();
    return 0;
}
