/// What a C library complained of without giving up: for the log, never for a client.
package struct CodecWarnings: Sendable, Hashable {
  /// What a profile that is ignored is put down to, whoever found out.
  package static let colorLibrary = "lcms2"

  /// `libjpeg`, `libpng`, `libexif` or `lcms2`.
  package let library: String
  package let count: Int
  /// The first complaint, in the library's words.
  package let first: String

  /// `nil`: there was none.
  package init?(library: String, count: Int, first: String) {
    guard count > 0 else { return nil }
    self.library = library
    self.count = count
    self.first = first
  }
}
