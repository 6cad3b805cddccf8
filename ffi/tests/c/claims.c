/* Workers that fail and workers that die: every event is handled, and by one worker to its end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

#define THREADS 4
#define IDS 5000
#define LEASE 100

typedef struct worker {
    pthread_t thread;
    windlass_dedup *dedup;
    unsigned number;
    /* How often it handled an event to the end. */
    unsigned char done[IDS];
} worker;

/* What befalls a worker at its first claim of an id. */
static int fails(const worker *self, uint64_t id) { return (id + self->number) % 3 == 0; }
static int dies(const worker *self, uint64_t id) { return (id + self->number) % 7 == 0; }

/* Rounds are further apart than a lease: in each, what was left before can be claimed. */
static void *work(void *argument) {
    worker *self = (worker *)argument;
    uint64_t round, id;
    for (round = 0; round < THREADS + 1; round++) {
        for (id = 0; id < IDS; id++) {
            const uint64_t now = round * 2 * LEASE + self->number;
            const int first = round == 0;
            windlass_ticket ticket;
            uint64_t when = 0;
            const int32_t answer = windlass_dedup_claim_u64(self->dedup, id, now, LEASE, &ticket, &when);
            if (answer == WINDLASS_IN_PROGRESS) {
                CHECK(when > now && when <= now + THREADS * 2 * LEASE + LEASE);
            } else if (answer == WINDLASS_FRESH && first && dies(self, id)) {
                /* Nothing is heard of it again. */
            } else if (answer == WINDLASS_FRESH && first && fails(self, id)) {
                /* Threads differ by less than a lease in a round, but may be rounds apart. */
                const int32_t aborted = windlass_dedup_abort(self->dedup, &ticket);
                CHECK(aborted == 0 || aborted == 1);
                CHECK(windlass_dedup_commit(self->dedup, &ticket) == 0);
            } else if (answer == WINDLASS_FRESH) {
                if (windlass_dedup_commit(self->dedup, &ticket) == 1) {
                    self->done[id]++;
                    CHECK(windlass_dedup_commit(self->dedup, &ticket) == 1);
                    CHECK(windlass_dedup_abort(self->dedup, &ticket) == 0);
                }
            } else {
                CHECK(answer == WINDLASS_DUPLICATE);
            }
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
    config.unit = WINDLASS_UNIT_EVENTS;
    config.capacity = 2 * IDS;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    for (t = 0; t < THREADS; t++) {
        workers[t].dedup = dedup;
        workers[t].number = t;
        CHECK(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0);
    }
    for (t = 0; t < THREADS; t++) CHECK(pthread_join(workers[t].thread, NULL) == 0);
    for (id = 0; id < IDS; id++) {
        unsigned done = 0;
        for (t = 0; t < THREADS; t++) done += workers[t].done[id];
        CHECK(done == 1);
        CHECK(windlass_dedup_contains_u64(dedup, id, (THREADS + 1) * 2 * LEASE) == 1);
    }
    windlass_dedup_free(dedup);
    free(workers);
    return 0;
}
