package windlass

/*
#include "handles.h"
static inline wl_number wl_fifo_push(windlass_fifo *it, const uint8_t *key, size_t len, const uint8_t *value, size_t value_len, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_push(it, key, len, value, value_len, now, &answer.value);
    return answer;
}
static inline wl_number wl_fifo_rank(const windlass_fifo *it, const uint8_t *key, size_t len) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_rank(it, key, len, &answer.value);
    return answer;
}
static inline wl_number wl_fifo_push_hash(windlass_fifo *it, windlass_hash key, const uint8_t *value, size_t value_len, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_push_hash(it, key, value, value_len, now, &answer.value);
    return answer;
}
static inline wl_number wl_fifo_rank_hash(const windlass_fifo *it, windlass_hash key) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_rank_hash(it, key, &answer.value);
    return answer;
}
static inline wl_number wl_fifo_push_u64(windlass_fifo *it, uint64_t key, const uint8_t *value, size_t value_len, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_push_u64(it, key, value, value_len, now, &answer.value);
    return answer;
}
static inline wl_number wl_fifo_rank_u64(const windlass_fifo *it, uint64_t key) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_rank_u64(it, key, &answer.value);
    return answer;
}
static inline wl_number wl_fifo_count_before(const windlass_fifo *it, uint64_t time) {
    wl_number answer = {0, 0};
    answer.code = windlass_fifo_count_before(it, time, &answer.value);
    return answer;
}
static inline windlass_status wl_back_fifo_snapshot(const windlass_fifo *it, uint64_t now, uint64_t wall, uintptr_t stream, windlass_error *error) {
    return windlass_fifo_snapshot(it, now, wall, wl_write, (void *)stream, error);
}
static inline windlass_status wl_back_fifo_restore(const windlass_fifo_config *config, uint64_t wall, uintptr_t stream, windlass_fifo **out,
                                                    windlass_restored *restored, windlass_error *error) {
    return windlass_fifo_restore(config, wall, wl_read, (void *)stream, out, restored, error);
}
*/
import "C"

import (
	"io"
	"runtime"
	"time"
	"unsafe"
)

// FifoConfig has the settings of a Fifo.
// What is left 0 has its default. windlass.h says more of each field, at windlass_fifo_config.
type FifoConfig struct {
	// Entries that it may hold. 0: 1000000.
	Capacity uint64
	// Lets it hold as many as so many bytes have room for.
	MaxMemory uint64
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed      *uint64
	OnPresent OnPresent
}

func (config *FifoConfig) fill(c *C.windlass_fifo_config) error {
	C.windlass_fifo_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Capacity != 0 {
		c.capacity = C.uint64_t(config.Capacity)
	}
	if config.MaxMemory != 0 {
		c.max_memory = C.uint64_t(config.MaxMemory)
	}
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	if config.OnPresent != 0 {
		c.on_present = C.uint32_t(config.OnPresent)
	}
	return nil
}

// MemoryBytes is how many bytes it will take, before it is made.
func (config FifoConfig) MemoryBytes() (int64, error) {
	var settings C.windlass_fifo_config
	if err := config.fill(&settings); err != nil {
		return 0, err
	}
	e := newError()
	return planned(C.windlass_fifo_config_memory_bytes(&settings, &e), &e)
}

// Fifo is a queue of keys with values that tells how many are before a key.
//
// All methods but Close may be called by any number of goroutines at once. Use NewFifo to make one.
type Fifo struct {
	handle *C.windlass_fifo
}

// NewFifo makes a Fifo, to be closed when it is needed no more. The error of a wrong setting names it.
func NewFifo(config FifoConfig) (*Fifo, error) {
	var settings C.windlass_fifo_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &Fifo{}
	e := newError()
	if status := C.windlass_fifo_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Fifo).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Fifo) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_fifo_free(it.handle)
	it.handle = nil
	return nil
}

// Push puts an entry at the tail, and tells the number of the key's entry. The value is copied.
func (it *Fifo) Push(key []byte, value []byte, now Ticks) (Pushed, uint64, error) {
	answer := C.wl_fifo_push(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), (*C.uint8_t)(pointer(value)), C.size_t(len(value)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return Pushed(answer.code), uint64(answer.value), status(answer.code)
}

// PushString is Push for a string, the same key as its bytes; it is not copied.
func (it *Fifo) PushString(key string, value []byte, now Ticks) (Pushed, uint64, error) {
	answer := C.wl_fifo_push(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), (*C.uint8_t)(pointer(value)), C.size_t(len(value)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return Pushed(answer.code), uint64(answer.value), status(answer.code)
}

// PushHash is Push for a key whose hash is known.
func (it *Fifo) PushHash(key Hash, value []byte, now Ticks) (Pushed, uint64, error) {
	answer := C.wl_fifo_push_hash(it.handle, key.c(), (*C.uint8_t)(pointer(value)), C.size_t(len(value)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return Pushed(answer.code), uint64(answer.value), status(answer.code)
}

// PushUint64 is Push for a number.
func (it *Fifo) PushUint64(key uint64, value []byte, now Ticks) (Pushed, uint64, error) {
	answer := C.wl_fifo_push_u64(it.handle, C.uint64_t(key), (*C.uint8_t)(pointer(value)), C.size_t(len(value)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return Pushed(answer.code), uint64(answer.value), status(answer.code)
}

// Rank tells how many entries are before a key's, and whether there is such an entry.
func (it *Fifo) Rank(key []byte) (uint64, bool, error) {
	answer := C.wl_fifo_rank(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)))
	runtime.KeepAlive(it)
	found, err := yes(answer.code)
	return uint64(answer.value), found, err
}

// RankString is Rank for a string, the same key as its bytes; it is not copied.
func (it *Fifo) RankString(key string) (uint64, bool, error) {
	answer := C.wl_fifo_rank(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)))
	runtime.KeepAlive(it)
	found, err := yes(answer.code)
	return uint64(answer.value), found, err
}

// RankHash is Rank for a key whose hash is known.
func (it *Fifo) RankHash(key Hash) (uint64, bool, error) {
	answer := C.wl_fifo_rank_hash(it.handle, key.c())
	runtime.KeepAlive(it)
	found, err := yes(answer.code)
	return uint64(answer.value), found, err
}

// RankUint64 is Rank for a number.
func (it *Fifo) RankUint64(key uint64) (uint64, bool, error) {
	answer := C.wl_fifo_rank_u64(it.handle, C.uint64_t(key))
	runtime.KeepAlive(it)
	found, err := yes(answer.code)
	return uint64(answer.value), found, err
}

// Entry is an entry of a queue. Used again it allocates nothing, once it is large enough.
type Entry struct {
	c          C.windlass_fifo_entry
	key, value []byte
}

// Key is its key, until the entry is used again: of a number 8 bytes, little endian; of a hash 16.
func (entry *Entry) Key() []byte { return entry.key[:entry.c.key_len] }

// Value is its value, until the entry is used again.
func (entry *Entry) Value() []byte { return entry.value[:entry.c.value_len] }

// Seq is its number: later entries have greater ones.
func (entry *Entry) Seq() uint64 { return uint64(entry.c.seq) }

// PushedAt is when it was put in.
func (entry *Entry) PushedAt() Ticks { return Ticks(entry.c.pushed_at) }

// Kind tells as what the key came.
func (entry *Entry) Kind() KeyKind { return KeyKind(entry.c.key_kind) }

func (entry *Entry) fill(ask func(key *C.uint8_t, keyRoom C.size_t, value *C.uint8_t, valueRoom C.size_t) C.int32_t) (bool, error) {
	if entry.key == nil {
		entry.key, entry.value = make([]byte, 64), make([]byte, 64)
	}
	for {
		code := ask((*C.uint8_t)(pointer(entry.key)), C.size_t(len(entry.key)), (*C.uint8_t)(pointer(entry.value)), C.size_t(len(entry.value)))
		if code == C.WINDLASS_E_TOO_SMALL {
			if n := int(entry.c.key_len); n > len(entry.key) {
				entry.key = make([]byte, n)
			}
			if n := int(entry.c.value_len); n > len(entry.value) {
				entry.value = make([]byte, n)
			}
			continue
		}
		if code != C.WINDLASS_FOUND {
			entry.c = C.windlass_fifo_entry{}
		}
		return yes(code)
	}
}

// Pop takes the oldest entry out. False: there is none.
func (it *Fifo) Pop(entry *Entry) (bool, error) {
	found, err := entry.fill(func(key *C.uint8_t, keyRoom C.size_t, value *C.uint8_t, valueRoom C.size_t) C.int32_t {
		return C.windlass_fifo_pop(it.handle, key, keyRoom, value, valueRoom, &entry.c)
	})
	runtime.KeepAlive(it)
	return found, err
}

// PopUntil is Pop if the oldest was put in at the time until or before.
func (it *Fifo) PopUntil(until Ticks, entry *Entry) (bool, error) {
	found, err := entry.fill(func(key *C.uint8_t, keyRoom C.size_t, value *C.uint8_t, valueRoom C.size_t) C.int32_t {
		return C.windlass_fifo_pop_until(it.handle, C.uint64_t(until), key, keyRoom, value, valueRoom, &entry.c)
	})
	runtime.KeepAlive(it)
	return found, err
}

// Remove takes the entry of a key out, wherever it is. False: there is none. The entry has its value, and no key.
func (it *Fifo) Remove(key []byte, entry *Entry) (bool, error) {
	return it.remove(entry, func(value *C.uint8_t, room C.size_t) C.int32_t {
		return C.windlass_fifo_remove(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), value, room, &entry.c)
	})
}

// RemoveHash is Remove for a key whose hash is known.
func (it *Fifo) RemoveHash(key Hash, entry *Entry) (bool, error) {
	return it.remove(entry, func(value *C.uint8_t, room C.size_t) C.int32_t {
		return C.windlass_fifo_remove_hash(it.handle, key.c(), value, room, &entry.c)
	})
}

// RemoveUint64 is Remove for a number.
func (it *Fifo) RemoveUint64(key uint64, entry *Entry) (bool, error) {
	return it.remove(entry, func(value *C.uint8_t, room C.size_t) C.int32_t {
		return C.windlass_fifo_remove_u64(it.handle, C.uint64_t(key), value, room, &entry.c)
	})
}

func (it *Fifo) remove(entry *Entry, ask func(value *C.uint8_t, room C.size_t) C.int32_t) (bool, error) {
	found, err := entry.fill(func(_ *C.uint8_t, _ C.size_t, value *C.uint8_t, room C.size_t) C.int32_t {
		return ask(value, room)
	})
	runtime.KeepAlive(it)
	return found, err
}

// Peek gives the oldest entry, which stays.
func (it *Fifo) Peek(entry *Entry) (bool, error) {
	found, err := entry.fill(func(key *C.uint8_t, keyRoom C.size_t, value *C.uint8_t, valueRoom C.size_t) C.int32_t {
		return C.windlass_fifo_peek(it.handle, key, keyRoom, value, valueRoom, &entry.c)
	})
	runtime.KeepAlive(it)
	return found, err
}

// AtRank gives the entry that has rank others before it.
func (it *Fifo) AtRank(rank uint64, entry *Entry) (bool, error) {
	found, err := entry.fill(func(key *C.uint8_t, keyRoom C.size_t, value *C.uint8_t, valueRoom C.size_t) C.int32_t {
		return C.windlass_fifo_at_rank(it.handle, C.uint64_t(rank), key, keyRoom, value, valueRoom, &entry.c)
	})
	runtime.KeepAlive(it)
	return found, err
}

// Next gives the first entry from the number seq on.
func (it *Fifo) Next(seq uint64, entry *Entry) (bool, error) {
	found, err := entry.fill(func(key *C.uint8_t, keyRoom C.size_t, value *C.uint8_t, valueRoom C.size_t) C.int32_t {
		return C.windlass_fifo_next(it.handle, C.uint64_t(seq), key, keyRoom, value, valueRoom, &entry.c)
	})
	runtime.KeepAlive(it)
	return found, err
}

// Find gives a copy of a key's value, appended to buffer, with its rank.
func (it *Fifo) Find(key, buffer []byte) (value []byte, rank uint64, found bool, err error) {
	return it.find(buffer, func(to *C.uint8_t, room C.size_t, place *C.windlass_fifo_place) C.int32_t {
		return C.windlass_fifo_find(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), to, room, place)
	})
}

// FindHash is Find for a key whose hash is known.
func (it *Fifo) FindHash(key Hash, buffer []byte) (value []byte, rank uint64, found bool, err error) {
	return it.find(buffer, func(to *C.uint8_t, room C.size_t, place *C.windlass_fifo_place) C.int32_t {
		return C.windlass_fifo_find_hash(it.handle, key.c(), to, room, place)
	})
}

// FindUint64 is Find for a number.
func (it *Fifo) FindUint64(key uint64, buffer []byte) (value []byte, rank uint64, found bool, err error) {
	return it.find(buffer, func(to *C.uint8_t, room C.size_t, place *C.windlass_fifo_place) C.int32_t {
		return C.windlass_fifo_find_u64(it.handle, C.uint64_t(key), to, room, place)
	})
}

func (it *Fifo) find(buffer []byte, ask func(to *C.uint8_t, room C.size_t, place *C.windlass_fifo_place) C.int32_t) (value []byte, rank uint64, found bool, err error) {
	var place C.windlass_fifo_place
	for room := 64; ; room = int(place.value_len) {
		at := len(buffer)
		for cap(buffer)-at < room {
			buffer = append(buffer[:cap(buffer)], 0)
		}
		free := buffer[at:cap(buffer)]
		code := ask((*C.uint8_t)(pointer(free)), C.size_t(len(free)), &place)
		runtime.KeepAlive(it)
		buffer = buffer[:at]
		if code == C.WINDLASS_E_TOO_SMALL {
			continue
		}
		if code == C.WINDLASS_FOUND {
			buffer = buffer[:at+int(place.value_len)]
		}
		found, err = yes(code)
		return buffer, uint64(place.rank), found, err
	}
}

// Entries are what PopPacked takes out, to be used again.
type Entries struct {
	c            []C.windlass_fifo_entry
	keys, values []byte
	// Where those of each begin.
	keyAt, valueAt []int
}

// Len is how many there are.
func (entries *Entries) Len() int { return len(entries.c) }

// Key is the key of entry i, until the entries are used again.
func (entries *Entries) Key(i int) []byte {
	return entries.keys[entries.keyAt[i]:][:entries.c[i].key_len]
}

// Value is its value, until the entries are used again.
func (entries *Entries) Value(i int) []byte {
	return entries.values[entries.valueAt[i]:][:entries.c[i].value_len]
}

// Seq is its number.
func (entries *Entries) Seq(i int) uint64 { return uint64(entries.c[i].seq) }

// PushedAt is when it was put in, or the time of the entry before it if that was later.
func (entries *Entries) PushedAt(i int) Ticks { return Ticks(entries.c[i].pushed_at) }

// Kind tells as what its key came.
func (entries *Entries) Kind(i int) KeyKind { return KeyKind(entries.c[i].key_kind) }

// room makes it so large.
func room[T any](array []T, n int) []T {
	if cap(array) < n {
		return make([]T, n)
	}
	return array[:cap(array)]
}

// PopPacked takes up to n entries out, the oldest first: fewer if there are fewer, or where their bytes are more than there is room for by
// now. How many.
func (it *Fifo) PopPacked(n int, entries *Entries) (int, error) {
	if n < 0 {
		return 0, ErrRange
	}
	entries.c = room(entries.c, n)[:n]
	entries.keys, entries.values = room(entries.keys, 32*n), room(entries.values, 64*n)
	for {
		popped := C.windlass_fifo_pop_packed(it.handle, C.size_t(n), (*C.uint8_t)(pointer(entries.keys)), C.size_t(len(entries.keys)),
			(*C.uint8_t)(pointer(entries.values)), C.size_t(len(entries.values)), (*C.windlass_fifo_entry)(pointer(entries.c)))
		runtime.KeepAlive(it)
		if popped == C.WINDLASS_E_TOO_SMALL {
			entries.keys = room(entries.keys, int(entries.c[0].key_len))
			entries.values = room(entries.values, int(entries.c[0].value_len))
			continue
		}
		if popped < 0 {
			entries.c = entries.c[:0]
			return counted(popped)
		}
		entries.c = entries.c[:popped]
		entries.keyAt, entries.valueAt = entries.keyAt[:0], entries.valueAt[:0]
		key, value := 0, 0
		for i := range entries.c {
			entries.keyAt, entries.valueAt = append(entries.keyAt, key), append(entries.valueAt, value)
			key, value = key+int(entries.c[i].key_len), value+int(entries.c[i].value_len)
		}
		return int(popped), nil
	}
}

// Len is how many entries there are.
func (it *Fifo) Len() (int, error) {
	n := C.windlass_fifo_len(it.handle)
	runtime.KeepAlive(it)
	return counted(n)
}

// CountBefore tells how many entries were put in before a time.
func (it *Fifo) CountBefore(time Ticks) (uint64, error) {
	answer := C.wl_fifo_count_before(it.handle, C.uint64_t(time))
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// PushPacked puts many entries in, in order, all at now. values is nil, or has one for each key. results has room for what Push tells of
// each; those below 0 are errors. seqs, for their numbers, may be nil.
func (it *Fifo) PushPacked(keys, values *Packed, now Ticks, results []Pushed, seqs []uint64) error {
	n := keys.Len()
	bytes, offsets, err := of(values, n)
	if err != nil || len(results) != n || !fits(seqs, n) {
		return ErrRange
	}
	code := C.windlass_fifo_push_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)),
		(*C.uint32_t)(pointer(keys.offsets)), C.size_t(n), (*C.uint8_t)(pointer(bytes)), C.size_t(len(bytes)),
		(*C.uint32_t)(pointer(offsets)), C.uint64_t(now), (*C.int32_t)(pointer(results)), (*C.uint64_t)(pointer(seqs)))
	runtime.KeepAlive(it)
	return status(code)
}

// PushUint64s is PushPacked for numbers.
func (it *Fifo) PushUint64s(keys []uint64, values *Packed, now Ticks, results []Pushed, seqs []uint64) error {
	n := len(keys)
	bytes, offsets, err := of(values, n)
	if err != nil || len(results) != n || !fits(seqs, n) {
		return ErrRange
	}
	code := C.windlass_fifo_push_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n), (*C.uint8_t)(pointer(bytes)), C.size_t(len(bytes)),
		(*C.uint32_t)(pointer(offsets)), C.uint64_t(now), (*C.int32_t)(pointer(results)), (*C.uint64_t)(pointer(seqs)))
	runtime.KeepAlive(it)
	return status(code)
}

// of is the values of n keys: none, or one for each.
func of(values *Packed, n int) (bytes []byte, offsets []uint32, err error) {
	if values == nil {
		return nil, nil, nil
	}
	if values.Len() != n {
		return nil, nil, ErrRange
	}
	return values.bytes, values.offsets, nil
}

// RankPacked tells the ranks of many keys; ranks has room for as many, -1 for what is not there.
func (it *Fifo) RankPacked(keys *Packed, ranks []int64) error {
	n := keys.Len()
	if len(ranks) != n {
		return ErrRange
	}
	code := C.windlass_fifo_rank_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n), (*C.int64_t)(pointer(ranks)))
	runtime.KeepAlive(it)
	return status(code)
}

// RankFixed is RankPacked for other keys.
func (it *Fifo) RankFixed(keys Fixed, ranks []int64) error {
	n := keys.Count
	if !keys.valid() {
		return ErrRange
	}
	if len(ranks) != n {
		return ErrRange
	}
	code := C.windlass_fifo_rank_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n), (*C.int64_t)(pointer(ranks)))
	runtime.KeepAlive(it)
	return status(code)
}

// RankHashes is RankPacked for other keys.
func (it *Fifo) RankHashes(keys []Hash, ranks []int64) error {
	n := len(keys)
	if len(ranks) != n {
		return ErrRange
	}
	code := C.windlass_fifo_rank_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n), (*C.int64_t)(pointer(ranks)))
	runtime.KeepAlive(it)
	return status(code)
}

// RankUint64s is RankPacked for other keys.
func (it *Fifo) RankUint64s(keys []uint64, ranks []int64) error {
	n := len(keys)
	if len(ranks) != n {
		return ErrRange
	}
	code := C.windlass_fifo_rank_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n), (*C.int64_t)(pointer(ranks)))
	runtime.KeepAlive(it)
	return status(code)
}

// Stats tells plain figures.
func (it *Fifo) Stats() (FifoStats, error) {
	var c C.windlass_fifo_stats
	code := C.windlass_fifo_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to FifoStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *Fifo) Maintain(budget int) (bool, error) {
	code := C.windlass_fifo_maintain(it.handle, C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// Snapshot writes a snapshot of all entries to w, for RestoreFifo, on any machine. Others go on meanwhile. now and wall are one time on two clocks: time.Now() is a wall time.
// What w returns as its error is returned.
func (it *Fifo) Snapshot(w io.Writer, now Ticks, wall time.Time) error {
	return written(w, func(stream C.uintptr_t, e *C.windlass_error) C.windlass_status {
		code := C.wl_back_fifo_snapshot(it.handle, C.uint64_t(now), nanoseconds(wall), stream, e)
		runtime.KeepAlive(it)
		return code
	})
}

// RestoreFifo makes a Fifo of what Snapshot has written, read from r and no further, to be closed when it is needed no more. The error of a setting
// that differs from the snapshot's names it; its seed is not looked at. wall is time.Now(). What r returns as its error is returned.
func RestoreFifo(config FifoConfig, r io.Reader, wall time.Time) (*Fifo, Restored, error) {
	var settings C.windlass_fifo_config
	if err := config.fill(&settings); err != nil {
		return nil, Restored{}, err
	}
	made := &Fifo{}
	restored, err := read(r, func(stream C.uintptr_t, restored *C.windlass_restored, e *C.windlass_error) C.windlass_status {
		return C.wl_back_fifo_restore(&settings, nanoseconds(wall), stream, &made.handle, restored, e)
	})
	if err != nil {
		return nil, Restored{}, err
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Fifo).Close)
	return made, restored, nil
}

// FifoStats is what a Fifo tells of itself.
// See windlass_fifo_stats in windlass.h.
type FifoStats struct {
	// Entries.
	Len uint64
	// The number of the oldest entry, or of the next if there is none.
	Head uint64
	// The next number.
	Tail uint64
	// Numbers between head and tail that are no entries: moved, or passed over.
	Holes uint64
	// Entries that it may hold. (With max_memory: for which the table is meant at its present size.)
	Capacity uint64
	// Bytes of tables and segments of entries. (Not: values of more than 22 bytes, keys of more than 21.)
	MemoryBytes uint64
	// Segments of entries.
	Segments uint64
	// Tables in use: 1, or more while one takes the place of another.
	Tables uint64
	// Pushes refused for want of room.
	Refused uint64
	// Pushes refused since another key has the same hash.
	Collisions uint64
}

func (to *FifoStats) read(c *C.windlass_fifo_stats) {
	to.Len = uint64(c.len)
	to.Head = uint64(c.head)
	to.Tail = uint64(c.tail)
	to.Holes = uint64(c.holes)
	to.Capacity = uint64(c.capacity)
	to.MemoryBytes = uint64(c.memory_bytes)
	to.Segments = uint64(c.segments)
	to.Tables = uint64(c.tables)
	to.Refused = uint64(c.refused)
	to.Collisions = uint64(c.collisions)
}
