package internalversion

import "time"

// oracleNow is when tables are printed: ages are relative to it.
var oracleNow = time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
