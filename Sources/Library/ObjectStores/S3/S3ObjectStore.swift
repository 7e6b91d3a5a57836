// A bucket of S3 or of a store with S3's API. One request for each operation; the requests are those of the "Amazon S3
// API Reference": HeadObject, GetObject, ListObjectsV2, PutObject, CopyObject, DeleteObject.

import Cryptography
import FoundationEssentials

package final class S3ObjectStore: ObjectStore {
  /// The largest object that one PutObject writes or one CopyObject copies: 5 GiB.
  package static let maximumPieceBytes: Int64 = 5 << 30

  /// Maximum number of consecutive pages without an object. A store may send a few, for example for deleted objects.
  static let maximumEmptyPages = 1000

  private let bucket: S3Bucket
  private let signer: S3Signer
  private let origin: RemoteOrigin
  private let pageEntries: Int
  package let name: String

  /// - Parameter pageEntries: 1 to 1000 objects in a page of a list.
  package init(
    bucket: S3Bucket, credentials: S3Credentials, rules: TransferRules, limits: RemoteLimits = RemoteLimits(),
    clock: RemoteClock = .system, pageEntries: Int = 1000
  ) {
    self.bucket = bucket
    self.pageEntries = min(max(1, pageEntries), 1000)
    signer = S3Signer(credentials: credentials, region: bucket.region)
    origin = RemoteOrigin(rules: rules, limits: limits, clock: clock)
    name = "s3://\(bucket.name)\(bucket.prefix.isEmpty ? "" : "/" + bucket.prefix) at \(bucket.host)"
  }

  package func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation {
    guard let plan = plan(.head, key, fields: { _ in [("x-amz-checksum-mode", "ENABLED")] }) else {
      return origin.fail { completion(.failure(.unsupported)) }
    }
    return origin.run(plan, completion) { head, _ throws(ObjectStoreError) in
      try head.description(sha256: Self.checksum(head))
    }
  }

  package func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation {
    origin.read(range, of: identity, into: receiver, sha256: { Self.checksum($0) }) { read in
      let fields: @Sendable (Int64) -> [(name: String, value: String)] = { received in
        // The checksum covers the whole object, and stores send it only with a read of the whole object.
        let isWhole = read.length == read.size && received == 0
        return read.fields(after: received) + (isWhole ? [("x-amz-checksum-mode", "ENABLED")] : [])
      }
      return plan(.get, key, fields: fields)
    }
  }

  package func get(
    _ key: ObjectKey, maximumBytes: Int, _ completion: @escaping Completion<[UInt8]>
  ) -> any ObjectOperation {
    guard var plan = plan(.get, key, fields: { _ in [("Accept-Encoding", "identity")] }) else {
      return origin.fail { completion(.failure(.unsupported)) }
    }
    plan.timeout = origin.limits.retries.readTimeout
    plan.accept = { head, _ throws(ObjectStoreError) in
      guard head.status == 200 else { throw .malformed(.unexpectedStatus(head.status)) }
      if let length = head.contentLength, length > maximumBytes { throw .limitExceeded(.objectBytes) }
      return head.contentLength
    }
    return origin.run(
      plan,
      DocumentSink(limit: maximumBytes, exceeded: .objectBytes) { result in completion(result.map { $0.1 }) })
  }

  package func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    list(
      prefix: bucket.prefix.isEmpty ? "" : "\(bucket.prefix)/", includesHidden: false, from: position, completion)
  }

  package func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    guard let prefix = bucket.key(folder) else { return origin.fail { completion(.failure(.unsupported)) } }
    return list(prefix: prefix + "/", includesHidden: true, from: position, completion)
  }

  private func list(
    prefix: String, includesHidden: Bool, from position: ObjectPage.Position?,
    _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    var parameters = [
      (name: "list-type", value: "2"), ("encoding-type", "url"), ("max-keys", "\(pageEntries)"), ("prefix", prefix),
    ]
    if let position { parameters.append(("continuation-token", String(decoding: position.text, as: UTF8.self))) }
    var address = bucket.address
    if address.path.isEmpty { address.path = "/" }
    address.query = S3Signer.query(parameters)
    let start = Array(prefix.utf8)
    return origin.run(plan(.get, address), completion) { [bucket] _, document throws(ObjectStoreError) in
      guard let list = S3List(document) else { throw .malformed(.unreadableDocument) }
      // Listed objects of the trash may be deleted, so a list with keys outside of the prefix is refused: it is the
      // response to another request.
      guard list.entries.allSatisfy({ $0.key.starts(with: start) }) else { throw .malformed(.wrongList) }
      var page = ObjectPage(next: try Self.position(after: list, from: position))
      for entry in list.entries {
        // Skip the empty objects with a slash at the end, by which some programs mark folders.
        if entry.key.last == UInt8(ascii: "/"), entry.size == 0 { continue }
        guard let key = bucket.key(inBucket: entry.key) else {
          page.skipped += 1
          continue
        }
        guard includesHidden || !key.isHidden else { continue }
        guard let size = entry.size, size >= 0, let tag = entry.entityTag else {
          page.skipped += 1
          page.unidentified.append(key)
          continue
        }
        page.entries.append(
          ObjectPage.Entry(
            key: key, identity: ObjectIdentity(size: size, version: .entityTag(tag)), modified: entry.modified))
      }
      return page
    }
  }

  /// Where the next page begins; `nil` after the last one. Throws if the pages do not advance in the order of names:
  /// such a list might never end.
  private static func position(
    after list: S3List, from position: ObjectPage.Position?
  ) throws(ObjectStoreError) -> ObjectPage.Position? {
    guard list.isTruncated, let token = list.token else { return nil }
    guard let name = list.entries.last?.key else {
      let emptyPages = (position?.emptyPages ?? 0) + 1
      guard emptyPages <= Self.maximumEmptyPages else { throw .malformed(.wrongList) }
      return ObjectPage.Position(text: token, lastName: position?.lastName, emptyPages: emptyPages)
    }
    if let former = position?.lastName, !former.lexicographicallyPrecedes(name) { throw .malformed(.wrongList) }
    return ObjectPage.Position(text: token, lastName: name)
  }

  package func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    put(
      .bytes(bytes), sha256: Data(Digest.sha256(bytes)), timeout: origin.limits.retries.operationTimeout, as: key,
      replaces: replaces, completion)
  }

  package func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    guard file.size <= min(Self.maximumPieceBytes, origin.limits.objectBytes) else {
      return origin.fail { completion(.failure(.limitExceeded(.objectBytes))) }
    }
    return put(
      .file(file), sha256: Data(file.sha256), timeout: origin.limits.retries.readTimeout, as: key, replaces: replaces,
      completion)
  }

  private func put(
    _ body: TransferBody, sha256: Data, timeout: Duration, as key: ObjectKey, replaces: Bool,
    _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation {
    // The store verifies this checksum, keeps it, and sends it to readers.
    var fields = [("x-amz-checksum-sha256", sha256.base64EncodedString())]
    if !replaces { fields.append(("If-None-Match", "*")) }
    guard var plan = plan(.put, key, fields: { [fields] _ in fields }, body: body, timeout: timeout) else {
      return origin.fail { completion(.failure(.unsupported)) }
    }
    let refuse = plan.refuse
    plan.refuse = { head, body in
      // 409: another client was writing an object of this name.
      head.status == 412 || (head.status == 409 && !replaces) ? .exists : refuse(head, body)
    }
    return origin.run(plan, completion) { head, _ throws(ObjectStoreError) in
      try head.description(size: body.count).identity
    }
  }

  package func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation {
    guard case .entityTag(let tag) = identity.version else { return origin.fail { completion(.failure(.changed)) } }
    guard let source = bucket.key(key) else { return origin.fail { completion(.failure(.unsupported)) } }
    guard identity.size <= Self.maximumPieceBytes else {
      return origin.fail { completion(.failure(.limitExceeded(.objectBytes))) }
    }
    let fields = [
      ("x-amz-copy-source", PercentEncoding.encode("/\(bucket.name)/\(source)".utf8, keepsSlashes: true)),
      ("x-amz-copy-source-if-match", tag),
    ]
    // The store copies the bytes before it responds.
    let timeout = origin.limits.retries.readTimeout
    guard let plan = plan(.put, newKey, fields: { _ in fields }, timeout: timeout) else {
      return origin.fail { completion(.failure(.unsupported)) }
    }
    return origin.run(plan, completion) { head, document throws(ObjectStoreError) in
      // If a copy fails after it has begun, the status is 200 and the body is an error.
      guard let code = S3ErrorCode.read(document) else { return }
      throw S3ErrorCode.failure(code) ?? .malformed(.unreadableDocument)
    }
  }

  package func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation {
    guard var plan = plan(.delete, key) else { return origin.fail { completion(.failure(.unsupported)) } }
    plan.accept = { _, _ throws(ObjectStoreError) in nil }
    return origin.run(
      plan,
      { (result: Result<Void, ObjectStoreError>) in
        // Some stores respond with 404 if there is no such object.
        if case .failure(.notFound) = result { completion(.success(())) } else { completion(result) }
      }
    ) { _, _ throws(ObjectStoreError) in }
  }

  // MARK: Requests

  /// `nil` if the bucket can't have the key.
  private func plan(
    _ method: TransferRequest.Method, _ key: ObjectKey,
    fields: @escaping @Sendable (Int64) -> [(name: String, value: String)] = { _ in [] },
    body: TransferBody = .bytes([]), timeout: Duration? = nil
  ) -> ExchangePlan? {
    guard let text = bucket.key(key) else { return nil }
    var address = bucket.address
    address.path += "/" + PercentEncoding.encode(text.utf8, keepsSlashes: true)
    return plan(method, address, fields: fields, body: body, timeout: timeout)
  }

  private func plan(
    _ method: TransferRequest.Method, _ address: RemoteAddress,
    fields: @escaping @Sendable (Int64) -> [(name: String, value: String)] = { _ in [] },
    body: TransferBody = .bytes([]), timeout: Duration? = nil
  ) -> ExchangePlan {
    let hash = body.count == 0 ? S3Signer.emptyPayloadHash : body.payloadHash
    let timeout = timeout ?? origin.limits.retries.operationTimeout
    return ExchangePlan(
      request: { [signer, clock = origin.clock] received in
        let signed = signer.sign(method, address, fields(received), payloadHash: hash, time: clock.wall())
        return TransferRequest(method: method, address: address, fields: signed, body: body, timeout: timeout)
      },
      accept: { head, _ throws(ObjectStoreError) in
        guard head.status == 200 else { throw .malformed(.unexpectedStatus(head.status)) }
        return nil
      },
      refuse: { head, body in
        // For a redirect the status decides, although S3 sends an error code with it.
        (300..<400).contains(head.status)
          ? head.failure : S3ErrorCode.read(body).flatMap(S3ErrorCode.failure) ?? head.failure
      }, timeout: timeout)
  }

  /// The SHA-256 of the whole object. `nil` for the composite checksum of a multipart upload, which covers the
  /// checksums of the parts.
  private static func checksum(_ head: StoreResponseHead) -> [UInt8]? {
    guard head["x-amz-checksum-type"] != "COMPOSITE" else { return nil }
    return head["x-amz-checksum-sha256"].flatMap(ReprDigest.sha256(base64:))
  }
}
