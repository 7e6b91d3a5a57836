extension RAWPreviews {
  /// The positions of the JPEG's offset and length in the header, 32 bits each, big-endian (ExifTool, "FujiFilm RAF
  /// Header Tags").
  private static let pointers: Int64 = 84

  /// Fujifilm's RAF: its header refers to one JPEG.
  static func findByHeader(
    _ reader: inout HeaderReader, _ candidates: inout Candidates
  ) throws(CodecError) {
    let fields = try reader.wholeBytes(at: pointers, count: 8)
    candidates.add(offset: Int64(fields.bigEndian(at: 0, bytes: 4)), length: fields.bigEndian(at: 4, bytes: 4))
  }
}
