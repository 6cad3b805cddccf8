package windlass

/*
#include "handles.h"

typedef struct wl_admission { int32_t code; windlass_admission all; } wl_admission;
static inline wl_admission wl_limiter_check(windlass_limiter *it, const uint8_t *key, size_t len, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_limiter_check(it, key, len, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_limiter_check_hash(windlass_limiter *it, windlass_hash key, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_limiter_check_hash(it, key, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_limiter_check_u64(windlass_limiter *it, uint64_t key, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_limiter_check_u64(it, key, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_global_limiter_check(windlass_global_limiter *it, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_global_limiter_check(it, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_limiter_peek(const windlass_limiter *it, const uint8_t *key, size_t len, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_limiter_peek(it, key, len, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_limiter_peek_hash(const windlass_limiter *it, windlass_hash key, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_limiter_peek_hash(it, key, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_limiter_peek_u64(const windlass_limiter *it, uint64_t key, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_limiter_peek_u64(it, key, cost, now, &answer.all);
    return answer;
}
static inline wl_admission wl_global_limiter_peek(const windlass_global_limiter *it, uint64_t cost, uint64_t now) {
    wl_admission answer = {0, {0, 0, 0, 0, 0, 0}};
    answer.code = windlass_global_limiter_peek(it, cost, now, &answer.all);
    return answer;
}
static inline wl_number wl_limiter_seed(const windlass_limiter *it) {
    wl_number answer = {0, 0};
    answer.code = windlass_limiter_seed(it, &answer.value);
    return answer;
}
static inline windlass_status wl_back_limiter_snapshot(const windlass_limiter *it, uint64_t now, uint64_t wall, uintptr_t stream,
                                                        windlass_error *error) {
    return windlass_limiter_snapshot(it, now, wall, wl_write, (void *)stream, error);
}
static inline windlass_status wl_back_limiter_restore(const windlass_limiter_config *config, uint64_t wall, uintptr_t stream, windlass_limiter **out,
                                                     windlass_restored *restored, windlass_error *error) {
    return windlass_limiter_restore(config, wall, wl_read, (void *)stream, out, restored, error);
}
static inline windlass_status wl_back_global_limiter_snapshot(const windlass_global_limiter *it, uint64_t now, uint64_t wall, uintptr_t stream,
                                                        windlass_error *error) {
    return windlass_global_limiter_snapshot(it, now, wall, wl_write, (void *)stream, error);
}
static inline windlass_status wl_back_global_limiter_restore(const windlass_limiter_config *config, uint64_t wall, uintptr_t stream,
                                                             windlass_global_limiter **out, windlass_restored *restored, windlass_error *error) {
    return windlass_global_limiter_restore(config, wall, wl_read, (void *)stream, out, restored, error);
}
*/
import "C"

import (
	"io"
	"runtime"
	"time"
	"unsafe"
)

// LimiterConfig has the settings of a Limiter or a GlobalLimiter.
// What is left 0 has its default. windlass.h says more of each field, at windlass_limiter_config.
type LimiterConfig struct {
	// Permits, time and burst by a text: "10/s burst 20". Or set the next three.
	Quota   string
	Permits uint64
	// The time for so many permits, in nanoseconds.
	Per      Ticks
	Burst    uint64
	Lateness Ticks
	// 0: no limit.
	MaxJump Ticks
	// Clients that are known at once. 0: 1000000.
	Clients uint64
	// Lets it grow, up to so many bytes.
	MaxMemory uint64
	// The seed of the hash. nil: a random one. Set it where several processes must agree.
	Seed      *uint64
	Algorithm Algorithm
	OnUnknown OnUnknown
	// With OnUnknownShare: how many cells such clients share.
	SharedCells uint64
}

func (config *LimiterConfig) fill(c *C.windlass_limiter_config) error {
	C.windlass_limiter_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Quota != "" {
		e := newError()
		text := []byte(config.Quota)
		if status := C.windlass_limiter_config_quota(c, (*C.char)(pointer(text)), C.size_t(len(text)), &e); status != 0 {
			return failure(status, &e)
		}
	}
	if config.Permits != 0 {
		c.permits = C.uint64_t(config.Permits)
	}
	if config.Per != 0 {
		c.per_ns = C.uint64_t(config.Per)
	}
	if config.Burst != 0 {
		c.burst = C.uint64_t(config.Burst)
	}
	if config.Lateness != 0 {
		c.lateness_ns = C.uint64_t(config.Lateness)
	}
	if config.MaxJump != 0 {
		c.max_jump_ns = C.uint64_t(config.MaxJump)
	}
	if config.Clients != 0 {
		c.clients = C.uint64_t(config.Clients)
	}
	if config.MaxMemory != 0 {
		c.max_memory = C.uint64_t(config.MaxMemory)
	}
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	if config.Algorithm != 0 {
		c.algorithm = C.uint32_t(config.Algorithm)
	}
	if config.OnUnknown != 0 {
		c.on_unknown = C.uint32_t(config.OnUnknown)
	}
	if config.SharedCells != 0 {
		c.shared_cells = C.uint64_t(config.SharedCells)
	}
	return nil
}

// MemoryBytes is how many bytes it will take, before it is made.
func (config LimiterConfig) MemoryBytes() (int64, error) {
	var settings C.windlass_limiter_config
	if err := config.fill(&settings); err != nil {
		return 0, err
	}
	e := newError()
	return planned(C.windlass_limiter_config_memory_bytes(&settings, &e), &e)
}

// Limiter grants so many permits in so long to each of many clients.
//
// All methods but Close may be called by any number of goroutines at once. Use NewLimiter to make one.
type Limiter struct {
	handle *C.windlass_limiter
}

// NewLimiter makes a Limiter, to be closed when it is needed no more. The error of a wrong setting names it.
func NewLimiter(config LimiterConfig) (*Limiter, error) {
	var settings C.windlass_limiter_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &Limiter{}
	e := newError()
	if status := C.windlass_limiter_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Limiter).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Limiter) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_limiter_free(it.handle)
	it.handle = nil
	return nil
}

// Admission is what a limiter answers.
type Admission struct {
	Kind AdmissionKind
	// If allowed: permits that are left now.
	Remaining uint64
	// If allowed: how long until all of them are there again, if nothing else comes.
	ResetAfter time.Duration
	// If denied: a call that comes that much later passes, if no other has come before it.
	RetryAfter time.Duration
	// If allowed, of LeakyQueue: how long it should wait before it goes on.
	Delay time.Duration
}

// Allowed tells whether the call may go on; it has been charged then.
func (a Admission) Allowed() bool { return a.Kind == Allowed }

func duration(ns C.uint64_t) time.Duration {
	if ns > 1<<63-1 {
		return 1<<63 - 1
	}
	return time.Duration(ns)
}

func admission(answer C.wl_admission) (Admission, error) {
	if answer.code < 0 {
		return Admission{Kind: Never}, status(answer.code)
	}
	return admissionOf(&answer.all), nil
}

func admissionOf(c *C.windlass_admission) Admission {
	return Admission{
		AdmissionKind(c.kind), uint64(c.remaining), duration(c.reset_after_ns), duration(c.retry_after_ns), duration(c.delay_ns),
	}
}

// Admissions are the answers for a batch, to be used again.
type Admissions struct {
	c []C.windlass_admission
}

// Len is how many there are.
func (a *Admissions) Len() int { return len(a.c) }

// At is the answer for key i.
func (a *Admissions) At(i int) Admission { return admissionOf(&a.c[i]) }

// room returns room for n, or nil if nobody asks.
func (a *Admissions) room(n int) []C.windlass_admission {
	if a == nil {
		return nil
	}
	if cap(a.c) < n {
		a.c = make([]C.windlass_admission, n)
	}
	a.c = a.c[:n]
	return a.c
}

// Check takes cost permits for a client, or none. Of cost 0 it tells how things stand.
func (it *Limiter) Check(key []byte, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_check(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// CheckString is Check for a string, the same key as its bytes; it is not copied.
func (it *Limiter) CheckString(key string, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_check(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// CheckHash is Check for a key whose hash is known.
func (it *Limiter) CheckHash(key Hash, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_check_hash(it.handle, key.c(), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// CheckUint64 is Check for a number.
func (it *Limiter) CheckUint64(key uint64, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_check_u64(it.handle, C.uint64_t(key), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// Peek tells what Check would answer, and takes nothing.
func (it *Limiter) Peek(key []byte, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_peek(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// PeekString is Peek for a string, the same key as its bytes; it is not copied.
func (it *Limiter) PeekString(key string, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_peek(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// PeekHash is Peek for a key whose hash is known.
func (it *Limiter) PeekHash(key Hash, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_peek_hash(it.handle, key.c(), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// PeekUint64 is Peek for a number.
func (it *Limiter) PeekUint64(key uint64, cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_limiter_peek_u64(it.handle, C.uint64_t(key), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// Forget gives a client back all that it has taken. True: there was something.
func (it *Limiter) Forget(key []byte, now Ticks) (bool, error) {
	code := C.windlass_limiter_forget(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ForgetString is Forget for a string, the same key as its bytes; it is not copied.
func (it *Limiter) ForgetString(key string, now Ticks) (bool, error) {
	code := C.windlass_limiter_forget(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ForgetHash is Forget for a key whose hash is known.
func (it *Limiter) ForgetHash(key Hash, now Ticks) (bool, error) {
	code := C.windlass_limiter_forget_hash(it.handle, key.c(), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ForgetUint64 is Forget for a number.
func (it *Limiter) ForgetUint64(key uint64, now Ticks) (bool, error) {
	code := C.windlass_limiter_forget_u64(it.handle, C.uint64_t(key), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// Quota is so many permits in so long, and how many at once after a rest.
type Quota struct {
	Permits uint64
	// The time for so many permits, in nanoseconds.
	Per Ticks
	// 0: as many as Permits.
	Burst uint64
}

func (q Quota) c() C.windlass_quota {
	return C.windlass_quota{permits: C.uint64_t(q.Permits), per_ns: C.uint64_t(q.Per), burst: C.uint64_t(q.Burst)}
}

// SetQuota sets another quota from now on, of all clients that have none of their own, known or not. inherit says what becomes of what was used.
// The error of a quota that it cannot have names it.
func (it *Limiter) SetQuota(quota Quota, inherit Inherit, now Ticks) error {
	e := newError()
	code := C.windlass_limiter_set_quota(it.handle, quota.c(), C.uint32_t(inherit), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// SetQuotaFor gives a client a quota of its own from now on, whatever SetQuota says later; or another one, if it has one. The error of a
// quota that it cannot have names it.
func (it *Limiter) SetQuotaFor(key []byte, quota Quota, inherit Inherit, now Ticks) error {
	e := newError()
	code := C.windlass_limiter_set_quota_for(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), quota.c(), C.uint32_t(inherit), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// SetQuotaForString is SetQuotaFor for a string, the same key as its bytes; it is not copied.
func (it *Limiter) SetQuotaForString(key string, quota Quota, inherit Inherit, now Ticks) error {
	e := newError()
	code := C.windlass_limiter_set_quota_for(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), quota.c(), C.uint32_t(inherit), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// SetQuotaForHash is SetQuotaFor for a key whose hash is known.
func (it *Limiter) SetQuotaForHash(key Hash, quota Quota, inherit Inherit, now Ticks) error {
	e := newError()
	code := C.windlass_limiter_set_quota_for_hash(it.handle, key.c(), quota.c(), C.uint32_t(inherit), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// SetQuotaForUint64 is SetQuotaFor for a number.
func (it *Limiter) SetQuotaForUint64(key uint64, quota Quota, inherit Inherit, now Ticks) error {
	e := newError()
	code := C.windlass_limiter_set_quota_for_u64(it.handle, C.uint64_t(key), quota.c(), C.uint32_t(inherit), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// ClearQuotaFor lets the quota of all count for a client again. True: it had one of its own.
func (it *Limiter) ClearQuotaFor(key []byte, inherit Inherit, now Ticks) (bool, error) {
	code := C.windlass_limiter_clear_quota_for(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.uint32_t(inherit), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ClearQuotaForString is ClearQuotaFor for a string, the same key as its bytes; it is not copied.
func (it *Limiter) ClearQuotaForString(key string, inherit Inherit, now Ticks) (bool, error) {
	code := C.windlass_limiter_clear_quota_for(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)), C.uint32_t(inherit), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ClearQuotaForHash is ClearQuotaFor for a key whose hash is known.
func (it *Limiter) ClearQuotaForHash(key Hash, inherit Inherit, now Ticks) (bool, error) {
	code := C.windlass_limiter_clear_quota_for_hash(it.handle, key.c(), C.uint32_t(inherit), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// ClearQuotaForUint64 is ClearQuotaFor for a number.
func (it *Limiter) ClearQuotaForUint64(key uint64, inherit Inherit, now Ticks) (bool, error) {
	code := C.windlass_limiter_clear_quota_for_u64(it.handle, C.uint64_t(key), C.uint32_t(inherit), C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// CheckPacked checks many calls at once, in order, at the times ticks, or all at now if ticks is nil; call i costs costs[i], or 1 if costs is
// nil. It returns how many are allowed. answers may be nil.
func (it *Limiter) CheckPacked(keys *Packed, costs []uint64, now Ticks, ticks []Ticks, answers *Admissions) (int, error) {
	n := keys.Len()
	if !fits(costs, n) || !fits(ticks, n) {
		return 0, ErrRange
	}
	allowed := C.windlass_limiter_check_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n),
		(*C.uint64_t)(pointer(costs)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_admission)(pointer(answers.room(n))))
	runtime.KeepAlive(it)
	return counted(allowed)
}

// CheckFixed is CheckPacked for other keys.
func (it *Limiter) CheckFixed(keys Fixed, costs []uint64, now Ticks, ticks []Ticks, answers *Admissions) (int, error) {
	n := keys.Count
	if !keys.valid() {
		return 0, ErrRange
	}
	if !fits(costs, n) || !fits(ticks, n) {
		return 0, ErrRange
	}
	allowed := C.windlass_limiter_check_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n),
		(*C.uint64_t)(pointer(costs)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_admission)(pointer(answers.room(n))))
	runtime.KeepAlive(it)
	return counted(allowed)
}

// CheckHashes is CheckPacked for other keys.
func (it *Limiter) CheckHashes(keys []Hash, costs []uint64, now Ticks, ticks []Ticks, answers *Admissions) (int, error) {
	n := len(keys)
	if !fits(costs, n) || !fits(ticks, n) {
		return 0, ErrRange
	}
	allowed := C.windlass_limiter_check_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(costs)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_admission)(pointer(answers.room(n))))
	runtime.KeepAlive(it)
	return counted(allowed)
}

// CheckUint64s is CheckPacked for other keys.
func (it *Limiter) CheckUint64s(keys []uint64, costs []uint64, now Ticks, ticks []Ticks, answers *Admissions) (int, error) {
	n := len(keys)
	if !fits(costs, n) || !fits(ticks, n) {
		return 0, ErrRange
	}
	allowed := C.windlass_limiter_check_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n),
		(*C.uint64_t)(pointer(costs)), C.uint64_t(now), (*C.uint64_t)(pointer(ticks)), (*C.windlass_admission)(pointer(answers.room(n))))
	runtime.KeepAlive(it)
	return counted(allowed)
}

// Stats tells plain figures.
func (it *Limiter) Stats() (LimiterStats, error) {
	var c C.windlass_limiter_stats
	code := C.windlass_limiter_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to LimiterStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// MemoryBytes is how many bytes it takes now.
func (it *Limiter) MemoryBytes() (int64, error) {
	bytes := C.windlass_limiter_memory_bytes(it.handle)
	runtime.KeepAlive(it)
	return count(bytes)
}

// Seed is the seed in use, to hash keys beforehand.
func (it *Limiter) Seed() (uint64, error) {
	answer := C.wl_limiter_seed(it.handle)
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *Limiter) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_limiter_maintain_at(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// Snapshot writes to w, for RestoreLimiter on any machine, a snapshot of what was taken and of quotas that were changed. Others go on
// meanwhile. now and wall are one time on two clocks: time.Now() is a wall time. What w returns as its error is returned.
func (it *Limiter) Snapshot(w io.Writer, now Ticks, wall time.Time) error {
	return written(w, func(stream C.uintptr_t, e *C.windlass_error) C.windlass_status {
		code := C.wl_back_limiter_snapshot(it.handle, C.uint64_t(now), nanoseconds(wall), stream, e)
		runtime.KeepAlive(it)
		return code
	})
}

// RestoreLimiter makes a Limiter of what Snapshot has written, read from r and no further, to be closed when it is needed no more. The error of a setting
// that differs from the snapshot's names it; its seed is not looked at. wall is time.Now(). What r returns as its error is returned.
func RestoreLimiter(config LimiterConfig, r io.Reader, wall time.Time) (*Limiter, Restored, error) {
	var settings C.windlass_limiter_config
	if err := config.fill(&settings); err != nil {
		return nil, Restored{}, err
	}
	made := &Limiter{}
	restored, err := read(r, func(stream C.uintptr_t, restored *C.windlass_restored, e *C.windlass_error) C.windlass_status {
		return C.wl_back_limiter_restore(&settings, nanoseconds(wall), stream, &made.handle, restored, e)
	})
	if err != nil {
		return nil, Restored{}, err
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Limiter).Close)
	return made, restored, nil
}

// LimiterStats is what a Limiter tells of itself.
// See windlass_limiter_stats in windlass.h.
type LimiterStats struct {
	// 1 if 128-bit atomic operations are lock-free on this machine, else 0.
	LockFree bool
	// Clients that it is meant for at its present size.
	Capacity uint64
	// Clients that are not as if they had never come, estimated from a sample (exact for small ones).
	Clients uint64
	// Bytes that it takes now: of all tables, while one takes the place of another.
	MemoryBytes uint64
	// Tables in use: 1, or more while one takes the place of another.
	Tables uint64
	// How often it has grown.
	Grown uint64
	// How often it has shrunk.
	Shrunk uint64
	// Calls of clients for which there was no room, answered as on_unknown says.
	Unknown uint64
	// Calls later than the lateness allows, taken as coming when it just allows it.
	Late uint64
	// Calls whose time lay further ahead than max_jump_ns, answered as on_unknown says.
	Jumps uint64
}

func (to *LimiterStats) read(c *C.windlass_limiter_stats) {
	to.LockFree = c.lock_free != 0
	to.Capacity = uint64(c.capacity)
	to.Clients = uint64(c.clients)
	to.MemoryBytes = uint64(c.memory_bytes)
	to.Tables = uint64(c.tables)
	to.Grown = uint64(c.grown)
	to.Shrunk = uint64(c.shrunk)
	to.Unknown = uint64(c.unknown)
	to.Late = uint64(c.late)
	to.Jumps = uint64(c.jumps)
}

// GlobalLimiter grants so many permits in so long to whoever asks.
//
// All methods but Close may be called by any number of goroutines at once. Use NewGlobalLimiter to make one.
type GlobalLimiter struct {
	handle *C.windlass_global_limiter
}

// NewGlobalLimiter makes a GlobalLimiter, to be closed when it is needed no more. The error of a wrong setting names it.
func NewGlobalLimiter(config LimiterConfig) (*GlobalLimiter, error) {
	var settings C.windlass_limiter_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &GlobalLimiter{}
	e := newError()
	if status := C.windlass_global_limiter_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*GlobalLimiter).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *GlobalLimiter) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_global_limiter_free(it.handle)
	it.handle = nil
	return nil
}

// Check takes cost permits, or none.
func (it *GlobalLimiter) Check(cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_global_limiter_check(it.handle, C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// Peek tells what Check would answer, and takes nothing.
func (it *GlobalLimiter) Peek(cost uint64, now Ticks) (Admission, error) {
	answer := C.wl_global_limiter_peek(it.handle, C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return admission(answer)
}

// Forget gives back all that was taken. True: there was something.
func (it *GlobalLimiter) Forget(now Ticks) (bool, error) {
	code := C.windlass_global_limiter_forget(it.handle, C.uint64_t(now))
	runtime.KeepAlive(it)
	return yes(code)
}

// SetQuota sets another quota from now on. inherit says what becomes of what was used. The error of a quota that it cannot have names it.
func (it *GlobalLimiter) SetQuota(quota Quota, inherit Inherit, now Ticks) error {
	e := newError()
	code := C.windlass_global_limiter_set_quota(it.handle, quota.c(), C.uint32_t(inherit), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// Snapshot writes to w, for RestoreGlobalLimiter on any machine, a snapshot of what was taken and of a quota that was changed. Others go on
// meanwhile. now and wall are one time on two clocks: time.Now() is a wall time. What w returns as its error is returned.
func (it *GlobalLimiter) Snapshot(w io.Writer, now Ticks, wall time.Time) error {
	return written(w, func(stream C.uintptr_t, e *C.windlass_error) C.windlass_status {
		code := C.wl_back_global_limiter_snapshot(it.handle, C.uint64_t(now), nanoseconds(wall), stream, e)
		runtime.KeepAlive(it)
		return code
	})
}

// RestoreGlobalLimiter makes a GlobalLimiter of what Snapshot has written, read from r and no further, to be closed when it is needed no more. The error of
// a setting that differs from the snapshot's names it. wall is time.Now(). What r returns as its error is returned.
func RestoreGlobalLimiter(config LimiterConfig, r io.Reader, wall time.Time) (*GlobalLimiter, Restored, error) {
	var settings C.windlass_limiter_config
	if err := config.fill(&settings); err != nil {
		return nil, Restored{}, err
	}
	made := &GlobalLimiter{}
	restored, err := read(r, func(stream C.uintptr_t, restored *C.windlass_restored, e *C.windlass_error) C.windlass_status {
		return C.wl_back_global_limiter_restore(&settings, nanoseconds(wall), stream, &made.handle, restored, e)
	})
	if err != nil {
		return nil, Restored{}, err
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*GlobalLimiter).Close)
	return made, restored, nil
}
