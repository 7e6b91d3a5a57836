// libFuzzer's driver as a function, so that the fuzzing program can have its own main.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*photod_fuzz_input)(const uint8_t *bytes, size_t length);

// Whether this program is linked with libFuzzer, which only scripts/fuzz does.
bool photod_fuzz_has_driver(void);
// libFuzzer's main with its options (https://llvm.org/docs/LibFuzzer.html#options), which calls `input` until it ends.
// Only with the driver.
int photod_fuzz_run(int argument_count, char **arguments, photod_fuzz_input input);
