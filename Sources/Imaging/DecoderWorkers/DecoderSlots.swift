// The memory that a decoder writes rows into, and that an encoder reads rows from: two sealed files in memory, mapped
// once and used again, because a fresh one costs 25 times as much as a used one.

import CPhotodDecoder

#if canImport(Glibc)
  import Glibc
#endif

/// The two slots of a worker, and the daemon's own copy of one band.
///
/// `@unchecked Sendable` because the pool lends an object to one decode at a time; only that decode uses the memory.
final class DecoderSlots: @unchecked Sendable {
  static let count = Int(DECODER_SLOTS)

  let slotBytes: Int
  private let files: [Int32]
  private let mappings: [UnsafeMutableRawPointer]
  private let copy: UnsafeMutableRawBufferPointer

  /// `nil` if the system has no memory or no descriptors for them.
  init?(slotBytes: Int) {
    self.slotBytes = slotBytes
    var files: [Int32] = []
    var mappings: [UnsafeMutableRawPointer] = []
    for _ in 0..<Self.count {
      let file = photod_decoder_memory(slotBytes)
      guard file >= 0 else { break }
      files.append(file)
      guard let mapping = mmap(nil, slotBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), mapping != MAP_FAILED
      else { break }
      mappings.append(mapping)
    }
    self.files = files
    self.mappings = mappings
    copy = .allocate(byteCount: slotBytes, alignment: 64)
    // Rows that the worker has not written are black, and never earlier contents of the memory.
    copy.initializeMemory(as: UInt8.self, repeating: 0)
    if mappings.count < Self.count { return nil }
  }

  deinit {
    for mapping in mappings { munmap(mapping, slotBytes) }
    for file in files { close(file) }
    copy.deallocate()
  }

  /// The descriptors, for a request. Valid as long as this object.
  var descriptors: [Int32] { files }

  /// Clears what a picture of this layout has left, before another worker, possibly for another user, gets the slots.
  func clear(_ layout: BandLayout) {
    for plane in layout.planes {
      let bytes = plane.rowCount(layout.bandRows) * plane.strideBytes
      for mapping in mappings {
        mapping.advanced(by: plane.offset).initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
      }
    }
  }

  /// Copies the rows of a band. Only the copy is used: the worker may still write into the slot.
  func copyBand(from slot: Int, rows: Int, _ layout: BandLayout) {
    for plane in layout.planes {
      let bytes = plane.rowCount(rows) * plane.strideBytes
      precondition(plane.offset + bytes <= slotBytes, "a band beyond its slot")
      copy.baseAddress?.advanced(by: plane.offset).copyMemory(
        from: mappings[slot].advanced(by: plane.offset), byteCount: bytes)
    }
  }

  /// Writes the rows of a band, without padding, for an encoder. The layout has one plane.
  func write(_ rows: UnsafeRawBufferPointer, to slot: Int, _ layout: BandLayout) {
    let offset = layout.planes[0].offset
    precondition(offset + rows.count <= slotBytes, "a band beyond its slot")
    UnsafeMutableRawBufferPointer(start: mappings[slot] + offset, count: rows.count).copyMemory(from: rows)
  }

  /// Calls `body` with the band that was copied last.
  func withCopy<Result>(_ body: (RawSpan) -> Result) -> Result { body(copy.bytes) }
}
