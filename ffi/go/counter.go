package windlass

/*
#include "handles.h"
static inline wl_number wl_counter_count(const windlass_counter *it, const uint8_t *key, size_t len, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_counter_count(it, key, len, now, &answer.value);
    return answer;
}
static inline wl_number wl_counter_count_hash(const windlass_counter *it, windlass_hash key, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_counter_count_hash(it, key, now, &answer.value);
    return answer;
}
static inline wl_number wl_counter_count_u64(const windlass_counter *it, uint64_t key, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_counter_count_u64(it, key, now, &answer.value);
    return answer;
}
static inline wl_number wl_counter_total(const windlass_counter *it, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_counter_total(it, now, &answer.value);
    return answer;
}
static inline wl_number wl_counter_count_complete(const windlass_counter *it, const uint8_t *key, size_t len, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_counter_count_complete(it, key, len, now, &answer.value);
    return answer;
}
static inline wl_number wl_counter_total_complete(const windlass_counter *it, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_counter_total_complete(it, now, &answer.value);
    return answer;
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// CounterConfig has the settings of a Counter.
// What is left 0 has its default. windlass.h says more of each field, at windlass_counter_config.
type CounterConfig struct {
	// Over how many ticks is counted, a multiple of the pane. Has no default.
	Window Ticks
	// What the window moves by. Has no default.
	Pane     Ticks
	Lateness Ticks
	// 0: no limit.
	MaxJump Ticks
	// Different keys in a window. 0: 1000000.
	Capacity uint64
	// Lets it grow, up to so many bytes.
	MaxMemory uint64
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed *uint64
	Unit Unit
}

func (config *CounterConfig) fill(c *C.windlass_counter_config) error {
	C.windlass_counter_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Window != 0 {
		c.window = C.uint64_t(config.Window)
	}
	if config.Pane != 0 {
		c.pane = C.uint64_t(config.Pane)
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
	return nil
}

// MemoryBytes is how many bytes it will take, before it is made.
func (config CounterConfig) MemoryBytes() (int64, error) {
	var settings C.windlass_counter_config
	if err := config.fill(&settings); err != nil {
		return 0, err
	}
	e := newError()
	return planned(C.windlass_counter_config_memory_bytes(&settings, &e), &e)
}

// Counter counts how often each key was seen in the window, exactly.
//
// All methods but Close may be called by any number of goroutines at once. Use NewCounter to make one.
type Counter struct {
	handle *C.windlass_counter
}

// NewCounter makes a Counter, to be closed when it is needed no more. The error of a wrong setting names it.
func NewCounter(config CounterConfig) (*Counter, error) {
	var settings C.windlass_counter_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &Counter{}
	e := newError()
	if status := C.windlass_counter_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Counter).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Counter) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_counter_free(it.handle)
	it.handle = nil
	return nil
}

// Tally tells what became of the keys of a batch.
type Tally struct {
	Counted, NoRoom, Late, Jumps uint64
}

// One is laid out as the other.
var _ = [1]struct{}{}[unsafe.Sizeof(Tally{})-unsafe.Sizeof(C.windlass_tally{})]

// Add counts a key so many times.
func (it *Counter) Add(key []byte, times uint64, now Ticks) (Added, error) {
	code := C.windlass_counter_add(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddString is Add for a string, the same key as its bytes; it is not copied.
func (it *Counter) AddString(key string, times uint64, now Ticks) (Added, error) {
	code := C.windlass_counter_add(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddHash is Add for a key whose hash is known.
func (it *Counter) AddHash(key Hash, times uint64, now Ticks) (Added, error) {
	code := C.windlass_counter_add_hash(it.handle, key.c(), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddUint64 is Add for a number.
func (it *Counter) AddUint64(key uint64, times uint64, now Ticks) (Added, error) {
	code := C.windlass_counter_add_u64(it.handle, C.uint64_t(key), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// Count tells how often a key was seen in the window.
func (it *Counter) Count(key []byte, now Ticks) (uint64, error) {
	answer := C.wl_counter_count(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountString is Count for a string, the same key as its bytes; it is not copied.
func (it *Counter) CountString(key string, now Ticks) (uint64, error) {
	answer := C.wl_counter_count(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountHash is Count for a key whose hash is known.
func (it *Counter) CountHash(key Hash, now Ticks) (uint64, error) {
	answer := C.wl_counter_count_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountUint64 is Count for a number.
func (it *Counter) CountUint64(key uint64, now Ticks) (uint64, error) {
	answer := C.wl_counter_count_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// Total tells how often all keys were seen in the window.
func (it *Counter) Total(now Ticks) (uint64, error) {
	answer := C.wl_counter_total(it.handle, C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// AddPacked counts many keys in one call, at the times ticks, or all at now if ticks is nil; key i counts times[i] times, or once if times
// is nil. The tally, which may be nil, tells what became of them.
func (it *Counter) AddPacked(keys *Packed, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := keys.Len()
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_counter_add_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddFixed is AddPacked for other keys.
func (it *Counter) AddFixed(keys Fixed, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := keys.Count
	if !keys.valid() {
		return ErrRange
	}
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_counter_add_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddHashes is AddPacked for other keys.
func (it *Counter) AddHashes(keys []Hash, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := len(keys)
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_counter_add_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddUint64s is AddPacked for other keys.
func (it *Counter) AddUint64s(keys []uint64, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := len(keys)
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_counter_add_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// CountComplete is Count in the complete window: without the pane that has begun.
func (it *Counter) CountComplete(key []byte, now Ticks) (uint64, error) {
	answer := C.wl_counter_count_complete(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// TotalComplete is Total in the complete window.
func (it *Counter) TotalComplete(now Ticks) (uint64, error) {
	answer := C.wl_counter_total_complete(it.handle, C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountHashes tells how often each of many keys was seen, by their hashes; counts has room for as many.
func (it *Counter) CountHashes(keys []Hash, now Ticks, counts []uint64) error {
	if len(counts) != len(keys) {
		return ErrRange
	}
	code := C.windlass_counter_count_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(len(keys)), C.uint64_t(now),
		(*C.uint64_t)(pointer(counts)))
	runtime.KeepAlive(it)
	return status(code)
}

// Stats tells plain figures.
func (it *Counter) Stats() (CounterStats, error) {
	var c C.windlass_counter_stats
	code := C.windlass_counter_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to CounterStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *Counter) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_counter_maintain_at(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// CounterStats is what a Counter tells of itself.
// See windlass_counter_stats in windlass.h.
type CounterStats struct {
	// Keys that the newest generation of rows is meant for.
	Capacity uint64
	// Rows of all generations, estimated from a sample of each (exact for small ones).
	Rows uint64
	// Generations that are live, or have left and are still listed.
	Generations uint64
	// Tables that they have: more than generations if some had to grow.
	Tables uint64
	// Bytes of all tables, also those that are cleared or wait for it.
	MemoryBytes uint64
	// Generations opened so far.
	Opened uint64
	// Tables that were cleared to be used again.
	Recycled uint64
	// Tables that were put behind one that was full.
	Grown uint64
	// Events for panes that are kept no more: not counted.
	Late uint64
	// Events of keys for which there was no room: counted in the total alone.
	NoRoom uint64
	// Events whose time lay too far ahead: not counted.
	Jumps uint64
	// Adds that found a count saturated, or made it so.
	Saturated uint64
}

func (to *CounterStats) read(c *C.windlass_counter_stats) {
	to.Capacity = uint64(c.capacity)
	to.Rows = uint64(c.rows)
	to.Generations = uint64(c.generations)
	to.Tables = uint64(c.tables)
	to.MemoryBytes = uint64(c.memory_bytes)
	to.Opened = uint64(c.opened)
	to.Recycled = uint64(c.recycled)
	to.Grown = uint64(c.grown)
	to.Late = uint64(c.late)
	to.NoRoom = uint64(c.no_room)
	to.Jumps = uint64(c.jumps)
	to.Saturated = uint64(c.saturated)
}
