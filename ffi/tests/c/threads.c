/* Many threads on one handle: of all calls that bring an id, one is told that it is fresh. */
#include <pthread.h>
#include <stdlib.h>

#include <windlass.h>

#include "check.h"

#define THREADS 4
#define IDS 20000
#define BATCH 64

typedef struct worker {
    pthread_t thread;
    windlass_dedup *dedup;
    unsigned number;
    unsigned char won[IDS];
} worker;

/* Odd threads call once per id, even ones in batches; all bring all ids, in orders that meet. */
static void *work(void *argument) {
    worker *self = (worker *)argument;
    uint64_t ids[BATCH];
    int8_t verdicts[BATCH];
    uint64_t at, i;
    for (at = 0; at < IDS; at += BATCH) {
        const uint64_t n = IDS - at < BATCH ? IDS - at : BATCH;
        for (i = 0; i < n; i++) ids[i] = (self->number & 2) ? at + n - 1 - i : at + i;
        if (self->number & 1) {
            for (i = 0; i < n; i++) {
                const int32_t verdict = windlass_dedup_observe_u64(self->dedup, ids[i], at);
                CHECK(verdict == WINDLASS_FRESH || verdict == WINDLASS_DUPLICATE);
                verdicts[i] = (int8_t)verdict;
            }
        } else {
            CHECK(windlass_dedup_observe_u64s(self->dedup, ids, n, at, NULL, verdicts) >= 0);
        }
        for (i = 0; i < n; i++) self->won[ids[i]] = verdicts[i] == WINDLASS_FRESH;
        if (at % 4096 == 0) {
            windlass_dedup_stats stats;
            CHECK(windlass_dedup_get_stats(self->dedup, &stats, sizeof stats) == WINDLASS_OK);
            CHECK(windlass_dedup_maintain(self->dedup, at, 1) >= 0);
        }
    }
    return NULL;
}

int main(void) {
    worker *workers = (worker *)calloc(THREADS, sizeof *workers);
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    unsigned t, id;

    CHECK(workers != NULL);
    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1000000;
    config.capacity = 2 * IDS;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    for (t = 0; t < THREADS; t++) {
        workers[t].dedup = dedup;
        workers[t].number = t;
        CHECK(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0);
    }
    for (t = 0; t < THREADS; t++) CHECK(pthread_join(workers[t].thread, NULL) == 0);
    for (id = 0; id < IDS; id++) {
        unsigned winners = 0;
        for (t = 0; t < THREADS; t++) winners += workers[t].won[id];
        CHECK(winners == 1);
    }
    windlass_dedup_free(dedup);
    free(workers);
    return 0;
}
