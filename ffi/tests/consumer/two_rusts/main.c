/* Two static libraries made with Rust in one program: both work, and in either order. */
#include <stdio.h>

#include <windlass.h>

int other_catches(void);

int main(void) {
    windlass_ring_config config;
    windlass_ring *ring;
    if (!other_catches()) return 1;
    if (windlass_ring_config_init(&config, sizeof config) != WINDLASS_OK) return 2;
    if (windlass_ring_new(&config, &ring, NULL) != WINDLASS_OK) return 3;
    if (windlass_ring_add(ring, 7, (const uint8_t *)"a", 1, 1, NULL, NULL) != WINDLASS_OK) return 4;
    if (windlass_ring_route_u64(ring, 4711) != 7) return 5;
    windlass_ring_free(ring);
    printf("both\n");
    return 0;
}
