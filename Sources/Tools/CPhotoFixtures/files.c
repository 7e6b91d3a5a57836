#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>

#include "CPhotoFixtures.h"

bool fixture_exchange_names(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0;
}
