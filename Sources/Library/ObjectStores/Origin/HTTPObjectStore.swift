// A web server as a read-only object store. `PREFIX/manifest.json` lists its objects.

import Synchronization

package final class HTTPObjectStore: ObjectStore {
  private let base: RemoteAddress
  private let origin: RemoteOrigin
  package let name: String

  /// - Parameter address: `http[s]://host[:port][/prefix]`. Any other text gives `nil`.
  package init?(
    address: String, rules: TransferRules, limits: RemoteLimits = RemoteLimits(), clock: RemoteClock = .system
  ) {
    guard var base = RemoteAddress(address) else { return nil }
    if base.path.hasSuffix("/") { base.path.removeLast() }
    self.base = base
    origin = RemoteOrigin(rules: rules, limits: limits, clock: clock)
    name = base.text
  }

  /// The host of a store's address, as ``TransferRules`` names it. `nil` if the address is invalid.
  package static func host(of address: String) -> String? { RemoteAddress(address)?.host }

  package func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation {
    origin.run(
      plan(.head, address(of: key), timeout: origin.limits.retries.operationTimeout), completion
    ) { head, _ throws(ObjectStoreError) in
      try head.description(sha256: ReprDigest.sha256(head["repr-digest"]))
    }
  }

  package func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation {
    origin.read(range, of: identity, into: receiver, sha256: { ReprDigest.sha256($0["repr-digest"]) }) { read in
      plan(.get, address(of: key), timeout: origin.limits.retries.readTimeout) { read.fields(after: $0) }
    }
  }

  /// The whole manifest is one page.
  package func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    var address = base
    address.path += "/manifest.json"
    return origin.run(
      plan(.get, address, timeout: origin.limits.retries.operationTimeout) { _ in [("Accept-Encoding", "identity")] },
      completion
    ) { _, bytes throws(ObjectStoreError) in try Manifest.page(bytes) }
  }

  package func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation { origin.fail { completion(.failure(.unsupported)) } }

  package func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation { origin.fail { completion(.failure(.unsupported)) } }

  package func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation { origin.fail { completion(.failure(.unsupported)) } }

  package func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation { origin.fail { completion(.failure(.unsupported)) } }

  package func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation {
    origin.fail { completion(.failure(.unsupported)) }
  }

  private func address(of key: ObjectKey) -> RemoteAddress {
    var address = base
    address.path += "/" + PercentEncoding.encode(key.bytes, keepsSlashes: true)
    return address
  }

  private func plan(
    _ method: TransferRequest.Method, _ address: RemoteAddress, timeout: Duration,
    _ fields: @escaping @Sendable (Int64) -> [(name: String, value: String)] = { _ in [] }
  ) -> ExchangePlan {
    ExchangePlan(
      request: { received in
        TransferRequest(method: method, address: address, fields: fields(received), timeout: timeout)
      },
      accept: { head, _ throws(ObjectStoreError) in
        guard head.status == 200 else { throw .malformed(.unexpectedStatus(head.status)) }
        return nil
      },
      refuse: { head, _ in head.failure }, timeout: timeout)
  }
}
