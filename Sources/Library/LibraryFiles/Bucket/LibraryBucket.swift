// A library in a bucket: objects instead of files. LibraryFiles takes the same steps as in a folder, in the same order,
// and only the primitive operations differ:
//
//     a new file      PutObject that replaces nothing
//     a move          CopyObject, then DeleteObject: after a kill in between both objects exist
//     the trash       .photod-trash/CATALOGUE/RANDOM/NAME below the prefix; scans skip hidden folders
//
// Several daemons may serve one bucket, each with a catalogue of its own, so each catalogue has its own trash.

import LibraryCatalogue
import LibraryFolder
import ObjectStores
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package struct LibraryBucket: Sendable {
  /// Called with an object that was written, its identity in the catalogue, and its bytes.
  package typealias Stored = @Sendable (ObjectKey, FileIdentity, any ByteSource) -> Void

  let store: any ObjectStore
  /// The path of the trash below the library's root.
  let trashFolder: [UInt8]
  let stored: Stored

  /// - Parameter name: the catalogue's, which is also the name of its folder in the trash.
  package init(_ store: any ObjectStore, name: String, stored: @escaping Stored = { _, _, _ in }) {
    self.store = store
    self.stored = stored
    trashFolder = LibraryPath.join(TrashFolder.name, Array(name.utf8))
  }

  /// The object at a path; `nil` if there is none.
  func head(_ path: [UInt8]) throws(LibraryFilesError) -> ObjectDescription? {
    let key = try key(path)
    do throws(ObjectStoreError) {
      return try store.waitForHead(key)
    } catch {
      if error == .notFound { return nil }
      throw LibraryFilesError(error, at: path)
    }
  }

  /// The identity of the object at a path, as scans find it; `nil` if there is none.
  func identity(at path: [UInt8]) throws(LibraryFilesError) -> FileIdentity? {
    let key = try key(path)
    return try head(path).map { FileIdentity(ObjectPage.Entry(key: key, identity: $0.identity, modified: $0.modified)) }
  }

  /// Writes a file. Returns false if an object is there already, and replaces nothing.
  func put(_ file: ObjectFile, at path: [UInt8]) throws(LibraryFilesError) -> Bool {
    let key = try key(path)
    do throws(ObjectStoreError) {
      _ = try store.waitToPut(file, as: key, replaces: false)
      return true
    } catch .exists {
      return false
    } catch {
      throw LibraryFilesError(error, at: path)
    }
  }

  /// Copies an object, then deletes it. Returns false if there is no object to move. Throws EEXIST if another object
  /// has the new path; a copy that an earlier attempt made is used.
  func move(_ from: [UInt8], to: [UInt8]) throws(LibraryFilesError) -> Bool {
    let (key, newKey) = (try key(from), try key(to))
    guard let source = try head(from) else { return false }
    if let found = try head(to) {
      guard found.isCopy(of: source) else { throw .failed(path: to, SystemError(code: EEXIST)) }
    } else {
      do throws(ObjectStoreError) {
        try store.waitToCopy(key, of: source.identity, to: newKey)
      } catch {
        throw LibraryFilesError(error, at: from)
      }
      // A store may send status 200 before it copies, and cut off the response if the copy fails: only the copy itself
      // proves success.
      guard let copy = try head(to), copy.identity.size == source.identity.size else {
        throw .storeFailed(
          .failed("\(LibraryPath.display(to)): the store has no whole copy after it was asked for one"))
      }
    }
    fault(.renamed)
    try remove(from)
    return true
  }

  /// A missing object is not an error.
  func remove(_ path: [UInt8]) throws(LibraryFilesError) {
    let key = try key(path)
    do throws(ObjectStoreError) { try store.waitToDelete(key) } catch { throw LibraryFilesError(error, at: path) }
  }

  /// Removes an object that the store listed in the trash. Throws if its key is not in the trash folder: a wrong list
  /// must not delete originals.
  func removeTrashed(_ key: ObjectKey) throws(LibraryFilesError) {
    guard key.bytes.starts(with: trashFolder + [UInt8(ascii: "/")]) else {
      throw LibraryFilesError(ObjectStoreError.malformed(.wrongList), at: trashFolder)
    }
    try remove(key.bytes)
  }

  func key(_ path: [UInt8]) throws(LibraryFilesError) -> ObjectKey {
    guard let key = ObjectKey(path) else { throw .noSuchFile(path) }
    return key
  }
}

extension ObjectDescription {
  /// Whether two objects have the same content. False for the copy of a multipart upload if the store gives it another
  /// entity tag and no checksum.
  func isCopy(of other: ObjectDescription) -> Bool {
    guard identity.size == other.identity.size else { return false }
    if let sha256, let theirs = other.sha256 { return sha256 == theirs }
    return identity == other.identity
  }
}

extension LibraryFilesError {
  init(_ error: ObjectStoreError, at path: [UInt8]) {
    switch error {
    case .timedOut: self = .storeFailed(.timedOut)
    case .suspended(let retryAfter): self = .storeFailed(.suspended(retryAfter: retryAfter))
    case .limitExceeded(.objectBytes): self = .storeFailed(.fileTooLarge(limit: S3ObjectStore.maximumPieceBytes))
    case .exists: self = .failed(path: path, SystemError(code: EEXIST))
    default: self = .storeFailed(.failed("\(LibraryPath.display(path)): \(error)"))
    }
  }
}
