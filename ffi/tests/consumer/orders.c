/* Two times the same id: the second time it is a duplicate. Header and library are of one release. */
#include <stdio.h>

#include <windlass.h>

int main(void) {
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_dedup_config config;
    windlass_dedup *dedup;
    int i, fresh = 0;

    if (windlass_version_number() != WINDLASS_VERSION_NUMBER) return 1;
    if (windlass_abi_version() != WINDLASS_ABI_VERSION) return 2;
    if (windlass_dedup_config_init(&config, sizeof config) != WINDLASS_OK) return 3;
    config.window = 1000;
    config.capacity = 1000;
    if (windlass_dedup_new(&config, &dedup, &error) != WINDLASS_OK) {
        fprintf(stderr, "%s\n", error.detail);
        return 4;
    }
    for (i = 0; i < 2; i++) fresh += windlass_dedup_observe(dedup, (const uint8_t *)"order", 5, 1) == WINDLASS_FRESH;
    printf("%d of 2 are fresh, by windlass %s\n", fresh, windlass_version());
    windlass_dedup_free(dedup);
    return 0;
}
