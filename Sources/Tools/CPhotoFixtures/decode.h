#pragma once
#include "CPhotoFixtures.h"

uint8_t *fixture_profile_in_jpeg(const uint8_t *bytes, size_t length, size_t *profile_length);
uint8_t *fixture_profile_in_png(const uint8_t *bytes, size_t length, size_t *profile_length);
uint8_t *fixture_decode_jpeg(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels);
uint8_t *fixture_decode_png(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels);
