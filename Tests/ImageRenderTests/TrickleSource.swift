import PhotoModel

/// A source that has its header at once and the rest a few bytes at a time, perhaps with "not yet" in between.
final class TrickleSource: ByteSource, @unchecked Sendable {
  // `@unchecked Sendable` because one test has one reader at a time.
  private let source: any ByteSource
  private let headerBytes: Int64
  let canReturnNotYet: Bool
  private var isDue = false

  init(_ source: any ByteSource, headerBytes: Int64, canReturnNotYet: Bool = true) {
    self.source = source
    self.headerBytes = headerBytes
    self.canReturnNotYet = canReturnNotYet
  }

  var size: Int64 { source.size }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    if canReturnNotYet, offset >= headerBytes {
      isDue.toggle()
      if isDue { return .notYet }
    }
    let count = offset < headerBytes ? min(buffer.count, Int(headerBytes - offset)) : min(buffer.count, 97)
    return try source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
  }
}
