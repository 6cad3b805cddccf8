/* A table that the system has no memory for, though the machine has: an error, and not the end of the program. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <sys/resource.h>

#include <windlass.h>

#include "check.h"

int main(void) {
    const struct rlimit limit = {64 << 20, 64 << 20};
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    windlass_limiter_config limits;
    windlass_limiter *limiter = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;

    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1000;
    config.capacity = 4000000; /* 160 MB */
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(windlass_dedup_new(&config, &dedup, &error) == WINDLASS_E_NOMEM);
    CHECK(dedup == NULL && error.code == WINDLASS_E_NOMEM);
    CHECK(strstr(error.detail, "bytes") != NULL);

    /* It is there once, but not twice, as a reset needs it. */
    config.capacity = 800000; /* 32 MB */
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    CHECK(windlass_dedup_observe_u64(dedup, 1, 0) == WINDLASS_FRESH);
    CHECK(windlass_dedup_reset(dedup) == WINDLASS_E_NOMEM);
    CHECK(windlass_dedup_observe_u64(dedup, 1, 0) == WINDLASS_DUPLICATE);
    windlass_dedup_free(dedup);

    CHECK(windlass_limiter_config_init(&limits, sizeof limits) == WINDLASS_OK);
    limits.permits = 10;
    limits.per_ns = 1000000000;
    limits.clients = 4000000;
    CHECK(windlass_limiter_new(&limits, &limiter, &error) == WINDLASS_E_NOMEM);
    CHECK(limiter == NULL && strncmp(error.detail, "clients: ", 9) == 0);
    limits.algorithm = WINDLASS_ALGORITHM_SLIDING_LOG; /* the table fits, but not the logs */
    limits.clients = 800000;
    CHECK(windlass_limiter_new(&limits, &limiter, &error) == WINDLASS_E_NOMEM);
    CHECK(limiter == NULL && strncmp(error.detail, "clients: ", 9) == 0);
    return 0;
}
