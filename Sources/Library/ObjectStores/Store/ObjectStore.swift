// A store of originals or derivatives: a folder, an HTTP origin, or a bucket. One suite of tests checks that all three
// behave alike.
//
// All operations are asynchronous. Each call returns at once, and calls its completion later, exactly once, on a queue
// of the store. Completions must return quickly, and must not wait for another operation. `ObjectStore+Waiting.swift`
// has blocking forms for scans.

/// A part of an object.
package struct ObjectRange: Sendable, Hashable {
  package var offset: Int64
  /// At least 1.
  package var length: Int64

  package init(offset: Int64, length: Int64) {
    precondition(offset >= 0 && length > 0, "not a range")
    self.offset = offset
    self.length = length
  }
}

/// A running operation.
package protocol ObjectOperation: Sendable {
  /// Ends the operation with `.cancelled`, unless it has already completed.
  func cancel()
  /// Continues a read whose receiver did not take bytes.
  func resume()
}

/// Receives the bytes of a read, on a queue of the store, one call at a time.
package protocol ObjectReceiver: AnyObject, Sendable {
  /// The store has the object, in the expected state. Called once, before any bytes.
  func readBegan(_ description: ObjectDescription)
  /// The next bytes in order, valid during this call. Returns `false` to take none of them now. Then the read pauses,
  /// with back-pressure on its connection, until ``ObjectOperation/resume()``, and the same bytes are delivered again.
  func received(_ bytes: UnsafeRawBufferPointer) -> Bool
  /// The last call. After `.success` exactly the bytes of the range have been received.
  func readEnded(_ result: Result<Void, ObjectStoreError>)
}

package protocol ObjectStore: Sendable {
  typealias Completion<Value> = @Sendable (Result<Value, ObjectStoreError>) -> Void

  /// For log lines and errors: kind, host and prefix. Contains no credentials.
  var name: String { get }

  /// The state of an object.
  func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation

  /// Reads an object, or a part of it that lies within its size.
  ///
  /// - Parameter identity: the state that the caller knows. A store with entity tags sends it as `If-Match`. `.changed`
  ///   if the object is in another state, or changes during the read and the store can tell.
  func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation

  /// Reads a small object whole, in whatever state it is: for objects that contain their own key and checksum.
  /// `.limitExceeded(.objectBytes)` if it has more bytes.
  func get(
    _ key: ObjectKey, maximumBytes: Int, _ completion: @escaping Completion<[UInt8]>
  ) -> any ObjectOperation

  /// The objects whose keys come after a position, without those of hidden folders. A page may be empty, and not the
  /// last.
  func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation

  /// Writes an object, whole or not at all.
  ///
  /// - Parameter replaces: if `false`, fails with `.exists` if there is an object of this name.
  func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation

  /// Writes a file as an object, whole or not at all.
  ///
  /// - Parameters:
  ///   - file: read on a queue of the store, again for each attempt.
  ///   - replaces: as for bytes. `.exists` may also mean that the store has written the object, and its response was
  ///     lost.
  func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation

  /// The objects in a folder and in the folders below it, hidden or not. Only of a store in which photod keeps a trash;
  /// elsewhere `.unsupported`.
  func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation

  /// Copies an object within the store, replacing what has the new name.
  func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation

  /// Removes an object. A missing object is not an error. A bucket with versions keeps the object as an old version.
  func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation

  /// Moves an object within the store, replacing what has the new name. In a bucket this is a copy and a deletion: if
  /// it ends in between, both exist.
  func move(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation
}

extension ObjectStore {
  package func get(
    _ key: ObjectKey, maximumBytes: Int, _ completion: @escaping Completion<[UInt8]>
  ) -> any ObjectOperation {
    head(key) { result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let found):
        let size = found.identity.size
        guard size <= maximumBytes else { return completion(.failure(.limitExceeded(.objectBytes))) }
        guard size > 0 else { return completion(.success([])) }
        // This read can't be cancelled, but the object is small.
        _ = bytes(key, ObjectRange(offset: 0, length: size), of: found.identity, completion)
      }
    }
  }

  package func move(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation {
    copy(key, of: identity, to: newKey) { result in
      if case .failure = result { return completion(result) }
      // From here on, the move can't be cancelled. Check the copy before deleting the original: a store may send status
      // 200 before it copies, and cut off the response if the copy fails.
      _ = head(newKey) { found in
        switch found {
        case .success(let copy) where copy.identity.size == identity.size: _ = delete(key, completion)
        case .success: completion(.failure(.changed))
        case .failure(let error): completion(.failure(error))
        }
      }
    }
  }
}
