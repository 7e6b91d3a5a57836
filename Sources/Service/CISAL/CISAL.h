#pragma once
#include <stddef.h>
#include <isa-l/crc64.h>
