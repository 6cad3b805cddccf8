/*
 * The rotating Bloom filter. Without arguments it checks what a user would rely on. With them it answers for each line,
 * TICK<TAB>NUMBER (8 digits), with 0 or 1, by one of the calls:
 *
 *   bloom insert|observe|contains single|hash|u64|packed|hashes|u64s|fixed WINDOW IDS SEED FILE
 *
 * contains is asked before every second id is put in.
 */
#include <string.h>

#include <windlass.h>

#include "check.h"

enum { BATCH = 200, LEN = 8 };

typedef struct event {
    uint64_t tick, number;
    uint8_t id[LEN];
} event;

static windlass_bloom_config configured(uint64_t window, uint64_t ids, uint64_t seed) {
    windlass_bloom_config config;
    CHECK(windlass_bloom_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = window;
    config.expected_ids = ids;
    config.seed = seed;
    config.unit = WINDLASS_UNIT_EVENTS;
    return config;
}

/* With a look at its plan. */
static windlass_bloom *made(uint64_t window, uint64_t ids, uint64_t seed) {
    const windlass_bloom_config config = configured(window, ids, seed);
    windlass_bloom_plan before, after;
    windlass_bloom *bloom = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_bloom_config_plan(&config, &before, sizeof before, &error) == WINDLASS_OK);
    CHECK(windlass_bloom_new(&config, &bloom, &error) == WINDLASS_OK);
    CHECK(windlass_bloom_get_plan(bloom, &after, sizeof after) == WINDLASS_OK);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK(windlass_bloom_memory_bytes(bloom) == (int64_t)before.bytes && before.bits == 8 * before.bytes);
    CHECK(before.panes == 8 && before.guaranteed == window && before.expected_ids == ids);
    CHECK(before.expected_error > 0 && before.expected_error <= 0.01 && before.layout != WINDLASS_LAYOUT_AUTO);
    return bloom;
}

#define SINGLE(verb)                                                                                               \
    static int32_t verb##_one(windlass_bloom *bloom, const event *e, windlass_hash hash, const char *way) {        \
        if (strcmp(way, "single") == 0) return windlass_bloom_##verb(bloom, e->id, LEN, e->tick);                  \
        if (strcmp(way, "hash") == 0) return windlass_bloom_##verb##_hash(bloom, hash, e->tick);                   \
        CHECK(strcmp(way, "u64") == 0);                                                                            \
        return windlass_bloom_##verb##_u64(bloom, e->number, e->tick);                                             \
    }                                                                                                              \
    static int64_t verb##_many(windlass_bloom *bloom, const event *e, size_t n, const windlass_hash *hashes,       \
                               const char *way, int8_t *answers) {                                                 \
        uint8_t bytes[BATCH * LEN];                                                                                \
        uint32_t offsets[BATCH + 1];                                                                               \
        uint64_t ticks[BATCH], numbers[BATCH];                                                                     \
        size_t i;                                                                                                  \
        offsets[0] = 0;                                                                                            \
        for (i = 0; i < n; i++) {                                                                                  \
            memcpy(bytes + i * LEN, e[i].id, LEN);                                                                 \
            offsets[i + 1] = (uint32_t)((i + 1) * LEN);                                                            \
            ticks[i] = e[i].tick;                                                                                  \
            numbers[i] = e[i].number;                                                                              \
        }                                                                                                          \
        if (strcmp(way, "packed") == 0)                                                                            \
            return windlass_bloom_##verb##_packed(bloom, bytes, n * LEN, offsets, n, 0, ticks, answers);           \
        if (strcmp(way, "hashes") == 0) return windlass_bloom_##verb##_hashes(bloom, hashes, n, 0, ticks, answers); \
        if (strcmp(way, "u64s") == 0) return windlass_bloom_##verb##_u64s(bloom, numbers, n, 0, ticks, answers);   \
        if (strcmp(way, "fixed") == 0)                                                                             \
            return windlass_bloom_##verb##_fixed(bloom, e[0].id, LEN, sizeof e[0], n, 0, ticks, answers);          \
        return -1000;                                                                                              \
    }

SINGLE(insert)
SINGLE(observe)
SINGLE(contains)

static void answer(windlass_bloom *bloom, const char *verb, const char *way, const event *e, size_t n, uint64_t seed) {
    windlass_hash hashes[BATCH];
    int8_t answers[BATCH];
    int64_t unseen = -1000;
    size_t i;
    for (i = 0; i < n; i++) CHECK(windlass_hash_bytes(e[i].id, LEN, seed, &hashes[i]) == WINDLASS_OK);
    if (strcmp(verb, "insert") == 0) unseen = insert_many(bloom, e, n, hashes, way, answers);
    else if (strcmp(verb, "observe") == 0) unseen = observe_many(bloom, e, n, hashes, way, answers);
    else unseen = contains_many(bloom, e, n, hashes, way, answers);
    for (i = 0; i < n; i++) {
        if (unseen == -1000) {
            int32_t one;
            if (strcmp(verb, "insert") == 0) one = insert_one(bloom, &e[i], hashes[i], way);
            else if (strcmp(verb, "observe") == 0) one = observe_one(bloom, &e[i], hashes[i], way);
            else one = contains_one(bloom, &e[i], hashes[i], way);
            CHECK(one == 0 || one == 1);
            answers[i] = (int8_t)one;
        }
        putchar('0' + answers[i]);
    }
    if (unseen != -1000) {
        for (i = 0; i < n; i++) unseen -= answers[i] == 0;
        CHECK(unseen == 0);
    }
}

static void answers(char **arguments) {
    const char *verb = arguments[1], *way = arguments[2];
    const uint64_t seed = strtoull(arguments[5], NULL, 10);
    const windlass_bloom_config config =
        configured(strtoull(arguments[3], NULL, 10), strtoull(arguments[4], NULL, 10), seed);
    windlass_bloom *bloom = NULL;
    FILE *in = fopen(arguments[6], "rb");
    event batch[BATCH];
    char line[64];
    size_t n = 0;
    CHECK(in != NULL);
    CHECK(windlass_bloom_new(&config, &bloom, NULL) == WINDLASS_OK);
    while (fgets(line, sizeof line, in)) {
        char *tab = strchr(line, '\t');
        CHECK(tab != NULL && strlen(tab + 1) == LEN + 1);
        batch[n].tick = strtoull(line, NULL, 10);
        batch[n].number = strtoull(tab + 1, NULL, 10);
        memcpy(batch[n].id, tab + 1, LEN);
        if (strcmp(verb, "contains") == 0 && batch[n].number % 2 == 0) {
            /* In the form that will be asked for; numbers are other ids than their text. */
            const int by_number = strncmp(way, "u64", 3) == 0;
            if (by_number) windlass_bloom_insert_u64(bloom, batch[n].number, batch[n].tick);
            else windlass_bloom_insert(bloom, batch[n].id, LEN, batch[n].tick);
        }
        if (++n == BATCH) {
            answer(bloom, verb, way, batch, n, seed);
            n = 0;
        }
    }
    if (n) answer(bloom, verb, way, batch, n, seed);
    fclose(in);
    windlass_bloom_free(bloom);
}

static void figures(void) {
    windlass_bloom *bloom = made(1000, 1000, 7), *same = made(1000, 1000, 7), *other = made(1000, 1000, 8);
    windlass_bloom_stats stats;
    windlass_bloom_pane panes[8];
    windlass_pane_span spans[8];
    windlass_error error = WINDLASS_ERROR_INIT;
    uint64_t id, seed = 0;
    double ids = 0, deviation = 0;

    for (id = 0; id < 1000; id++) windlass_bloom_insert_u64(bloom, id, id);
    CHECK(windlass_bloom_insert_u64(bloom, 5, 999) == 1 && windlass_bloom_insert_u64(bloom, 5000, 999) == 0);
    CHECK(windlass_bloom_get_stats(bloom, &stats, sizeof stats, panes, 8) == WINDLASS_OK);
    CHECK(stats.live_panes >= 6 && stats.live_panes <= 8 && stats.rotations == stats.live_panes - 1);
    CHECK(panes[0].start <= 999 && panes[0].end > 999 && panes[0].fill > 0 && panes[1].end == panes[0].start);
    CHECK(stats.memory_bytes == (uint64_t)windlass_bloom_memory_bytes(bloom) && stats.advice == WINDLASS_ADVICE_NONE);
    CHECK(stats.sampled_error < 0.02 && stats.expected_error < 0.02 && stats.load > 0.5);

    CHECK(windlass_bloom_distinct_at(bloom, 999, &ids, &deviation) == WINDLASS_OK);
    CHECK(ids > 1001 - 4 * deviation && ids < 1001 + 4 * deviation && deviation > 0);
    CHECK(windlass_bloom_distinct_at(bloom, 999, &ids, NULL) == WINDLASS_OK);
    CHECK(windlass_bloom_panes_at_u64(bloom, 5, 999, spans, 8) == 2);
    CHECK(spans[0].start == panes[0].start && spans[1].start == 0 && spans[1].end == panes[0].end - panes[0].start);
    CHECK(windlass_bloom_panes_at_u64(bloom, 5, 999, NULL, 0) == 2);
    CHECK(windlass_bloom_panes_at(bloom, (const uint8_t *)"x", 1, 999, spans, 8) == 0);

    CHECK(windlass_bloom_union(same, bloom, &error) == WINDLASS_OK);
    for (id = 0; id < 1000; id++) CHECK(windlass_bloom_contains_u64(same, id, 999) == 1);
    CHECK(windlass_bloom_union(same, other, &error) == WINDLASS_E_ARG && strstr(error.detail, "seed") != NULL);
    CHECK(windlass_bloom_seed(other, &seed) == WINDLASS_OK && seed == 8);

    CHECK(windlass_bloom_advance_to(bloom, 100000) == WINDLASS_OK);
    CHECK(windlass_bloom_contains_u64(bloom, 999, 100000) == 0);
    while (windlass_bloom_maintain_at(bloom, 200000, 1) == 1) {}
    CHECK(windlass_bloom_distinct_at(bloom, 200000, &ids, NULL) == WINDLASS_OK && ids == 0);
    windlass_bloom_free(bloom);
    windlass_bloom_free(same);
    windlass_bloom_free(other);
    windlass_bloom_free(NULL);
}

static void errors(void) {
    windlass_bloom *bloom = made(1000, 1000, 7);
    windlass_bloom_config config;
    windlass_bloom *none = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    const uint32_t offsets[3] = {0, 2, 1};
    int8_t answer[2] = {9, 9};
    CHECK(windlass_bloom_config_init(&config, sizeof config) == WINDLASS_OK);
    CHECK(windlass_bloom_new(&config, &none, &error) == WINDLASS_E_ARG && none == NULL);
    CHECK(strstr(error.detail, "window: 0 ns is out of range") == error.detail);
    CHECK(windlass_bloom_insert(NULL, NULL, 0, 0) == WINDLASS_E_NULL);
    CHECK(windlass_bloom_observe(bloom, NULL, 1, 0) == WINDLASS_E_NULL);
    CHECK(windlass_bloom_insert_fixed(bloom, (const uint8_t *)"ab", 2, 1, 1, 0, NULL, answer) == WINDLASS_E_RANGE);
    CHECK(windlass_bloom_observe_packed(bloom, (const uint8_t *)"ab", 2, offsets, 2, 0, NULL, answer) == WINDLASS_E_OFFSETS);
    CHECK(answer[0] == 9 && answer[1] == 9);
    CHECK(windlass_bloom_contains(bloom, (const uint8_t *)"ab", 2, 0) == 0);
    windlass_bloom_free(bloom);
}

int main(int argc, char **argv) {
    if (argc == 7) {
        answers(argv);
        return 0;
    }
    figures();
    errors();
    return 0;
}
