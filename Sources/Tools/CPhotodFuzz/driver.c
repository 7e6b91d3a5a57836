#include "CPhotodFuzz.h"

// compiler-rt's libFuzzer, FuzzerDriver.cpp. Weak: a plain build lacks it and replays files instead.
__attribute__((weak)) int LLVMFuzzerRunDriver(int *argument_count, char ***arguments, photod_fuzz_input input);

bool photod_fuzz_has_driver(void) { return LLVMFuzzerRunDriver != NULL; }

int photod_fuzz_run(int argument_count, char **arguments, photod_fuzz_input input) {
  return LLVMFuzzerRunDriver(&argument_count, &arguments, input);
}
