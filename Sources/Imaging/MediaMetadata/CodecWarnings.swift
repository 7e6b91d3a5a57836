/// Warnings about damage in spite of which the reader, usually a C library, went on: for the log, never for a client.
package struct CodecWarnings: Sendable, Hashable {
  /// The library named in warnings about ignored profiles, whichever code found the fault.
  package static let colorLibrary = "lcms2"

  /// `libjpeg`, `libpng`, `libexif` or `lcms2`; `EXIF` for damage that ``EXIFSummary`` found.
  package let library: String
  package let count: Int
  /// The first warning, in the library's words.
  package let first: String

  /// `nil` if `count` is 0.
  package init?(library: String, count: Int, first: String) {
    guard count > 0 else { return nil }
    self.library = library
    self.count = count
    self.first = first
  }
}
