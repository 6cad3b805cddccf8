/*
 * The queue that tells ranks. Without arguments it checks what a user would rely on. With them it reads lines, TICK<TAB>NUMBER
 * (8 digits, below 4096): each number is put in when it is first seen, every EVERY ticks one is taken out, and for each line it
 * prints how many are ahead, by one of the calls:
 *
 *   fifo single|hash|u64|packed|hashes|u64s|fixed EVERY SEED FILE
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

enum { BATCH = 100, LEN = 8, NUMBERS = 4096, THREADS = 2, EACH = 3000 };

static windlass_fifo *made(uint64_t capacity, uint32_t on_present, uint64_t seed) {
    windlass_fifo_config config;
    windlass_fifo *fifo = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_fifo_config_init(&config, sizeof config) == WINDLASS_OK);
    config.capacity = capacity;
    config.on_present = on_present;
    config.seed = seed;
    CHECK(windlass_fifo_config_memory_bytes(&config, &error) > 0);
    if (windlass_fifo_new(&config, &fifo, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(fifo != NULL);
    return fifo;
}

static int32_t push(windlass_fifo *fifo, const char *key, const char *value, uint64_t now) {
    return windlass_fifo_push(fifo, (const uint8_t *)key, strlen(key), (const uint8_t *)value, strlen(value), now, NULL);
}

static int64_t rank(const windlass_fifo *fifo, const char *key) {
    uint64_t rank = 0;
    int32_t found = windlass_fifo_rank(fifo, (const uint8_t *)key, strlen(key), &rank);
    CHECK(found == WINDLASS_FOUND || found == WINDLASS_ABSENT);
    return found == WINDLASS_FOUND ? (int64_t)rank : -1;
}

static void keep(void) {
    windlass_fifo *fifo = made(3, WINDLASS_ON_PRESENT_KEEP, 1);
    windlass_fifo_place place;
    windlass_fifo_entry entry;
    windlass_fifo_stats stats;
    uint8_t key[8], value[64];
    uint64_t before = 0;
    const char *letter = "a letter that does not fit into an entry by itself";
    CHECK(windlass_fifo_pop(fifo, key, sizeof key, value, sizeof value, &entry) == WINDLASS_ABSENT);
    CHECK(rank(fifo, "ann") == -1);
    CHECK(push(fifo, "ann", letter, 10) == WINDLASS_PUSHED_NEW && push(fifo, "bob", "", 20) == WINDLASS_PUSHED_NEW);
    CHECK(push(fifo, "ann", "another", 30) == WINDLASS_PUSHED_PRESENT);
    CHECK(push(fifo, "cid", "3", 30) == WINDLASS_PUSHED_NEW && push(fifo, "dan", "4", 30) == WINDLASS_E_FULL);
    CHECK(rank(fifo, "ann") == 0 && rank(fifo, "bob") == 1 && rank(fifo, "cid") == 2 && windlass_fifo_len(fifo) == 3);
    CHECK(windlass_fifo_count_before(fifo, 30, &before) == WINDLASS_OK && before == 2);
    CHECK(windlass_fifo_find(fifo, (const uint8_t *)"ann", 3, value, sizeof value, &place) == WINDLASS_FOUND);
    CHECK(place.seq == 0 && place.rank == 0 && place.pushed_at == 10 && place.value_len == strlen(letter));
    CHECK(memcmp(value, letter, strlen(letter)) == 0);
    /* What does not fit stays. */
    CHECK(windlass_fifo_pop(fifo, key, sizeof key, value, 4, &entry) == WINDLASS_E_TOO_SMALL);
    CHECK(entry.value_len == strlen(letter) && rank(fifo, "ann") == 0);
    CHECK(windlass_fifo_pop_until(fifo, 9, key, sizeof key, NULL, 0, &entry) == WINDLASS_ABSENT);
    CHECK(windlass_fifo_pop_until(fifo, 10, key, sizeof key, NULL, 0, &entry) == WINDLASS_FOUND);
    CHECK(entry.seq == 0 && entry.key_len == 3 && memcmp(key, "ann", 3) == 0 && entry.key_kind == 0);
    CHECK(rank(fifo, "ann") == -1 && rank(fifo, "bob") == 0);
    CHECK(push(fifo, "eve", letter, 30) == WINDLASS_PUSHED_NEW && rank(fifo, "eve") == 2);
    CHECK(windlass_fifo_remove(fifo, (const uint8_t *)"eve", 3, value, 4, &entry) == WINDLASS_E_TOO_SMALL && rank(fifo, "eve") == 2);
    CHECK(windlass_fifo_remove(fifo, (const uint8_t *)"eve", 3, value, sizeof value, &entry) == WINDLASS_FOUND);
    CHECK(entry.value_len == strlen(letter) && memcmp(value, letter, strlen(letter)) == 0 && entry.key_len == 0);
    CHECK(windlass_fifo_remove(fifo, (const uint8_t *)"eve", 3, NULL, 0, &entry) == WINDLASS_ABSENT && windlass_fifo_len(fifo) == 2);
    CHECK(windlass_fifo_peek(fifo, key, sizeof key, value, sizeof value, &entry) == WINDLASS_FOUND && entry.seq == 1);
    CHECK(windlass_fifo_at_rank(fifo, 1, key, sizeof key, value, sizeof value, &entry) == WINDLASS_FOUND);
    CHECK(entry.seq == 2 && value[0] == '3' && memcmp(key, "cid", 3) == 0);
    CHECK(windlass_fifo_next(fifo, 0, key, sizeof key, value, sizeof value, &entry) == WINDLASS_FOUND && entry.seq == 1);
    CHECK(windlass_fifo_next(fifo, 3, key, sizeof key, value, sizeof value, &entry) == WINDLASS_ABSENT);
    CHECK(windlass_fifo_get_stats(fifo, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.len == 2 && stats.head == 1 && stats.tail == 4 && stats.holes == 1 && stats.refused == 1 && stats.memory_bytes > 0);
    CHECK(windlass_fifo_maintain(fifo, 100) >= 0);
    windlass_fifo_free(fifo);
    windlass_fifo_free(NULL);
}

static void move(void) {
    windlass_fifo *fifo = made(10, WINDLASS_ON_PRESENT_MOVE, 1);
    windlass_fifo_entry entries[4];
    uint8_t keys[16], values[16];
    CHECK(push(fifo, "ann", "1", 0) == WINDLASS_PUSHED_NEW && push(fifo, "bob", "22", 0) == WINDLASS_PUSHED_NEW);
    CHECK(push(fifo, "ann", "333", 0) == WINDLASS_PUSHED_MOVED);
    CHECK(rank(fifo, "ann") == 1 && rank(fifo, "bob") == 0);
    CHECK(windlass_fifo_pop_packed(fifo, 4, keys, 2, values, sizeof values, entries) == WINDLASS_E_TOO_SMALL);
    CHECK(windlass_fifo_pop_packed(fifo, 4, keys, 5, values, sizeof values, entries) == 1);
    CHECK(entries[0].key_len == 3 && entries[0].value_len == 2 && memcmp(values, "22", 2) == 0);
    CHECK(push(fifo, "cid", "4444", 0) == WINDLASS_PUSHED_NEW);
    CHECK(windlass_fifo_pop_packed(fifo, 4, keys, sizeof keys, values, sizeof values, entries) == 2);
    CHECK(memcmp(keys, "anncid", 6) == 0 && memcmp(values, "3334444", 7) == 0 && entries[1].value_len == 4);
    windlass_fifo_free(fifo);
}

/* Numbers of its own are put in, in batches, and as many of anybody's taken out. */
typedef struct worker {
    windlass_fifo *fifo;
    uint64_t first, sum;
} worker;

static void *work(void *argument) {
    worker *self = (worker *)argument;
    uint64_t keys[BATCH];
    int32_t results[BATCH];
    uint64_t seqs[BATCH], done;
    size_t i;
    for (done = 0; done < EACH; done += BATCH) {
        windlass_fifo_entry entry;
        for (i = 0; i < BATCH; i++) keys[i] = self->first + done + i;
        CHECK(windlass_fifo_push_u64s(self->fifo, keys, BATCH, (const uint8_t *)keys, sizeof keys, NULL, 0, results, seqs) ==
              WINDLASS_OK);
        for (i = 0; i < BATCH; i++) CHECK(results[i] == WINDLASS_PUSHED_NEW);
        for (i = 0; i < BATCH; i++) {
            uint8_t key[8];
            uint64_t number;
            CHECK(windlass_fifo_pop(self->fifo, key, sizeof key, NULL, 0, &entry) == WINDLASS_FOUND);
            CHECK(entry.key_kind == 1 && entry.key_len == 8);
            memcpy(&number, key, 8);
            self->sum += number;
        }
    }
    return NULL;
}

static void threads(void) {
    windlass_fifo *fifo = made(THREADS * BATCH, WINDLASS_ON_PRESENT_KEEP, 1);
    pthread_t others[THREADS];
    worker workers[THREADS];
    uint64_t sum = 0, right = (uint64_t)THREADS * EACH * (THREADS * EACH - 1) / 2;
    int i;
    for (i = 0; i < THREADS; i++) {
        workers[i].fifo = fifo;
        workers[i].first = (uint64_t)i * EACH;
        workers[i].sum = 0;
        CHECK(pthread_create(&others[i], NULL, work, &workers[i]) == 0);
    }
    for (i = 0; i < THREADS; i++) {
        CHECK(pthread_join(others[i], NULL) == 0);
        sum += workers[i].sum;
    }
    CHECK(sum == right && windlass_fifo_len(fifo) == 0);
    windlass_fifo_free(fifo);
}

typedef struct event {
    uint64_t tick, number;
    uint8_t id[LEN];
} event;

/* The ranks of n events between which nobody is taken out. */
static void ask(windlass_fifo *fifo, const event *e, size_t n, const char *way, uint64_t seed) {
    int64_t ranks[BATCH];
    windlass_hash hashes[BATCH];
    uint64_t numbers[BATCH];
    uint8_t bytes[BATCH * LEN];
    uint32_t offsets[BATCH + 1];
    size_t i;
    offsets[0] = 0;
    for (i = 0; i < n; i++) {
        CHECK(windlass_hash_bytes(e[i].id, LEN, seed, &hashes[i]) == WINDLASS_OK);
        numbers[i] = e[i].number;
        memcpy(bytes + i * LEN, e[i].id, LEN);
        offsets[i + 1] = (uint32_t)((i + 1) * LEN);
    }
    if (strcmp(way, "packed") == 0)
        CHECK(windlass_fifo_rank_packed(fifo, bytes, n * LEN, offsets, n, ranks) == WINDLASS_OK);
    else if (strcmp(way, "hashes") == 0)
        CHECK(windlass_fifo_rank_hashes(fifo, hashes, n, ranks) == WINDLASS_OK);
    else if (strcmp(way, "u64s") == 0)
        CHECK(windlass_fifo_rank_u64s(fifo, numbers, n, ranks) == WINDLASS_OK);
    else if (strcmp(way, "fixed") == 0)
        CHECK(windlass_fifo_rank_fixed(fifo, e[0].id, LEN, sizeof e[0], n, ranks) == WINDLASS_OK);
    else
        for (i = 0; i < n; i++) {
            uint64_t before = 0;
            int32_t found;
            if (strcmp(way, "single") == 0)
                found = windlass_fifo_rank(fifo, e[i].id, LEN, &before);
            else if (strcmp(way, "hash") == 0)
                found = windlass_fifo_rank_hash(fifo, hashes[i], &before);
            else
                found = windlass_fifo_rank_u64(fifo, numbers[i], &before);
            CHECK(found >= 0);
            ranks[i] = found == WINDLASS_FOUND ? (int64_t)before : -1;
        }
    for (i = 0; i < n; i++) printf("%" PRId64 "\n", ranks[i]);
}

static void put_in(windlass_fifo *fifo, const event *e, const char *way, uint64_t seed) {
    windlass_hash hash;
    uint64_t seq = 0;
    int32_t pushed = -1;
    CHECK(windlass_hash_bytes(e->id, LEN, seed, &hash) == WINDLASS_OK);
    if (strcmp(way, "packed") == 0 || strcmp(way, "fixed") == 0) {
        uint32_t offsets[2];
        offsets[0] = 0;
        offsets[1] = LEN;
        CHECK(windlass_fifo_push_packed(fifo, e->id, LEN, offsets, 1, e->id, LEN, offsets, e->tick, &pushed, &seq) ==
              WINDLASS_OK);
    } else if (strcmp(way, "u64s") == 0) {
        CHECK(windlass_fifo_push_u64s(fifo, &e->number, 1, NULL, 0, NULL, e->tick, &pushed, NULL) == WINDLASS_OK);
    } else if (strncmp(way, "hash", 4) == 0) {
        pushed = windlass_fifo_push_hash(fifo, hash, e->id, LEN, e->tick, &seq);
    } else if (strcmp(way, "single") == 0) {
        pushed = windlass_fifo_push(fifo, e->id, LEN, e->id, LEN, e->tick, &seq);
    } else {
        CHECK(strcmp(way, "u64") == 0);
        pushed = windlass_fifo_push_u64(fifo, e->number, e->id, LEN, e->tick, &seq);
    }
    CHECK(pushed == WINDLASS_PUSHED_NEW);
}

static void replay(const char *way, uint64_t every, uint64_t seed, const char *path) {
    static int seen[NUMBERS];
    static event batch[BATCH];
    windlass_fifo *fifo = made(NUMBERS, WINDLASS_ON_PRESENT_KEEP, seed);
    windlass_fifo_entry entry;
    FILE *file = fopen(path, "r");
    uint64_t due = 0;
    size_t n = 0;
    int first = 1;
    CHECK(file != NULL);
    for (;;) {
        event e;
        char id[LEN + 1] = "";
        int more = fscanf(file, "%" SCNu64 "\t%8s", &e.tick, id) == 2;
        memcpy(e.id, id, LEN);
        e.number = strtoull(id, NULL, 10);
        CHECK(e.number < NUMBERS);
        if (first) due = e.tick + every;
        first = 0;
        if (n > 0 && (!more || due <= e.tick || n == BATCH - 1)) {
            ask(fifo, batch, n, way, seed);
            n = 0;
        }
        if (!more) break;
        for (; due <= e.tick; due += every) CHECK(windlass_fifo_pop(fifo, NULL, 0, NULL, 0, &entry) >= 0);
        if (!seen[e.number]) put_in(fifo, &e, way, seed);
        seen[e.number] = 1;
        batch[n++] = e;
    }
    CHECK(fclose(file) == 0);
    windlass_fifo_free(fifo);
}

int main(int argc, char **argv) {
    if (argc == 5) {
        replay(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4]);
        return 0;
    }
    CHECK(argc == 1);
    keep();
    move();
    threads();
    return 0;
}
