// The hottest words of a text, counted by all processors at once, and listed while they count.
//
//   hot_keys [FILE [K [THREADS]]]      FILE - (the default): standard input
//
// Each thread takes blocks of lines from the reader, packs their words, and counts them in one call. The reader prints a list for
// every million words (to stderr, so that it can be left out), and the last one at the end: count, tab, word.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include <windlass.hpp>

namespace {

// What the reader has read and nobody has counted yet: a few blocks at most.
class Blocks {
public:
    void put(std::string block) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return blocks_.size() < 16; });
        blocks_.push_back(std::move(block));
        changed_.notify_all();
    }
    void end() {
        const std::lock_guard<std::mutex> lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }
    bool take(std::string &block) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return !blocks_.empty() || ended_; });
        if (blocks_.empty()) return false;
        block = std::move(blocks_.front());
        blocks_.pop_front();
        changed_.notify_all();
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> blocks_;
    bool ended_ = false;
};

constexpr std::size_t batch = 256;

void count(windlass::TopK &words, Blocks &blocks) {
    windlass::Packed packed;
    const auto flush = [&] {
        if (packed.empty()) return;
        const windlass::Result<windlass::Tally> tally = words.add_all(packed, windlass::now());
        if (!tally || tally.value().counted != packed.size()) std::fprintf(stderr, "some words were not counted\n");
        packed.clear();
    };
    for (std::string block; blocks.take(block);) {
        std::size_t begin = 0;
        while ((begin = block.find_first_not_of(" \t\r\n", begin)) != std::string::npos) {
            const std::size_t end = std::min(block.find_first_of(" \t\r\n", begin), block.size());
            packed.add(std::string_view(block).substr(begin, end - begin));
            if (packed.size() == batch) flush();
            begin = end;
        }
    }
    flush();
}

void print(const windlass::TopList &list, std::ostream &out) {
    for (const windlass_top_row &row : list.rows)
        out << row.count << '\t' << list.key(row) << '\n';
    if (!list.info.certified) out << "(not certified: counts may be from lower to upper)\n";
}

} // namespace

int main(int argc, char **argv) try {
    using namespace std::chrono_literals;
    std::ifstream file;
    const bool from_file = argc > 1 && std::string_view(argv[1]) != "-";
    if (from_file) file.open(argv[1], std::ios::binary);
    if (from_file && !file) {
        std::fprintf(stderr, "hot_keys: %s cannot be read\n", argv[1]);
        return 2;
    }
    std::istream &in = from_file ? file : std::cin;
    const std::uint64_t k = argc > 2 ? std::stoull(argv[2]) : 10;
    const unsigned threads = argc > 3 ? static_cast<unsigned>(std::stoul(argv[3])) : std::max(1u, std::thread::hardware_concurrency());

    // The last hour, in panes of a minute.
    windlass::TopK words(windlass::TopKConfig().window(1h).pane(1min).k(k).capacity(100'000).max_memory(1u << 30));
    Blocks blocks;
    std::vector<std::thread> counting;
    for (unsigned i = 0; i < threads; i++)
        counting.emplace_back([&] { count(words, blocks); });

    windlass::TopList list;
    std::string block;
    std::uint64_t listed = 0;
    for (std::string line; std::getline(in, line);) {
        block += line += '\n';
        if (block.size() < 64 * 1024) continue;
        blocks.put(std::exchange(block, {}));
        // Readers and writers do not wait for each other.
        const std::uint64_t so_far = words.total(windlass::now()).value();
        if (so_far / 1'000'000 > listed) {
            listed = so_far / 1'000'000;
            std::cerr << "after " << so_far << " words:\n";
            if (words.top(windlass::now(), list) == WINDLASS_OK) print(list, std::cerr);
        }
    }
    blocks.put(block);
    blocks.end();
    for (std::thread &thread : counting)
        thread.join();
    if (words.top(windlass::now(), list) != WINDLASS_OK) return 1;
    print(list, std::cout);
    return 0;
} catch (const std::exception &error) { // a setting, or a number that is none
    std::fprintf(stderr, "hot_keys: %s\n", error.what());
    return 2;
}
