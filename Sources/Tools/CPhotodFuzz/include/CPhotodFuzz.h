// libFuzzer's driver as a function, so that the fuzzing program has a main of its own like any other.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*photod_fuzz_input)(const uint8_t *bytes, size_t length);

// Whether this program was linked with libFuzzer: only scripts/fuzz does that.
bool photod_fuzz_has_driver(void);
// libFuzzer's own main with its own options (https://llvm.org/docs/LibFuzzer.html#options): calls `input` until it has
// had enough. Only with the driver.
int photod_fuzz_run(int argument_count, char **arguments, photod_fuzz_input input);
