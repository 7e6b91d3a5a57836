// A folder as an object store. The objects are regular files below its root; `LibraryFolder` opens none outside of it.

import Dispatch
import DurableFiles
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package final class FolderObjectStore: ObjectStore {
  private let folder: LibraryFolder
  private let queue = DispatchQueue(label: "photod.object-folder", qos: .utility)
  private let pageEntries: Int
  package let name: String

  /// - Parameter pageEntries: maximum number of objects in a page of a list.
  package init(path: String, pageEntries: Int = 1000) throws(SystemError) {
    folder = try LibraryFolder(path: path)
    name = "folder \(path)"
    self.pageEntries = pageEntries
  }

  package func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      let file = try store.open(key)
      return ObjectDescription(
        identity: ObjectIdentity(file.identity), modified: file.identity.modified / 1_000_000_000)
    }
  }

  package func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation {
    let read = FolderRead(range: range, identity: identity, queue: queue, receiver: receiver)
    queue.async { [self] in
      do throws(ObjectStoreError) {
        read.begin(try open(key))
      } catch {
        read.end(.failure(error))
      }
    }
    return read
  }

  package func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      var page = FolderPage(after: position?.text ?? [], limit: store.pageEntries)
      try store.system { () throws(SystemError) in try page.add([], in: store.folder) }
      return page.page
    }
  }

  package func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      try store.write(as: key, replaces: replaces) { descriptor throws(SystemError) in
        try writeAll(bytes.span.bytes, to: descriptor)
      }
    }
  }

  package func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      try store.write(as: key, replaces: replaces) { descriptor throws(SystemError) in
        try Self.copy(file.source, to: descriptor)
      }
    }
  }

  package func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    run(completion) { _ throws(ObjectStoreError) in throw .unsupported }
  }

  package func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      let file = try store.open(key, identity)
      _ = try store.write(as: newKey, replaces: true) { descriptor throws(SystemError) in
        try Self.copy(file, to: descriptor)
      }
    }
  }

  package func move(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      _ = try store.open(key, identity)
      try store.system { () throws(SystemError) in
        let old = try store.folder.open(LibraryPath.folder(of: key.bytes), isFolder: true)
        let new = try store.folder.openMakingFolders(LibraryPath.folder(of: newKey.bytes))
        try Self.rename(old, LibraryPath.name(of: key.bytes), new, LibraryPath.name(of: newKey.bytes))
        try new.sync()
        try old.sync()
      }
    }
  }

  package func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation {
    run(completion) { store throws(ObjectStoreError) in
      do throws(ObjectStoreError) {
        try store.system { () throws(SystemError) in
          let parent = try store.folder.open(LibraryPath.folder(of: key.bytes), isFolder: true)
          try parent.remove(LibraryPath.name(of: key.bytes))
          try parent.sync()
        }
      } catch .notFound {
        return
      }
    }
  }

  // MARK: Steps

  /// Runs an operation on the queue.
  private func run<Value: Sendable>(
    _ completion: @escaping Completion<Value>,
    _ body: @escaping @Sendable (FolderObjectStore) throws(ObjectStoreError) -> Value
  ) -> any ObjectOperation {
    let operation = CancellationFlag()
    queue.async { [self] in
      guard !operation.isCancelled else { return completion(.failure(.cancelled)) }
      completion(Result { () throws(ObjectStoreError) in try body(self) })
    }
    return operation
  }

  private func open(_ key: ObjectKey, _ identity: ObjectIdentity? = nil) throws(ObjectStoreError) -> LibraryFile {
    let file = try system { () throws(SystemError) in try folder.open(key.bytes) }
    guard file.isRegularFile else { throw .notFound }
    if let identity, identity != ObjectIdentity(file.identity) { throw .changed }
    return file
  }

  /// Writes a file under a temporary name in the folder of the object, and renames it once it is complete and synced.
  private func write(
    as key: ObjectKey, replaces: Bool, _ fill: (Int32) throws(SystemError) -> Void
  ) throws(ObjectStoreError) -> ObjectIdentity {
    let name = LibraryPath.name(of: key.bytes)
    let temporary = Array(".photod-\(UInt64.random(in: .min ... .max))".utf8)
    do throws(ObjectStoreError) {
      return try system { () throws(SystemError) in
        let parent = try folder.openMakingFolders(LibraryPath.folder(of: key.bytes))
        let file = try LibraryFile(owning: parent.create(temporary))
        var isComplete = false
        defer { if !isComplete { try? parent.remove(temporary) } }
        try fill(file.descriptor)
        try file.sync()
        if replaces {
          try parent.replace(name, with: temporary)
        } else {
          try parent.rename(temporary, to: parent, as: name)
        }
        isComplete = true
        try parent.sync()
        return try ObjectIdentity(parent.entry(name).identity)
      }
    } catch .system(let error) where error.code == EEXIST {
      throw .exists
    }
  }

  /// rename(2) between two folders. ``LibraryFile/rename(_:to:as:)`` would not replace.
  private static func rename(
    _ folder: LibraryFile, _ name: [UInt8], _ newFolder: LibraryFile, _ newName: [UInt8]
  ) throws(SystemError) {
    let result = (name + [0]).withUnsafeBytes { old in
      (newName + [0]).withUnsafeBytes { new in
        renameat(
          folder.descriptor, old.assumingMemoryBound(to: CChar.self).baseAddress!, newFolder.descriptor,
          new.assumingMemoryBound(to: CChar.self).baseAddress!)
      }
    }
    guard result == 0 else { throw SystemError(code: errno) }
  }

  private static func copy(_ file: any ByteSource, to descriptor: Int32) throws(SystemError) {
    var offset: Int64 = 0
    while true {
      let bytes: [UInt8]
      do throws(ByteSourceError) {
        bytes = try file.bytes(at: offset, count: 1 << 18)
      } catch {
        switch error {
        case .readFailed(let code): throw SystemError(code: code)
        }
      }
      if bytes.isEmpty { return }
      try writeAll(bytes.span.bytes, to: descriptor)
      offset += Int64(bytes.count)
    }
  }

  private func system<Value>(_ body: () throws(SystemError) -> Value) throws(ObjectStoreError) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      let isGone = [ENOENT, ENOTDIR, EXDEV, ELOOP, ENXIO, EISDIR].contains(error.code)
      throw isGone ? .notFound : .system(error)
    }
  }
}
