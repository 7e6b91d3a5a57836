// Reads the objects of a long JSON file one at a time: those of an array at the top, or objects one after the other
// (JSON Lines). Finds the end of each object by counting brackets outside of strings; the caller parses the bytes of an
// object.

import LibraryFolder
import PhotoModel

struct JSONElements {
  /// Why a file can't be read further.
  enum Failure: Error, Equatable {
    /// An object is longer than the limit.
    case tooLong(offset: Int64)
    /// There is something between two objects.
    case malformed(offset: Int64)
    /// The file ends within an object.
    case truncated
    case readFailed(SystemError)
  }

  private static let chunkBytes = 1 << 18

  private let file: LibraryFile
  private let limit: Int
  private var chunk: [UInt8] = []
  private var position = 0
  private var chunkOffset: Int64 = 0

  /// - Parameter limit: the maximum length of an object, in bytes.
  init(_ file: LibraryFile, limit: Int) {
    self.file = file
    self.limit = limit
  }

  /// The bytes of the next object; `nil` at the end of the file.
  mutating func next() throws(Failure) -> [UInt8]? {
    var element: [UInt8] = []
    var depth = 0
    var isText = false
    var isEscaped = false
    while let byte = try byte() {
      if depth == 0 {
        switch byte {
        // The array around the objects, and what is between them.
        case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","), 0x09, 0x0A, 0x0D, 0x20: continue
        // A byte order mark.
        case 0xEF, 0xBB, 0xBF: continue
        case UInt8(ascii: "{"): depth = 1
        default: throw .malformed(offset: offset - 1)
        }
        element.append(byte)
        continue
      }
      guard element.count < limit else { throw .tooLong(offset: offset) }
      element.append(byte)
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isText = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isText = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 { return element }
      default: break
      }
    }
    if depth > 0 { throw .truncated }
    return nil
  }

  private var offset: Int64 { chunkOffset + Int64(position) }

  private mutating func byte() throws(Failure) -> UInt8? {
    if position == chunk.count {
      chunkOffset += Int64(chunk.count)
      position = 0
      do throws(ByteSourceError) {
        chunk = try file.bytes(at: chunkOffset, count: Self.chunkBytes)
      } catch {
        switch error {
        case .readFailed(let code): throw .readFailed(SystemError(code: code))
        }
      }
      if chunk.isEmpty { return nil }
    }
    defer { position += 1 }
    return chunk[position]
  }
}

extension JSONElements.Failure: CustomStringConvertible {
  var description: String {
    switch self {
    case .tooLong(let offset): "an object is too long, at byte \(offset)"
    case .malformed(let offset): "it is not a list of JSON objects, at byte \(offset)"
    case .truncated: "it ends within an object"
    case .readFailed(let error): "\(error)"
    }
  }
}
