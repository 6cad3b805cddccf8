// Package windlass has lock-free sliding-window structures: deduplication, Bloom filters, rate limits, counts and hot keys, queues that tell
// ranks, consistent hashing. It calls libwindlass, which ./install installs; pkg-config tells where it is (PKG_CONFIG_PATH). It is linked
// statically, or with the tag windlass_shared as a shared library.
//
// A call into C takes some 40 ns beside what it does: where there are many keys at hand, use the batches. A Packed has keys of any lengths,
// 64 to 512 of them, and is used again.
//
// Keys are bytes, numbers or hashes: three kinds, none the same as one of another kind. A string is the same key as its bytes. Nothing that is
// passed is kept after the call.
package windlass

/*
#include "handles.h"
*/
import "C"

import (
	"errors"
	"math"
	"time"
	"unsafe"
)

// Ticks are a time or a span of it: nanoseconds, as Ticks(time.Minute), or numbers of events.
type Ticks uint64

var start = time.Now()

// Now is the time of a clock that never goes back, in nanoseconds since the program began.
func Now() Ticks { return Ticks(time.Since(start)) }

// NoLimit means no limit, of ticks or of bytes.
const NoLimit = math.MaxUint64

// Status is a code of windlass.h for what was wrong. It is an error, to be compared with by errors.Is.
type Status int32

// Error says what it means, in a few words.
func (s Status) Error() string { return C.GoString(C.windlass_status_text(C.windlass_status(s))) }

// What may be wrong.
const (
	ErrArg        = Status(C.WINDLASS_E_ARG)
	ErrNoMemory   = Status(C.WINDLASS_E_NOMEM)
	ErrRange      = Status(C.WINDLASS_E_RANGE)
	ErrPanic      = Status(C.WINDLASS_E_PANIC)
	ErrFull       = Status(C.WINDLASS_E_FULL)
	ErrJump       = Status(C.WINDLASS_E_JUMP)
	ErrOffsets    = Status(C.WINDLASS_E_OFFSETS)
	ErrLease      = Status(C.WINDLASS_E_LEASE)
	ErrTooLong    = Status(C.WINDLASS_E_TOO_LONG)
	ErrNoNode     = Status(C.WINDLASS_E_NO_NODE)
	ErrCollision  = Status(C.WINDLASS_E_COLLISION)
	ErrStructSize = Status(C.WINDLASS_E_STRUCT_SIZE)
	ErrFormat     = Status(C.WINDLASS_E_FORMAT)
	ErrMismatch   = Status(C.WINDLASS_E_MISMATCH)
)

// ErrClosed is what calls return after Close.
var ErrClosed = errors.New("windlass: closed")

// An Error names what was wrong, its value, and what is allowed.
type Error struct {
	Status Status
	Detail string
}

func (e *Error) Error() string { return "windlass: " + e.Detail }

// Unwrap is its Status.
func (e *Error) Unwrap() error { return e.Status }

func newError() C.windlass_error {
	var e C.windlass_error
	e.struct_size = C.uint32_t(unsafe.Sizeof(e))
	return e
}

func failure(code C.windlass_status, e *C.windlass_error) error {
	// (Of a NULL there is no more to say. It can only be a handle.)
	if code == C.WINDLASS_E_NULL {
		return ErrClosed
	}
	return &Error{Status(code), C.GoString(&e.detail[0])}
}

func status[N ~int32](code N) error {
	if code >= 0 {
		return nil
	}
	return failed(Status(code))
}

func failed(code Status) error {
	if code == C.WINDLASS_E_NULL {
		return ErrClosed
	}
	return code
}

func yes(code C.int32_t) (bool, error) { return code > 0, status(code) }

func count(n C.int64_t) (int64, error) {
	if n < 0 {
		return 0, failed(Status(n))
	}
	return int64(n), nil
}

// planned is what settings will take, or what is wrong with them.
func planned(n C.int64_t, e *C.windlass_error) (int64, error) {
	if n < 0 {
		return 0, failure(C.windlass_status(n), e)
	}
	return int64(n), nil
}

func counted(n C.int64_t) (int, error) {
	i, err := count(n)
	return int(i), err
}

// Verdict is what a call tells of an id. Of a batch those below 0 are errors: Verdict.Err.
type Verdict int8

// Verdicts.
const (
	Fresh      = Verdict(C.WINDLASS_FRESH)
	Duplicate  = Verdict(C.WINDLASS_DUPLICATE)
	InProgress = Verdict(C.WINDLASS_IN_PROGRESS)
)

// Err is the error, if it is one.
func (v Verdict) Err() error { return status(int32(v)) }

func verdict(code C.int32_t) (Verdict, error) { return Verdict(code), status(code) }

// Added is what a call tells of a key that was to be counted.
type Added int32

// What became of it.
const (
	Counted = Added(C.WINDLASS_COUNTED)
	NoRoom  = Added(C.WINDLASS_NO_ROOM)
	Late    = Added(C.WINDLASS_LATE)
	TooLong = Added(C.WINDLASS_TOO_LONG)
)

func added(code C.int32_t) (Added, error) { return Added(code), status(code) }

// Pushed is what a push tells. Of a batch those below 0 are errors: Pushed.Err.
type Pushed int32

// What became of it.
const (
	PushedNew     = Pushed(C.WINDLASS_PUSHED_NEW)
	PushedPresent = Pushed(C.WINDLASS_PUSHED_PRESENT)
	PushedMoved   = Pushed(C.WINDLASS_PUSHED_MOVED)
)

// Err is the error, if it is one.
func (p Pushed) Err() error { return status(p) }

// AdmissionKind is what a limiter decides.
type AdmissionKind int32

// Decisions.
const (
	Allowed = AdmissionKind(C.WINDLASS_ALLOWED)
	Denied  = AdmissionKind(C.WINDLASS_DENIED)
	// Never: it costs more than the limiter can ever give at once.
	Never = AdmissionKind(C.WINDLASS_NEVER)
)

// KeyKind tells as what a key came.
type KeyKind uint32

// Kinds of keys.
const (
	KeyBytes  = KeyKind(C.WINDLASS_KEY_BYTES)
	KeyUint64 = KeyKind(C.WINDLASS_KEY_U64)
	KeyHash   = KeyKind(C.WINDLASS_KEY_HASH)
	// KeyNamespaced is added to the kind of a key that is in a namespace; windlass.h says what its bytes are then.
	KeyNamespaced = KeyKind(C.WINDLASS_KEY_NAMESPACED)
)

// Settings that are one of a few. windlass.h says what they mean.
type (
	Unit      uint32
	Refresh   uint32
	OnFull    uint32
	Identity  uint32
	Layout    uint32
	Rotation  uint32
	Algorithm uint32
	OnUnknown uint32
	OnPresent uint32
)

// Values of settings; those that are 0 are the defaults.
const (
	UnitNS     = Unit(C.WINDLASS_UNIT_NS)
	UnitEvents = Unit(C.WINDLASS_UNIT_EVENTS)

	RefreshNever       = Refresh(C.WINDLASS_REFRESH_NEVER)
	RefreshOnDuplicate = Refresh(C.WINDLASS_REFRESH_ON_DUPLICATE)

	OnFullReject      = OnFull(C.WINDLASS_ON_FULL_REJECT)
	OnFullEvictOldest = OnFull(C.WINDLASS_ON_FULL_EVICT_OLDEST)

	IdentityHash  = Identity(C.WINDLASS_IDENTITY_HASH)
	IdentityBytes = Identity(C.WINDLASS_IDENTITY_BYTES)

	LayoutAuto         = Layout(C.WINDLASS_LAYOUT_AUTO)
	LayoutRows1        = Layout(C.WINDLASS_LAYOUT_ROWS_1)
	LayoutRows2        = Layout(C.WINDLASS_LAYOUT_ROWS_2)
	LayoutRows3        = Layout(C.WINDLASS_LAYOUT_ROWS_3)
	LayoutRows4        = Layout(C.WINDLASS_LAYOUT_ROWS_4)
	LayoutBlocks128    = Layout(C.WINDLASS_LAYOUT_BLOCKS_128)
	LayoutBlocks256    = Layout(C.WINDLASS_LAYOUT_BLOCKS_256)
	LayoutBlocks512    = Layout(C.WINDLASS_LAYOUT_BLOCKS_512)
	LayoutArrays       = Layout(C.WINDLASS_LAYOUT_ARRAYS)
	LayoutSeededArrays = Layout(C.WINDLASS_LAYOUT_SEEDED_ARRAYS)

	RotationByCalls   = Rotation(C.WINDLASS_ROTATION_BY_CALLS)
	RotationHybrid    = Rotation(C.WINDLASS_ROTATION_HYBRID)
	RotationScheduled = Rotation(C.WINDLASS_ROTATION_SCHEDULED)

	GCRA           = Algorithm(C.WINDLASS_ALGORITHM_GCRA)
	TokenBucket    = Algorithm(C.WINDLASS_ALGORITHM_TOKEN_BUCKET)
	LeakyQueue     = Algorithm(C.WINDLASS_ALGORITHM_LEAKY_QUEUE)
	FixedWindow    = Algorithm(C.WINDLASS_ALGORITHM_FIXED_WINDOW)
	SlidingCounter = Algorithm(C.WINDLASS_ALGORITHM_SLIDING_COUNTER)
	SlidingLog     = Algorithm(C.WINDLASS_ALGORITHM_SLIDING_LOG)

	OnUnknownDeny  = OnUnknown(C.WINDLASS_ON_UNKNOWN_DENY)
	OnUnknownAllow = OnUnknown(C.WINDLASS_ON_UNKNOWN_ALLOW)

	OnPresentKeep = OnPresent(C.WINDLASS_ON_PRESENT_KEEP)
	OnPresentMove = OnPresent(C.WINDLASS_ON_PRESENT_MOVE)
)

// Hash is the hash of a key under a seed, the same in every language.
type Hash struct {
	Lo, Hi uint64
}

// One is laid out as the other.
var _ = [1]struct{}{}[unsafe.Sizeof(Hash{})-unsafe.Sizeof(C.windlass_hash{})]

func (h Hash) c() C.windlass_hash { return C.windlass_hash{lo: C.uint64_t(h.Lo), hi: C.uint64_t(h.Hi)} }

// HashBytes is the hash of bytes: XXH3-128.
func HashBytes(key []byte, seed uint64) Hash {
	var h Hash
	C.windlass_hash_bytes((*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(seed), (*C.windlass_hash)(unsafe.Pointer(&h)))
	return h
}

// HashUint64 is the hash of a number, told apart exactly.
func HashUint64(key, seed uint64) Hash {
	var h Hash
	C.windlass_hash_u64(C.uint64_t(key), C.uint64_t(seed), (*C.windlass_hash)(unsafe.Pointer(&h)))
	return h
}

// RandomSeed is a seed that nobody else knows.
func RandomSeed() uint64 {
	var seed C.uint64_t
	C.windlass_seed_random(&seed)
	return uint64(seed)
}

// NamespaceSeed is the seed for the keys of one of several sources.
func NamespaceSeed(seed uint64, name string) uint64 {
	var of C.uint64_t
	C.windlass_seed_namespace(C.uint64_t(seed), (*C.uint8_t)(stringPointer(name)), C.size_t(len(name)), &of)
	return uint64(of)
}

// Version is the version of the library.
func Version() string { return C.GoString(C.windlass_version()) }

// Packed has keys of any lengths, copied one behind the other. Reset and filled again it allocates nothing, once it is large enough. The zero
// value is one without keys. Not for several goroutines at once.
type Packed struct {
	bytes   []byte
	offsets []uint32
}

// Reset takes all keys out.
func (p *Packed) Reset() { p.bytes, p.offsets = p.bytes[:0], p.offsets[:0] }

// Len is how many keys there are.
func (p *Packed) Len() int {
	if len(p.offsets) == 0 {
		return 0
	}
	return len(p.offsets) - 1
}

// Add adds a key. False: all keys together would have 4 GiB or more; it was not added.
func (p *Packed) Add(key []byte) bool {
	if !p.begin(len(key)) {
		return false
	}
	p.bytes = append(p.bytes, key...)
	p.offsets = append(p.offsets, uint32(len(p.bytes)))
	return true
}

// AddString is Add for a string.
func (p *Packed) AddString(key string) bool {
	if !p.begin(len(key)) {
		return false
	}
	p.bytes = append(p.bytes, key...)
	p.offsets = append(p.offsets, uint32(len(p.bytes)))
	return true
}

func (p *Packed) begin(more int) bool {
	if len(p.offsets) == 0 {
		p.offsets = append(p.offsets, 0)
	}
	return uint64(len(p.bytes))+uint64(more) <= math.MaxUint32
}

// Fixed has keys of one length in an array: Count of them, each Len bytes, the next one Stride bytes after the last.
type Fixed struct {
	Bytes              []byte
	Len, Stride, Count int
}

// Go's memory is Go's to look after: C would read what it is told to.
func (f Fixed) valid() bool {
	if f.Len < 0 || f.Stride < 0 || f.Count < 0 {
		return false
	}
	return f.Count == 0 || f.Len <= len(f.Bytes) && (f.Stride == 0 || f.Count-1 <= (len(f.Bytes)-f.Len)/f.Stride)
}

// An optional array of a batch of n: none, or n long.
func fits[T any](array []T, n int) bool { return len(array) == 0 || len(array) == n }

// What C gets: of nothing NULL.
func pointer[T any](array []T) unsafe.Pointer {
	if len(array) == 0 {
		return nil
	}
	return unsafe.Pointer(&array[0])
}

// The bytes of a string, which C does not change. (unsafe.StringData is of Go 1.20.)
func stringPointer(text string) unsafe.Pointer {
	if len(text) == 0 {
		return nil
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&text))
}
