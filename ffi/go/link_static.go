//go:build !windlass_shared

package windlass

// #cgo pkg-config: windlass-static
import "C"
