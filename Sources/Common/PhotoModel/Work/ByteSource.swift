#if canImport(Glibc)
  import Glibc
#endif

/// The result of one read.
package enum ByteRead: Sendable, Equatable {
  /// This many bytes, at least one.
  case bytes(Int)
  /// No bytes at or after that offset.
  case end
  /// The bytes have not arrived yet: read again later. Only from a source with `canReturnNotYet`.
  case notYet
}

/// Why bytes could not be read. The code is `errno`'s.
package enum ByteSourceError: Error, Sendable, Equatable {
  case readFailed(code: Int32)

  /// There are fewer bytes than the size says: the file was cut off, or the store did not send them.
  package static let missingBytes = ByteSourceError.readFailed(code: EIO)
}

/// The bytes of an original, read by position. For one reader at a time.
package protocol ByteSource: AnyObject, Sendable {
  /// The length in bytes.
  var size: Int64 { get }

  /// Whether `read` may return `.notYet`.
  var canReturnNotYet: Bool { get }

  /// Whether the file is unchanged since it was opened: a file of a folder by inode, size and modification time. Asks
  /// the file system; used after a render.
  var isUnchanged: Bool { get }

  /// Copies bytes at `offset` into the buffer: as many as are available at once, possibly fewer than fit.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead
}

extension ByteSource {
  package var isUnchanged: Bool { true }

  /// Up to `count` bytes at `offset`; fewer if the source ends or has not received more yet.
  package func bytes(at offset: Int64, count: Int) throws(ByteSourceError) -> [UInt8] {
    let wanted = max(0, min(count, Int(clamping: size - offset)))
    var failure: ByteSourceError?
    let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
      do throws(ByteSourceError) {
        while filled < wanted {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled..<wanted])
          guard case .bytes(let got) = try read(into: rest, at: offset + Int64(filled)) else { break }
          filled += got
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// A source that is an open file.
package protocol FileByteSource: ByteSource {
  /// Valid as long as this object.
  var descriptor: Int32 { get }

  /// When contents, name or mode last changed before it was opened (ctime), in nanoseconds since 1970; 0: not known. A
  /// program can write a file and then restore its modification time, but not its ctime.
  var changeTimeNanoseconds: Int64 { get }

  /// Whether the file is unchanged and its ctime is too, so nothing about it changed since it was opened: contents,
  /// name, mode. Stricter than `isUnchanged`. Asks the file system.
  var hasSameChangeTime: Bool { get }
}

/// A part of a source as its own source, such as a preview inside a photograph.
package final class ByteSourceSlice: ByteSource {
  private let source: any ByteSource
  private let start: Int64
  package let size: Int64

  /// - Parameter range: cut off at the end of the source.
  package init(_ source: any ByteSource, _ range: ByteRange) {
    self.source = source
    start = min(max(0, range.offset), source.size)
    size = min(Int64(max(0, range.length)), source.size - start)
  }

  package var canReturnNotYet: Bool { source.canReturnNotYet }
  package var isUnchanged: Bool { source.isUnchanged }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    let part = buffer.prefix(Int(clamping: size - offset))
    return try source.read(into: UnsafeMutableRawBufferPointer(rebasing: part), at: start + offset)
  }
}

/// Bytes that are already in memory, as a source.
package final class MemoryByteSource: ByteSource {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package var size: Int64 { Int64(bytes.count) }
  package var canReturnNotYet: Bool { false }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    let count = min(buffer.count, bytes.count - Int(offset))
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
    }
    return .bytes(count)
  }
}
