/* Passes lines on that are new, and not too many at once: for what writes the same message a thousand times, or many in a burst.
 *
 *   limit_lines [QUOTA [SECONDS [FIELD]]] < in > out
 *
 * A line that came within the last SECONDS (60) is left out. Of those that are left, each source gets QUOTA ("10/s burst 20"); the
 * source of a line is its FIELD-th word (1). At the end stderr tells what was left out. Lines may have any length. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <windlass.h>

static int failed(const windlass_error *error) {
    fprintf(stderr, "limit_lines: %s\n", error->detail);
    return 2;
}

/* The number-th word of a line, or an empty one. */
static const char *word(const char *line, size_t len, unsigned long number, size_t *word_len) {
    size_t at = 0;
    for (;;) {
        size_t begin;
        while (at < len && (line[at] == ' ' || line[at] == '\t')) at++;
        begin = at;
        while (at < len && line[at] != ' ' && line[at] != '\t') at++;
        if (--number == 0 || at == len) {
            *word_len = number == 0 ? at - begin : 0;
            return line + begin;
        }
    }
}

int main(int argc, char **argv) {
    const char *quota = argc > 1 ? argv[1] : "10/s burst 20";
    const uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    const unsigned long field = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_dedup_config seen_config;
    windlass_limiter_config rate_config;
    windlass_dedup *seen = NULL;
    windlass_limiter *rate = NULL;
    unsigned long long passed = 0, repeated = 0, too_many = 0;
    char *line = NULL;
    size_t room = 0;
    ssize_t got;
    int status = 0;

    if (field == 0 || seconds == 0) {
        fprintf(stderr, "usage: limit_lines [QUOTA [SECONDS [FIELD]]]\n");
        return 2;
    }
    windlass_dedup_config_init(&seen_config, sizeof seen_config);
    seen_config.window = seconds * UINT64_C(1000000000);
    seen_config.capacity = 10000;
    seen_config.max_memory = UINT64_C(256) << 20;
    /* Should that be too little, the oldest line is forgotten: no line is lost for want of memory. */
    seen_config.on_full = WINDLASS_ON_FULL_EVICT_OLDEST;
    if (windlass_dedup_new(&seen_config, &seen, &error) != WINDLASS_OK) return failed(&error);

    windlass_limiter_config_init(&rate_config, sizeof rate_config);
    rate_config.clients = 1000;
    rate_config.max_memory = UINT64_C(64) << 20;
    if (windlass_limiter_config_quota(&rate_config, quota, strlen(quota), &error) != WINDLASS_OK ||
        windlass_limiter_new(&rate_config, &rate, &error) != WINDLASS_OK) {
        windlass_dedup_free(seen);
        return failed(&error);
    }

    while ((got = getline(&line, &room, stdin)) >= 0) {
        const uint64_t now = windlass_now_ns();
        size_t len = (size_t)got, source_len;
        const char *source;
        if (len > 0 && line[len - 1] == '\n') len--;
        if (windlass_dedup_observe(seen, (const uint8_t *)line, len, now) == WINDLASS_DUPLICATE) {
            repeated++;
            continue;
        }
        source = word(line, len, field, &source_len);
        if (windlass_limiter_check(rate, (const uint8_t *)source, source_len, 1, now, NULL) != WINDLASS_ALLOWED) {
            /* It was not passed on: so it is not to count as seen. */
            windlass_dedup_forget(seen, (const uint8_t *)line, len, now);
            too_many++;
            continue;
        }
        passed++;
        if (fwrite(line, 1, (size_t)got, stdout) != (size_t)got) break;
    }
    if (ferror(stdin) || fflush(stdout) != 0 || ferror(stdout)) {
        perror("limit_lines");
        status = 1;
    }
    fprintf(stderr, "%llu passed on, %llu repeated, %llu too many\n", passed, repeated, too_many);
    free(line);
    windlass_limiter_free(rate);
    windlass_dedup_free(seen);
    return status;
}
