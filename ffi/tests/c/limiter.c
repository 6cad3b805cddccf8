/*
 * Rate limiters. Without arguments it checks what a user would rely on. With them it prints the answer to each line,
 * TICK<TAB>COST<TAB>KEY, as KIND REMAINING RESET RETRY DELAY, by one of the calls (of numbers and fixed, keys are 8 digits):
 *
 *   limiter single|hash|u64|packed|hashes|u64s|fixed|global ALGORITHM QUOTA LATENESS_NS SEED FILE
 */
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

enum { BATCH = 200, MOST = 200, LEN = 8 };

typedef struct event {
    uint64_t tick, cost;
    size_t len;
    uint8_t key[MOST];
} event;

static windlass_limiter_config config_of(const char *quota) {
    windlass_limiter_config config;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_limiter_config_init(&config, sizeof config) == WINDLASS_OK);
    CHECK(windlass_limiter_config_quota(&config, quota, strlen(quota), &error) == WINDLASS_OK);
    config.clients = 20000;
    return config;
}

static windlass_limiter *made(const windlass_limiter_config *config) {
    windlass_limiter *limiter = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    if (windlass_limiter_new(config, &limiter, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(limiter != NULL);
    CHECK(windlass_limiter_memory_bytes(limiter) == windlass_limiter_config_memory_bytes(config, NULL));
    return limiter;
}

static windlass_limiter_stats figures(const windlass_limiter *limiter) {
    windlass_limiter_stats stats;
    CHECK(windlass_limiter_get_stats(limiter, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.struct_size == sizeof stats);
    return stats;
}

static uint64_t number(const event *e) { return strtoull((const char *)e->key, NULL, 10); }

/* -1000: it is no batch. */
static int64_t many(windlass_limiter *limiter, const event *e, size_t n, const windlass_hash *hashes, const char *way,
                    windlass_admission *admissions) {
    static uint8_t bytes[BATCH * MOST];
    uint32_t offsets[BATCH + 1];
    uint64_t ticks[BATCH], costs[BATCH], numbers[BATCH];
    size_t i;
    offsets[0] = 0;
    for (i = 0; i < n; i++) {
        memcpy(bytes + offsets[i], e[i].key, e[i].len);
        offsets[i + 1] = offsets[i] + (uint32_t)e[i].len;
        ticks[i] = e[i].tick;
        costs[i] = e[i].cost;
        numbers[i] = number(&e[i]);
    }
    if (strcmp(way, "packed") == 0)
        return windlass_limiter_check_packed(limiter, bytes, offsets[n], offsets, n, costs, 0, ticks, admissions);
    if (strcmp(way, "hashes") == 0) return windlass_limiter_check_hashes(limiter, hashes, n, costs, 0, ticks, admissions);
    if (strcmp(way, "u64s") == 0) return windlass_limiter_check_u64s(limiter, numbers, n, costs, 0, ticks, admissions);
    if (strcmp(way, "fixed") == 0)
        return windlass_limiter_check_fixed(limiter, e[0].key, LEN, sizeof e[0], n, costs, 0, ticks, admissions);
    return -1000;
}

static int32_t one(windlass_limiter *limiter, const event *e, windlass_hash hash, const char *way,
                   windlass_admission *admission) {
    if (strcmp(way, "single") == 0) return windlass_limiter_check(limiter, e->key, e->len, e->cost, e->tick, admission);
    if (strcmp(way, "hash") == 0) return windlass_limiter_check_hash(limiter, hash, e->cost, e->tick, admission);
    CHECK(strcmp(way, "u64") == 0);
    return windlass_limiter_check_u64(limiter, number(e), e->cost, e->tick, admission);
}

static void answer(windlass_limiter *limiter, windlass_global_limiter *global, const char *way, const event *e, size_t n) {
    windlass_hash hashes[BATCH];
    windlass_admission admissions[BATCH];
    int64_t allowed;
    uint64_t seed = 0;
    size_t i;
    memset(admissions, 0x55, sizeof admissions);
    CHECK(windlass_limiter_seed(limiter, &seed) == WINDLASS_OK);
    for (i = 0; i < n; i++) CHECK(windlass_hash_bytes(e[i].key, e[i].len, seed, &hashes[i]) == WINDLASS_OK);
    allowed = many(limiter, e, n, hashes, way, admissions);
    for (i = 0; i < n; i++) {
        windlass_admission *a = &admissions[i];
        if (strcmp(way, "global") == 0) {
            CHECK(windlass_global_limiter_check(global, e[i].cost, e[i].tick, a) == a->kind);
        } else if (allowed == -1000) {
            CHECK(one(limiter, &e[i], hashes[i], way, a) == a->kind);
        }
        CHECK(a->reserved0 == 0);
        printf("%d %llu %llu %llu %llu\n", (int)a->kind, (unsigned long long)a->remaining,
               (unsigned long long)a->reset_after_ns, (unsigned long long)a->retry_after_ns,
               (unsigned long long)a->delay_ns);
    }
    if (allowed != -1000) {
        for (i = 0; i < n; i++) allowed -= admissions[i].kind == WINDLASS_ALLOWED;
        CHECK(allowed == 0);
    }
}

static void answers(char **arguments) {
    windlass_limiter_config config = config_of(arguments[3]);
    windlass_limiter *limiter = NULL;
    windlass_global_limiter *global = NULL;
    FILE *in = fopen(arguments[6], "rb");
    event batch[BATCH];
    char line[MOST + 64];
    size_t n = 0;
    CHECK(in != NULL);
    config.algorithm = (uint32_t)strtoul(arguments[2], NULL, 10);
    config.seed = strtoull(arguments[5], NULL, 10);
    CHECK(windlass_global_limiter_new(&config, &global, NULL) == WINDLASS_OK);
    config.lateness_ns = strtoull(arguments[4], NULL, 10);
    limiter = made(&config);
    memset(batch, 0, sizeof batch);
    while (fgets(line, sizeof line, in)) {
        char *cost = strchr(line, '\t'), *key = cost ? strchr(cost + 1, '\t') : NULL;
        event *e = &batch[n];
        CHECK(key != NULL);
        e->tick = strtoull(line, NULL, 10);
        e->cost = strtoull(cost + 1, NULL, 10);
        e->len = strcspn(key + 1, "\n");
        CHECK(e->len < MOST && key[1 + e->len] == '\n');
        memcpy(e->key, key + 1, e->len);
        e->key[e->len] = 0;
        if (++n == BATCH) {
            answer(limiter, global, arguments[1], batch, n);
            n = 0;
        }
    }
    if (n) answer(limiter, global, arguments[1], batch, n);
    CHECK(figures(limiter).unknown == 0);
    fclose(in);
    windlass_limiter_free(limiter);
    windlass_global_limiter_free(global);
}

static int32_t ask(windlass_limiter *limiter, const char *key, uint64_t cost, uint64_t now, windlass_admission *a) {
    return windlass_limiter_check(limiter, (const uint8_t *)key, strlen(key), cost, now, a);
}

static void one_client(void) {
    const uint64_t second = 1000000000;
    windlass_limiter_config config = config_of("2/s burst 3");
    windlass_limiter *limiter;
    windlass_admission a, peeked;
    uint64_t seed = 0;
    CHECK(config.permits == 2 && config.per_ns == second && config.burst == 3);
    config.seed = 7;
    config.clients = 1000; /* few: figures are exact */
    limiter = made(&config);
    CHECK(windlass_limiter_seed(limiter, &seed) == WINDLASS_OK && seed == 7);
    CHECK(windlass_limiter_peek(limiter, (const uint8_t *)"a", 1, 2, 0, &peeked) == WINDLASS_ALLOWED);
    CHECK(ask(limiter, "a", 2, 0, &a) == WINDLASS_ALLOWED && memcmp(&a, &peeked, sizeof a) == 0);
    CHECK(a.kind == WINDLASS_ALLOWED && a.remaining == 1 && a.reset_after_ns == second);
    CHECK(a.retry_after_ns == 0 && a.delay_ns == 0);
    CHECK(ask(limiter, "a", 1, 0, NULL) == WINDLASS_ALLOWED);
    CHECK(ask(limiter, "a", 1, 100000000, &a) == WINDLASS_DENIED);
    CHECK(a.kind == WINDLASS_DENIED && a.retry_after_ns == 400000000 && a.remaining == 0 && a.reset_after_ns == 0);
    /* Then, and not any sooner. */
    CHECK(windlass_limiter_peek(limiter, (const uint8_t *)"a", 1, 1, 499999000, NULL) == WINDLASS_DENIED);
    CHECK(ask(limiter, "a", 1, 500000000, NULL) == WINDLASS_ALLOWED);
    CHECK(ask(limiter, "a", 4, 500000000, &a) == WINDLASS_NEVER);
    CHECK(a.kind == WINDLASS_NEVER && a.retry_after_ns == 0);
    CHECK(ask(limiter, "a", UINT64_MAX, 500000000, NULL) == WINDLASS_NEVER);
    CHECK(ask(limiter, "b", 3, 500000000, NULL) == WINDLASS_ALLOWED);
    CHECK(ask(limiter, "", 3, 500000000, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limiter_check(limiter, NULL, 0, 1, 500000000, NULL) == WINDLASS_DENIED);
    CHECK(figures(limiter).clients == 3 && figures(limiter).tables == 1 && figures(limiter).late == 0);
    CHECK(windlass_limiter_forget(limiter, (const uint8_t *)"a", 1, 500000000) == 1);
    CHECK(windlass_limiter_forget(limiter, (const uint8_t *)"a", 1, 500000000) == 0);
    CHECK(ask(limiter, "a", 3, 500000000, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limiter_maintain_at(limiter, 10 * second, 64) >= 0);
    CHECK(figures(limiter).clients == 0);
    windlass_limiter_free(limiter);
    windlass_limiter_free(NULL);
}

static void a_queue(void) {
    windlass_limiter_config config = config_of("10/s");
    windlass_limiter *limiter;
    windlass_admission a[3];
    const uint64_t keys[3] = {5, 5, 5};
    config.algorithm = WINDLASS_ALGORITHM_LEAKY_QUEUE;
    limiter = made(&config);
    CHECK(windlass_limiter_check_u64s(limiter, keys, 3, NULL, 0, NULL, a) == 3);
    CHECK(a[0].delay_ns == 0 && a[1].delay_ns == 100000000 && a[2].delay_ns == 200000000);
    windlass_limiter_free(limiter);
}

static void global_limiter(void) {
    windlass_limiter_config config = config_of("2/s");
    windlass_global_limiter *limiter = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_admission a;
    config.lateness_ns = 1;
    CHECK(windlass_global_limiter_new(&config, &limiter, &error) == WINDLASS_E_ARG && limiter == NULL);
    CHECK(strncmp(error.detail, "lateness_ns: 1 is out of range: 0", 33) == 0);
    config.lateness_ns = 0;
    CHECK(windlass_global_limiter_new(&config, &limiter, &error) == WINDLASS_OK);
    CHECK(windlass_global_limiter_peek(limiter, 2, 0, &a) == WINDLASS_ALLOWED && a.remaining == 0);
    CHECK(windlass_global_limiter_check(limiter, 2, 0, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_global_limiter_check(limiter, 1, 0, &a) == WINDLASS_DENIED && a.retry_after_ns == 500000000);
    CHECK(windlass_global_limiter_check(limiter, 3, 0, NULL) == WINDLASS_NEVER);
    CHECK(windlass_global_limiter_forget(limiter, 0) == 1 && windlass_global_limiter_forget(limiter, 0) == 0);
    CHECK(windlass_global_limiter_check(limiter, 2, 0, NULL) == WINDLASS_ALLOWED);
    windlass_global_limiter_free(limiter);
    windlass_global_limiter_free(NULL);
}

/* When the table is full, those whom it knows are not affected. */
static void unknown_clients(uint32_t policy) {
    windlass_limiter_config config = config_of("10/s");
    windlass_limiter *limiter;
    windlass_admission a;
    uint64_t key, known = 0, unknown = 0;
    config.clients = 1;
    config.on_unknown = policy;
    config.max_jump_ns = UINT64_C(3600000000000);
    limiter = made(&config);
    for (key = 0; key < 500; key++) {
        const int32_t kind = windlass_limiter_check_u64(limiter, key, 1, 1000, &a);
        if (kind == WINDLASS_ALLOWED && a.remaining == 9) known++;
        else if (policy == WINDLASS_ON_UNKNOWN_DENY) unknown += kind == WINDLASS_DENIED && a.retry_after_ns == 100000000;
        else unknown += kind == WINDLASS_ALLOWED && a.remaining == 0;
    }
    CHECK(known > 0 && unknown > 0 && known + unknown == 500 && figures(limiter).unknown == unknown);
    CHECK(windlass_limiter_check_u64(limiter, 0, 9, 1000, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limiter_check_u64(limiter, 0, 1, 1000, NULL) == WINDLASS_DENIED);
    /* A wild time is answered the same way, and changes nothing. */
    windlass_limiter_check_u64(limiter, 0, 1, UINT64_C(4000000000000), &a);
    CHECK(a.kind == (policy == WINDLASS_ON_UNKNOWN_DENY ? WINDLASS_DENIED : WINDLASS_ALLOWED));
    CHECK(figures(limiter).jumps == 1);
    CHECK(windlass_limiter_check_u64(limiter, 0, 1, 1000, NULL) == WINDLASS_DENIED);
    windlass_limiter_free(limiter);
}

/* Those that are not known share cells: none gets more than its quota. */
static void shared_cells(void) {
    windlass_limiter_config config = config_of("10/s");
    windlass_limiter *limiter;
    uint64_t key, allowed = 0;
    config.clients = 1;
    config.on_unknown = WINDLASS_ON_UNKNOWN_SHARE;
    config.shared_cells = 1;
    limiter = made(&config);
    for (key = 0; key < 20000; key++) windlass_limiter_check_u64(limiter, key, 10, 1000, NULL);
    CHECK(figures(limiter).unknown > 15000);
    for (key = 30000; key < 30100; key++)
        allowed += windlass_limiter_check_u64(limiter, key, 1, UINT64_C(100001000), NULL) == WINDLASS_ALLOWED;
    /* In a tenth of a second the cell got one back. */
    CHECK(allowed == 1);
    windlass_limiter_free(limiter);
}

static windlass_quota quota_of(uint64_t permits) {
    windlass_quota quota;
    quota.permits = permits;
    quota.per_ns = UINT64_C(60000000000);
    quota.burst = 0;
    return quota;
}

static uint64_t left(windlass_limiter *limiter, const char *key) {
    windlass_admission a;
    CHECK(windlass_limiter_peek(limiter, (const uint8_t *)key, strlen(key), 0, 0, &a) == WINDLASS_ALLOWED);
    return a.remaining;
}

/* Another quota, for all and for one. */
static void changing(void) {
    const uint8_t *ann = (const uint8_t *)"ann";
    windlass_limiter_config config = config_of("100/60s");
    windlass_limiter *limiter = made(&config);
    windlass_global_limiter *global = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_admission a;
    windlass_hash hash;
    CHECK(windlass_limiter_check(limiter, ann, 3, 60, 0, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limiter_set_quota(limiter, quota_of(200), WINDLASS_INHERIT_PROPORTIONAL, 0, NULL) == WINDLASS_OK);
    CHECK(left(limiter, "ann") == 80 && left(limiter, "bob") == 200);
    CHECK(windlass_limiter_set_quota(limiter, quota_of(300), WINDLASS_INHERIT_AS_IS, 0, NULL) == WINDLASS_OK);
    CHECK(left(limiter, "ann") == 180 && left(limiter, "bob") == 300);
    CHECK(windlass_limiter_set_quota_for(limiter, ann, 3, quota_of(1000), WINDLASS_INHERIT_AS_IS, 0, NULL) == WINDLASS_OK);
    CHECK(left(limiter, "ann") == 880 && left(limiter, "bob") == 300);
    CHECK(windlass_limiter_check(limiter, ann, 3, 1001, 0, NULL) == WINDLASS_NEVER);
    /* By its hash it is the same client. */
    CHECK(windlass_hash_bytes(ann, 3, config.seed, &hash) == WINDLASS_OK);
    CHECK(windlass_limiter_set_quota_for_hash(limiter, hash, quota_of(500), WINDLASS_INHERIT_PROPORTIONAL, 0, NULL) == WINDLASS_OK);
    CHECK(left(limiter, "ann") == 440);
    CHECK(windlass_limiter_clear_quota_for_hash(limiter, hash, WINDLASS_INHERIT_AS_IS, 0) == 1);
    CHECK(windlass_limiter_clear_quota_for(limiter, ann, 3, WINDLASS_INHERIT_AS_IS, 0) == 0);
    CHECK(left(limiter, "ann") == 180);
    CHECK(windlass_limiter_set_quota_for_u64(limiter, 7, quota_of(1), WINDLASS_INHERIT_AS_IS, 0, NULL) == WINDLASS_OK);
    CHECK(windlass_limiter_check_u64(limiter, 7, 1, 0, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limiter_check_u64(limiter, 7, 1, 0, NULL) == WINDLASS_DENIED);
    CHECK(windlass_limiter_clear_quota_for_u64(limiter, 7, WINDLASS_INHERIT_AS_IS, 0) == 1);
    /* What is wrong changes nothing. */
    CHECK(windlass_limiter_set_quota(limiter, quota_of(0), WINDLASS_INHERIT_AS_IS, 0, &error) == WINDLASS_E_ARG);
    CHECK(strcmp(error.detail, "quota: 0/m is out of range: 1 permit at least") == 0);
    CHECK(windlass_limiter_set_quota(limiter, quota_of(1), 2, 0, &error) == WINDLASS_E_ARG);
    CHECK(strstr(error.detail, "inherit: 2 is out of range: ") == error.detail);
    CHECK(windlass_limiter_set_quota_for(limiter, ann, 3, quota_of(1), 2, 0, &error) == WINDLASS_E_ARG);
    CHECK(windlass_limiter_set_quota_for(limiter, NULL, 3, quota_of(1), 0, 0, &error) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_set_quota_for(NULL, ann, 3, quota_of(1), 0, 0, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_clear_quota_for(limiter, ann, 3, 2, 0) == WINDLASS_E_ARG);
    CHECK(windlass_limiter_clear_quota_for(limiter, NULL, 3, 0, 0) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_set_quota(NULL, quota_of(1), 0, 0, NULL) == WINDLASS_E_NULL);
    CHECK(left(limiter, "ann") == 180 && left(limiter, "bob") == 300);
    windlass_limiter_free(limiter);

    CHECK(windlass_global_limiter_new(&config, &global, NULL) == WINDLASS_OK);
    CHECK(windlass_global_limiter_check(global, 60, 0, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_global_limiter_set_quota(global, quota_of(20), WINDLASS_INHERIT_PROPORTIONAL, 0, NULL) == WINDLASS_OK);
    CHECK(windlass_global_limiter_peek(global, 0, 0, &a) == WINDLASS_ALLOWED && a.remaining == 8);
    CHECK(windlass_global_limiter_set_quota(global, quota_of(20), 2, 0, &error) == WINDLASS_E_ARG);
    CHECK(windlass_global_limiter_set_quota(NULL, quota_of(20), 0, 0, NULL) == WINDLASS_E_NULL);
    windlass_global_limiter_free(global);
}

/* Up to a limit, and a bucket's time later back again. */
static void growth(void) {
    windlass_limiter_config config = config_of("10/s");
    windlass_limiter *limiter;
    windlass_limiter_stats first, full;
    uint64_t key;
    int i, more = 1;
    config.clients = 100;
    config.max_memory = 256u << 10;
    limiter = made(&config);
    first = figures(limiter);
    for (key = 0; key < 2000; key++) CHECK(windlass_limiter_check_u64(limiter, key, 1, 1000, NULL) == WINDLASS_ALLOWED);
    full = figures(limiter);
    CHECK(full.grown > 0 && full.unknown == 0 && full.clients > 1500 && full.memory_bytes <= config.max_memory);
    for (i = 0; i < 100000 && (more || figures(limiter).memory_bytes > first.memory_bytes); i++) {
        more = windlass_limiter_maintain_at(limiter, UINT64_C(20000000000), 64);
        CHECK(more == 0 || more == 1);
    }
    CHECK(figures(limiter).shrunk > 0 && figures(limiter).capacity == first.capacity && figures(limiter).clients == 0);
    windlass_limiter_free(limiter);
}

static void settings_fail(const windlass_limiter_config *config, windlass_status status, const char *detail) {
    char place;
    windlass_limiter *const before = (windlass_limiter *)(void *)&place;
    windlass_limiter *limiter = before;
    windlass_error error = WINDLASS_ERROR_INIT;
    CHECK(windlass_limiter_new(config, &limiter, &error) == status);
    CHECK(limiter == before && error.code == status);
    if (strncmp(error.detail, detail, strlen(detail)) != 0) printf("%s\n", error.detail);
    CHECK(strncmp(error.detail, detail, strlen(detail)) == 0);
}

static void errors(void) {
    windlass_limiter_config config;
    windlass_limiter *limiter;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_admission a[2];
    const uint32_t offsets[3] = {0, 2, 1};
    const uint8_t key[] = {'a', 'b'};
    CHECK(windlass_limiter_config_init(&config, sizeof config) == WINDLASS_OK);
    settings_fail(NULL, WINDLASS_E_NULL, "a pointer is NULL");
    settings_fail(&config, WINDLASS_E_ARG, "quota: 0/0ns is out of range: 1 permit at least");
    CHECK(windlass_limiter_config_quota(&config, "10/0s", 5, &error) == WINDLASS_E_ARG);
    CHECK(strncmp(error.detail, "quota: ", 7) == 0 && config.permits == 0);
    CHECK(windlass_limiter_config_quota(&config, "10/s burst", 4, NULL) == WINDLASS_OK);
    CHECK(config.permits == 10 && config.burst == 0 && config.per_ns == 1000000000);
    config.algorithm = WINDLASS_ALGORITHM_SLIDING_LOG + 1;
    settings_fail(&config, WINDLASS_E_ARG, "algorithm: 6 is out of range: ");
    config.algorithm = WINDLASS_ALGORITHM_FIXED_WINDOW;
    config.burst = 11;
    settings_fail(&config, WINDLASS_E_ARG, "burst: 11 is out of range: 10, ");
    config.burst = 0;
    limiter = made(&config);
    memset(a, 0x55, sizeof a);
    CHECK(windlass_limiter_check(NULL, key, 2, 1, 0, a) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_check(limiter, NULL, 2, 1, 0, a) == WINDLASS_E_NULL);
    CHECK(windlass_limiter_check_fixed(limiter, key, 2, 1, 1, NULL, 0, NULL, a) == WINDLASS_E_RANGE);
    CHECK(windlass_limiter_check_packed(limiter, key, 2, offsets, 2, NULL, 0, NULL, a) == WINDLASS_E_OFFSETS);
    CHECK(a[0].kind == 0x55555555 && a[1].delay_ns == UINT64_C(0x5555555555555555));
    CHECK(figures(limiter).clients == 0);
    windlass_limiter_free(limiter);
}

enum { THREADS = 4, CALLS = 5000, PERMITS = 3000 };

typedef struct worker {
    pthread_t thread;
    unsigned number;
    windlass_limiter *limiter;
    windlass_global_limiter *global;
    uint64_t of_key, of_all;
} worker;

/* Odd threads call one by one, even ones in batches of 10. */
static void *work(void *argument) {
    worker *self = (worker *)argument;
    uint64_t keys[10];
    unsigned i, k;
    for (k = 0; k < 10; k++) keys[k] = 4711;
    for (i = 0; i < CALLS; i++) {
        if (self->number & 1) self->of_key += windlass_limiter_check_u64(self->limiter, 4711, 1, i, NULL) == WINDLASS_ALLOWED;
        else if (i % 10 == 0)
            self->of_key += (uint64_t)windlass_limiter_check_u64s(self->limiter, keys, 10, NULL, i, NULL, NULL);
        self->of_all += windlass_global_limiter_check(self->global, 1, i, NULL) == WINDLASS_ALLOWED;
    }
    return NULL;
}

/* Together they get what one would. */
static void threads(uint32_t algorithm) {
    windlass_limiter_config config = config_of("3000/h");
    worker workers[THREADS];
    windlass_limiter *limiter;
    windlass_global_limiter *global = NULL;
    uint64_t of_key = 0, of_all = 0;
    unsigned t;
    config.algorithm = algorithm;
    config.clients = 100;
    limiter = made(&config);
    CHECK(windlass_global_limiter_new(&config, &global, NULL) == WINDLASS_OK);
    memset(workers, 0, sizeof workers);
    for (t = 0; t < THREADS; t++) {
        workers[t].number = t;
        workers[t].limiter = limiter;
        workers[t].global = global;
        CHECK(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0);
    }
    for (t = 0; t < THREADS; t++) {
        CHECK(pthread_join(workers[t].thread, NULL) == 0);
        of_key += workers[t].of_key;
        of_all += workers[t].of_all;
    }
    CHECK(of_key == PERMITS && of_all == PERMITS);
    windlass_limiter_free(limiter);
    windlass_global_limiter_free(global);
}

int main(int argc, char **argv) {
    uint32_t algorithm;
    if (argc == 7) {
        answers(argv);
        return 0;
    }
    one_client();
    a_queue();
    global_limiter();
    unknown_clients(WINDLASS_ON_UNKNOWN_DENY);
    unknown_clients(WINDLASS_ON_UNKNOWN_ALLOW);
    shared_cells();
    changing();
    growth();
    errors();
    for (algorithm = WINDLASS_ALGORITHM_GCRA; algorithm <= WINDLASS_ALGORITHM_SLIDING_LOG; algorithm++)
        threads(algorithm);
    return 0;
}
