package windlass

/*
#include <stdlib.h>

#include "handles.h"

typedef struct wl_set_admission { int32_t code; windlass_set_admission all; windlass_reservation ticket; } wl_set_admission;
static inline wl_set_admission wl_limitset_check(windlass_limitset *it, const windlass_hash *keys, size_t n, uint64_t cost, uint64_t now) {
    wl_set_admission answer = {0, {0, 0, 0, 0, 0}, {{0}}};
    answer.code = windlass_limitset_check(it, keys, n, cost, now, &answer.all);
    return answer;
}
static inline wl_set_admission wl_limitset_reserve(windlass_limitset *it, const windlass_hash *keys, size_t n, uint64_t estimate,
                                                   uint64_t lease, uint64_t now) {
    wl_set_admission answer = {0, {0, 0, 0, 0, 0}, {{0}}};
    answer.code = windlass_limitset_reserve(it, keys, n, estimate, lease, now, &answer.ticket, &answer.all);
    return answer;
}
static inline wl_number wl_limitset_settle(windlass_limitset *it, windlass_reservation ticket, uint64_t actual, uint64_t now) {
    wl_number answer = {0, 0};
    answer.code = windlass_limitset_settle(it, &ticket, actual, now, &answer.value);
    return answer;
}
static inline int32_t wl_limitset_cancel(windlass_limitset *it, windlass_reservation ticket, uint64_t now) {
    return windlass_limitset_cancel(it, &ticket, now);
}
static inline windlass_status wl_back_limitset_snapshot(const windlass_limitset *it, uint64_t now, uint64_t wall, uintptr_t stream,
                                                        windlass_error *error) {
    return windlass_limitset_snapshot(it, now, wall, wl_write, (void *)stream, error);
}
static inline windlass_status wl_back_limitset_restore(const windlass_limitset_config *config, const windlass_limit_rule *limits, size_t n,
                                                       uint64_t wall, uintptr_t stream, windlass_limitset **out,
                                                       windlass_restored *restored, windlass_error *error) {
    return windlass_limitset_restore(config, limits, n, wall, wl_read, (void *)stream, out, restored, error);
}
*/
import "C"

import (
	"io"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// LimitRule is one limit of a LimitSet. windlass.h says more of each field, at windlass_limit_rule.
type LimitRule struct {
	// No other limit of the set has it.
	Name string
	// So many permits in so many nanoseconds. Have no default.
	Permits uint64
	Per     Ticks
	// At once after a rest. 0: as many as Permits.
	Burst uint64
	// For each client, of which so many are known at a time. 0: for all.
	Clients   uint64
	Algorithm Algorithm
	OnUnknown OnUnknown
}

// LimitSetConfig has the settings of a LimitSet.
// What is left 0 has its default. windlass.h says more of each field, at windlass_limitset_config.
type LimitSetConfig struct {
	// 1 to 8 of them, in their order.
	Limits []LimitRule
	// How many holds there may be at a time, for Reserve.
	Reservations uint64
	Lateness     Ticks
	// The seed with which keys are hashed (HashBytes, HashUint64). nil: a random one, for sets that are for all alone.
	Seed *uint64
}

// LimitSet charges several limits in one decision: all of them, or none.
//
// All methods but Close may be called by any number of goroutines at once. Use NewLimitSet to make one.
type LimitSet struct {
	handle *C.windlass_limitset
}

// fill also returns the limits as C has them, and what frees their names.
func (config *LimitSetConfig) fill(c *C.windlass_limitset_config) (limits []C.windlass_limit_rule, free func(), err error) {
	C.windlass_limitset_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	c.reservations = C.uint64_t(config.Reservations)
	c.lateness_ns = C.uint64_t(config.Lateness)
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	for _, rule := range config.Limits {
		if strings.IndexByte(rule.Name, 0) >= 0 {
			return nil, nil, &Error{ErrArg, "name: has a NUL"}
		}
	}
	limits = make([]C.windlass_limit_rule, len(config.Limits))
	for i, rule := range config.Limits {
		limits[i] = C.windlass_limit_rule{
			name: C.CString(rule.Name), permits: C.uint64_t(rule.Permits), per_ns: C.uint64_t(rule.Per), burst: C.uint64_t(rule.Burst),
			clients: C.uint64_t(rule.Clients), algorithm: C.uint32_t(rule.Algorithm), on_unknown: C.uint32_t(rule.OnUnknown),
		}
	}
	free = func() {
		for _, limit := range limits {
			C.free(unsafe.Pointer(limit.name))
		}
	}
	return limits, free, nil
}

// NewLimitSet makes a LimitSet, to be closed when it is needed no more. The error of a wrong setting names it.
func NewLimitSet(config LimitSetConfig) (*LimitSet, error) {
	var settings C.windlass_limitset_config
	limits, free, err := config.fill(&settings)
	if err != nil {
		return nil, err
	}
	defer free()
	made := &LimitSet{}
	e := newError()
	if status := C.windlass_limitset_new(&settings, (*C.windlass_limit_rule)(pointer(limits)), C.size_t(len(limits)), &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*LimitSet).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *LimitSet) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_limitset_free(it.handle)
	it.handle = nil
	return nil
}

// SetAdmission is what a LimitSet answers.
type SetAdmission struct {
	Kind AdmissionKind
	// The number of a limit: if allowed, that has the least left; else the first that refuses.
	Limit int
	// If allowed: permits that it has left.
	Remaining uint64
	// If allowed: how long until all limits have all their permits again, if nothing else comes.
	ResetAfter time.Duration
	// If denied: a call that comes that much later passes all limits, if no other has come before it.
	RetryAfter time.Duration
}

// Allowed tells whether the call may go on; it has been charged then.
func (a SetAdmission) Allowed() bool { return a.Kind == Allowed }

func setAdmission(answer *C.wl_set_admission) (SetAdmission, error) {
	if answer.code < 0 {
		return SetAdmission{Kind: Never}, status(answer.code)
	}
	c := &answer.all
	return SetAdmission{
		AdmissionKind(c.kind), int(c.limit), uint64(c.remaining), duration(c.reset_after_ns), duration(c.retry_after_ns),
	}, nil
}

// Check takes cost permits of each limit, or none at all. Of cost 0 it tells how things stand. keys has one for each limit that is for each
// client, in their order, hashed with the set's seed.
func (it *LimitSet) Check(keys []Hash, cost uint64, now Ticks) (SetAdmission, error) {
	answer := C.wl_limitset_check(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(len(keys)), C.uint64_t(cost), C.uint64_t(now))
	runtime.KeepAlive(it)
	return setAdmission(&answer)
}

// Reservation is what is needed to settle or cancel a hold, once. It may be copied.
type Reservation struct {
	c C.windlass_reservation
}

// Reserve takes estimate permits of each limit, or none at all, until it is known what they are: settle or cancel them within lease. The
// reservation is one if the answer is Allowed, which says no more then. ErrFull: there are as many holds as there is room for.
func (it *LimitSet) Reserve(keys []Hash, estimate uint64, lease, now Ticks) (Reservation, SetAdmission, error) {
	answer := C.wl_limitset_reserve(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(len(keys)), C.uint64_t(estimate),
		C.uint64_t(lease), C.uint64_t(now))
	runtime.KeepAlive(it)
	admission, err := setAdmission(&answer)
	return Reservation{answer.ticket}, admission, err
}

// Settled is what became of a reservation.
type Settled int32

// What may have.
const (
	SettledNow    = Settled(C.WINDLASS_SETTLED)
	SettledBefore = Settled(C.WINDLASS_SETTLED_BEFORE)
	Expired       = Settled(C.WINDLASS_EXPIRED)
)

// Settle says what a hold was really for: what was too much is given back, what was too little is charged, whether there is room or not.
// What could not be is uncharged.
func (it *LimitSet) Settle(reservation Reservation, actual uint64, now Ticks) (settled Settled, uncharged uint64, err error) {
	answer := C.wl_limitset_settle(it.handle, reservation.c, C.uint64_t(actual), C.uint64_t(now))
	runtime.KeepAlive(it)
	return Settled(answer.code), uint64(answer.value), status(answer.code)
}

// Cancel gives back all that is held.
func (it *LimitSet) Cancel(reservation Reservation, now Ticks) (Settled, error) {
	code := C.wl_limitset_cancel(it.handle, reservation.c, C.uint64_t(now))
	runtime.KeepAlive(it)
	return Settled(code), status(code)
}

// SetQuota sets another quota from now on for the limit of this name; permits that were used stay used. The error of a quota that it cannot have,
// or of a name that no limit has, says so.
func (it *LimitSet) SetQuota(name string, quota Quota, now Ticks) error {
	if strings.IndexByte(name, 0) >= 0 {
		return &Error{ErrArg, "name: has a NUL"}
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	e := newError()
	code := C.windlass_limitset_set_quota(it.handle, text, quota.c(), C.uint64_t(now), &e)
	runtime.KeepAlive(it)
	return explained(code, &e)
}

// Stats tells plain figures.
func (it *LimitSet) Stats() (LimitSetStats, error) {
	var c C.windlass_limitset_stats
	code := C.windlass_limitset_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	return LimitSetStats{uint64(c.memory_bytes), uint64(c.holds), uint64(c.unreturned)}, status(code)
}

// Maintain does upkeep, most of which calls do by themselves. True: there is more that can be done now.
func (it *LimitSet) Maintain(now Ticks, budget int) (bool, error) {
	code := C.windlass_limitset_maintain(it.handle, C.uint64_t(now), C.size_t(budget))
	runtime.KeepAlive(it)
	return yes(code)
}

// Snapshot writes to w, for RestoreLimitSet on any machine, a snapshot of what was taken and held, and of quotas that were changed. Others go on
// meanwhile. now and wall are one time on two clocks: time.Now() is a wall time. What w returns as its error is returned.
func (it *LimitSet) Snapshot(w io.Writer, now Ticks, wall time.Time) error {
	return written(w, func(stream C.uintptr_t, e *C.windlass_error) C.windlass_status {
		code := C.wl_back_limitset_snapshot(it.handle, C.uint64_t(now), nanoseconds(wall), stream, e)
		runtime.KeepAlive(it)
		return code
	})
}

// RestoreLimitSet makes a LimitSet of what Snapshot has written, read from r and no further, to be closed when it is needed no more. The error of a
// setting that differs from the snapshot's names it, as that of another seed. Reservations that were made before the snapshot are good for it.
// wall is time.Now(). What r returns as its error is returned.
func RestoreLimitSet(config LimitSetConfig, r io.Reader, wall time.Time) (*LimitSet, Restored, error) {
	var settings C.windlass_limitset_config
	limits, free, err := config.fill(&settings)
	if err != nil {
		return nil, Restored{}, err
	}
	defer free()
	made := &LimitSet{}
	restored, err := read(r, func(stream C.uintptr_t, restored *C.windlass_restored, e *C.windlass_error) C.windlass_status {
		return C.wl_back_limitset_restore(&settings, (*C.windlass_limit_rule)(pointer(limits)), C.size_t(len(limits)), nanoseconds(wall), stream, &made.handle, restored, e)
	})
	if err != nil {
		return nil, Restored{}, err
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*LimitSet).Close)
	return made, restored, nil
}

// LimitSetStats is what a LimitSet tells of itself.
// See windlass_limitset_stats in windlass.h.
type LimitSetStats struct {
	// Bytes of all tables.
	MemoryBytes uint64
	// Holds that have neither been settled nor run out.
	Holds uint64
	// How often something could not be given back, and stays charged until time gives it back.
	Unreturned uint64
}
