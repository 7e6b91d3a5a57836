// A cache of the parts of objects that scans have read: dimensions and the embedded thumbnail, which can be shown while
// the original is in the cloud. A missing or damaged head is a cache miss.
//
// The folder is that of OriginalFolder, with files of this form, numbers in little-endian order:
//
//     "photod-head-1\n", number of parts: 4 bytes
//     for each part: offset: 8 bytes, length: 4 bytes, bytes
//
// A scan and a daemon may use it at the same time: each knows only its own files by index, and finds all by name.

import ObjectStores
import PhotoModel
import Synchronization

package final class OriginalHeads: Sendable {
  /// Maximum size of all parts of one object together. Further parts are left out.
  static let maximumBytes = 128 << 10
  private static let magic = Array("photod-head-1\n".utf8)

  private let folder: OriginalFolder
  private let index: Mutex<OriginalIndex>

  /// Reads the names in the folder, and removes heads that are over the limit, the least recently used ones first.
  ///
  /// - Parameters:
  ///   - path: made if its parent folder exists.
  ///   - limitBytes: maximum bytes of all heads; 0 keeps none.
  package init(path: String, limitBytes: Int64) throws(SystemError) {
    folder = try OriginalFolder(path: path)
    var index = OriginalIndex(capacityBytes: limitBytes)
    for (name, size) in try folder.load() {
      index.insert(name, size: size)
      for removed in index.reserve(0) ?? [] { folder.remove(removed) }
    }
    self.index = Mutex(index)
  }

  /// Keeps parts of an object, in their order. If the disk fails, it keeps nothing.
  package func store(_ parts: [(offset: Int64, bytes: [UInt8])], of key: ObjectKey, _ identity: FileIdentity) {
    let bytes = Self.encode(parts)
    let name = OriginalName(key, identity)
    let removed = index.withLock { index -> [OriginalName]? in
      let removed = index.reserve(Int64(bytes.count))
      // Nothing else is reserved: the file is written at once.
      if removed != nil { index.release(Int64(bytes.count)) }
      return removed
    }
    guard let removed else { return }
    for name in removed { folder.remove(name) }
    do throws(SystemError) {
      let partial = try folder.makePartial(.random(in: .min ... .max))
      do throws(SystemError) {
        try partial.write(bytes, at: 0)
        try folder.keep(partial, as: name, syncs: false)
      } catch {
        folder.discard(partial)
        throw error
      }
      index.withLock { $0.insert(name, size: Int64(bytes.count)) }
    } catch {
      // The next scan that reads the object tries again.
    }
  }

  /// The kept parts of an object; `nil` if there are none.
  package func open(_ key: ObjectKey, _ identity: FileIdentity) -> (any ByteSource)? {
    let name = OriginalName(key, identity)
    guard let file = folder.open(name), let parts = Self.decode(file) else { return nil }
    index.withLock { index in
      // Another process has stored it.
      if !index.contains(name) { index.insert(name, size: file.size) }
      index.touch(name)
    }
    return HeadSource(size: identity.size, parts: parts)
  }

  // MARK: Form

  private static func encode(_ parts: [(offset: Int64, bytes: [UInt8])]) -> [UInt8] {
    var kept: [(offset: Int64, bytes: [UInt8])] = []
    var total = 0
    for part in parts where total + part.bytes.count <= maximumBytes {
      kept.append(part)
      total += part.bytes.count
    }
    var bytes = magic
    func add<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }
    add(UInt32(kept.count))
    for part in kept {
      add(UInt64(part.offset))
      add(UInt32(part.bytes.count))
      bytes += part.bytes
    }
    return bytes
  }

  /// `nil` if the file is damaged.
  private static func decode(_ file: any ByteSource) -> [HeadSource.Part]? {
    guard file.size <= Int64(2 * maximumBytes), let bytes = try? file.bytes(at: 0, count: Int(file.size)),
      bytes.starts(with: magic)
    else { return nil }
    var rest = bytes[magic.count...]
    func number(_ count: Int) -> UInt64? {
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard let count = number(4) else { return nil }
    var parts: [HeadSource.Part] = []
    for _ in 0..<count {
      guard let offset = number(8), offset <= UInt64(Int64.max / 2), let length = number(4), length <= rest.count else {
        return nil
      }
      parts.append(HeadSource.Part(offset: Int64(offset), bytes: Array(rest.prefix(Int(length)))))
      rest = rest.dropFirst(Int(length))
    }
    return rest.isEmpty ? parts : nil
  }
}

/// An object of which some parts are local. Anywhere else it reads as if the file had been cut off there: readers of
/// headers ask for more than they need.
private final class HeadSource: ByteSource {
  struct Part: Sendable {
    let offset: Int64
    let bytes: [UInt8]
  }

  let size: Int64
  private let parts: [Part]

  init(size: Int64, parts: [Part]) { (self.size, self.parts) = (size, parts) }

  var canReturnNotYet: Bool { false }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    guard buffer.count > 0 else { return .bytes(0) }
    guard let part = parts.first(where: { $0.offset <= offset && offset < $0.offset + Int64($0.bytes.count) }) else {
      return .end
    }
    let start = Int(offset - part.offset)
    let count = min(buffer.count, part.bytes.count - start)
    part.bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
    }
    return .bytes(count)
  }
}
