/*
 * Several limits in one decision, and costs that are known only afterwards.
 */
#include <pthread.h>
#include <string.h>

#include <windlass.h>

#include "check.h"

static const uint64_t second = 1000000000u;

static windlass_limitset_config config;

static windlass_hash hash(const char *key) {
    windlass_hash hash;
    CHECK(windlass_hash_bytes((const uint8_t *)key, strlen(key), config.seed, &hash) == WINDLASS_OK);
    return hash;
}

static windlass_limit_rule rule(const char *name, uint64_t permits, uint64_t seconds, uint64_t clients) {
    windlass_limit_rule rule;
    memset(&rule, 0, sizeof rule);
    rule.name = name;
    rule.permits = permits;
    rule.per_ns = seconds * second;
    rule.clients = clients;
    return rule;
}

static windlass_limitset *made(const windlass_limit_rule *rules, size_t n) {
    windlass_limitset *set = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    if (windlass_limitset_new(&config, rules, n, &set, &error) != WINDLASS_OK) fprintf(stderr, "%s\n", error.detail);
    CHECK(set != NULL);
    return set;
}

static void decisions(void) {
    windlass_limit_rule rules[3];
    windlass_limitset *set;
    windlass_set_admission admission;
    windlass_hash ann[2], bob[2];
    ann[0] = hash("ann");
    bob[0] = hash("bob");
    ann[1] = bob[1] = hash("acme");
    rules[0] = rule("user", 2, 10, 1000);
    rules[1] = rule("tenant", 3, 30, 1000);
    rules[2] = rule("all", 100, 1, 0);
    set = made(rules, 3);
    CHECK(windlass_limitset_check(set, ann, 2, 1, 0, &admission) == WINDLASS_ALLOWED);
    CHECK(admission.kind == WINDLASS_ALLOWED && admission.limit == 0 && admission.remaining == 1);
    CHECK(admission.reset_after_ns == 10 * second && admission.retry_after_ns == 0);
    CHECK(windlass_limitset_check(set, ann, 2, 1, 0, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_check(set, ann, 2, 1, 0, &admission) == WINDLASS_DENIED);
    CHECK(admission.limit == 0 && admission.retry_after_ns == 5 * second && admission.remaining == 0);
    CHECK(windlass_limitset_check(set, bob, 2, 1, 0, &admission) == WINDLASS_ALLOWED);
    CHECK(admission.limit == 1 && admission.remaining == 0);
    CHECK(windlass_limitset_check(set, bob, 2, 1, 0, &admission) == WINDLASS_DENIED);
    CHECK(admission.limit == 1 && admission.retry_after_ns == 10 * second);
    /* What can never be. */
    CHECK(windlass_limitset_check(set, ann, 2, 3, 0, &admission) == WINDLASS_NEVER && admission.limit == 0);
    CHECK(windlass_limitset_check(set, ann, 1, 1, 0, &admission) == WINDLASS_NEVER && admission.limit == 1);
    CHECK(windlass_limitset_check(NULL, ann, 2, 1, 0, &admission) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_check(set, NULL, 2, 1, 0, &admission) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_check(set, ann, (size_t)-1, 1, 0, &admission) == WINDLASS_E_RANGE);
    windlass_limitset_free(set);
    windlass_limitset_free(NULL);
}

static void holds(void) {
    windlass_limit_rule rules[2];
    windlass_limitset *set;
    windlass_limitset_stats stats;
    windlass_set_admission admission;
    windlass_reservation ticket, late, none;
    uint64_t uncharged = 7;
    windlass_hash ann = hash("ann");
    rules[0] = rule("tokens", 1000, 60, 1000);
    rules[1] = rule("all", 5000, 60, 0);
    set = made(rules, 2);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 800, 30 * second, 0, &ticket, &admission) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_get_stats(set, &stats, sizeof stats) == WINDLASS_OK);
    CHECK(stats.holds == 1 && stats.unreturned == 0 && stats.memory_bytes > 40000);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 300, second, 0, &late, &admission) == WINDLASS_DENIED);
    CHECK(admission.limit == 0);
    CHECK(windlass_limitset_settle(set, &ticket, 500, 0, &uncharged) == WINDLASS_SETTLED && uncharged == 0);
    CHECK(windlass_limitset_settle(set, &ticket, 500, 0, NULL) == WINDLASS_SETTLED_BEFORE);
    CHECK(windlass_limitset_cancel(set, &ticket, 0) == WINDLASS_SETTLED_BEFORE);
    CHECK(windlass_limitset_check(set, &ann, 1, 0, 0, &admission) == WINDLASS_ALLOWED && admission.remaining == 500);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 300, second, 0, &late, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_cancel(set, &late, second) == WINDLASS_EXPIRED);
    /* Of a debt of 15 bursts a bucket knows no more. */
    CHECK(windlass_limitset_reserve(set, &ann, 1, 1, second, 2 * second, &ticket, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_settle(set, &ticket, 1000000, 2 * second, &uncharged) == WINDLASS_SETTLED);
    CHECK(uncharged > 900000 && uncharged < 1000000);
    /* What was never one. */
    memset(&none, 0xff, sizeof none);
    CHECK(windlass_limitset_cancel(set, &none, 0) == WINDLASS_EXPIRED);
    none.words[1] = 3;
    CHECK(windlass_limitset_settle(set, &none, 2, 0, NULL) == WINDLASS_EXPIRED);
    CHECK(windlass_limitset_cancel(NULL, &late, 0) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_cancel(set, NULL, 0) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 1, second, 0, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_maintain(set, 100 * second, 1000) >= 0);
    CHECK(windlass_limitset_maintain(NULL, 0, 0) == WINDLASS_E_NULL);
    windlass_limitset_free(set);
    config.reservations = 0;
    set = made(rules, 2);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 1, second, 0, &ticket, &admission) == WINDLASS_E_FULL);
    config.reservations = 1000;
    windlass_limitset_free(set);
}

static windlass_status refused(const windlass_limit_rule *rules, size_t n, const char *what) {
    windlass_limitset *set = NULL;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_status status = windlass_limitset_new(&config, rules, n, &set, &error);
    CHECK(set == NULL && status == error.code);
    CHECK(strstr(error.detail, what) != NULL);
    return status;
}

static void settings(void) {
    windlass_limit_rule rules[9], one;
    windlass_limitset *set = NULL;
    size_t i;
    for (i = 0; i < 9; i++) rules[i] = rule("same", 1, 1, 0);
    CHECK(refused(rules, 0, "limits") == WINDLASS_E_ARG);
    CHECK(refused(rules, 9, "limits") == WINDLASS_E_ARG);
    CHECK(refused(rules, 2, "\"same\"") == WINDLASS_E_ARG);
    CHECK(refused(NULL, 2, "NULL") == WINDLASS_E_NULL);
    one = rule(NULL, 1, 1, 0);
    CHECK(refused(&one, 1, "NULL") == WINDLASS_E_NULL);
    one = rule("\xff", 1, 1, 0);
    CHECK(refused(&one, 1, "name") == WINDLASS_E_ARG);
    one = rule("none", 0, 1, 0);
    CHECK(refused(&one, 1, "quota") == WINDLASS_E_ARG);
    one = rule("log", 1, 1, 0);
    one.algorithm = WINDLASS_ALGORITHM_SLIDING_LOG;
    CHECK(refused(&one, 1, "algorithm") == WINDLASS_E_ARG);
    one.algorithm = 6;
    CHECK(refused(&one, 1, "algorithm") == WINDLASS_E_ARG);
    one = rule("unknown", 1, 1, 1);
    one.on_unknown = WINDLASS_ON_UNKNOWN_SHARE;
    CHECK(refused(&one, 1, "on_unknown") == WINDLASS_E_ARG);
    one.on_unknown = 3;
    CHECK(refused(&one, 1, "on_unknown") == WINDLASS_E_ARG);
    one.on_unknown = 0;
    one.reserved[1] = 1;
    CHECK(refused(&one, 1, "reserved") == WINDLASS_E_ARG);
    one.reserved[1] = 0;
    CHECK(windlass_limitset_new(NULL, &one, 1, &set, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_new(&config, &one, 1, NULL, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_config_init(NULL, sizeof config) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_config_init(&config, 3) == WINDLASS_E_STRUCT_SIZE);
}

static windlass_quota quota_of(uint64_t permits, uint64_t seconds) {
    windlass_quota quota;
    quota.permits = permits;
    quota.per_ns = seconds * second;
    quota.burst = 0;
    return quota;
}

/* A limit of a set gets another quota: what was used and what is held is so many permits. */
static void changing(void) {
    windlass_limit_rule rules[2];
    windlass_limitset *set;
    windlass_set_admission admission;
    windlass_reservation ticket;
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_hash ann = hash("ann");
    rules[0] = rule("user", 100, 60, 1000);
    rules[1] = rule("all", 1000, 60, 0);
    set = made(rules, 2);
    CHECK(windlass_limitset_reserve(set, &ann, 1, 60, second, 0, &ticket, NULL) == WINDLASS_ALLOWED);
    CHECK(windlass_limitset_set_quota(set, "user", quota_of(200, 60), 0, NULL) == WINDLASS_OK);
    CHECK(windlass_limitset_check(set, &ann, 1, 0, 0, &admission) == WINDLASS_ALLOWED && admission.remaining == 140);
    CHECK(windlass_limitset_settle(set, &ticket, 10, 0, NULL) >= 0);
    CHECK(windlass_limitset_check(set, &ann, 1, 0, 0, &admission) == WINDLASS_ALLOWED && admission.remaining == 190);
    CHECK(windlass_limitset_set_quota(set, "none", quota_of(1, 1), 0, &error) == WINDLASS_E_ARG);
    CHECK(strstr(error.detail, "limit: \"none\" is out of range: one of ") == error.detail);
    CHECK(windlass_limitset_set_quota(set, "\xff", quota_of(1, 1), 0, &error) == WINDLASS_E_ARG);
    CHECK(windlass_limitset_set_quota(set, "all", quota_of(0, 1), 0, &error) == WINDLASS_E_ARG);
    CHECK(strstr(error.detail, "quota: 0/s of \"all\" is out of range: ") == error.detail);
    CHECK(windlass_limitset_set_quota(set, NULL, quota_of(1, 1), 0, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_set_quota(NULL, "all", quota_of(1, 1), 0, NULL) == WINDLASS_E_NULL);
    CHECK(windlass_limitset_check(set, &ann, 1, 0, 0, &admission) == WINDLASS_ALLOWED && admission.remaining == 190);
    windlass_limitset_free(set);
}

enum { THREADS = 3, CALLS = 2000 };

static windlass_limitset *shared;

static void *calls(void *admitted) {
    windlass_hash key = hash("all of us");
    size_t i;
    for (i = 0; i < CALLS; i++) {
        if (windlass_limitset_check(shared, &key, 1, 1, 0, NULL) == WINDLASS_ALLOWED) ++*(size_t *)admitted;
    }
    return NULL;
}

/* Together they get what one would. */
static void threads(void) {
    windlass_limit_rule rules[2];
    pthread_t ids[THREADS];
    size_t admitted[THREADS] = {0}, sum = 0, i;
    rules[0] = rule("each", 500, 60, 100);
    rules[1] = rule("all", 400, 60, 0);
    shared = made(rules, 2);
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&ids[i], NULL, calls, &admitted[i]) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(ids[i], NULL) == 0);
    for (i = 0; i < THREADS; i++) sum += admitted[i];
    CHECK(sum == 400);
    windlass_limitset_free(shared);
}

int main(void) {
    CHECK(windlass_limitset_config_init(&config, sizeof config) == WINDLASS_OK);
    config.reservations = 1000;
    decisions();
    holds();
    settings();
    changing();
    threads();
    return 0;
}
