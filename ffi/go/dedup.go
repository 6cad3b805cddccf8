package windlass

/*
#include "handles.h"

typedef struct wl_claim { int32_t code; windlass_ticket ticket; uint64_t when; } wl_claim;
static inline wl_claim wl_dedup_claim(windlass_dedup *it, const uint8_t *key, size_t len, uint64_t now, uint64_t lease) {
    wl_claim answer = {0, {{0, 0, 0, 0}}, 0};
    answer.code = windlass_dedup_claim(it, key, len, now, lease, &answer.ticket, &answer.when);
    return answer;
}
static inline wl_claim wl_dedup_claim_hash(windlass_dedup *it, windlass_hash key, uint64_t now, uint64_t lease) {
    wl_claim answer = {0, {{0, 0, 0, 0}}, 0};
    answer.code = windlass_dedup_claim_hash(it, key, now, lease, &answer.ticket, &answer.when);
    return answer;
}
static inline wl_claim wl_dedup_claim_u64(windlass_dedup *it, uint64_t key, uint64_t now, uint64_t lease) {
    wl_claim answer = {0, {{0, 0, 0, 0}}, 0};
    answer.code = windlass_dedup_claim_u64(it, key, now, lease, &answer.ticket, &answer.when);
    return answer;
}
static inline wl_number wl_dedup_seed(const windlass_dedup *it) {
    wl_number answer = {0, 0};
    answer.code = windlass_dedup_seed(it, &answer.value);
    return answer;
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// DedupConfig has the settings of a Dedup.
// What is left 0 has its default. windlass.h says more of each field, at windlass_dedup_config.
type DedupConfig struct {
	// How long an id counts as seen. Has no default.
	Window   Ticks
	Lateness Ticks
	// 0: no limit.
	MaxJump Ticks
	// Ids that are live at once. 0: 1000000.
	Capacity uint64
	// Lets it grow, up to so many bytes.
	MaxMemory uint64
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed     *uint64
	Unit     Unit
	Refresh  Refresh
	OnFull   OnFull
	Identity Identity
}

func (config *DedupConfig) fill(c *C.windlass_dedup_config) error {
	C.windlass_dedup_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Window != 0 {
		c.window = C.uint64_t(config.Window)
	}
	if config.Lateness != 0 {
		c.lateness = C.uint64_t(config.Lateness)
	}
	if config.MaxJump != 0 {
		c.max_jump = C.uint64_t(config.MaxJump)
	}
	if config.Capacity != 0 {
		c.capacity = C.uint64_t(config.Capacity)
	}
	if config.MaxMemory != 0 {
		c.max_memory = C.uint64_t(config.MaxMemory)
	}
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	if config.Unit != 0 {
		c.unit = C.uint32_t(config.Unit)
	}
	if config.Refresh != 0 {
		c.refresh = C.uint32_t(config.Refresh)
	}
	if config.OnFull != 0 {
		c.on_full = C.uint32_t(config.OnFull)
	}
	if config.Identity != 0 {
		c.identity = C.uint32_t(config.Identity)
	}
	return nil
}

// MemoryBytes is how many bytes it will take, before it is made.
func (config DedupConfig) MemoryBytes() (int64, error) {
	var settings C.windlass_dedup_config
	if err := config.fill(&settings); err != nil {
		return 0, err
	}
	e := newError()
	return planned(C.windlass_dedup_config_memory_bytes(&settings, &e), &e)
}

// Dedup admits each id once per window, exactly.
//
// All methods but Close may be called by any number of goroutines at once. Use NewDedup to make one.
type Dedup struct {
	handle *C.windlass_dedup
}

// NewDedup makes a Dedup, to be closed when it is needed no more. The error of a wrong setting names it.
func NewDedup(config DedupConfig) (*Dedup, error) {
	var settings C.windlass_dedup_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &Dedup{}
	e := newError()
	if status := C.windlass_dedup_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Dedup).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Dedup) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_dedup_free(it.handle)
	it.handle = nil
	return nil
}

// Observe tells whether the id is new within the window.
func (it *Dedup) Observe(key []byte, now Ticks) (Verdict, error) {
	code := C.windlass_dedup_observe(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// ObserveString is Observe for a string, the same key as its bytes; it is not copied.
func (it *Dedup) ObserveString(key string, now Ticks) (Verdict, error) {
	code := C.windlass_dedup_observe(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// ObserveHash is Observe for a key whose hash is known.
func (it *Dedup) ObserveHash(key Hash, now Ticks) (Verdict, error) {
	code := C.windlass_dedup_observe_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// ObserveUint64 is Observe for a number.
func (it *Dedup) ObserveUint64(key uint64, now Ticks) (Verdict, error) {
	code := C.windlass_dedup_observe_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// Contains tells whether an observation would find a duplicate.
func (it *Dedup) Contains(key []byte, now Ticks) (bool, error) {
	code := C.windlass_dedup_contains(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ContainsString is Contains for a string, the same key as its bytes; it is not copied.
func (it *Dedup) ContainsString(key string, now Ticks) (bool, error) {
	code := C.windlass_dedup_contains(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ContainsHash is Contains for a key whose hash is known.
func (it *Dedup) ContainsHash(key Hash, now Ticks) (bool, error) {
	code := C.windlass_dedup_contains_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ContainsUint64 is Contains for a number.
func (it *Dedup) ContainsUint64(key uint64, now Ticks) (bool, error) {
	code := C.windlass_dedup_contains_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// Forget forgets an id. True: it was there.
func (it *Dedup) Forget(key []byte, now Ticks) (bool, error) {
	code := C.windlass_dedup_forget(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ForgetString is Forget for a string, the same key as its bytes; it is not copied.
func (it *Dedup) ForgetString(key string, now Ticks) (bool, error) {
	code := C.windlass_dedup_forget(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ForgetHash is Forget for a key whose hash is known.
func (it *Dedup) ForgetHash(key Hash, now Ticks) (bool, error) {
	code := C.windlass_dedup_forget_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ForgetUint64 is Forget for a number.
func (it *Dedup) ForgetUint64(key uint64, now Ticks) (bool, error) {
	code := C.windlass_dedup_forget_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ObservePacked observes many ids in one call, in order, at the times ticks, or all at now if ticks is nil. It returns how
// many are fresh. verdicts[i], if verdicts is not nil, becomes what Observe would tell of id i; those below 0 are errors.
func (it *Dedup) ObservePacked(keys *Packed, now Ticks, ticks []Ticks, verdicts []Verdict) (int, error) {
	n := keys.Len()
	if !fits(ticks, n) || !fits(verdicts, n) {
		return 0, ErrRange
	}
	fresh := C.windlass_dedup_observe_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(verdicts)))
	runtime.KeepAlive(it)
	return counted(fresh)
}

// ObserveFixed is ObservePacked for other keys.
func (it *Dedup) ObserveFixed(keys Fixed, now Ticks, ticks []Ticks, verdicts []Verdict) (int, error) {
	n := keys.Count
	if !keys.valid() {
		return 0, ErrRange
	}
	if !fits(ticks, n) || !fits(verdicts, n) {
		return 0, ErrRange
	}
	fresh := C.windlass_dedup_observe_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(verdicts)))
	runtime.KeepAlive(it)
	return counted(fresh)
}

// ObserveHashes is ObservePacked for other keys.
func (it *Dedup) ObserveHashes(keys []Hash, now Ticks, ticks []Ticks, verdicts []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(verdicts, n) {
		return 0, ErrRange
	}
	fresh := C.windlass_dedup_observe_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(verdicts)))
	runtime.KeepAlive(it)
	return counted(fresh)
}

// ObserveUint64s is ObservePacked for other keys.
func (it *Dedup) ObserveUint64s(keys []uint64, now Ticks, ticks []Ticks, verdicts []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(verdicts, n) {
		return 0, ErrRange
	}
	fresh := C.windlass_dedup_observe_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(verdicts)))
	runtime.KeepAlive(it)
	return counted(fresh)
}

// Claim is what a claim returns beside its verdict: the ticket if it is Fresh; else since or until when the id is another's.
type Claim struct {
	Verdict Verdict
	Ticket  Ticket
	When    Ticks
}

// Ticket is needed to commit or abort a claim. It may be copied.
type Ticket struct {
	c C.windlass_ticket
}

func claimed(answer C.wl_claim) (Claim, error) {
	v, err := verdict(answer.code)
	return Claim{v, Ticket{answer.ticket}, Ticks(answer.when)}, err
}

// Claim claims an id for lease ticks. If the verdict is Fresh commit or abort the ticket then.
func (it *Dedup) Claim(key []byte, now, lease Ticks) (Claim, error) {
	answer := C.wl_dedup_claim(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now), C.uint64_t(lease))
	runtime.KeepAlive(it)
	return claimed(answer)
}

// ClaimString is Claim for a string, the same key as its bytes; it is not copied.
func (it *Dedup) ClaimString(key string, now, lease Ticks) (Claim, error) {
	answer := C.wl_dedup_claim(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now), C.uint64_t(lease))
	runtime.KeepAlive(it)
	return claimed(answer)
}

// ClaimHash is Claim for a key whose hash is known.
func (it *Dedup) ClaimHash(key Hash, now, lease Ticks) (Claim, error) {
	answer := C.wl_dedup_claim_hash(it.handle, key.c(), C.uint64_t(now), C.uint64_t(lease))
	runtime.KeepAlive(it)
	return claimed(answer)
}

// ClaimUint64 is Claim for a number.
func (it *Dedup) ClaimUint64(key uint64, now, lease Ticks) (Claim, error) {
	answer := C.wl_dedup_claim_u64(it.handle, C.uint64_t(key), C.uint64_t(now), C.uint64_t(lease))
	runtime.KeepAlive(it)
	return claimed(answer)
}

// Commit admits the id of a claim. False: the claim had been lost.
func (it *Dedup) Commit(ticket Ticket) (bool, error) {
	code := C.windlass_dedup_commit(it.handle, &ticket.c)
	runtime.KeepAlive(it)
	return yes(code)
}

// Abort gives a claim up. False: it had been lost or committed.
func (it *Dedup) Abort(ticket Ticket) (bool, error) {
	code := C.windlass_dedup_abort(it.handle, &ticket.c)
	runtime.KeepAlive(it)
	return yes(code)
}

// Reset forgets all ids.
func (it *Dedup) Reset() error {
	code := C.windlass_dedup_reset(it.handle)
	runtime.KeepAlive(it)
	return status(code)
}

// Stats tells plain figures.
func (it *Dedup) Stats() (DedupStats, error) {
	var c C.windlass_dedup_stats
	code := C.windlass_dedup_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to DedupStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// MemoryBytes is how many bytes it takes now.
func (it *Dedup) MemoryBytes() (int64, error) {
	bytes := C.windlass_dedup_memory_bytes(it.handle)
	runtime.KeepAlive(it)
	return count(bytes)
}

// Seed is the seed in use, to hash keys beforehand.
func (it *Dedup) Seed() (uint64, error) {
	answer := C.wl_dedup_seed(it.handle)
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *Dedup) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_dedup_maintain(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// DedupStats is what a Dedup tells of itself.
// See windlass_dedup_stats in windlass.h.
type DedupStats struct {
	// 1 if 128-bit atomic operations are lock-free on this machine, else 0.
	LockFree bool
	// Live ids that it is meant for at its present size.
	Capacity uint64
	// Ids that are still remembered, estimated from a sample (exact for small ones).
	Live uint64
	// Bytes that it takes now: of all tables, while one takes the place of another, and of ids that are kept.
	MemoryBytes uint64
	// Ids forgotten before their time, with WINDLASS_ON_FULL_EVICT_OLDEST.
	Evicted uint64
	// Events refused because there was no room: WINDLASS_E_FULL.
	Refused uint64
	// Events later than the lateness allows, taken as arriving when it just allows it.
	Late uint64
	// Events refused because their time lay too far ahead: WINDLASS_E_JUMP.
	Jumps uint64
	// Buckets of the table.
	Buckets uint64
	// How often a bucket has overflowed.
	Overflows uint64
	// Buckets that have overflowed and not come back yet: calls for their ids are slower.
	OverflownBuckets uint64
	// Tables in use: 1, or more while one takes the place of another.
	Tables uint64
	// How often it has grown.
	Grown uint64
	// How often it has shrunk.
	Shrunk uint64
	// Ids that were still live when their table was given up, and so were put into the next.
	Forwarded uint64
}

func (to *DedupStats) read(c *C.windlass_dedup_stats) {
	to.LockFree = c.lock_free != 0
	to.Capacity = uint64(c.capacity)
	to.Live = uint64(c.live)
	to.MemoryBytes = uint64(c.memory_bytes)
	to.Evicted = uint64(c.evicted)
	to.Refused = uint64(c.refused)
	to.Late = uint64(c.late)
	to.Jumps = uint64(c.jumps)
	to.Buckets = uint64(c.buckets)
	to.Overflows = uint64(c.overflows)
	to.OverflownBuckets = uint64(c.overflown_buckets)
	to.Tables = uint64(c.tables)
	to.Grown = uint64(c.grown)
	to.Shrunk = uint64(c.shrunk)
	to.Forwarded = uint64(c.forwarded)
}
