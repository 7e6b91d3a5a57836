import ImageCodec
import LibraryFixtures
import Logging
import ObjectStores
import PhotoModel
import Synchronization
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

/// What is deleted in the trash of a bucket without a record.
@Suite("The trash of a bucket")
struct BucketTrashTests {
  private static let orphan = ".photod-trash/0123456789abcdef/1/a.jpg"

  @Test("objects without a record are removed from the trash")
  func orphans() throws {
    let store = ListingStore([Self.orphan])
    try Self.purge(store)
    #expect(store.deletions == [Self.orphan])
  }

  @Test(
    "an object that a store lists in the trash is deleted only if it is there",
    arguments: [
      "a.jpg", "2024/a.jpg", ".photod-trash/a.jpg", ".photod-trash/fedcba9876543210/1/a.jpg",
      ".photod-trash/0123456789abcdef", ".photod-trash/0123456789abcdef0/a.jpg",
      "x/.photod-trash/0123456789abcdef/1/a.jpg",
    ])
  func foreignObjects(_ key: String) throws {
    let store = ListingStore([Self.orphan, key, Self.orphan + "2"])
    #expect(throws: LibraryFilesError.self) { try Self.purge(store) }
    #expect(store.deletions == [Self.orphan], "the list is wrong from there on")
  }

  @Test("a purge that is stopped while it waits for the list ends without an error")
  func stopped() throws {
    let stop = StopFlag()
    let store = ListingStore([Self.orphan], cancelledBy: stop)
    try Self.purge(store, stop: stop)
    #expect(stop.isRaised && store.deletions.isEmpty)
  }

  private static func purge(_ store: ListingStore, stop: StopFlag = StopFlag()) throws {
    let library = try TemporaryLibrary()
    let files = try LibraryFiles(
      catalogue: try library.catalogue(), directory: library.root,
      bucket: LibraryBucket(store, name: "0123456789abcdef"), timeZone: "UTC", limits: CodecLimits(),
      options: LibraryFiles.Options(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    // Its folder goes with it.
    _ = try withExtendedLifetime(library) { try files.purge(stop: stop) }
  }
}

/// A store whose lists of folders have always the same objects, of 1970, and that notes what is deleted.
private final class ListingStore: ObjectStore {
  private struct Done: ObjectOperation {
    func cancel() {}
    func resume() {}
  }

  private let keys: [String]
  private let stop: StopFlag?
  private let state = Mutex<[String]>([])

  /// - Parameter stop: is raised while the store is listed, so that the list is cancelled.
  init(_ keys: [String], cancelledBy stop: StopFlag? = nil) {
    self.keys = keys
    self.stop = stop
  }

  var name: String { "a list" }
  var deletions: [String] { state.withLock { $0 } }

  func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    if let stop {
      stop.raise()
      completion(.failure(.cancelled))
      return Done()
    }
    let identity = ObjectIdentity(size: 1, version: .entityTag("\"x\""))
    let found = keys.compactMap { ObjectKey($0) }
    completion(
      .success(ObjectPage(entries: found.map { ObjectPage.Entry(key: $0, identity: identity, modified: 0) })))
    return Done()
  }

  func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation {
    state.withLock { $0.append(key.description) }
    completion(.success(()))
    return Done()
  }

  func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation {
    completion(.failure(.notFound))
    return Done()
  }

  func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation {
    receiver.readEnded(.failure(.notFound))
    return Done()
  }

  func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    completion(.failure(.unsupported))
    return Done()
  }

  func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    completion(.failure(.unsupported))
    return Done()
  }

  func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    completion(.failure(.unsupported))
    return Done()
  }

  func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation {
    completion(.failure(.unsupported))
    return Done()
  }
}
