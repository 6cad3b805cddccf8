module orders

go 1.19

require windlass v0.0.0

replace windlass => ../../../go
