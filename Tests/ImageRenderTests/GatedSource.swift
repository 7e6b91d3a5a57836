import ImageCodec
import PhotoModel
import Synchronization

/// A source that raises flags during one of its reads, and counts later reads.
final class GatedSource: ByteSource {
  private let source: MemoryByteSource
  private let flags: [StopFlag]
  private let gate: Int
  private let reads = Mutex(0)
  let canReturnNotYet: Bool

  init(_ bytes: [UInt8], raising flags: [StopFlag], atRead gate: Int, canReturnNotYet: Bool = false) {
    source = MemoryByteSource(bytes)
    self.flags = flags
    self.gate = gate
    self.canReturnNotYet = canReturnNotYet
  }

  var size: Int64 { source.size }
  var readsAfterwards: Int { reads.withLock { max(0, $0 - gate) } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    let number = reads.withLock {
      $0 += 1
      return $0
    }
    if number == gate { for flag in flags { flag.raise() } }
    // Few bytes at a time, so that many reads follow.
    return source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(512)), at: offset)
  }
}
