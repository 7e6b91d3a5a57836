/// The name of an object below the root of a store: bytes, like a path in the library folder, with slashes between its
/// components and none in front.
package struct ObjectKey: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The limit of S3, and less than that of Linux (PATH_MAX).
  static let maximumBytes = 1024

  package let bytes: [UInt8]

  /// `nil` if the bytes are not a key: empty, too long, with a NUL, or with a component that is empty, `.` or `..`. An
  /// object with such a name can't be a file of a folder.
  package init?(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, bytes.count <= Self.maximumBytes, !bytes.contains(0) else { return nil }
    let components = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard components.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }) else {
      return nil
    }
    self.bytes = bytes
  }

  package init?(_ text: String) { self.init(Array(text.utf8)) }

  /// Whether the object is in a hidden folder. Those belong to other programs, or are the trash, and are in no list.
  package var isHidden: Bool {
    let components = bytes.split(separator: UInt8(ascii: "/"))
    return components.dropLast().contains { $0.first == UInt8(ascii: ".") }
  }

  /// For log lines: invalid UTF-8 becomes U+FFFD.
  package var description: String { String(decoding: bytes, as: UTF8.self) }

  /// The key as text; `nil` if it is not valid UTF-8, which only a folder can have.
  var text: String? { String(validating: bytes, as: UTF8.self) }

  /// The order of their bytes, which is the order of lists.
  package static func < (a: ObjectKey, b: ObjectKey) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
}
