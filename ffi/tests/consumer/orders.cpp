// The same as orders.c, in C++.
#include <cstdio>

#include <windlass.hpp>

int main() {
    windlass::DedupConfig config;
    config.window(std::chrono::microseconds(1)).capacity(1000);
    windlass::Dedup dedup(config);
    int fresh = 0;
    for (int i = 0; i < 2; i++)
        fresh += dedup.observe("order", 1).fresh();
    std::printf("%d of 2 are fresh, by windlass %s\n", fresh, windlass_version());
}
