package windlass

/*
#include "handles.h"
static inline wl_number wl_bloom_seed(const windlass_bloom *it) {
    wl_number answer = {0, 0};
    answer.code = windlass_bloom_seed(it, &answer.value);
    return answer;
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// BloomConfig has the settings of a Bloom.
// What is left 0 has its default. windlass.h says more of each field, at windlass_bloom_config.
type BloomConfig struct {
	// How long an id counts as seen at least. Has no default.
	Window   Ticks
	Lateness Ticks
	// 0: no limit.
	MaxJump Ticks
	// Different ids in a window. 0: 1000000, or the window if it counts events.
	ExpectedIDs uint64
	// The share of new ids that may be taken for seen. 0: 0.01.
	Error float64
	Pane  Ticks
	Bits  uint64
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed     *uint64
	Panes    uint32
	Layout   Layout
	Probes   uint32
	Rotation Rotation
	Unit     Unit
}

func (config *BloomConfig) fill(c *C.windlass_bloom_config) error {
	C.windlass_bloom_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Window != 0 {
		c.window = C.uint64_t(config.Window)
	}
	if config.Lateness != 0 {
		c.lateness = C.uint64_t(config.Lateness)
	}
	if config.MaxJump != 0 {
		c.max_jump = C.uint64_t(config.MaxJump)
	}
	if config.ExpectedIDs != 0 {
		c.expected_ids = C.uint64_t(config.ExpectedIDs)
	}
	if config.Error != 0 {
		c.error = C.double(config.Error)
	}
	if config.Pane != 0 {
		c.pane = C.uint64_t(config.Pane)
	}
	if config.Bits != 0 {
		c.bits = C.uint64_t(config.Bits)
	}
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	if config.Panes != 0 {
		c.panes = C.uint32_t(config.Panes)
	}
	if config.Layout != 0 {
		c.layout = C.uint32_t(config.Layout)
	}
	if config.Probes != 0 {
		c.probes = C.uint32_t(config.Probes)
	}
	if config.Rotation != 0 {
		c.rotation = C.uint32_t(config.Rotation)
	}
	if config.Unit != 0 {
		c.unit = C.uint32_t(config.Unit)
	}
	return nil
}

// Plan tells what it would be built as.
func (config BloomConfig) Plan() (BloomPlan, error) {
	var settings C.windlass_bloom_config
	if err := config.fill(&settings); err != nil {
		return BloomPlan{}, err
	}
	var c C.windlass_bloom_plan
	e := newError()
	if code := C.windlass_bloom_config_plan(&settings, &c, C.uint32_t(unsafe.Sizeof(c)), &e); code != 0 {
		return BloomPlan{}, failure(code, &e)
	}
	var to BloomPlan
	to.read(&c)
	return to, nil
}

// Bloom remembers the ids of a window in fixed memory: it misses none, and takes a stated share of new ones for seen.
//
// All methods but Close may be called by any number of goroutines at once. Use NewBloom to make one.
type Bloom struct {
	handle *C.windlass_bloom
}

// NewBloom makes a Bloom, to be closed when it is needed no more. The error of a wrong setting names it.
func NewBloom(config BloomConfig) (*Bloom, error) {
	var settings C.windlass_bloom_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &Bloom{}
	e := newError()
	if status := C.windlass_bloom_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Bloom).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Bloom) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_bloom_free(it.handle)
	it.handle = nil
	return nil
}

// Insert puts an id in; any arrival starts its window anew. True: it was seen before.
func (it *Bloom) Insert(key []byte, now Ticks) (bool, error) {
	code := C.windlass_bloom_insert(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// InsertString is Insert for a string, the same key as its bytes; it is not copied.
func (it *Bloom) InsertString(key string, now Ticks) (bool, error) {
	code := C.windlass_bloom_insert(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// InsertHash is Insert for a key whose hash is known.
func (it *Bloom) InsertHash(key Hash, now Ticks) (bool, error) {
	code := C.windlass_bloom_insert_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// InsertUint64 is Insert for a number.
func (it *Bloom) InsertUint64(key uint64, now Ticks) (bool, error) {
	code := C.windlass_bloom_insert_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// Observe puts an id in if it was not seen.
func (it *Bloom) Observe(key []byte, now Ticks) (Verdict, error) {
	code := C.windlass_bloom_observe(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// ObserveString is Observe for a string, the same key as its bytes; it is not copied.
func (it *Bloom) ObserveString(key string, now Ticks) (Verdict, error) {
	code := C.windlass_bloom_observe(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// ObserveHash is Observe for a key whose hash is known.
func (it *Bloom) ObserveHash(key Hash, now Ticks) (Verdict, error) {
	code := C.windlass_bloom_observe_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// ObserveUint64 is Observe for a number.
func (it *Bloom) ObserveUint64(key uint64, now Ticks) (Verdict, error) {
	code := C.windlass_bloom_observe_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return verdict(code)
}

// Contains tells whether an id was seen.
func (it *Bloom) Contains(key []byte, now Ticks) (bool, error) {
	code := C.windlass_bloom_contains(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ContainsString is Contains for a string, the same key as its bytes; it is not copied.
func (it *Bloom) ContainsString(key string, now Ticks) (bool, error) {
	code := C.windlass_bloom_contains(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ContainsHash is Contains for a key whose hash is known.
func (it *Bloom) ContainsHash(key Hash, now Ticks) (bool, error) {
	code := C.windlass_bloom_contains_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ContainsUint64 is Contains for a number.
func (it *Bloom) ContainsUint64(key uint64, now Ticks) (bool, error) {
	code := C.windlass_bloom_contains_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// InsertPacked is Insert for many ids in one call, in order, at the times ticks, or all at now if ticks is nil. It returns how many
// were not seen before. answers[i], if answers is not nil, becomes Fresh or Duplicate.
func (it *Bloom) InsertPacked(keys *Packed, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := keys.Len()
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_insert_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// InsertFixed is InsertPacked for other keys.
func (it *Bloom) InsertFixed(keys Fixed, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := keys.Count
	if !keys.valid() {
		return 0, ErrRange
	}
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_insert_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// InsertHashes is InsertPacked for other keys.
func (it *Bloom) InsertHashes(keys []Hash, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_insert_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// InsertUint64s is InsertPacked for other keys.
func (it *Bloom) InsertUint64s(keys []uint64, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_insert_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ObservePacked is Observe for many ids in one call, in order, at the times ticks, or all at now if ticks is nil. It returns how many
// were not seen before. answers[i], if answers is not nil, becomes Fresh or Duplicate.
func (it *Bloom) ObservePacked(keys *Packed, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := keys.Len()
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_observe_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ObserveFixed is ObservePacked for other keys.
func (it *Bloom) ObserveFixed(keys Fixed, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := keys.Count
	if !keys.valid() {
		return 0, ErrRange
	}
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_observe_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ObserveHashes is ObservePacked for other keys.
func (it *Bloom) ObserveHashes(keys []Hash, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_observe_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ObserveUint64s is ObservePacked for other keys.
func (it *Bloom) ObserveUint64s(keys []uint64, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_observe_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ContainsPacked is Contains for many ids in one call, in order, at the times ticks, or all at now if ticks is nil. It returns how many
// were not seen before. answers[i], if answers is not nil, becomes Fresh or Duplicate.
func (it *Bloom) ContainsPacked(keys *Packed, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := keys.Len()
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_contains_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ContainsFixed is ContainsPacked for other keys.
func (it *Bloom) ContainsFixed(keys Fixed, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := keys.Count
	if !keys.valid() {
		return 0, ErrRange
	}
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_contains_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ContainsHashes is ContainsPacked for other keys.
func (it *Bloom) ContainsHashes(keys []Hash, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_contains_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// ContainsUint64s is ContainsPacked for other keys.
func (it *Bloom) ContainsUint64s(keys []uint64, now Ticks, ticks []Ticks, answers []Verdict) (int, error) {
	n := len(keys)
	if !fits(ticks, n) || !fits(answers, n) {
		return 0, ErrRange
	}
	unseen := C.windlass_bloom_contains_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.int8_t)(pointer(answers)))
	runtime.KeepAlive(it)
	return counted(unseen)
}

// Distinct estimates how many different ids are in the live panes, and the standard error of that.
func (it *Bloom) Distinct(now Ticks) (ids, deviation float64, err error) {
	var i, d C.double
	code := C.windlass_bloom_distinct_at(it.handle, C.uint64_t(now), &i, &d)
	runtime.KeepAlive(it)
	return float64(i), float64(d), status(code)
}

// Merge puts in what other holds, which was made with the same settings.
func (it *Bloom) Merge(other *Bloom) error {
	e := newError()
	code := C.windlass_bloom_union(it.handle, other.handle, &e)
	runtime.KeepAlive(it)
	runtime.KeepAlive(other)
	if code != 0 {
		return failure(code, &e)
	}
	return nil
}

// Advance moves the panes on to now, with all the clearing that takes: after a silence.
func (it *Bloom) Advance(now Ticks) error {
	code := C.windlass_bloom_advance_to(it.handle, C.uint64_t(now))
	runtime.KeepAlive(it)
	return status(code)
}

// Panes fills spans with the times of the live panes that have an id, as far as it has room, and tells how many there are.
func (it *Bloom) Panes(key []byte, now Ticks, spans []PaneSpan) (int, error) {
	n := C.windlass_bloom_panes_at(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now),
		(*C.windlass_pane_span)(pointer(spans)), C.size_t(len(spans)))
	runtime.KeepAlive(it)
	return counted(n)
}

// PanesHash is Panes for an id whose hash is known.
func (it *Bloom) PanesHash(key Hash, now Ticks, spans []PaneSpan) (int, error) {
	n := C.windlass_bloom_panes_at_hash(it.handle, key.c(), C.uint64_t(now), (*C.windlass_pane_span)(pointer(spans)), C.size_t(len(spans)))
	runtime.KeepAlive(it)
	return counted(n)
}

// PanesUint64 is Panes for a number.
func (it *Bloom) PanesUint64(key uint64, now Ticks, spans []PaneSpan) (int, error) {
	n := C.windlass_bloom_panes_at_u64(it.handle, C.uint64_t(key), C.uint64_t(now), (*C.windlass_pane_span)(pointer(spans)), C.size_t(len(spans)))
	runtime.KeepAlive(it)
	return counted(n)
}

// PaneSpan is the time of a pane: its first tick, and the tick after its last.
type PaneSpan struct {
	Start, End Ticks
}

// Plan tells what it was built as.
func (it *Bloom) Plan() (BloomPlan, error) {
	var c C.windlass_bloom_plan
	code := C.windlass_bloom_get_plan(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to BloomPlan
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// Stats tells plain figures.
func (it *Bloom) Stats() (BloomStats, error) {
	var c C.windlass_bloom_stats
	code := C.windlass_bloom_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)), nil, 0)
	runtime.KeepAlive(it)
	var to BloomStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// MemoryBytes is how many bytes it takes now.
func (it *Bloom) MemoryBytes() (int64, error) {
	bytes := C.windlass_bloom_memory_bytes(it.handle)
	runtime.KeepAlive(it)
	return count(bytes)
}

// Seed is the seed in use, to hash keys beforehand.
func (it *Bloom) Seed() (uint64, error) {
	answer := C.wl_bloom_seed(it.handle)
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *Bloom) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_bloom_maintain_at(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// BloomStats is what a Bloom tells of itself.
// See windlass_bloom_stats in windlass.h.
type BloomStats struct {
	// How many panes are live.
	LivePanes uint32
	// The error to be expected from the present fill.
	ExpectedError float64
	// The share of 65536 ids, made up for it, that were taken for seen.
	SampledError float64
	// How often a pane took over from the one before.
	Rotations uint64
	// Bytes cleared for that.
	ClearedBytes uint64
	// How often a pane had to go on, since the next was not clean: then ids are kept longer.
	Late uint64
	// Times that were too far ahead, and counted as the newest pane.
	Jumps uint64
	// Bytes of all panes.
	MemoryBytes uint64
	// The largest fill of a pane that is over, as a share of what it is meant for. Below 0 before one is over.
	Load float64
	// What to do about the size: one of WINDLASS_ADVICE_.
	Advice uint32
}

func (to *BloomStats) read(c *C.windlass_bloom_stats) {
	to.LivePanes = uint32(c.live_panes)
	to.ExpectedError = float64(c.expected_error)
	to.SampledError = float64(c.sampled_error)
	to.Rotations = uint64(c.rotations)
	to.ClearedBytes = uint64(c.cleared_bytes)
	to.Late = uint64(c.late)
	to.Jumps = uint64(c.jumps)
	to.MemoryBytes = uint64(c.memory_bytes)
	to.Load = float64(c.load)
	to.Advice = uint32(c.advice)
}

// BloomPlan is what a Bloom is built as.
// See windlass_bloom_plan in windlass.h.
type BloomPlan struct {
	// How the bits lie: one of WINDLASS_LAYOUT_, and not WINDLASS_LAYOUT_AUTO.
	Layout uint32
	// Panes.
	Panes uint32
	// Bits that an id sets.
	Probes uint32
	// The length of a pane in ticks.
	Pane uint64
	// How long an id is found at least, in ticks: the window and the lateness. Where the length of a pane was given
	// it may be an 8th of a pane less.
	Guaranteed uint64
	// Bits of all panes together.
	Bits uint64
	// Bytes of all panes together.
	Bytes uint64
	// Ids expected in a window.
	ExpectedIDs uint64
	// The share of new ids that it takes for seen when all panes are as full as expected: an upper bound of what is
	// to be expected.
	ExpectedError float64
}

func (to *BloomPlan) read(c *C.windlass_bloom_plan) {
	to.Layout = uint32(c.layout)
	to.Panes = uint32(c.panes)
	to.Probes = uint32(c.probes)
	to.Pane = uint64(c.pane)
	to.Guaranteed = uint64(c.guaranteed)
	to.Bits = uint64(c.bits)
	to.Bytes = uint64(c.bytes)
	to.ExpectedIDs = uint64(c.expected_ids)
	to.ExpectedError = float64(c.expected_error)
}
