// libexif as Swift sees it: parsing of EXIF blocks that are already in memory.
#pragma once
#include <libexif/exif-data.h>
#include <libexif/exif-loader.h>
#include <libexif/exif-utils.h>
