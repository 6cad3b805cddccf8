package windlass

/*
#include "handles.h"

typedef struct wl_bounds { int32_t code; uint64_t lower, upper; } wl_bounds;
static inline wl_bounds wl_bounded_topk_bounds(const windlass_bounded_topk *it, const uint8_t *key, size_t len, uint64_t now) {
    wl_bounds answer = {0, 0, 0};
    answer.code = windlass_bounded_topk_bounds(it, key, len, now, &answer.lower, &answer.upper);
    return answer;
}
static inline wl_bounds wl_bounded_topk_bounds_hash(const windlass_bounded_topk *it, windlass_hash key, uint64_t now) {
    wl_bounds answer = {0, 0, 0};
    answer.code = windlass_bounded_topk_bounds_hash(it, key, now, &answer.lower, &answer.upper);
    return answer;
}
static inline wl_bounds wl_bounded_topk_bounds_u64(const windlass_bounded_topk *it, uint64_t key, uint64_t now) {
    wl_bounds answer = {0, 0, 0};
    answer.code = windlass_bounded_topk_bounds_u64(it, key, now, &answer.lower, &answer.upper);
    return answer;
}
static inline wl_number wl_bounded_topk_total(const windlass_bounded_topk *it, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_bounded_topk_total(it, now, &answer.value);
    return answer;
}
static inline windlass_status wl_back_bounded_topk_save(const windlass_bounded_topk *it, uint64_t now, uint64_t wall, uintptr_t stream, windlass_error *error) {
    return windlass_bounded_topk_save(it, now, wall, wl_write, (void *)stream, error);
}
static inline windlass_status wl_back_bounded_topk_restore(const windlass_bounded_topk_config *config, uint64_t wall, uintptr_t stream, windlass_bounded_topk **out,
                                                    windlass_restored *restored, windlass_error *error) {
    return windlass_bounded_topk_restore(config, wall, wl_read, (void *)stream, out, restored, error);
}
*/
import "C"

import (
	"io"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// NumbersOnly as KeyBytes: no room is kept for the bytes of keys.
const NumbersOnly = math.MaxUint64

// BoundedTopKConfig has the settings of a BoundedTopK.
// What is left 0 has its default. windlass.h says more of each field, at windlass_bounded_topk_config.
type BoundedTopKConfig struct {
	// Over how many ticks is counted, a multiple of the pane. Has no default.
	Window Ticks
	// What the window moves by. Has no default.
	Pane     Ticks
	Lateness Ticks
	// Keys of a list. Has no default.
	K uint64
	// 0: no limit.
	MaxJump Ticks
	// Bytes that it may take, all in all. 0: 1048576.
	Memory uint64
	// Bytes of a key, on average. 0: 24. NumbersOnly: all are numbers, which need none.
	KeyBytes     uint64
	RefreshEvery Ticks
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed *uint64
	Unit Unit
}

func (config *BoundedTopKConfig) fill(c *C.windlass_bounded_topk_config) error {
	C.windlass_bounded_topk_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Window != 0 {
		c.window = C.uint64_t(config.Window)
	}
	if config.Pane != 0 {
		c.pane = C.uint64_t(config.Pane)
	}
	if config.Lateness != 0 {
		c.lateness = C.uint64_t(config.Lateness)
	}
	if config.K != 0 {
		c.k = C.uint64_t(config.K)
	}
	if config.MaxJump != 0 {
		c.max_jump = C.uint64_t(config.MaxJump)
	}
	if config.Memory != 0 {
		c.memory = C.uint64_t(config.Memory)
	}
	if config.KeyBytes == NumbersOnly {
		c.key_bytes = 0
	} else if config.KeyBytes != 0 {
		c.key_bytes = C.uint64_t(config.KeyBytes)
	}
	if config.RefreshEvery != 0 {
		c.refresh_every = C.uint64_t(config.RefreshEvery)
	}
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	if config.Unit != 0 {
		c.unit = C.uint32_t(config.Unit)
	}
	return nil
}

// BoundedTopK keeps the hottest keys of the window in memory that is given, whatever the keys are, with counts between bounds that always hold.
//
// All methods but Close may be called by any number of goroutines at once. Use NewBoundedTopK to make one.
type BoundedTopK struct {
	handle *C.windlass_bounded_topk
}

// NewBoundedTopK makes a BoundedTopK, to be closed when it is needed no more. The error of a wrong setting names it.
func NewBoundedTopK(config BoundedTopKConfig) (*BoundedTopK, error) {
	var settings C.windlass_bounded_topk_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &BoundedTopK{}
	e := newError()
	if status := C.windlass_bounded_topk_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*BoundedTopK).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *BoundedTopK) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_bounded_topk_free(it.handle)
	it.handle = nil
	return nil
}

// Add counts a key so many times.
func (it *BoundedTopK) Add(key []byte, times uint64, now Ticks) (Added, error) {
	code := C.windlass_bounded_topk_add(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddString is Add for a string, the same key as its bytes; it is not copied.
func (it *BoundedTopK) AddString(key string, times uint64, now Ticks) (Added, error) {
	code := C.windlass_bounded_topk_add(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddHash is Add for a key whose hash is known.
func (it *BoundedTopK) AddHash(key Hash, times uint64, now Ticks) (Added, error) {
	code := C.windlass_bounded_topk_add_hash(it.handle, key.c(), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddUint64 is Add for a number.
func (it *BoundedTopK) AddUint64(key uint64, times uint64, now Ticks) (Added, error) {
	code := C.windlass_bounded_topk_add_u64(it.handle, C.uint64_t(key), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// Bounds tells how often a key was seen in the window, at least and at most.
func (it *BoundedTopK) Bounds(key []byte, now Ticks) (lower, upper uint64, err error) {
	answer := C.wl_bounded_topk_bounds(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.lower), uint64(answer.upper), status(answer.code)
}

// BoundsString is Bounds for a string, the same key as its bytes; it is not copied.
func (it *BoundedTopK) BoundsString(key string, now Ticks) (lower, upper uint64, err error) {
	answer := C.wl_bounded_topk_bounds(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.lower), uint64(answer.upper), status(answer.code)
}

// BoundsHash is Bounds for a key whose hash is known.
func (it *BoundedTopK) BoundsHash(key Hash, now Ticks) (lower, upper uint64, err error) {
	answer := C.wl_bounded_topk_bounds_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.lower), uint64(answer.upper), status(answer.code)
}

// BoundsUint64 is Bounds for a number.
func (it *BoundedTopK) BoundsUint64(key uint64, now Ticks) (lower, upper uint64, err error) {
	answer := C.wl_bounded_topk_bounds_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.lower), uint64(answer.upper), status(answer.code)
}

// Total tells how often all keys were seen in the window.
func (it *BoundedTopK) Total(now Ticks) (uint64, error) {
	answer := C.wl_bounded_topk_total(it.handle, C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// AddPacked counts many keys in one call, at the times ticks, or all at now if ticks is nil; key i counts times[i] times, or once if times
// is nil. The tally, which may be nil, tells what became of them.
func (it *BoundedTopK) AddPacked(keys *Packed, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := keys.Len()
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_bounded_topk_add_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddFixed is AddPacked for other keys.
func (it *BoundedTopK) AddFixed(keys Fixed, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := keys.Count
	if !keys.valid() {
		return ErrRange
	}
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_bounded_topk_add_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddHashes is AddPacked for other keys.
func (it *BoundedTopK) AddHashes(keys []Hash, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := len(keys)
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_bounded_topk_add_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddUint64s is AddPacked for other keys.
func (it *BoundedTopK) AddUint64s(keys []uint64, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := len(keys)
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_bounded_topk_add_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// Snapshot gives the last list that Maintain or Refresh has made.
func (it *BoundedTopK) Snapshot(list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_bounded_topk_snapshot(it.handle, &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// Refresh makes the list anew for all to read, and gives it.
func (it *BoundedTopK) Refresh(now Ticks, list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_bounded_topk_refresh(it.handle, C.uint64_t(now), &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	read := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_bounded_topk_snapshot(it.handle, &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, read)
	runtime.KeepAlive(it)
	return err
}

// Top gives the list of the window at the time now, which nobody else gets.
func (it *BoundedTopK) Top(now Ticks, list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_bounded_topk_top(it.handle, C.uint64_t(now), &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// TopComplete is Top of the complete window: without the pane that has begun.
func (it *BoundedTopK) TopComplete(now Ticks, list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_bounded_topk_top_complete(it.handle, C.uint64_t(now), &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// Stats tells plain figures.
func (it *BoundedTopK) Stats() (BoundedTopKStats, error) {
	var c C.windlass_bounded_topk_stats
	code := C.windlass_bounded_topk_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to BoundedTopKStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *BoundedTopK) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_bounded_topk_maintain_at(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// IsReady tells whether the next pane finds tables to count in, which is so as soon as nobody reads those of the panes that have left. A pane that begins before has a sum alone. A replay,
// whose panes may be over in microseconds, best waits for it before each of them.
func (it *BoundedTopK) IsReady() (bool, error) {
	code := C.windlass_bounded_topk_is_ready(it.handle)
	runtime.KeepAlive(it)
	return yes(code)
}

// Save writes a snapshot of all keys and counts to w, for RestoreBoundedTopK, on any machine. Others go on meanwhile. now and wall are one time on two clocks: time.Now() is a wall time.
// What w returns as its error is returned.
func (it *BoundedTopK) Save(w io.Writer, now Ticks, wall time.Time) error {
	return written(w, func(stream C.uintptr_t, e *C.windlass_error) C.windlass_status {
		code := C.wl_back_bounded_topk_save(it.handle, C.uint64_t(now), nanoseconds(wall), stream, e)
		runtime.KeepAlive(it)
		return code
	})
}

// RestoreBoundedTopK makes a BoundedTopK of what Save has written, read from r and no further, to be closed when it is needed no more. The error of a setting
// that differs from the snapshot's names it; its seed is not looked at. wall is time.Now(). What r returns as its error is returned.
func RestoreBoundedTopK(config BoundedTopKConfig, r io.Reader, wall time.Time) (*BoundedTopK, Restored, error) {
	var settings C.windlass_bounded_topk_config
	if err := config.fill(&settings); err != nil {
		return nil, Restored{}, err
	}
	made := &BoundedTopK{}
	restored, err := read(r, func(stream C.uintptr_t, restored *C.windlass_restored, e *C.windlass_error) C.windlass_status {
		return C.wl_back_bounded_topk_restore(&settings, nanoseconds(wall), stream, &made.handle, restored, e)
	})
	if err != nil {
		return nil, Restored{}, err
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*BoundedTopK).Close)
	return made, restored, nil
}

// BoundedTopKStats is what a BoundedTopK tells of itself.
// See windlass_bounded_topk_stats in windlass.h.
type BoundedTopKStats struct {
	// Keys that a pane has slots for.
	Slots uint64
	// Cells of a pane's sketch, which has what is seen of all other keys.
	Cells uint64
	// Slots of the newest pane that are taken.
	Taken uint64
	// Bytes that it takes now.
	MemoryBytes uint64
	// Panes opened so far.
	Opened uint64
	// Tables that were cleared to be used again.
	Recycled uint64
	// Panes for which there were none: their adds are known as a sum alone.
	Without uint64
	// Events for panes that are kept no more: not counted.
	Late uint64
	// Events whose time lay too far ahead: not counted.
	Jumps uint64
}

func (to *BoundedTopKStats) read(c *C.windlass_bounded_topk_stats) {
	to.Slots = uint64(c.slots)
	to.Cells = uint64(c.cells)
	to.Taken = uint64(c.taken)
	to.MemoryBytes = uint64(c.memory_bytes)
	to.Opened = uint64(c.opened)
	to.Recycled = uint64(c.recycled)
	to.Without = uint64(c.without)
	to.Late = uint64(c.late)
	to.Jumps = uint64(c.jumps)
}
