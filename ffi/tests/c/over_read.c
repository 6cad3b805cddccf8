/* What a program must not do: offsets that reach beyond its own array, of which it says that it is longer. The library believes that, and
 * reads what is not there: a checker that is worth its name says so. */
#include <string.h>

#include <windlass.h>

#include "check.h"

int main(void) {
    enum { LENGTH = 16, SAID = 64 };
    const uint32_t offsets[] = {0, SAID};
    windlass_dedup_config config;
    windlass_dedup *dedup = NULL;
    uint8_t *ids = (uint8_t *)malloc(LENGTH);
    int64_t fresh;
    CHECK(ids != NULL);
    memset(ids, 1, LENGTH);
    CHECK(windlass_dedup_config_init(&config, sizeof config) == WINDLASS_OK);
    config.window = 1000;
    config.capacity = 100;
    CHECK(windlass_dedup_new(&config, &dedup, NULL) == WINDLASS_OK);
    fresh = windlass_dedup_observe_packed(dedup, ids, SAID, offsets, 1, 1, NULL, NULL);
    printf("%d\n", (int)fresh);
    windlass_dedup_free(dedup);
    free(ids);
    return 0;
}
