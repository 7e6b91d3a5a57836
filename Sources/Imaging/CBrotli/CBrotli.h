// Imports libbrotlidec into Swift: a decoder of RFC 7932, for compressed metadata of JPEG XL.
#pragma once
#include <brotli/decode.h>
