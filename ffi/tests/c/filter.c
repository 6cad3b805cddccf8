/*
 * Passes on each line once within the last N lines.
 *
 *   filter [--window N] [--lateness N] [--capacity N] [--by WAY] [--timed] [--decisions FILE] [FILE]
 *
 * With --timed a line is TICK<TAB>ID, and the window is counted in ticks. WAY is the call that is used: single (the
 * default), hash, u64, packed, hashes, u64s or fixed; all must decide the same. u64 and u64s want ids that are decimal
 * numbers, fixed wants ids of one length. --decisions: one character per line, 1 for a duplicate. Exit status: 0 done,
 * 1 failed, 2 wrong usage.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <windlass.h>

enum { LINES = 256 };

/* Up to LINES lines: their text one behind the other, and where in it the ids are. */
typedef struct batch {
    char *text;
    size_t capacity;
    uint32_t line_ends[LINES];
    uint8_t *ids;
    size_t ids_capacity;
    uint32_t offsets[LINES + 1];
    uint64_t ticks[LINES];
    int8_t verdicts[LINES];
    size_t n;
} batch;

typedef struct options {
    uint64_t window, lateness, capacity;
    const char *way, *decisions, *file;
    int timed;
} options;

static void fail(int status, const char *what, const char *detail) {
    fprintf(stderr, "filter: %s: %s\n", what, detail);
    exit(status);
}

static void *grown(void *old, size_t *capacity, size_t needed) {
    size_t larger = *capacity ? *capacity : 4096;
    if (needed <= *capacity) return old;
    while (larger < needed) larger *= 2;
    old = realloc(old, larger);
    if (!old) fail(1, "memory", strerror(errno));
    *capacity = larger;
    return old;
}

static uint64_t number(const char *text, const char *what) {
    char *end;
    unsigned long long value;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end) fail(2, what, "not a number");
    return (uint64_t)value;
}

static options parsed(int argc, char **argv) {
    options o = {1000, 0, 1000000, "single", NULL, NULL, 0};
    int i;
    for (i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strncmp(name, "--", 2) != 0) {
            o.file = name;
            continue;
        }
        if (strcmp(name, "--timed") == 0) {
            o.timed = 1;
            continue;
        }
        if (++i == argc) fail(2, name, "a value is missing");
        if (strcmp(name, "--window") == 0) o.window = number(argv[i], name);
        else if (strcmp(name, "--lateness") == 0) o.lateness = number(argv[i], name);
        else if (strcmp(name, "--capacity") == 0) o.capacity = number(argv[i], name);
        else if (strcmp(name, "--by") == 0) o.way = argv[i];
        else if (strcmp(name, "--decisions") == 0) o.decisions = argv[i];
        else fail(2, name, "not an option");
    }
    return o;
}

/* Takes a line, with its newline if it has one. */
static void append(batch *b, char *line, size_t len, int timed, uint64_t line_number) {
    const char *id = line;
    size_t id_len = len && line[len - 1] == '\n' ? len - 1 : len;
    size_t text_used = b->n ? b->line_ends[b->n - 1] : 0, ids_used = b->offsets[b->n];
    b->text = (char *)grown(b->text, &b->capacity, text_used + len);
    memcpy(b->text + text_used, line, len);
    b->ticks[b->n] = line_number;
    if (timed) {
        char *tab = (char *)memchr(line, '\t', id_len);
        if (!tab) fail(1, "a line", "no TAB behind the time");
        *tab = '\0';
        b->ticks[b->n] = number(line, "a line's time");
        id = tab + 1;
        id_len -= (size_t)(id - line);
    }
    b->ids = (uint8_t *)grown(b->ids, &b->ids_capacity, ids_used + id_len + 1);
    memcpy(b->ids + ids_used, id, id_len);
    if (text_used + len > UINT32_MAX) fail(1, "a line", "too long");
    b->line_ends[b->n] = (uint32_t)(text_used + len);
    b->offsets[b->n + 1] = (uint32_t)(ids_used + id_len);
    b->n++;
}

static uint64_t id_number(const batch *b, size_t i) {
    uint64_t value = 0;
    uint32_t at;
    for (at = b->offsets[i]; at < b->offsets[i + 1]; at++) value = value * 10 + (uint64_t)(b->ids[at] - '0');
    return value;
}

/* Fills b->verdicts. */
static void judge(windlass_dedup *dedup, batch *b, const char *way) {
    windlass_hash hashes[LINES];
    uint64_t seed = 0, numbers[LINES];
    int64_t fresh = 0;
    size_t i, len = b->offsets[1];
    int batched = 1;

    if (windlass_dedup_seed(dedup, &seed) != WINDLASS_OK) fail(1, way, "no seed");
    for (i = 0; i < b->n; i++) {
        const uint8_t *id = b->ids + b->offsets[i];
        const size_t id_len = b->offsets[i + 1] - b->offsets[i];
        windlass_status status = windlass_hash_bytes(id, id_len, seed, &hashes[i]);
        if (status != WINDLASS_OK) fail(1, way, windlass_status_text(status));
        numbers[i] = id_number(b, i);
        if (strcmp(way, "fixed") == 0 && id_len != len) fail(1, way, "the ids are not of one length");
    }

    if (strcmp(way, "packed") == 0)
        fresh = windlass_dedup_observe_packed(dedup, b->ids, b->offsets[b->n], b->offsets, b->n, 0, b->ticks, b->verdicts);
    else if (strcmp(way, "hashes") == 0)
        fresh = windlass_dedup_observe_hashes(dedup, hashes, b->n, 0, b->ticks, b->verdicts);
    else if (strcmp(way, "u64s") == 0)
        fresh = windlass_dedup_observe_u64s(dedup, numbers, b->n, 0, b->ticks, b->verdicts);
    else if (strcmp(way, "fixed") == 0)
        fresh = windlass_dedup_observe_fixed(dedup, b->ids, len, len, b->n, 0, b->ticks, b->verdicts);
    else
        batched = 0;
    if (fresh < 0) fail(1, way, windlass_status_text((windlass_status)fresh));

    for (i = 0; i < b->n; i++) {
        int32_t verdict = b->verdicts[i];
        if (!batched) {
            if (strcmp(way, "single") == 0)
                verdict = windlass_dedup_observe(dedup, b->ids + b->offsets[i], b->offsets[i + 1] - b->offsets[i], b->ticks[i]);
            else if (strcmp(way, "hash") == 0)
                verdict = windlass_dedup_observe_hash(dedup, hashes[i], b->ticks[i]);
            else if (strcmp(way, "u64") == 0)
                verdict = windlass_dedup_observe_u64(dedup, numbers[i], b->ticks[i]);
            else
                fail(2, way, "not a way");
        }
        if (verdict < 0) fail(1, way, windlass_status_text(verdict));
        b->verdicts[i] = (int8_t)verdict;
        fresh -= batched && verdict == WINDLASS_FRESH;
    }
    if (fresh != 0) fail(1, way, "the count of the fresh ones is not what the verdicts say");
}

static void pass_on(windlass_dedup *dedup, batch *b, const options *o, FILE *decisions) {
    size_t i;
    if (b->n == 0) return;
    judge(dedup, b, o->way);
    for (i = 0; i < b->n; i++) {
        const uint32_t begin = i ? b->line_ends[i - 1] : 0;
        if (decisions) fputc(b->verdicts[i] == WINDLASS_DUPLICATE ? '1' : '0', decisions);
        if (b->verdicts[i] == WINDLASS_FRESH) fwrite(b->text + begin, 1, b->line_ends[i] - begin, stdout);
    }
    b->n = 0;
}

int main(int argc, char **argv) {
    const options o = parsed(argc, argv);
    FILE *in = o.file ? fopen(o.file, "rb") : stdin;
    FILE *decisions = o.decisions ? fopen(o.decisions, "wb") : NULL;
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    batch *b = (batch *)calloc(1, sizeof *b);
    char *line = NULL;
    size_t line_capacity = 0;
    ssize_t len;
    uint64_t line_number;

    if (!in) fail(1, o.file, strerror(errno));
    if (o.decisions && !decisions) fail(1, o.decisions, strerror(errno));
    if (!b) fail(1, "memory", strerror(errno));
    if (windlass_abi_version() != WINDLASS_ABI_VERSION) fail(1, "libwindlass", windlass_version());

    windlass_dedup_config_init(&config, sizeof config);
    config.window = o.window;
    config.lateness = o.lateness;
    config.capacity = o.capacity;
    config.unit = WINDLASS_UNIT_EVENTS;
    if (windlass_dedup_new(&config, &dedup, &error) != WINDLASS_OK) fail(2, "settings", error.detail);

    for (line_number = 0; (len = getline(&line, &line_capacity, in)) >= 0; line_number++) {
        append(b, line, (size_t)len, o.timed, line_number);
        if (b->n == LINES) pass_on(dedup, b, &o, decisions);
    }
    pass_on(dedup, b, &o, decisions);
    if (ferror(in)) fail(1, "input", strerror(errno));
    if (fclose(in) != 0 || fflush(stdout) != 0 || (decisions && fclose(decisions) != 0))
        fail(1, "output", strerror(errno));

    windlass_dedup_free(dedup);
    free(line);
    free(b->text);
    free(b->ids);
    free(b);
    return 0;
}
