import Synchronization

/// The host names and the origins that the daemon accepts. They can be replaced while requests are running: each
/// request reads them once for each of its decisions.
package final class OriginRules: Sendable {
  /// One version of the rules.
  struct Version: Sendable {
    /// In lower case.
    let allowedHosts: Set<String>
    let cors: CORSPolicy
    /// The number of replacements before this version.
    let number: UInt64

    init(allowedHosts: [String], readers: [String], writers: [String], number: UInt64) {
      self.number = number
      self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
      cors = CORSPolicy(reading: readers, writing: writers)
    }
  }

  private let version: Mutex<Version>
  /// Bit 0: `cors.isConfigured` of the version. The bits above: its number. Read without the lock, for prepared
  /// responses.
  private let summary: Atomic<UInt64>

  /// - Parameters:
  ///   - allowedHosts: host names that are accepted in addition to loopback names and IP addresses.
  ///   - readers: origins whose pages may send read requests.
  ///   - writers: origins whose pages may send all requests.
  package init(allowedHosts: [String], readers: [String], writers: [String]) {
    let first = Version(allowedHosts: allowedHosts, readers: readers, writers: writers, number: 0)
    version = Mutex(first)
    summary = Atomic(first.cors.isConfigured ? 1 : 0)
  }

  /// Replaces all rules. Prepared responses of earlier rules are no longer valid.
  package func replace(allowedHosts: [String], readers: [String], writers: [String]) {
    version.withLock { version in
      version = Version(
        allowedHosts: allowedHosts, readers: readers, writers: writers, number: version.number + 1)
      summary.store(version.number << 1 | (version.cors.isConfigured ? 1 : 0), ordering: .releasing)
    }
  }

  var current: Version { version.withLock { $0 } }

  /// Whether responses depend on the `Origin` field, and the number of the current version.
  var state: (variesByOrigin: Bool, number: UInt64) {
    let summary = summary.load(ordering: .acquiring)
    return (summary & 1 == 1, summary >> 1)
  }
}
