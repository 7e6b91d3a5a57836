// Following the markers of a JPEG without decoding it. See the header.

#include <string.h>

#include "CPhotodJPEG.h"

enum { BEFORE_IMAGE, SEEK, CODE, LENGTH_HIGH, LENGTH_LOW, SEGMENT, DATA, DATA_CODE, AFTER_IMAGE };

// T.81 table B.1.
enum { RST0 = 0xD0, RST7 = 0xD7, SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, DQT = 0xDB, DHT = 0xC4, TEM = 0x01, APP0 = 0xE0, COM = 0xFE };

// The state after a marker with this code.
static int after(photod_jpeg_markers *markers, uint8_t code) {
  markers->code = code;
  if (code == EOI) {
    markers->ended = true;
    return AFTER_IMAGE;
  }
  if (code == DQT) markers->has_quantization = true;
  if (code == DHT) markers->has_huffman = true;
  if (code == SOS) markers->scans++;
  bool is_application = code >= APP0 && code <= APP0 + 15;
  if (code == COM || (is_application && code != APP0 && code != APP0 + 2 && code != APP0 + 14))
    markers->has_metadata = true;
  bool stands_alone = code == TEM || (code >= RST0 && code <= SOI);
  if (stands_alone) markers->has_garbage = true;
  return stands_alone ? SEEK : LENGTH_HIGH;
}

size_t photod_jpeg_markers_scan(photod_jpeg_markers *markers, const uint8_t *bytes, size_t count) {
  size_t i = 0;
  while (i < count && !markers->ended) {
    uint8_t byte = bytes[i];
    switch (markers->state) {
      case BEFORE_IMAGE:
        // The two bytes of SOI, which the caller has checked.
        if (++markers->left == 2) markers->state = SEEK;
        i++;
        break;
      case SEEK:
        if (byte == 0xFF)
          markers->state = CODE;
        else
          markers->has_garbage = true;
        i++;
        break;
      case CODE:
        // B.1.1.2: any number of fill bytes; a zero makes it no marker.
        if (byte == 0) {
          markers->has_garbage = true;
          markers->state = SEEK;
        } else if (byte != 0xFF) {
          markers->state = after(markers, byte);
        }
        i++;
        break;
      case LENGTH_HIGH:
        markers->left = (uint32_t)byte << 8;
        markers->state = LENGTH_LOW;
        i++;
        break;
      case LENGTH_LOW:
        markers->left |= byte;
        // B.1.1.4: a length counts itself. libjpeg takes a segment with a shorter one for empty.
        if (markers->left < 2) markers->has_garbage = true;
        markers->left = markers->left >= 2 ? markers->left - 2 : 0;
        markers->state = SEGMENT;
        i++;
        break;
      case SEGMENT: {
        size_t now = markers->left < count - i ? markers->left : count - i;
        markers->left -= (uint32_t)now;
        i += now;
        if (markers->left == 0) markers->state = markers->code == SOS ? DATA : SEEK;
        break;
      }
      case DATA: {
        const uint8_t *found = memchr(bytes + i, 0xFF, count - i);
        if (!found) return count;
        markers->state = DATA_CODE;
        i = (size_t)(found - bytes) + 1;
        break;
      }
      default:
        // F.1.2.3: 0xFF followed by a zero is data. Restart markers are part of a scan.
        if (byte == 0 || (byte >= RST0 && byte <= RST7))
          markers->state = DATA;
        else if (byte != 0xFF)
          markers->state = after(markers, byte);
        i++;
        break;
    }
  }
  return i;
}
