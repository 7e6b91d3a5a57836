import Cryptography
import ObjectStores
import PhotoModel

/// The name of a downloaded original: a digest of its key and its identity in the catalogue, so each version of an
/// object has a name of its own.
struct OriginalName: Sendable, Hashable {
  /// 32 lower-case hexadecimal digits.
  let text: String

  init(_ key: ObjectKey, _ identity: FileIdentity) {
    var hash = Digest(.sha256)
    for number in [UInt64(key.bytes.count), UInt64(bitPattern: identity.size), identity.inode] {
      withUnsafeBytes(of: number.littleEndian) { hash.update($0) }
    }
    withUnsafeBytes(of: identity.modified.littleEndian) { hash.update($0) }
    hash.update(key.bytes)
    text = hash.finalize().prefix(16).hexadecimal
  }

  /// `nil` if the names of a folder and of a file in it are not such a name.
  init?(folder: [UInt8], file: [UInt8]) {
    let name = folder + file
    let isHexadecimal = name.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
    }
    guard folder.count == 2, file.count == 30, isHexadecimal else { return nil }
    text = String(decoding: name, as: UTF8.self)
  }

  var folder: [UInt8] { Array(text.utf8.prefix(2)) }
  var file: [UInt8] { Array(text.utf8.dropFirst(2)) }
  var path: [UInt8] { folder + [UInt8(ascii: "/")] + file }
}
