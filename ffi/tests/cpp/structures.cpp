// Every structure through windlass.hpp. Built with and without exceptions, as C++17 and C++20.
#include <array>
#include <cstdio>
#include <sstream>
#include <thread>
#if __cplusplus >= 202002L
#include <span>
#endif

#include <windlass.hpp>

#include "../c/check.h"

using namespace std::chrono_literals;

namespace {

template <class T, class Config>
T made(const Config &config) {
    auto made = T::make(config);
    if (!made) std::fprintf(stderr, "%s\n", made.error().what());
    CHECK(made);
    return std::move(made).value();
}

static_assert(!std::is_copy_constructible_v<windlass::Dedup> && !std::is_copy_assignable_v<windlass::Dedup>);
static_assert(std::is_nothrow_move_constructible_v<windlass::Dedup> && std::is_nothrow_move_assignable_v<windlass::Dedup>);
static_assert(noexcept(std::declval<windlass::Dedup &>().observe("id", 1)));
static_assert(noexcept(std::declval<windlass::Limiter &>().check(std::uint64_t{1}, 1)));
static_assert(windlass::Ticks(-1).count() == 0 && windlass::Ticks(-1s).count() == 0 && windlass::Ticks(2us).count() == 2000);
static_assert(windlass::Ticks(std::chrono::hours::max()).count() == std::uint64_t{INT64_MAX});
static_assert(windlass::Ticks(UINT64_MAX).count() == UINT64_MAX);

void dedup() {
    windlass::DedupConfig config;
    config.window(60s).capacity(1000).seed(7).refresh(windlass::Refresh::never);
    CHECK(config.raw.window == 60'000'000'000 && config.raw.seed == 7);
    CHECK(*config.memory_bytes() > 30'000);
    windlass::Dedup dedup = made<windlass::Dedup>(config);
    const std::string text = "order";
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    CHECK(dedup.observe("order", 1).fresh());
    // The same id in other clothes.
    CHECK(dedup.observe(text, 2).duplicate() && dedup.observe(std::string_view(text), 3).duplicate() &&
          dedup.observe(bytes, 4).duplicate());
    CHECK(dedup.observe(windlass::hash("order", 7), 5ns).duplicate());
#if __cplusplus >= 202002L
    CHECK(dedup.observe(std::span<const std::uint8_t>(bytes), 4).duplicate());
    const std::array<std::uint64_t, 2> numbers{1, 2};
    CHECK(dedup.observe_all(std::span<const std::uint64_t>(numbers), 5).value() == 2);
    CHECK(dedup.forget(1, 5).yes() && dedup.forget(2, 5).yes());
#endif
    CHECK(dedup.observe(5, 6).fresh() && dedup.observe(std::uint64_t{5}, 7).duplicate() && dedup.contains(5, 8).yes());
    CHECK(dedup.contains("other", 8).no() && dedup.forget("order", 8).yes() && dedup.forget("order", 8).no());
    CHECK(dedup.observe("order", 60s + 9ns).fresh());

    // Batches: from a range, of numbers, of hashes, of a field of structs.
    windlass::Packed packed;
    const std::vector<std::string> ids = {"a", "b", "", "a"};
    std::array<std::int8_t, 4> verdicts{};
    CHECK(dedup.observe_all(packed.assign(ids), 60s, verdicts).value() == 3);
    CHECK(verdicts == (std::array<std::int8_t, 4>{0, 0, 0, 1}));
    const std::uint32_t *const before = packed.offsets();
    CHECK(dedup.observe_all(packed.assign(ids), 60s).value() == 0 && packed.offsets() == before);
    CHECK(dedup.observe_all(std::vector<std::uint64_t>{5, 6, 7}, 60s).value() == 2);
    CHECK(dedup.observe_all(std::vector<windlass::Hash>{windlass::hash("a", 7), windlass::hash("c", 7)}, 60s).value() == 1);
    struct Row {
        char id[2];
        int other;
    };
    const Row rows[] = {{{'x', 'x'}, 1}, {{'y', 'y'}, 2}, {{'x', 'x'}, 3}};
    CHECK(dedup.observe_all(windlass::Fixed{rows[0].id, 2, sizeof(Row), 3}, 60s).value() == 2);
    CHECK(dedup.contains("yy", 60s).yes());
    // An array that is too short is refused, and nothing changes.
    std::array<std::int8_t, 2> few{9, 9};
    CHECK(dedup.observe_all(std::vector<std::uint64_t>{100, 101, 102}, 60s, few).status() == WINDLASS_E_RANGE && few[0] == 9);
    CHECK(dedup.contains(100, 60s).no());
    CHECK(dedup.observe_all(windlass::Packed(), 60s).value() == 0);

    const windlass::Claim claim = dedup.claim("job", 100s, 5s);
    CHECK(claim.fresh() && dedup.claim("job", 101s, 5s).in_progress() && dedup.claim("job", 101s, 5s).when() >= 105'000'000'000);
    CHECK(dedup.abort(claim.ticket()).yes() && dedup.commit(claim.ticket()).no());
    const windlass::Claim second = dedup.claim("job", 102s, 5s);
    CHECK(second.fresh() && dedup.commit(second.ticket()).yes() && dedup.claim("job", 103s, 5s).duplicate());
    CHECK(dedup.claim(1u, 103s, 0).status() == WINDLASS_E_LEASE);

    CHECK(dedup.stats().value().capacity >= 1000 && dedup.memory_bytes().value() > 30'000 && dedup.seed().value() == 7);
    CHECK(!dedup.maintain(200s, 16).failed() && dedup.reset() == WINDLASS_OK && dedup.contains("job", 103s).no());

    // Moved: one owner at a time.
    windlass::Dedup other = std::move(dedup);
    CHECK(!dedup && other && dedup.observe("a", 1).status() == WINDLASS_E_NULL);
    dedup = std::move(other);
    CHECK(dedup && !other);
    windlass::Dedup &itself = dedup;
    dedup = std::move(itself);
    CHECK(dedup);
    dedup = windlass::Dedup();
    CHECK(!dedup && dedup.stats().status() == WINDLASS_E_NULL && dedup.memory_bytes().failed());
}

void errors() {
    windlass::Expected<windlass::Dedup> none = windlass::Dedup::make(windlass::DedupConfig());
    CHECK(!none && none.error().status() == WINDLASS_E_ARG);
    CHECK(std::strstr(none.error().what(), "window: 0 ns is out of range") == none.error().what());
    CHECK(std::strcmp(windlass::Error(WINDLASS_E_FULL).what(), windlass_status_text(WINDLASS_E_FULL)) == 0);
    CHECK(!windlass::DedupConfig().capacity(0).memory_bytes());
    CHECK(windlass::Dedup::make(windlass::DedupConfig().window(1)).error().status() == WINDLASS_OK);
#if WINDLASS_HAS_EXCEPTIONS
    bool thrown = false;
    try {
        windlass::Dedup dedup{windlass::DedupConfig()};
    } catch (const windlass::Exception &exception) {
        thrown = exception.status() == WINDLASS_E_ARG && std::strstr(exception.what(), "window: 0 ns") != nullptr;
    }
    CHECK(thrown);
    thrown = false;
    try {
        none.value();
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(thrown);
#endif
}

void bloom() {
    windlass::BloomConfig config;
    config.window(1000).panes(4).expected_ids(500).error(0.001).seed(7).unit(windlass::Unit::events);
    CHECK(config.plan()->panes == 4 && !windlass::BloomConfig().plan());
    windlass::Bloom bloom = made<windlass::Bloom>(config);
    windlass::Bloom same = made<windlass::Bloom>(config);
    CHECK(bloom.insert("a", 1).no() && bloom.insert("a", 2).yes() && bloom.contains("a", 3).yes() && bloom.observe("b", 3).fresh());
    CHECK(bloom.observe(7, 3).fresh() && bloom.observe(windlass::hash("a", 7), 3).duplicate());
    const std::vector<std::uint64_t> numbers{7, 8, 9};
    std::array<std::int8_t, 3> answers{};
    CHECK(bloom.contains_all(numbers, 4, answers).value() == 2 && answers[0] == 1 && answers[1] == 0);
    CHECK(bloom.insert_all(numbers, 4).value() == 2 && bloom.observe_all(numbers, 4).value() == 0);
    windlass_bloom_pane panes[4];
    CHECK(bloom.stats(panes).value().live_panes == 1 && panes[0].fill > 0 && bloom.plan().value().panes == 4);
    windlass_pane_span spans[4];
    CHECK(bloom.panes("a", 4, spans).value() == 1 && bloom.distinct(4).value() > 3 && bloom.seed().value() == 7);
    CHECK(same.merge(bloom).status() == WINDLASS_OK && same.contains("b", 4).yes());
    CHECK(same.merge(made<windlass::Bloom>(config.seed(8))).status() == WINDLASS_E_ARG);
    CHECK(bloom.advance(5000) == WINDLASS_OK && bloom.contains("a", 5000).no() && !bloom.maintain(5000, 4).failed());
    CHECK(bloom.memory_bytes().value() > 0);
}

void limiter() {
    windlass::LimiterConfig config;
    CHECK(config.quota("ten").status() == WINDLASS_E_ARG && config.quota("10/s burst 2").status() == WINDLASS_OK);
    CHECK(config.raw.permits == 10 && config.raw.per_ns == 1'000'000'000 && config.raw.burst == 2);
    windlass::Limiter limiter = made<windlass::Limiter>(config.clients(100));
    CHECK(limiter.check("a", 1s).remaining() == 1 && limiter.check("a", 1s).allowed() && limiter.check("b", 1s).allowed());
    const windlass::Admission denied = limiter.check("a", 1s);
    CHECK(denied.denied() && denied.retry_after() == 100ms && limiter.check("a", 1s, 3).never());
    CHECK(limiter.peek("a", 1s + 100ms).allowed() && limiter.forget("a", 1s).yes() && limiter.check("a", 1s, 2).allowed());
    std::array<windlass_admission, 3> answers{};
    CHECK(limiter.check_all(std::vector<std::uint64_t>{5, 5, 5}, 1s, answers).value() == 2 && answers[2].kind == WINDLASS_DENIED);
    const std::array<std::uint64_t, 2> costs{2, 1};
    CHECK(limiter.check_all(std::vector<std::uint64_t>{6, 6}, 1s, {}, costs).value() == 1);
    CHECK(limiter.stats().value().clients >= 3 && !limiter.maintain(2s, 8).failed() && limiter.memory_bytes() && limiter.seed());
    windlass::GlobalLimiter global = made<windlass::GlobalLimiter>(windlass::LimiterConfig().permits(1).per(1s));
    CHECK(global.check(1s).allowed() && global.check(1s).denied() && global.peek(2s).allowed() && global.forget(1s).yes());
}

// Quotas that change, and clients for which there is no room.
void quotas() {
    using windlass::Inherit;
    using windlass::Quota;
    windlass::Limiter limiter = made<windlass::Limiter>(windlass::LimiterConfig().permits(10).per(1s).clients(100).seed(7));
    CHECK(limiter.check("a", 1s, 6).remaining() == 4);
    CHECK(limiter.set_quota(Quota(20, 1s), Inherit::as_is, 1s).status() == WINDLASS_OK && limiter.check("a", 1s, 0).remaining() == 14);
    CHECK(limiter.set_quota(Quota(10, 1s), Inherit::proportional, 1s).status() == WINDLASS_OK &&
          limiter.check("a", 1s, 0).remaining() == 7);
    CHECK(limiter.set_quota_for("a", Quota(50, 1s), Inherit::as_is, 1s).status() == WINDLASS_OK);
    CHECK(limiter.check("a", 1s, 0).remaining() == 47 && limiter.check("b", 1s, 0).remaining() == 10);
    CHECK(limiter.check(windlass::hash("a", 7), 1s, 0).remaining() == 47);
    CHECK(limiter.set_quota_for(5, Quota(3, 1s, 1), Inherit::as_is, 1s).status() == WINDLASS_OK && limiter.check(5, 1s).remaining() == 0);
    CHECK(limiter.clear_quota_for("a", Inherit::as_is, 1s).yes() && limiter.clear_quota_for("a", Inherit::as_is, 1s).no());
    CHECK(limiter.clear_quota_for(windlass::hash(std::uint64_t{5}, 7), Inherit::as_is, 1s).yes() &&
          limiter.check(5, 1s, 0).remaining() > 3);
    const windlass::Error wrong = limiter.set_quota(Quota(0, 1s), Inherit::as_is, 1s);
    CHECK(wrong.status() == WINDLASS_E_ARG && std::strcmp(wrong.what(), "quota: 0/s is out of range: 1 permit at least") == 0);
    CHECK(limiter.set_quota(Quota(1, 1s), static_cast<Inherit>(2), 1s).status() == WINDLASS_E_ARG);
    CHECK(limiter.clear_quota_for("a", static_cast<Inherit>(2), 1s).status() == WINDLASS_E_ARG);

    windlass::GlobalLimiter global = made<windlass::GlobalLimiter>(windlass::LimiterConfig().permits(10).per(1s));
    CHECK(global.check(1s, 6).allowed() && global.set_quota(Quota(20, 1s), Inherit::as_is, 1s).status() == WINDLASS_OK);
    CHECK(global.check(1s, 0).remaining() == 14 &&
          windlass::GlobalLimiter().set_quota(Quota(1, 1s), Inherit::as_is, 1s).status() == WINDLASS_E_NULL);

    // Two permits for all that share the one cell.
    windlass::LimiterConfig config;
    config.permits(2).per(1s).clients(1).on_unknown(windlass::OnUnknown::share).shared_cells(1);
    windlass::Limiter sharing = made<windlass::Limiter>(config);
    std::uint64_t allowed = 0;
    for (std::uint64_t client = 0; client < 1000; client++)
        allowed += sharing.check(client, 1s).allowed();
    CHECK(allowed < 100 && sharing.stats().value().unknown > 900);
    CHECK(windlass::Limiter::make(config.shared_cells(0)).error().status() == WINDLASS_E_ARG);
}

constexpr windlass::Ticks wall = 1'700'000'000s;

// Takes a snapshot through all that it may go to and come from, and says what was restored.
template <class Structure, class Config, class Write>
windlass::Restored<Structure> again(const Config &config, Write write) {
    std::string text = "before";
    CHECK(write(text).status() == WINDLASS_OK && text.compare(0, 6, "before") == 0);
    text.erase(0, 6);
    std::stringstream stream;
    CHECK(write(stream).status() == WINDLASS_OK && stream.str() == text);
    std::string taken;
    CHECK(write([&taken](std::string_view bytes) {
              taken += bytes;
              return true;
          }).status() == WINDLASS_OK);
    CHECK(taken == text);

    stream << "behind";
    CHECK(Structure::restore(config, stream, wall));
    std::string rest;
    CHECK(stream >> rest && rest == "behind");
    // A byte at a time.
    std::size_t at = 0;
    const auto from = [&](char *bytes, std::size_t) -> std::int64_t {
        if (at == text.size()) return 0;
        bytes[0] = text[at++];
        return 1;
    };
    CHECK(Structure::restore(config, from, wall) && at == text.size());
    CHECK(Structure::restore(
              config, [](char *, std::size_t) { return std::int64_t{-1}; }, wall)
              .error()
              .status() == WINDLASS_E_IO);
    CHECK(Structure::restore(config, std::string_view(text).substr(1), wall).error().status() == WINDLASS_E_SNAPSHOT);
    std::stringstream cut(text.substr(0, text.size() - 1));
    CHECK(Structure::restore(config, cut, wall).error().status() == WINDLASS_E_SNAPSHOT);
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    auto made = Structure::restore(config, bytes, wall.count() + 20'000'000'000);
    CHECK(made && made->elapsed == 20s);

    // What fails leaves a string as it was.
    CHECK(write([](std::string_view) { return false; }).status() == WINDLASS_E_IO);
    std::stringstream closed;
    closed.setstate(std::ios::badbit);
    CHECK(write(closed).status() == WINDLASS_E_IO);
    CHECK(Structure::restore(config, closed, wall).error().status() == WINDLASS_E_IO);
#if WINDLASS_HAS_EXCEPTIONS
    // What they throw comes out at the other end.
    int thrown = 0;
    try {
        (void)write([](std::string_view) -> bool { throw 7; });
    } catch (int number) {
        thrown = number;
    }
    CHECK(thrown == 7);
    try {
        (void)Structure::restore(config, [](char *, std::size_t) -> std::int64_t { throw 8; });
    } catch (int number) {
        thrown = number;
    }
    CHECK(thrown == 8);
    bool excepted = false;
    try {
        (void)Structure::restore(config, "").value();
    } catch (const windlass::Exception &exception) {
        excepted = exception.status() == WINDLASS_E_SNAPSHOT;
    }
    CHECK(excepted);
#endif
    return std::move(made).value();
}

void snapshots() {
    windlass::DedupConfig ids;
    ids.window(60s).capacity(1000);
    windlass::Dedup dedup = made<windlass::Dedup>(ids);
    CHECK(dedup.observe("a", 1s).fresh() && dedup.observe(5, 2s).fresh());
    auto dedups = again<windlass::Dedup>(ids, [&](auto &&to) { return dedup.snapshot(to, 10s, wall); });
    CHECK(dedups.entries == 2 && dedups.resumed == 30'000'000'000 && dedups.structure.observe("a", dedups.resumed).duplicate());
    CHECK(dedups.structure.observe("a", 62s).fresh() && dedups.structure.seed().value() == dedup.seed().value());
    std::string text = "x";
    CHECK(windlass::Dedup().snapshot(text, 1s).status() == WINDLASS_E_NULL && text == "x");
    const auto other = windlass::Dedup::restore(windlass::DedupConfig(ids).window(61s), [&] {
        CHECK(dedup.snapshot(text, 1s).status() == WINDLASS_OK);
        return text.substr(1);
    }());
    CHECK(!other && other.error().status() == WINDLASS_E_ARG && std::strstr(other.error().what(), "window 60000000000 ns") != nullptr);

    windlass::BloomConfig seen;
    seen.window(60s).expected_ids(1000);
    windlass::Bloom bloom = made<windlass::Bloom>(seen);
    CHECK(bloom.insert("a", 5s).no());
    auto blooms = again<windlass::Bloom>(seen, [&](auto &&to) { return bloom.snapshot(to, 10s, wall); });
    CHECK(blooms.resumed == 30'000'000'000 && blooms.structure.contains("a", 40s).yes() && blooms.structure.contains("b", 40s).no());

    windlass::CounterConfig counts;
    counts.window(60s).pane(10s).capacity(100);
    windlass::Counter counter = made<windlass::Counter>(counts);
    CHECK(counter.add("a", 5s, 3).counted());
    auto counters = again<windlass::Counter>(counts, [&](auto &&to) { return counter.snapshot(to, 10s, wall); });
    CHECK(counters.structure.count("a", 31s).value() == 3);

    windlass::TopKConfig hot;
    hot.window(60s).pane(10s).k(3).capacity(100);
    windlass::TopK topk = made<windlass::TopK>(hot);
    CHECK(topk.add("a", 5s, 7).counted());
    auto topks = again<windlass::TopK>(hot, [&](auto &&to) { return topk.save(to, 10s, wall); });
    windlass::TopList list;
    CHECK(topks.structure.top(31s, list) == WINDLASS_OK && list.rows.size() == 1 && list.key(list.rows[0]) == "a" &&
          list.rows[0].count == 7);

    windlass::BoundedTopKConfig few;
    few.window(60s).pane(10s).k(3).memory(1 << 16);
    windlass::BoundedTopK bounded = made<windlass::BoundedTopK>(few);
    CHECK(bounded.add("a", 5s, 7).counted() && bounded.is_ready().yes());
    auto bounds = again<windlass::BoundedTopK>(few, [&](auto &&to) { return bounded.save(to, 10s, wall); });
    CHECK(bounds.structure.bounds("a", 31s).value().lower == 7 && bounds.structure.bounds("a", 31s).value().upper == 7);

    const windlass::FifoConfig queue = windlass::FifoConfig().capacity(100);
    windlass::Fifo fifo = made<windlass::Fifo>(queue);
    const std::string value(500, 'v');
    CHECK(fifo.push("a", "1", 1s).is_new() && fifo.push("b", value, 2s).is_new());
    auto fifos = again<windlass::Fifo>(queue, [&](auto &&to) { return fifo.snapshot(to, 10s, wall); });
    std::uint64_t ahead = 0;
    windlass::Entry entry;
    CHECK(fifos.entries == 2 && fifos.structure.rank("b", ahead).yes() && ahead == 1);
    CHECK(fifos.structure.pop(entry).yes() && fifos.structure.pop(entry).yes() && entry.value() == value);

    const windlass::RingConfig points = windlass::RingConfig().vnodes(40);
    windlass::Ring ring = made<windlass::Ring>(points);
    CHECK(ring.add(1, "cache-a") && ring.add(2, "cache-b", 2));
    auto rings = again<windlass::Ring>(points, [&](auto &&to) { return ring.snapshot(to, wall); });
    for (std::uint64_t key = 0; key < 100; key++)
        CHECK(rings.structure.route(key).value() == ring.route(key).value());
    CHECK(windlass::wall_now() > wall.count());
}

void snapshots_of_limiters() {
    const windlass::LimiterConfig per_minute = windlass::LimiterConfig().permits(60).per(60s).clients(100);
    windlass::Limiter limiter = made<windlass::Limiter>(per_minute);
    CHECK(limiter.check("a", 1s, 60).allowed());
    CHECK(limiter.set_quota_for("b", windlass::Quota(120, 60s), windlass::Inherit::as_is, 1s).status() == WINDLASS_OK);
    auto limiters = again<windlass::Limiter>(per_minute, [&](auto &&to) { return limiter.snapshot(to, 11s, wall); });
    // One permit has come back in each of the 30 seconds since.
    CHECK(limiters.resumed == 31'000'000'000 && limiters.structure.seed().value() == limiter.seed().value());
    CHECK(!limiters.structure.check("a", 31s, 31).allowed() && limiters.structure.check("a", 31s, 30).allowed());
    CHECK(limiters.structure.check("b", 31s, 120).allowed());
    std::string text = "x";
    CHECK(windlass::Limiter().snapshot(text, 1s).status() == WINDLASS_E_NULL && text == "x");
    text.clear();
    CHECK(limiter.snapshot(text, 11s, wall).status() == WINDLASS_OK);
    const auto more = windlass::Limiter::restore(windlass::LimiterConfig(per_minute).permits(61), text, wall);
    CHECK(!more && more.error().status() == WINDLASS_E_ARG && std::strstr(more.error().what(), "quota 60/m") != nullptr);

    windlass::GlobalLimiter global = made<windlass::GlobalLimiter>(per_minute);
    CHECK(global.check(1s, 60).allowed());
    auto globals = again<windlass::GlobalLimiter>(per_minute, [&](auto &&to) { return global.snapshot(to, 11s, wall); });
    CHECK(globals.resumed == 31'000'000'000 && !globals.structure.check(31s, 31).allowed() && globals.structure.check(31s, 30).allowed());

    windlass::LimitSetConfig limits;
    limits.limit(windlass::LimitRule("user", 10, 3600s).clients(100).algorithm(windlass::Algorithm::fixed_window));
    limits.limit(windlass::LimitRule("all", 1000, 3600s)).reservations(10).seed(7);
    windlass::LimitSet set = made<windlass::LimitSet>(limits);
    const std::array<windlass::Hash, 1> ann{limits.hash("ann")};
    const auto held = set.reserve(ann, 1s, 10, 600s);
    CHECK(held.allowed());
    auto sets = again<windlass::LimitSet>(limits, [&](auto &&to) { return set.snapshot(to, 10s, wall); });
    CHECK(sets.resumed == 30'000'000'000 && !sets.structure.check(ann, 30s).allowed());
    CHECK(sets.structure.settle(held.ticket(), 30s, 4).settled());
    CHECK(sets.structure.check(ann, 30s, 6).allowed() && !sets.structure.check(ann, 30s).allowed());
    text.clear();
    CHECK(set.snapshot(text, 10s, wall).status() == WINDLASS_OK);
    const auto other = windlass::LimitSet::restore(windlass::LimitSetConfig(limits).seed(8), text, wall);
    CHECK(!other && other.error().status() == WINDLASS_E_ARG && std::strstr(other.error().what(), "seed") != nullptr);
}

void counts() {
    windlass::Counter counter = made<windlass::Counter>(windlass::CounterConfig().window(60s).pane(10s).capacity(100).seed(7));
    CHECK(counter.add("a", 1s).counted() && counter.add("a", 2s, 4).counted() && counter.count("a", 3s).value() == 5);
    CHECK(counter.count_complete("a", 3s).value() == 0 && counter.count_complete("a", 11s).value() == 5);
    const std::array<std::uint64_t, 2> times{2, 3};
    CHECK(counter.add_all(std::vector<std::uint64_t>{1, 2}, 3s, times).value().counted == 2 && counter.count(2, 3s).value() == 3);
    CHECK(counter.total(3s).value() == 10 && counter.total_complete(3s).value() == 0);
    std::array<std::uint64_t, 1> of{};
    CHECK(counter.count_all(std::vector<windlass::Hash>{windlass::hash("a", 7)}, 3s, of) == WINDLASS_OK && of[0] == 5);
    CHECK(counter.add("late", 500s).counted() && counter.add("late", 1s).late() && !counter.maintain(500s, 8).failed());
    CHECK(counter.stats().value().late == 1);

    windlass::TopK topk = made<windlass::TopK>(windlass::TopKConfig().window(60s).pane(10s).k(100).capacity(1000));
    windlass::TopList list;
    CHECK(topk.snapshot(list) == WINDLASS_OK && list.rows.empty() && list.info.end == 0);
    // Names that no list has room for to begin with.
    for (std::uint64_t i = 0; i < 100; i++)
        CHECK(topk.add(std::string(50 + i, 'k'), 1s, 1000 - i).counted());
    CHECK(topk.add(4711, 1s, 2000).counted() && topk.count(4711, 1s).value() == 2000);
    CHECK(topk.refresh(2s, list) == WINDLASS_OK && list.rows.size() == 100 && list.info.certified == 1);
    CHECK(list.number(list.rows[0]) == 4711 && list.key(list.rows[1]) == std::string(50, 'k') && list.rows[1].count == 1000);
    const windlass_top_row *const before = list.rows.data();
    CHECK(topk.snapshot(list) == WINDLASS_OK && list.rows.size() == 100 && list.rows.data() == before);
    CHECK(topk.top(2s, list) == WINDLASS_OK && list.info.total == topk.total(2s).value());
    CHECK(topk.top_complete(2s, list) == WINDLASS_OK && list.rows.empty());
    CHECK(topk.add_all(std::vector<std::uint64_t>{4711}, 2s).value().counted == 1 && !topk.maintain(2s, 8).failed());
    CHECK(topk.stats().value().capacity > 0);
}

void fifo() {
    windlass::Fifo fifo = made<windlass::Fifo>(windlass::FifoConfig().capacity(100).on_present(windlass::OnPresent::move));
    const std::string longer(500, 'v');
    std::uint64_t ahead = 9;
    CHECK(fifo.push("a", "1", 1).is_new() && fifo.push("b", longer, 2).is_new() && fifo.push(7, "", 3).is_new());
    CHECK(fifo.rank("b", ahead).yes() && ahead == 1 && fifo.rank("x", ahead).no() && ahead == 1);
    CHECK(fifo.push("a", "2", 4).moved() && fifo.rank("a", ahead).yes() && ahead == 2 && fifo.size().value() == 3);
    windlass_fifo_place place;
    std::string value;
    CHECK(fifo.find("b", place).yes() && place.value_len == 500 && fifo.find("b", place, value).yes() && value == longer);
    CHECK(fifo.find("x", place, value).no() && value.empty());
    windlass::Entry entry;
    CHECK(fifo.peek(entry).yes() && entry.key() == "b" && entry.value() == longer && fifo.at_rank(1, entry).yes() && entry.number() == 7);
    CHECK(fifo.next(entry.info.seq + 1, entry).yes() && entry.key() == "a" && entry.value() == "2");
    CHECK(fifo.push("left", longer, 4).is_new() && fifo.remove("left", entry).yes() && entry.value() == longer && entry.key().empty());
    CHECK(fifo.remove("left", entry).no() && fifo.remove(8, entry).no() && fifo.size().value() == 3);
    CHECK(fifo.count_before(4).value() == 2 && fifo.pop_until(1, entry).no() && entry.key().empty());
    CHECK(fifo.pop_until(2, entry).yes() && entry.value() == longer && fifo.pop(entry).yes() && fifo.pop(entry).yes() &&
          fifo.pop(entry).no());

    windlass::Packed keys, values;
    keys.assign(std::vector<std::string>{"x", "yy"});
    values.assign(std::vector<std::string>{"1", "22"});
    std::int32_t results[2];
    std::uint64_t seqs[2];
    CHECK(fifo.push_all(keys, values, 5, results, seqs) == WINDLASS_OK && results[1] == WINDLASS_PUSHED_NEW && seqs[1] == seqs[0] + 1);
    CHECK(fifo.push_all(keys, keys, 5, windlass::View<std::int32_t>(results, 1)) == WINDLASS_E_RANGE);
    std::int64_t ranks[2];
    CHECK(fifo.rank_all(keys, ranks) == WINDLASS_OK && ranks[0] == 0 && ranks[1] == 1);
    windlass_fifo_entry entries[4];
    std::uint8_t names[16], texts[16];
    CHECK(fifo.pop_all(entries, names, texts).value() == 2 && std::memcmp(names, "xyy", 3) == 0 && std::memcmp(texts, "122", 3) == 0);
    CHECK(fifo.stats().value().len == 0 && !fifo.maintain(8).failed());
}

// docs/ring.md.
void ring() {
    const std::string keys[] = {"", "a", "user-1", "user-2", "user-3", "user-4711", "Ünïcödé", "0123456789abcdef0123456789abcdef"};
    const std::uint32_t owners[2][8][3] = {
        {{2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {2, 3, 1}, {3, 2, 1}, {3, 2, 1}, {3, 1, 2}, {3, 1, 2}},
        {{2, 1, 3}, {2, 1, 3}, {1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {1, 2, 3}, {2, 1, 3}, {2, 3, 1}},
    };
    for (int of = 0; of < 2; of++) {
        windlass::Ring ring = made<windlass::Ring>(windlass::RingConfig().seed(of ? 42 : 0).vnodes(of ? 40 : 128));
        CHECK(ring.route("a").status() == WINDLASS_E_NO_NODE);
        CHECK(*ring.add(1, "cache-a") == 1.0 && ring.add(2, "cache-b", 2) && ring.add(3, "cache-c") && !ring.add(3, "cache-d"));
        std::uint32_t first[8];
        windlass::Packed packed;
        CHECK(ring.route_all(packed.assign(keys), first) == WINDLASS_OK);
        for (int i = 0; i < 8; i++) {
            std::uint32_t three[3];
            CHECK(ring.route_n(keys[i], three).value() == 3 && ring.route(keys[i]).value() == three[0] && first[i] == three[0]);
            for (int n = 0; n < 3; n++)
                CHECK(three[n] == owners[of][i][n]);
        }
        windlass_ring_node nodes[3];
        CHECK(ring.nodes(nodes).value() == 3 && nodes[1].weight == 2 && ring.set_weight(2, 1) && ring.remove(3) && !ring.remove(3));
        CHECK(ring.stats().value().nodes == 2 && ring.route(5));
    }
}

// Of all threads that bring an id one is told that it is fresh.
void bounded() {
    windlass::BoundedTopKConfig config;
    config.window(60s).pane(10s).k(3).memory(1 << 20).key_bytes(8).seed(7);
    windlass::BoundedTopK here = made<windlass::BoundedTopK>(config), there = made<windlass::BoundedTopK>(config);
    CHECK(here.add("/", 1s, 3).counted() && there.add("/", 2s, 4).counted() && there.add(5, 2s, 9).counted());
    CHECK(there.add(windlass::hash("x", 7), 2s).counted());
    CHECK(there.bounds("/", 2s).value().lower == 4 && there.bounds("/", 2s).value().upper == 4);
    CHECK(there.bounds(5, 2s).value().lower == 9 && there.total(2s).value() == 14);
    windlass::Packed packed;
    CHECK(there.add_all(packed.assign(std::vector<std::string>{"a", "b", "a"}), 2s).value().counted == 3);
    CHECK(there.add_all(std::vector<std::uint64_t>{5}, 2s, std::vector<std::uint64_t>{1}).value().counted == 1);
    CHECK(there.add_all(std::vector<std::uint64_t>{5}, 2s, std::vector<std::uint64_t>{1, 2}).status() == WINDLASS_E_RANGE);
    windlass::TopList list;
    CHECK(there.refresh(2s, list) == WINDLASS_OK && list.rows.size() == 3 && list.number(list.rows[0]) == 5);
    CHECK(there.snapshot(list) == WINDLASS_OK && list.info.certified == 1 && list.key(list.rows[1]) == "/");
    CHECK(there.top_complete(12s, list) == WINDLASS_OK && list.info.total == 18 && there.top(12s, list) == WINDLASS_OK);
    CHECK(there.stats().value().memory_bytes <= 1 << 20 && !there.maintain(12s, 8).failed());

    // What both know, the one by bytes.
    std::vector<std::uint8_t> bytes;
    windlass::Export own = std::move(here.export_at(3s)).value();
    CHECK(std::move(there.export_at(3s)).value().to_bytes(bytes) == WINDLASS_OK && bytes.size() > 100);
    windlass::Export other = std::move(windlass::Export::from_bytes(bytes)).value();
    CHECK(other.info().value().rows == 5 && other.list(list) == WINDLASS_OK && list.rows.size() == 5);
    bytes[30] ^= 1;
    CHECK(windlass::Export::from_bytes(bytes).error().status() == WINDLASS_E_FORMAT);
    windlass::Aggregator all = std::move(windlass::Aggregator::make(2, windlass::Keys::shared)).value();
    windlass::Aggregator part = std::move(windlass::Aggregator::make(2, windlass::Keys::shared)).value();
    CHECK(all.add(own).status() == WINDLASS_OK && part.add(other).status() == WINDLASS_OK && all.add_all(part).status() == WINDLASS_OK);
    CHECK(all.exports().value() == 2 && all.list(list) == WINDLASS_OK && list.info.total == 21 && list.info.certified == 1);
    CHECK(list.rows[0].count == 10 && list.number(list.rows[0]) == 5 && list.rows[1].count == 7 && list.key(list.rows[1]) == "/");
    const windlass::Error later = all.add(std::move(there.export_complete(30s)).value());
    CHECK(later.status() == WINDLASS_E_MISMATCH && std::string_view(later.what()).substr(0, 9) == "interval:");
    CHECK(all.add_all(all).status() == WINDLASS_E_ARG && all.exports().value() == 2);
    CHECK(own.truncate(0) == WINDLASS_OK && own.info().value().tail == 3);
    CHECK(windlass::Aggregator::make(0, windlass::Keys::split).error().status() == WINDLASS_E_ARG);
    const windlass::TopK exact = made<windlass::TopK>(windlass::TopKConfig().window(60s).pane(10s).k(3).seed(7));
    CHECK(exact.export_at(3s)->info().value().rows == 0 && !exact.export_complete(3s).error().status());
}

void limitset() {
    windlass::LimitSetConfig config;
    config.limit(windlass::LimitRule("user", 3, 60s).clients(100))
        .limit(windlass::LimitRule("all", 4, 60s).burst(4))
        .seed(7)
        .reservations(2);
    windlass::LimitSet set = made<windlass::LimitSet>(config);
    const windlass::Hash ann[] = {config.hash("ann")}, bob[] = {config.hash("bob")};
    CHECK(set.check(ann, 1s, 3).allowed() && set.check(ann, 1s).denied());
    CHECK(set.check(ann, 1s).limit() == 0 && set.check(ann, 1s).retry_after() == 20s);
    const windlass::SetAdmission last = set.check(bob, 1s);
    CHECK(last.allowed() && last.limit() == 1 && last.remaining() == 0 && last.reset_after() == 60s);
    CHECK(set.check(bob, 1s).denied() && config.limits[set.check(bob, 1s).limit()].name() == "all" && set.check(bob, 1s, 9).never());

    const windlass::Reserved held = set.reserve(bob, 100s, 2, 30s);
    CHECK(held.allowed() && set.check(bob, 100s, 2).denied() && set.stats().value().holds == 1);
    CHECK(set.settle(held.ticket(), 101s, 1).settled() && set.settle(held.ticket(), 101s, 1).before());
    const windlass::Reserved given = set.reserve(ann, 101s, 3, 30s), more = set.reserve(ann, 101s, 3, 30s);
    CHECK(given.allowed() && more.denied() && set.cancel(given.ticket(), 101s).settled());
    const windlass::Reserved left = set.reserve(ann, 102s, 1, 5s);
    CHECK(left.allowed() && set.settle(left.ticket(), 200s, 1).expired() && !set.maintain(200s, 8).failed());
    CHECK(windlass::LimitSet::make(windlass::LimitSetConfig()).error().status() == WINDLASS_E_ARG);
    CHECK(windlass::LimitSet().check(ann, 1s).status() == WINDLASS_E_NULL);
    windlass::LimitSetConfig cut;
    cut.limit(windlass::LimitRule("user", 3, 60s)).limit(windlass::LimitRule(std::string("user\0 2", 7), 3, 60s));
    CHECK(windlass::LimitSet::make(cut).error().status() == WINDLASS_E_ARG);
    CHECK(std::strcmp(windlass::LimitSet::make(cut).error().what(), "name: has a NUL") == 0);
    CHECK(windlass::LimitSet::restore(cut, std::string()).error().status() == WINDLASS_E_ARG);
    const std::string name = config.limits[0].name();
    CHECK(set.set_quota(name, windlass::Quota(6, 60s), 300s).status() == WINDLASS_OK && set.check(ann, 300s, 0).allowed());
    CHECK(set.set_quota("nobody", windlass::Quota(6, 60s), 300s).status() == WINDLASS_E_ARG);
    CHECK(set.set_quota(name + '\0', windlass::Quota(6, 60s), 300s).status() == WINDLASS_E_ARG);
}

void threads() {
    windlass::Dedup dedup = made<windlass::Dedup>(windlass::DedupConfig().window(1'000'000).capacity(10'000));
    std::array<std::uint64_t, 4> fresh{};
    std::vector<std::thread> all;
    for (auto &mine : fresh)
        all.emplace_back([&dedup, &mine] {
            for (std::uint64_t id = 0; id < 2000; id++)
                mine += dedup.observe(id, id).fresh();
        });
    for (std::thread &thread : all)
        thread.join();
    CHECK(fresh[0] + fresh[1] + fresh[2] + fresh[3] == 2000);
}

} // namespace

int main() {
    dedup();
    errors();
    bloom();
    limiter();
    quotas();
    snapshots();
    snapshots_of_limiters();
    counts();
    fifo();
    ring();
    bounded();
    limitset();
    threads();
    CHECK(windlass::hash("", 0).hi == 0x99aa06d3014798d8 && windlass::hash("", 0).lo == 0x6001c324468d497f);
    CHECK(windlass::hash(0x9e3779b97f4a7c15, 0).lo == 0xe220a8397b1dcdaf && windlass::random_seed() != windlass::random_seed());
    CHECK(windlass::namespace_seed(1, "a") != windlass::namespace_seed(1, "b") && windlass::now() <= windlass::now());
    return 0;
}
