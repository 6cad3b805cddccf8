package windlass

/*
#include "handles.h"
static inline wl_number wl_aggregator_exports(const windlass_aggregator *it) {
    wl_number answer = {0, 0};
    answer.code = windlass_aggregator_exports(it, &answer.value);
    return answer;
}
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Export is what one structure knows of the hottest keys of a window, to be merged with what others know, on any machine.
//
// All methods but Truncate and Close may be called by any number of goroutines at once.
type Export struct {
	handle *C.windlass_export
}

func exported(handle *C.windlass_export, code C.windlass_status) (*Export, error) {
	if code != 0 {
		return nil, status(code)
	}
	made := &Export{handle}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Export).Close)
	return made, nil
}

// Export tells what it knows of the window at the time now. To be closed.
func (it *TopK) Export(now Ticks) (*Export, error) {
	var handle *C.windlass_export
	code := C.windlass_topk_export(it.handle, C.uint64_t(now), &handle)
	runtime.KeepAlive(it)
	return exported(handle, code)
}

// ExportComplete is Export of the complete window: without the pane that has begun.
func (it *TopK) ExportComplete(now Ticks) (*Export, error) {
	var handle *C.windlass_export
	code := C.windlass_topk_export_complete(it.handle, C.uint64_t(now), &handle)
	runtime.KeepAlive(it)
	return exported(handle, code)
}

// Export tells what it knows of the window at the time now. To be closed.
func (it *BoundedTopK) Export(now Ticks) (*Export, error) {
	var handle *C.windlass_export
	code := C.windlass_bounded_topk_export(it.handle, C.uint64_t(now), &handle)
	runtime.KeepAlive(it)
	return exported(handle, code)
}

// ExportComplete is Export of the complete window: without the pane that has begun.
func (it *BoundedTopK) ExportComplete(now Ticks) (*Export, error) {
	var handle *C.windlass_export
	code := C.windlass_bounded_topk_export_complete(it.handle, C.uint64_t(now), &handle)
	runtime.KeepAlive(it)
	return exported(handle, code)
}

// ExportFromBytes makes an Export of what Bytes has written, on any machine; of what is none an error. To be closed.
func ExportFromBytes(bytes []byte) (*Export, error) {
	var handle *C.windlass_export
	e := newError()
	code := C.windlass_export_from_bytes((*C.uint8_t)(pointer(bytes)), C.size_t(len(bytes)), &handle, &e)
	if code != 0 {
		return nil, failure(code, &e)
	}
	return exported(handle, code)
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Export) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_export_free(it.handle)
	it.handle = nil
	return nil
}

// Bytes appends it as bytes to buffer, which may be nil.
func (it *Export) Bytes(buffer []byte) ([]byte, error) {
	at := len(buffer)
	for {
		var length C.size_t
		free := buffer[at:cap(buffer)]
		code := C.windlass_export_to_bytes(it.handle, (*C.uint8_t)(pointer(free)), C.size_t(len(free)), &length)
		runtime.KeepAlive(it)
		if code == C.WINDLASS_E_TOO_SMALL {
			buffer = append(make([]byte, 0, at+int(length)), buffer[:at]...)
			continue
		}
		return buffer[:at+int(length)], status(code)
	}
}

// List gives all its rows.
func (it *Export) List(list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_export_list(it.handle, &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}

// Truncate cuts it to so many rows, the hottest: fewer bytes, and wider bounds. No other call may be under way.
func (it *Export) Truncate(rows int) error {
	if rows < 0 {
		return ErrRange
	}
	code := C.windlass_export_truncate(it.handle, C.size_t(rows))
	runtime.KeepAlive(it)
	return status(code)
}

// Info tells what it says beside its rows.
func (it *Export) Info() (ExportInfo, error) {
	var c C.windlass_export_info
	code := C.windlass_export_get_info(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to ExportInfo
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// ExportInfo is what an Export says beside its rows.
// See windlass_export_info in windlass.h.
type ExportInfo struct {
	// What a tick is.
	Unit Unit
	// The time for which it was asked.
	AsOf uint64
	// The length of a pane in ticks.
	Pane uint64
	// The first tick of its first pane.
	Start uint64
	// The tick after its last pane's last.
	End uint64
	// How often all keys were seen.
	Total uint64
	// No key that is not in its rows was seen more often than this.
	Tail uint64
	// How many rows it has.
	Rows uint64
	// How many it could have.
	Capacity uint64
	// How many keys a list of the structure has.
	K uint64
}

func (to *ExportInfo) read(c *C.windlass_export_info) {
	to.Unit = Unit(c.unit)
	to.AsOf = uint64(c.as_of)
	to.Pane = uint64(c.pane)
	to.Start = uint64(c.start)
	to.End = uint64(c.end)
	to.Total = uint64(c.total)
	to.Tail = uint64(c.tail)
	to.Rows = uint64(c.rows)
	to.Capacity = uint64(c.capacity)
	to.K = uint64(c.k)
}

// Keys tells where keys are, of those that are merged.
type Keys uint32

// Where they may be.
const (
	// KeysSplit: each key is on one structure, and on no other.
	KeysSplit = Keys(C.WINDLASS_KEYS_SPLIT)
	// KeysShared: a key may be on several: each has counted a part.
	KeysShared = Keys(C.WINDLASS_KEYS_SHARED)
)

// Aggregator merges the exports of any number of structures into one list. Add and AddAll are for one goroutine at a time.
type Aggregator struct {
	handle *C.windlass_aggregator
}

// NewAggregator makes an Aggregator for lists of k keys, to be closed when it is needed no more.
func NewAggregator(k uint64, keys Keys) (*Aggregator, error) {
	made := &Aggregator{}
	e := newError()
	if status := C.windlass_aggregator_new(C.uint64_t(k), C.uint32_t(keys), &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Aggregator).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Aggregator) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_aggregator_free(it.handle)
	it.handle = nil
	return nil
}

// Add adds what a structure tells, each once. ErrMismatch: of other panes, another interval or another seed; nothing was changed.
func (it *Aggregator) Add(export *Export) error {
	e := newError()
	code := C.windlass_aggregator_add(it.handle, export.handle, &e)
	runtime.KeepAlive(it)
	runtime.KeepAlive(export)
	if code != 0 {
		return failure(code, &e)
	}
	return nil
}

// AddAll adds what another has been told, of other structures.
func (it *Aggregator) AddAll(other *Aggregator) error {
	e := newError()
	code := C.windlass_aggregator_add_all(it.handle, other.handle, &e)
	runtime.KeepAlive(it)
	runtime.KeepAlive(other)
	if code != 0 {
		return failure(code, &e)
	}
	return nil
}

// Exports tells how many were added.
func (it *Aggregator) Exports() (uint64, error) {
	answer := C.wl_aggregator_exports(it.handle)
	runtime.KeepAlive(it)
	return uint64(answer.value), status(answer.code)
}

// List gives the list over all that was added.
func (it *Aggregator) List(list *TopList) error {
	ask := func(rows *C.windlass_top_row, rowRoom C.size_t, keys *C.uint8_t, keyRoom C.size_t) C.windlass_status {
		return C.windlass_aggregator_list(it.handle, &list.c, C.uint32_t(unsafe.Sizeof(list.c)), rows, rowRoom, keys, keyRoom)
	}
	err := list.fill(ask, ask)
	runtime.KeepAlive(it)
	return err
}
