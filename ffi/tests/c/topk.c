/*
 * The hottest keys: what a user would rely on; and the lists of a file, a line for each pane, for a comparison with Rust's:
 *
 *     topk WAY WINDOW PANE K SEED FILE     (a line of FILE: a tick, a tab, a key; WAY: single, packed, hash or hashes)
 */
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

enum { THREADS = 2, EVENTS = 4000, KEYS = 50, BATCH = 100, ROWS = 100, LONGEST = 4096 };

#define SECONDS(n) ((n) * UINT64_C(1000000000))

static windlass_topk *made(uint64_t window, uint64_t pane, uint64_t k, uint64_t seed) {
    windlass_topk_config config;
    windlass_topk *topk = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_topk_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = window;
    config.pane = pane;
    config.k = k;
    config.capacity = 20000;
    config.seed = seed;
    CHECK(windlass_topk_config_memory_bytes(&config, NULL) > 20000 * 64);
    if (windlass_topk_new(&config, &topk, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(topk != NULL);
    return topk;
}

static void add(windlass_topk *topk, const char *key, uint64_t times, uint64_t second) {
    CHECK(windlass_topk_add(topk, (const uint8_t *)key, strlen(key), times, SECONDS(second)) == WINDLASS_COUNTED);
}

static int is(const windlass_top_row *row, const uint8_t *keys, const char *key, uint64_t count) {
    return row->kind == WINDLASS_KEY_BYTES && row->key_len == strlen(key) &&
           memcmp(keys + row->key_at, key, row->key_len) == 0 && row->count == count && row->lower == count &&
           row->upper == count;
}

static void window(void) {
    windlass_topk *topk = made(SECONDS(60), SECONDS(10), 3, 7);
    windlass_top_list list;
    windlass_top_row rows[3];
    uint8_t keys[64];
    uint64_t n = 0, number;
    windlass_hash hash = {1, 2}, found;

    CHECK(windlass_topk_snapshot(topk, &list, sizeof list, NULL, 0, NULL, 0) == WINDLASS_OK);
    CHECK(list.rows == 0 && !list.certified && list.end == 0 && list.tail == UINT64_MAX);
    add(topk, "/", 5, 5);
    add(topk, "/b", 9, 31);
    add(topk, "/a", 9, 59);
    add(topk, "/c", 1, 59);
    CHECK(windlass_topk_refresh(topk, SECONDS(59), &list, sizeof list, rows, 3, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.struct_size == sizeof list && list.rows == 3 && list.key_bytes == 5 && list.certified == 1);
    CHECK(list.as_of == SECONDS(59) && list.start == 0 && list.end == SECONDS(60) && list.total == 24 && list.tail == 1);
    CHECK(is(&rows[0], keys, "/a", 9) && is(&rows[1], keys, "/b", 9) && is(&rows[2], keys, "/", 5));

    /* Another window, for the caller alone; the last list is still the last. */
    CHECK(windlass_topk_top(topk, SECONDS(60), &list, sizeof list, rows, 3, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.rows == 3 && is(&rows[2], keys, "/c", 1) && list.start == SECONDS(10));
    CHECK(windlass_topk_top_complete(topk, SECONDS(60), &list, sizeof list, rows, 3, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.rows == 3 && is(&rows[2], keys, "/", 5) && list.end == SECONDS(60));
    CHECK(windlass_topk_snapshot(topk, &list, sizeof list, rows, 3, keys, 5) == WINDLASS_OK);
    CHECK(list.as_of == SECONDS(59) && is(&rows[2], keys, "/", 5));

    CHECK(windlass_topk_count(topk, (const uint8_t *)"/a", 2, SECONDS(59), &n) == WINDLASS_OK && n == 9);
    CHECK(windlass_topk_total(topk, SECONDS(60), &n) == WINDLASS_OK && n == 19);

    /* Numbers and hashes come back as such. */
    CHECK(windlass_topk_add_u64(topk, 4711, 100, SECONDS(60)) == WINDLASS_COUNTED);
    CHECK(windlass_topk_add_hash(topk, hash, 50, SECONDS(60)) == WINDLASS_COUNTED);
    CHECK(windlass_topk_maintain_at(topk, SECONDS(61), 64) >= 0);
    CHECK(windlass_topk_snapshot(topk, &list, sizeof list, rows, 3, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.as_of == SECONDS(61) && rows[0].kind == WINDLASS_KEY_U64 && rows[0].key_len == sizeof number);
    memcpy(&number, keys + rows[0].key_at, sizeof number);
    CHECK(number == 4711 && rows[1].kind == WINDLASS_KEY_HASH && rows[1].key_len == sizeof found);
    memcpy(&found, keys + rows[1].key_at, sizeof found);
    CHECK(found.lo == 1 && found.hi == 2);
    windlass_topk_free(topk);
    windlass_topk_free(NULL);
}

/* Arrays that are too small: what it takes, and nothing else. */
static void room(void) {
    windlass_topk *topk = made(SECONDS(60), SECONDS(10), 3, 7);
    windlass_top_list list;
    windlass_top_row rows[3], before[3];
    uint8_t keys[8], as_before[8];
    memset(before, 9, sizeof before);
    memset(as_before, 9, sizeof as_before);
    memcpy(rows, before, sizeof rows);
    memcpy(keys, as_before, sizeof keys);
    add(topk, "abc", 2, 1);
    add(topk, "de", 1, 1);
    CHECK(windlass_topk_refresh(topk, SECONDS(2), &list, sizeof list, rows, 1, keys, 8) == WINDLASS_E_TOO_SMALL);
    CHECK(list.rows == 2 && list.key_bytes == 5 && list.certified == 1 && list.total == 3);
    CHECK(windlass_topk_snapshot(topk, &list, sizeof list, rows, 3, keys, 4) == WINDLASS_E_TOO_SMALL);
    CHECK(list.rows == 2 && list.key_bytes == 5 && list.as_of == SECONDS(2));
    CHECK(windlass_topk_top(topk, SECONDS(2), &list, sizeof list, NULL, 0, NULL, 0) == WINDLASS_E_TOO_SMALL);
    CHECK(memcmp(rows, before, sizeof rows) == 0 && memcmp(keys, as_before, sizeof keys) == 0);
    CHECK(windlass_topk_snapshot(topk, &list, sizeof list, rows, 2, keys, 5) == WINDLASS_OK);
    CHECK(is(&rows[0], keys, "abc", 2) && is(&rows[1], keys, "de", 1) && keys[5] == 9);
    windlass_topk_free(topk);
}

/* Numbers 0 to KEYS - 1 in turn, some in batches, while panes change. */
static void *events(void *argument) {
    windlass_topk *topk = (windlass_topk *)argument;
    uint64_t keys[BATCH], ticks[BATCH];
    size_t i, done;
    for (done = 0; done < EVENTS; done += BATCH) {
        windlass_tally tally;
        for (i = 0; i < BATCH; i++) {
            keys[i] = (done + i) % KEYS;
            ticks[i] = SECONDS(done + i) / 100;
        }
        CHECK(windlass_topk_add_u64s(topk, keys, BATCH / 2, NULL, 0, ticks, &tally) == WINDLASS_OK);
        CHECK(tally.counted == BATCH / 2 && tally.no_room == 0 && tally.late == 0 && tally.jumps == 0);
        for (i = BATCH / 2; i < BATCH; i++)
            CHECK(windlass_topk_add_u64(topk, keys[i], 1, ticks[i]) == WINDLASS_COUNTED);
        CHECK(windlass_topk_maintain_at(topk, ticks[BATCH - 1], 64) >= 0);
    }
    return NULL;
}

static void threads(void) {
    windlass_topk *topk = made(SECONDS(60), SECONDS(10), KEYS, 7);
    windlass_topk_stats stats;
    windlass_top_list list;
    windlass_top_row rows[KEYS];
    uint8_t keys[KEYS * 8];
    pthread_t others[THREADS];
    int i;
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&others[i], NULL, events, topk) == 0);
    for (i = 0; i < EVENTS; i++) { /* Readers meanwhile get whole lists. */
        CHECK(windlass_topk_snapshot(topk, &list, sizeof list, rows, KEYS, keys, sizeof keys) == WINDLASS_OK);
        CHECK(list.key_bytes == 8 * list.rows && (list.rows == 0 || rows[0].count >= rows[list.rows - 1].count));
    }
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(others[i], NULL) == 0);
    CHECK(windlass_topk_refresh(topk, SECONDS(40), &list, sizeof list, rows, KEYS, keys, sizeof keys) == WINDLASS_OK);
    CHECK(list.certified && list.rows == KEYS && list.tail < rows[KEYS - 1].count && list.total == THREADS * EVENTS);
    for (i = 0; i < KEYS; i++) {
        uint64_t key, count;
        memcpy(&key, keys + rows[i].key_at, sizeof key);
        CHECK(key == (uint64_t)i && rows[i].count == THREADS * EVENTS / KEYS);
        CHECK(windlass_topk_count_u64(topk, key, SECONDS(40), &count) == WINDLASS_OK && count == rows[i].count);
    }
    CHECK(windlass_topk_get_stats(topk, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.struct_size == sizeof stats && stats.late == 0 && stats.no_room == 0 && stats.key_bytes == 0);
    windlass_topk_free(topk);
}

/* The list of a complete window: its end, and count and key of each row. A hash shows the first bytes of its halves. */
static void print(windlass_topk *topk, uint64_t end, uint8_t **keys, size_t *room) {
    windlass_top_list list;
    windlass_top_row rows[ROWS];
    size_t i;
    windlass_status status;
    while ((status = windlass_topk_top_complete(topk, end, &list, sizeof list, rows, ROWS, *keys, *room)) ==
           WINDLASS_E_TOO_SMALL) {
        CHECK(list.key_bytes > *room && list.rows <= ROWS);
        *room = (size_t)list.key_bytes;
        *keys = (uint8_t *)realloc(*keys, *room);
        CHECK(*keys != NULL);
    }
    CHECK(status == WINDLASS_OK && list.certified == 1);
    printf("%llu", (unsigned long long)end);
    for (i = 0; i < list.rows; i++) {
        const uint8_t *key = *keys + rows[i].key_at;
        printf("\t%llu\t", (unsigned long long)rows[i].count);
        if (rows[i].kind == WINDLASS_KEY_BYTES) {
            fwrite(key, 1, rows[i].key_len, stdout);
        } else {
            windlass_hash hash;
            CHECK(rows[i].kind == WINDLASS_KEY_HASH && rows[i].key_len == sizeof hash);
            memcpy(&hash, key, sizeof hash);
            printf("%016llx%016llx", (unsigned long long)hash.hi, (unsigned long long)hash.lo);
        }
    }
    printf("\n");
}

/* Those that wait to be added together. */
static uint8_t bytes[BATCH * LONGEST];
static uint32_t offsets[BATCH + 1];
static uint64_t ticks[BATCH];
static windlass_hash hashes[BATCH];

static void put(windlass_topk *topk, const char *way, size_t n) {
    windlass_tally tally;
    size_t i;
    if (strcmp(way, "packed") == 0) {
        CHECK(windlass_topk_add_packed(topk, bytes, offsets[n], offsets, n, NULL, 0, ticks, &tally) == WINDLASS_OK);
        CHECK(tally.counted == n);
    } else if (strcmp(way, "hashes") == 0) {
        CHECK(windlass_topk_add_hashes(topk, hashes, n, NULL, 0, ticks, &tally) == WINDLASS_OK);
        CHECK(tally.counted == n);
    } else {
        for (i = 0; i < n; i++) {
            if (strcmp(way, "hash") == 0)
                CHECK(windlass_topk_add_hash(topk, hashes[i], 1, ticks[i]) == WINDLASS_COUNTED);
            else
                CHECK(windlass_topk_add(topk, bytes + offsets[i], offsets[i + 1] - offsets[i], 1, ticks[i]) ==
                      WINDLASS_COUNTED);
        }
    }
}

static void lists(char **arguments) {
    const char *way = arguments[1];
    const uint64_t pane = strtoull(arguments[3], NULL, 10), seed = strtoull(arguments[5], NULL, 10);
    windlass_topk *topk = made(strtoull(arguments[2], NULL, 10), pane, strtoull(arguments[4], NULL, 10), seed);
    FILE *in = fopen(arguments[6], "rb");
    static char line[LONGEST];
    uint8_t *keys = NULL;
    uint64_t end = 0;
    size_t n = 0, room = 0;
    CHECK(in != NULL);
    while (fgets(line, sizeof line, in)) {
        char *tab = strchr(line, '\t');
        uint64_t tick = strtoull(line, NULL, 10);
        size_t len;
        CHECK(tab != NULL);
        len = strcspn(tab + 1, "\n");
        if (end == 0) end = (tick / pane + 1) * pane;
        if (tick >= end || n == BATCH) {
            put(topk, way, n);
            n = 0;
        }
        for (; tick >= end; end += pane) print(topk, end, &keys, &room);
        ticks[n] = tick;
        memcpy(bytes + offsets[n], tab + 1, len);
        offsets[n + 1] = offsets[n] + (uint32_t)len;
        CHECK(windlass_hash_bytes((const uint8_t *)tab + 1, len, seed, &hashes[n]) == WINDLASS_OK);
        n++;
    }
    put(topk, way, n);
    print(topk, end, &keys, &room);
    fclose(in);
    free(keys);
    windlass_topk_free(topk);
}

static void errors(void) {
    windlass_topk_config config;
    windlass_topk *none = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    static uint8_t longer[WINDLASS_TOPK_MAX_LEN + 1];
    windlass_topk *topk = made(SECONDS(60), SECONDS(10), 3, 7);
    windlass_top_list list;
    CHECK(windlass_topk_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 60;
    config.pane = 7;
    config.k = 10;
    CHECK(windlass_topk_new(&config, &none, &error) == WINDLASS_E_ARG && none == NULL);
    CHECK(strstr(error.detail, "pane: 7 ns is out of range: a divisor of the window") == error.detail);
    config.pane = 10;
    config.k = 0;
    CHECK(windlass_topk_new(&config, &none, &error) == WINDLASS_E_ARG && none == NULL);
    CHECK(strstr(error.detail, "k: 0 is out of range: 1 to 1000000, the capacity") == error.detail);
    config.k = 1000001;
    CHECK(windlass_topk_new(&config, &none, &error) == WINDLASS_E_ARG && none == NULL);
    CHECK(windlass_topk_add(topk, longer, sizeof longer, 1, 5) == WINDLASS_TOO_LONG);
    CHECK(windlass_topk_add(topk, longer, sizeof longer - 1, 1, 5) == WINDLASS_COUNTED);
    CHECK(windlass_topk_refresh(NULL, 5, &list, sizeof list, NULL, 0, NULL, 0) == WINDLASS_E_NULL);
    CHECK(windlass_topk_snapshot(topk, &list, 8, NULL, 0, NULL, 0) == WINDLASS_E_STRUCT_SIZE);
    CHECK(windlass_topk_snapshot(topk, &list, sizeof list, NULL, 1, NULL, 0) == WINDLASS_E_NULL);
    windlass_topk_free(topk);
}

int main(int argc, char **argv) {
    if (argc == 7) {
        lists(argv);
        return 0;
    }
    window();
    room();
    threads();
    errors();
    return 0;
}
