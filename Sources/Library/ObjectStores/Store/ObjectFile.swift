import Cryptography
import PhotoModel

/// A file that becomes an object, or is compared with one. It is complete, and nothing writes to it any longer.
package struct ObjectFile: Sendable {
  let source: any ByteSource
  let sha256: [UInt8]
  /// Many stores use it as the entity tag of an object that was written in one piece, as Amazon S3 does.
  private let md5: [UInt8]

  var size: Int64 { source.size }

  /// Reads the whole file, for its checksums.
  package init(_ source: any ByteSource) throws(ByteSourceError) {
    var (sha256, md5) = (Digest(.sha256), Digest(.md5))
    var offset: Int64 = 0
    while offset < source.size {
      let bytes = try source.bytes(at: offset, count: 1 << 20)
      guard !bytes.isEmpty else { throw .missingBytes }
      sha256.update(bytes)
      md5.update(bytes)
      offset += Int64(bytes.count)
    }
    self.source = source
    self.sha256 = sha256.finalize()
    self.md5 = md5.finalize()
  }

  /// Whether an object is known to have the bytes of this file: by the SHA-256 that the store gives, else by an entity
  /// tag that is the MD5. An object that was written in several pieces may have neither.
  package func hasBytes(of object: ObjectDescription) -> Bool {
    guard object.identity.size == size else { return false }
    if let found = object.sha256 { return found == sha256 }
    return object.identity.version == .entityTag("\"\(md5.hexadecimal)\"")
  }
}
