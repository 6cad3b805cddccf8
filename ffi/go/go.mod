module windlass

go 1.19
