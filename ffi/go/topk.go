package windlass

/*
#include "handles.h"
static inline wl_number wl_topk_count(const windlass_topk *it, const uint8_t *key, size_t len, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_topk_count(it, key, len, now, &answer.value);
    return answer;
}
static inline wl_number wl_topk_count_hash(const windlass_topk *it, windlass_hash key, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_topk_count_hash(it, key, now, &answer.value);
    return answer;
}
static inline wl_number wl_topk_count_u64(const windlass_topk *it, uint64_t key, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_topk_count_u64(it, key, now, &answer.value);
    return answer;
}
static inline wl_number wl_topk_total(const windlass_topk *it, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_topk_total(it, now, &answer.value);
    return answer;
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// TopKConfig has the settings of a TopK.
// What is left 0 has its default. windlass.h says more of each field, at windlass_topk_config.
type TopKConfig struct {
	// Over how many ticks is counted, a multiple of the pane. Has no default.
	Window Ticks
	// What the window moves by. Has no default.
	Pane     Ticks
	Lateness Ticks
	// Keys of a list. Has no default.
	K uint64
	// 0: no limit.
	MaxJump Ticks
	// Different keys in a window. 0: 1000000.
	Capacity uint64
	// Lets it grow, up to so many bytes.
	MaxMemory    uint64
	RefreshEvery Ticks
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed *uint64
	Unit Unit
}

func (config *TopKConfig) fill(c *C.windlass_topk_config) error {
	C.windlass_topk_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
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
	if config.Capacity != 0 {
		c.capacity = C.uint64_t(config.Capacity)
	}
	if config.MaxMemory != 0 {
		c.max_memory = C.uint64_t(config.MaxMemory)
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

// MemoryBytes is how many bytes it will take, before it is made.
func (config TopKConfig) MemoryBytes() (int64, error) {
	var settings C.windlass_topk_config
	if err := config.fill(&settings); err != nil {
		return 0, err
	}
	e := newError()
	return planned(C.windlass_topk_config_memory_bytes(&settings, &e), &e)
}

// TopK keeps the hottest keys of the window, with their counts.
//
// All methods but Close may be called by any number of goroutines at once. Use NewTopK to make one.
type TopK struct {
	handle *C.windlass_topk
}

// NewTopK makes a TopK, to be closed when it is needed no more. The error of a wrong setting names it.
func NewTopK(config TopKConfig) (*TopK, error) {
	var settings C.windlass_topk_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &TopK{}
	e := newError()
	if status := C.windlass_topk_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*TopK).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *TopK) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_topk_free(it.handle)
	it.handle = nil
	return nil
}

// Add counts a key so many times.
func (it *TopK) Add(key []byte, times uint64, now Ticks) (Added, error) {
	code := C.windlass_topk_add(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddString is Add for a string, the same key as its bytes; it is not copied.
func (it *TopK) AddString(key string, times uint64, now Ticks) (Added, error) {
	code := C.windlass_topk_add(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddHash is Add for a key whose hash is known.
func (it *TopK) AddHash(key Hash, times uint64, now Ticks) (Added, error) {
	code := C.windlass_topk_add_hash(it.handle, key.c(), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// AddUint64 is Add for a number.
func (it *TopK) AddUint64(key uint64, times uint64, now Ticks) (Added, error) {
	code := C.windlass_topk_add_u64(it.handle, C.uint64_t(key), C.uint64_t(times), C.uint64_t(now))
	runtime.KeepAlive(it)
	return added(code)
}

// Count tells how often a key was seen in the window.
func (it *TopK) Count(key []byte, now Ticks) (uint64, error) {
	answer := C.wl_topk_count(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountString is Count for a string, the same key as its bytes; it is not copied.
func (it *TopK) CountString(key string, now Ticks) (uint64, error) {
	answer := C.wl_topk_count(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountHash is Count for a key whose hash is known.
func (it *TopK) CountHash(key Hash, now Ticks) (uint64, error) {
	answer := C.wl_topk_count_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// CountUint64 is Count for a number.
func (it *TopK) CountUint64(key uint64, now Ticks) (uint64, error) {
	answer := C.wl_topk_count_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// Total tells how often all keys were seen in the window.
func (it *TopK) Total(now Ticks) (uint64, error) {
	answer := C.wl_topk_total(it.handle, C.uint64_t(now))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// AddPacked counts many keys in one call, at the times ticks, or all at now if ticks is nil; key i counts times[i] times, or once if times
// is nil. The tally, which may be nil, tells what became of them.
func (it *TopK) AddPacked(keys *Packed, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := keys.Len()
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_topk_add_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddFixed is AddPacked for other keys.
func (it *TopK) AddFixed(keys Fixed, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := keys.Count
	if !keys.valid() {
		return ErrRange
	}
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_topk_add_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddHashes is AddPacked for other keys.
func (it *TopK) AddHashes(keys []Hash, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := len(keys)
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_topk_add_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// AddUint64s is AddPacked for other keys.
func (it *TopK) AddUint64s(keys []uint64, times []uint64, now Ticks, ticks []Ticks, tally *Tally) error {
	n := len(keys)
	if !fits(times, n) || !fits(ticks, n) {
		return ErrRange
	}
	code := C.windlass_topk_add_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(times)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_tally)(unsafe.Pointer(tally)))
	runtime.KeepAlive(it)
	return status(code)
}

// Row is a key of a list.
type Row struct {
	at     uint64
	length uint32
	// Kind tells as what the key came.
	Kind KeyKind
	// Count tells how often it was seen.
	Count uint64
	// Lower and Upper tell how often at least and at most.
	Lower, Upper uint64
}

// One is laid out as the other.
var _ = [1]struct{}{}[unsafe.Sizeof(Row{})-unsafe.Sizeof(C.windlass_top_row{})]

// TopList is a list of the hottest keys, the hottest first. Used again it allocates nothing, once it is large enough.
type TopList struct {
	c    C.windlass_top_list
	rows []Row
	keys []byte
}

// Rows are its rows, until it is used again.
func (list *TopList) Rows() []Row { return list.rows }

// Key is the key of a row, until the list is used again.
func (list *TopList) Key(row *Row) []byte { return list.keys[row.at : row.at+uint64(row.length)] }

// Uint64 is the key of a row that is a number; else 0.
func (list *TopList) Uint64(row *Row) uint64 {
	if row.Kind != KeyUint64 {
		return 0
	}
	// As it lies in memory.
	var number uint64
	copy((*[8]byte)(unsafe.Pointer(&number))[:], list.Key(row))
	return number
}

// Info tells what the list says beside its rows.
func (list *TopList) Info() TopInfo {
	var info TopInfo
	info.read(&list.c)
	return info
}

// fill asks until all fits: first by one way, then by another.
func (list *TopList) fill(ask, again func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status) error {
	for {
		list.rows, list.keys = list.rows[:cap(list.rows)], list.keys[:cap(list.keys)]
		code := ask((*C.windlass_top_row)(pointer(list.rows)), C.size_t(len(list.rows)),
			(*C.uint8_t)(pointer(list.keys)), C.size_t(len(list.keys)))
		if code == C.WINDLASS_E_TOO_SMALL {
			// (A list that comes meanwhile may be larger.)
			if n := int(list.c.rows); n > len(list.rows) {
				list.rows = make([]Row, n+n/4)
			}
			if n := int(list.c.key_bytes); n > len(list.keys) {
				list.keys = make([]byte, n+n/4)
			}
			ask = again
			continue
		}
		if code != 0 {
			list.c = C.windlass_top_list{}
		}
		list.rows = list.rows[:list.c.rows]
		return status(code)
	}
}

// Snapshot gives the last list that Maintain or Refresh has made.
func (it *TopK) Snapshot(list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_topk_snapshot(it.handle, &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// Refresh makes the list anew for all to read, and gives it.
func (it *TopK) Refresh(now Ticks, list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_topk_refresh(it.handle, C.uint64_t(now), &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	read := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_topk_snapshot(it.handle, &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, read)
	runtime.KeepAlive(it)
	return err
}

// Top gives the list of the window at the time now, which nobody else gets.
func (it *TopK) Top(now Ticks, list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_topk_top(it.handle, C.uint64_t(now), &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// TopComplete is Top of the complete window: without the pane that has begun.
func (it *TopK) TopComplete(now Ticks, list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_topk_top_complete(it.handle, C.uint64_t(now), &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// Stats tells plain figures.
func (it *TopK) Stats() (TopKStats, error) {
	var c C.windlass_topk_stats
	code := C.windlass_topk_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to TopKStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *TopK) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_topk_maintain_at(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// TopKStats is what a TopK tells of itself.
// See windlass_topk_stats in windlass.h.
type TopKStats struct {
	// Keys that the newest generation of rows is meant for.
	Capacity uint64
	// Rows of all generations, estimated from a sample of each (exact for small ones).
	Rows uint64
	// Generations that are live, or have left and are still listed.
	Generations uint64
	// Tables that they have: more than generations if some had to grow.
	Tables uint64
	// Bytes of all tables, also those that are cleared or wait for it, and of keys.
	MemoryBytes uint64
	// Generations opened so far.
	Opened uint64
	// Tables that were cleared to be used again.
	Recycled uint64
	// Tables that were put behind one that was full.
	Grown uint64
	// Events for panes that are kept no more: not counted.
	Late uint64
	// Events of keys for which there was no room, or that were too long: counted in the total alone.
	NoRoom uint64
	// Events whose time lay too far ahead: not counted.
	Jumps uint64
	// Adds that found a count saturated, or made it so.
	Saturated uint64
	// Bytes of keys. (memory_bytes has them, too.)
	KeyBytes uint64
	// What a key has to have in a pane that begins now to become a candidate.
	Threshold uint64
	// Lists for which all rows had to be looked at.
	Scans uint64
}

func (to *TopKStats) read(c *C.windlass_topk_stats) {
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
	to.KeyBytes = uint64(c.key_bytes)
	to.Threshold = uint64(c.threshold)
	to.Scans = uint64(c.scans)
}

// TopInfo is what a list says beside its rows.
// See windlass_top_list in windlass.h.
type TopInfo struct {
	// 1: it is exact: keys, order and counts. Else 0.
	Certified bool
	// The time for which it was asked.
	AsOf uint64
	// The first tick of its first pane.
	Start uint64
	// The tick after its last pane's last. 0: there has been no list yet.
	End uint64
	// How often all keys were seen.
	Total uint64
	// No key that is missing was seen more often than this.
	Tail uint64
}

func (to *TopInfo) read(c *C.windlass_top_list) {
	to.Certified = c.certified != 0
	to.AsOf = uint64(c.as_of)
	to.Start = uint64(c.start)
	to.End = uint64(c.end)
	to.Total = uint64(c.total)
	to.Tail = uint64(c.tail)
}
