// The answers of each structure for a file of events, by each way to ask: for comparison with those of other languages.
//
//   decisions dedup WAY WINDOW LATENESS CAPACITY FILE
//   decisions bloom VERB WAY WINDOW IDS SEED FILE
//   decisions limiter WAY ALGORITHM QUOTA LATENESS SEED FILE
//   decisions topk WAY WINDOW PANE K SEED FILE
//   decisions fifo WAY EVERY SEED FILE
//   decisions snapshot STRUCTURE SEED NOW WALL FILE: of its snapshot, as snapshot.c
//
// Lines of the file: tick, tab, id; of the limiter's: tick, tab, cost, tab, key.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include <windlass.hpp>

#include "../c/check.h"

namespace {

using windlass::Hash;
using windlass::Packed;

struct Event {
    std::uint64_t tick = 0, cost = 1, number = 0;
    std::string id;
};

std::uint64_t number(const std::string &text) { return std::strtoull(text.c_str(), nullptr, 10); }

std::vector<Event> read(const std::string &path, bool costs) {
    std::ifstream file(path, std::ios::binary);
    CHECK(file.good());
    std::vector<Event> events;
    for (std::string line; std::getline(file, line);) {
        Event event;
        std::size_t at = line.find('\t');
        CHECK(at != std::string::npos);
        event.tick = number(line);
        if (costs) {
            event.cost = number(line.substr(at + 1));
            at = line.find('\t', at + 1);
        }
        event.id = line.substr(at + 1);
        event.number = number(event.id);
        events.push_back(event);
    }
    return events;
}

// Some events in all forms.
struct Batch {
    std::vector<std::uint64_t> ticks, costs, numbers;
    std::vector<Hash> hashes;
    Packed packed;

    void fill(const Event *from, std::size_t n, std::uint64_t seed) {
        ticks.clear();
        costs.clear();
        numbers.clear();
        hashes.clear();
        packed.clear();
        for (std::size_t i = 0; i < n; i++) {
            ticks.push_back(from[i].tick);
            costs.push_back(from[i].cost);
            numbers.push_back(from[i].number);
            hashes.push_back(windlass::hash(from[i].id, seed));
            CHECK(packed.add(from[i].id));
        }
    }
};

constexpr std::size_t size = 200;

// Batch by batch.
template <class Do>
void each(const std::vector<Event> &events, std::uint64_t seed, Do with) {
    Batch batch;
    for (std::size_t at = 0; at < events.size(); at += size) {
        const std::size_t n = std::min(size, events.size() - at);
        batch.fill(&events[at], n, seed);
        with(&events[at], n, batch);
    }
}

void dedup(char **a) {
    const std::string way = a[0];
    windlass::Dedup dedup(
        windlass::DedupConfig().window(number(a[1])).lateness(number(a[2])).capacity(number(a[3])).unit(windlass::Unit::events));
    const std::uint64_t seed = dedup.seed().value();
    std::int8_t verdicts[size];
    each(read(a[4], false), seed, [&](const Event *events, std::size_t n, Batch &batch) {
        const windlass::View<std::int8_t> out(verdicts, n);
        windlass::Count fresh(WINDLASS_OK, 0);
        if (way == "packed") {
            fresh = dedup.observe_all(batch.packed, 0, out, batch.ticks);
        } else if (way == "hashes") {
            fresh = dedup.observe_all(batch.hashes, 0, out, batch.ticks);
        } else if (way == "u64s") {
            fresh = dedup.observe_all(batch.numbers, 0, out, batch.ticks);
        } else {
            for (std::size_t i = 0; i < n; i++) {
                const windlass::Verdict verdict = way == "single" ? dedup.observe(events[i].id, events[i].tick)
                                                  : way == "hash" ? dedup.observe(batch.hashes[i], events[i].tick)
                                                                  : dedup.observe(events[i].number, events[i].tick);
                verdicts[i] = static_cast<std::int8_t>(verdict.code());
            }
        }
        CHECK(fresh);
        for (std::size_t i = 0; i < n; i++)
            std::cout << int(verdicts[i]);
    });
}

void bloom(char **a) {
    const std::string verb = a[0], way = a[1];
    const std::uint64_t seed = number(a[4]);
    windlass::Bloom bloom(windlass::BloomConfig().window(number(a[2])).expected_ids(number(a[3])).seed(seed).unit(windlass::Unit::events));
    const bool numbers = way == "u64" || way == "u64s";
    std::int8_t answers[size];
    each(read(a[5], false), seed, [&](const Event *events, std::size_t n, Batch &batch) {
        const windlass::View<std::int8_t> out(answers, n);
        for (std::size_t i = 0; verb == "contains" && i < n; i++) {
            if (events[i].number % 2 == 0)
                CHECK(!(numbers ? bloom.insert(events[i].number, events[i].tick) : bloom.insert(events[i].id, events[i].tick)).failed());
        }
        const auto many = [&](const auto &keys) {
            return verb == "insert"    ? bloom.insert_all(keys, 0, out, batch.ticks)
                   : verb == "observe" ? bloom.observe_all(keys, 0, out, batch.ticks)
                                       : bloom.contains_all(keys, 0, out, batch.ticks);
        };
        const auto one = [&](const auto &key, std::uint64_t tick) {
            return verb == "insert"    ? bloom.insert(key, tick).code()
                   : verb == "observe" ? bloom.observe(key, tick).code()
                                       : bloom.contains(key, tick).code();
        };
        if (way == "packed") {
            CHECK(many(batch.packed));
        } else if (way == "hashes") {
            CHECK(many(batch.hashes));
        } else if (way == "u64s") {
            CHECK(many(batch.numbers));
        } else {
            for (std::size_t i = 0; i < n; i++)
                answers[i] = static_cast<std::int8_t>(way == "single" ? one(events[i].id, events[i].tick)
                                                      : way == "hash" ? one(batch.hashes[i], events[i].tick)
                                                                      : one(events[i].number, events[i].tick));
        }
        for (std::size_t i = 0; i < n; i++)
            std::cout << int(answers[i]);
    });
}

void limiter(char **a) {
    const std::string way = a[0];
    const std::uint64_t seed = number(a[4]);
    windlass::LimiterConfig config;
    config.algorithm(static_cast<windlass::Algorithm>(number(a[1]))).seed(seed).clients(20000);
    CHECK(config.quota(a[2]).status() == WINDLASS_OK);
    const auto print = [](const windlass_admission &of) {
        std::cout << of.kind << ' ' << of.remaining << ' ' << of.reset_after_ns << ' ' << of.retry_after_ns << ' ' << of.delay_ns << '\n';
    };
    const auto show = [](const windlass::Admission &of) {
        CHECK(!of.failed());
        std::cout << of.code() << ' ' << of.remaining() << ' ' << of.reset_after().count() << ' ' << of.retry_after().count() << ' '
                  << of.delay().count() << '\n';
    };
    if (way == "global") {
        windlass::GlobalLimiter global(config);
        for (const Event &event : read(a[5], true))
            show(global.check(event.tick, event.cost));
        return;
    }
    windlass::Limiter limiter(config.lateness(number(a[3])));
    windlass_admission all[size];
    each(read(a[5], true), seed, [&](const Event *events, std::size_t n, Batch &batch) {
        const windlass::View<windlass_admission> out(all, n);
        if (way == "packed" || way == "hashes" || way == "u64s") {
            CHECK(way == "packed"   ? limiter.check_all(batch.packed, 0, out, batch.costs, batch.ticks)
                  : way == "hashes" ? limiter.check_all(batch.hashes, 0, out, batch.costs, batch.ticks)
                                    : limiter.check_all(batch.numbers, 0, out, batch.costs, batch.ticks));
            for (std::size_t i = 0; i < n; i++)
                print(all[i]);
            return;
        }
        for (std::size_t i = 0; i < n; i++) {
            const Event &e = events[i];
            show(way == "single" ? limiter.check(e.id, e.tick, e.cost)
                 : way == "hash" ? limiter.check(batch.hashes[i], e.tick, e.cost)
                                 : limiter.check(e.number, e.tick, e.cost));
        }
    });
}

void topk(char **a) {
    const std::string way = a[0];
    const std::uint64_t pane = number(a[2]), seed = number(a[4]);
    windlass::TopK topk(
        windlass::TopKConfig().window(number(a[1])).pane(pane).k(number(a[3])).seed(seed).capacity(20000).unit(windlass::Unit::events));
    const std::vector<Event> events = read(a[5], false);
    CHECK(!events.empty());
    windlass::TopList list;
    Batch batch;
    std::uint64_t end = (events[0].tick / pane + 1) * pane;
    const auto print = [&] {
        CHECK(topk.top_complete(end, list) == WINDLASS_OK && list.info.certified == 1);
        std::cout << end;
        for (const windlass_top_row &row : list.rows) {
            std::cout << '\t' << row.count << '\t';
            if (row.kind == WINDLASS_KEY_BYTES) {
                std::cout << list.key(row);
            } else {
                Hash hash;
                CHECK(row.kind == WINDLASS_KEY_HASH && row.key_len == sizeof hash);
                std::memcpy(&hash, list.key(row).data(), sizeof hash);
                char text[33];
                std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.hi),
                              static_cast<unsigned long long>(hash.lo));
                std::cout << text;
            }
        }
        std::cout << '\n';
        end += pane;
    };
    for (std::size_t at = 0; at < events.size();) {
        while (events[at].tick >= end)
            print();
        std::size_t n = 0;
        while (at + n < events.size() && n < size && events[at + n].tick < end)
            n++;
        batch.fill(&events[at], n, seed);
        if (way == "packed") {
            CHECK(topk.add_all(batch.packed, 0, {}, batch.ticks).value().counted == n);
        } else if (way == "hashes") {
            CHECK(topk.add_all(batch.hashes, 0, {}, batch.ticks).value().counted == n);
        } else {
            for (std::size_t i = 0; i < n; i++) {
                const Event &e = events[at + i];
                CHECK((way == "hash" ? topk.add(batch.hashes[i], e.tick) : topk.add(e.id, e.tick)).counted());
            }
        }
        at += n;
    }
    print();
}

void fifo(char **a) {
    const std::string way = a[0];
    const std::uint64_t every = number(a[1]), seed = number(a[2]);
    windlass::Fifo fifo(windlass::FifoConfig().capacity(4096).seed(seed));
    const std::vector<Event> events = read(a[3], false);
    CHECK(!events.empty());
    std::set<std::uint64_t> seen;
    std::uint64_t due = events[0].tick + every;
    windlass::Entry entry;
    Packed key, value;
    for (const Event &e : events) {
        for (; due <= e.tick; due += every)
            CHECK(!fifo.pop(entry).failed());
        const Hash hash = windlass::hash(e.id, seed);
        std::uint64_t ahead = 0;
        std::int64_t rank = -1;
        if (way == "packed") {
            key.assign(std::vector<std::string>{e.id});
            std::int32_t result[1];
            if (seen.insert(e.number).second) {
                CHECK(fifo.push_all(key, key, e.tick, result) == WINDLASS_OK && result[0] == WINDLASS_PUSHED_NEW);
            }
            CHECK(fifo.rank_all(key, windlass::View<std::int64_t>(&rank, 1)) == WINDLASS_OK);
        } else {
            if (seen.insert(e.number).second) {
                CHECK((way == "single" ? fifo.push(e.id, e.id, e.tick)
                       : way == "hash" ? fifo.push(hash, e.id, e.tick)
                                       : fifo.push(e.number, e.id, e.tick))
                          .is_new());
            }
            const windlass::YesNo found = way == "single" ? fifo.rank(e.id, ahead)
                                          : way == "hash" ? fifo.rank(hash, ahead)
                                                          : fifo.rank(e.number, ahead);
            CHECK(!found.failed());
            if (found.yes()) rank = static_cast<std::int64_t>(ahead);
        }
        std::cout << rank << '\n';
    }
}

void print(const std::string &bytes) {
    for (const char byte : bytes) {
        char text[3];
        std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        std::cout << text;
    }
    std::cout << '\n';
}

constexpr std::uint64_t second = 1'000'000'000;

// Its snapshot, and that of what is restored of it a second later.
template <class Structure, class Config>
void written(const Structure &structure, const Config &config, std::uint64_t now, std::uint64_t wall) {
    const auto write = [](const Structure &of, std::string &to, std::uint64_t at, std::uint64_t by) {
        if constexpr (std::is_same_v<Structure, windlass::TopK> || std::is_same_v<Structure, windlass::BoundedTopK>)
            return of.save(to, at, by);
        else if constexpr (std::is_same_v<Structure, windlass::Ring>)
            return of.snapshot(to, by);
        else
            return of.snapshot(to, at, by);
    };
    std::string bytes;
    CHECK(write(structure, bytes, now, wall).status() == WINDLASS_OK);
    print(bytes);
    const auto again = Structure::restore(config, bytes, wall + second);
    CHECK(again && (again->resumed == now + second || std::is_same_v<Structure, windlass::Ring>));
    bytes.clear();
    CHECK(write(again->structure, bytes, again->resumed, wall + second).status() == WINDLASS_OK);
    print(bytes);
}

// Calls with each key: bytes, hashes and numbers by turns.
template <class Do>
void by_turns(const std::vector<Event> &events, std::uint64_t seed, Do with) {
    for (std::size_t i = 0; i < events.size(); i++) {
        const Event &e = events[i];
        const std::uint64_t tick = e.tick * 1'000'000;
        if (i % 3 == 0)
            with(i, e.id, tick);
        else if (i % 3 == 1)
            with(i, windlass::hash(e.id, seed), tick);
        else
            with(i, e.number, tick);
    }
}

void snapshot(char **a) {
    const std::string kind = a[0];
    const std::uint64_t seed = number(a[1]), now = number(a[2]), wall = number(a[3]);
    const std::vector<Event> events = read(a[4], false);
    constexpr std::uint64_t window = 4 * second, pane = second / 2, lateness = 3 * second / 10, capacity = 5000;
    if (kind == "dedup" || kind == "dedup_bytes") {
        windlass::DedupConfig config;
        config.window(window).lateness(lateness).capacity(capacity).seed(seed);
        if (kind == "dedup_bytes") config.identity(windlass::Identity::bytes);
        windlass::Dedup dedup(config);
        by_turns(events, seed, [&](std::size_t i, const auto &key, std::uint64_t tick) {
            if (i % 7 == 6) {
                const windlass::Claim claim = dedup.claim(events[i].id, tick, second);
                CHECK(!claim.failed() && (!claim.fresh() || i % 2 != 0 || dedup.commit(claim.ticket()).yes()));
            } else {
                CHECK(!dedup.observe(key, tick).failed());
            }
        });
        written(dedup, config, now, wall);
    } else if (kind == "bloom") {
        const windlass::BloomConfig config = windlass::BloomConfig().window(window).expected_ids(700).seed(seed);
        windlass::Bloom bloom(config);
        by_turns(events, seed, [&](std::size_t, const auto &key, std::uint64_t tick) { CHECK(!bloom.insert(key, tick).failed()); });
        written(bloom, config, now, wall);
    } else if (kind == "counter") {
        const windlass::CounterConfig config =
            windlass::CounterConfig().window(window).pane(pane).lateness(lateness).capacity(capacity).seed(seed);
        windlass::Counter counter(config);
        by_turns(events, seed,
                 [&](std::size_t i, const auto &key, std::uint64_t tick) { CHECK(counter.add(key, tick, 1 + i % 5).counted()); });
        written(counter, config, now, wall);
    } else if (kind == "topk") {
        const windlass::TopKConfig config =
            windlass::TopKConfig().window(window).pane(pane).lateness(lateness).k(20).capacity(capacity).seed(seed);
        windlass::TopK topk(config);
        by_turns(events, seed,
                 [&](std::size_t i, const auto &key, std::uint64_t tick) { CHECK(topk.add(key, tick, 1 + i % 5).counted()); });
        written(topk, config, now, wall);
    } else if (kind == "bounded") {
        const windlass::BoundedTopKConfig config =
            windlass::BoundedTopKConfig().window(window).pane(pane).lateness(lateness).k(20).memory(65536).seed(seed);
        windlass::BoundedTopK topk(config);
        by_turns(events, seed,
                 [&](std::size_t i, const auto &key, std::uint64_t tick) { CHECK(topk.add(key, tick, 1 + i % 5).counted()); });
        written(topk, config, now, wall);
    } else if (kind == "fifo") {
        const windlass::FifoConfig config = windlass::FifoConfig().capacity(capacity).seed(seed);
        windlass::Fifo fifo(config);
        windlass::Entry entry;
        by_turns(events, seed + 1, [&](std::size_t i, const auto &key, std::uint64_t tick) {
            CHECK(!fifo.push(key, events[i].id.substr(0, i % 9), tick).failed());
            CHECK(i % 5 != 4 || fifo.pop(entry).yes());
        });
        written(fifo, config, now, wall);
    } else if (kind == "limiter" || kind == "limiter_log") {
        windlass::LimiterConfig config;
        config.permits(5).per(60 * second).clients(capacity).lateness(lateness).seed(seed);
        if (kind == "limiter")
            config.burst(8);
        else
            config.algorithm(windlass::Algorithm::sliding_log);
        windlass::Limiter limiter(config);
        by_turns(events, seed,
                 [&](std::size_t i, const auto &key, std::uint64_t tick) { CHECK(!limiter.check(key, tick, 1 + i % 3).failed()); });
        const windlass::Quota less(4, 60 * second);
        CHECK(limiter.set_quota_for(events[0].id, less, windlass::Inherit::as_is, now).status() == WINDLASS_OK);
        CHECK(limiter.set_quota(less, windlass::Inherit::as_is, now).status() == WINDLASS_OK);
        written(limiter, config, now, wall);
    } else if (kind == "global_limiter") {
        windlass::LimiterConfig config;
        config.permits(2000).per(60 * second).algorithm(windlass::Algorithm::sliding_counter);
        windlass::GlobalLimiter limiter(config);
        for (std::size_t i = 0; i < events.size(); i++)
            CHECK(!limiter.check(events[i].tick * 1'000'000, 1 + i % 3).failed());
        CHECK(limiter.set_quota(windlass::Quota(1000, 60 * second), windlass::Inherit::as_is, now).status() == WINDLASS_OK);
        written(limiter, config, now, wall);
    } else if (kind == "limitset") {
        windlass::LimitSetConfig config;
        config.limit(windlass::LimitRule("user", 5, 60 * second).burst(8).clients(capacity));
        config.limit(windlass::LimitRule("tenant", 400, 60 * second).clients(100).algorithm(windlass::Algorithm::sliding_counter));
        config.limit(windlass::LimitRule("all", 5000, 60 * second).algorithm(windlass::Algorithm::fixed_window));
        config.lateness(lateness).seed(seed);
        windlass::LimitSet set(config);
        for (std::size_t i = 0; i < events.size(); i++) {
            const windlass::Hash keys[] = {config.hash(events[i].id), config.hash(events[i].number % 16)};
            CHECK(!set.check(keys, events[i].tick * 1'000'000, 1 + i % 3).failed());
        }
        CHECK(set.set_quota("user", windlass::Quota(4, 60 * second), now).status() == WINDLASS_OK);
        written(set, config, now, wall);
    } else {
        CHECK(kind == "ring");
        const windlass::RingConfig config = windlass::RingConfig().vnodes(40).seed(seed);
        windlass::Ring ring(config);
        for (std::uint32_t id = 0; id < 6; id++)
            CHECK(ring.add(id, events[id].id, 1 + id % 3));
        CHECK(ring.remove(2));
        written(ring, config, now, wall);
    }
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc > 3);
    const std::string kind = argv[1];
    if (kind == "dedup" && argc == 7)
        dedup(argv + 2);
    else if (kind == "bloom" && argc == 8)
        bloom(argv + 2);
    else if (kind == "limiter" && argc == 8)
        limiter(argv + 2);
    else if (kind == "topk" && argc == 8)
        topk(argv + 2);
    else if (kind == "fifo" && argc == 6)
        fifo(argv + 2);
    else if (kind == "snapshot" && argc == 7)
        snapshot(argv + 2);
    else
        CHECK(!"one of these");
}
