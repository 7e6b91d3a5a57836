import HTTPCore

/// The parser of multipart/form-data. Parts and errors must not depend on how the bytes are split. The input up to a
/// line feed is the field that names the boundary.
enum MultipartTarget {
  static func check(_ bytes: [UInt8]) {
    let end = bytes.firstIndex(of: 0x0A) ?? 0
    var boundary = "b"
    if let named = try? MultipartParser.boundary(of: String(decoding: bytes[..<end], as: UTF8.self)) {
      boundary = named
    }
    let body = bytes[end...].dropFirst()
    guard let whole = outcome([body], boundary) else { return }
    let single = outcome(body.indices.map { body[$0...$0] }, boundary)
    precondition(whole == single, "byte by byte: \(single ?? []), at once: \(whole)")
    for middle in stride(from: body.startIndex, to: body.endIndex, by: 1 + body.count / 128) {
      let split = outcome([body[..<middle], body[middle...]], boundary)
      precondition(whole == split, "split at \(middle): \(split ?? []), at once: \(whole)")
    }
  }

  private static func outcome(_ pieces: [ArraySlice<UInt8>], _ boundary: String) -> [String]? {
    guard var parser = try? MultipartParser(boundary: boundary) else { return nil }
    var lines: [String] = []
    var content: [UInt8] = []
    do throws(MultipartError) {
      for piece in pieces {
        parser.append(Array(piece))
        parsing: while true {
          switch try parser.next() {
          case .needsInput: break parsing
          case .part(let part): lines.append("\(part)")
          case .piece(let piece):
            precondition(!piece.isEmpty)
            content += piece
          case .partEnded:
            lines.append("\(content)")
            content = []
          case .ended: lines.append("ended")
          }
        }
      }
      try parser.finish()
    } catch {
      // The result for an unfinished part must not depend on the split either, except for an error after it.
      lines.append("\(error)")
    }
    return lines
  }
}
