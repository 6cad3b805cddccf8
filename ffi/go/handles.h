/* What handles point to is the library's business. Go converts a pointer to a type that it does not know to an interface for every call, which
 * allocates: so here it knows one. */
#ifndef WINDLASS_GO_HANDLES_H
#define WINDLASS_GO_HANDLES_H

#include <windlass.h>

struct windlass_dedup { uint8_t opaque; };
struct windlass_bloom { uint8_t opaque; };
struct windlass_limiter { uint8_t opaque; };
struct windlass_global_limiter { uint8_t opaque; };
struct windlass_counter { uint8_t opaque; };
struct windlass_topk { uint8_t opaque; };
struct windlass_bounded_topk { uint8_t opaque; };
struct windlass_export { uint8_t opaque; };
struct windlass_aggregator { uint8_t opaque; };
struct windlass_limitset { uint8_t opaque; };
struct windlass_fifo { uint8_t opaque; };
struct windlass_ring { uint8_t opaque; };

/* What calls return that would write through a pointer: so nothing has to be on Go's heap for that. */
typedef struct wl_number { int32_t code; uint64_t value; } wl_number;

#endif
