/// The limits of the connections to stores.
package struct TransferLimits: Sendable, Hashable {
  /// Maximum number of connections. Further transfers wait.
  package var connections = 16
  /// Transfers that wait for a connection or run; more are refused.
  package var transfers = 256
  /// Timeout for opening a connection, including name resolution and TLS.
  package var connectTimeout: Duration = .seconds(5)
  /// Timeout without a byte in either direction, while the receiver takes bytes.
  package var stallTimeout: Duration = .seconds(15)
  /// Maximum bytes of the header of a response.
  var headerBytes = 65_536

  package init() {}
}

/// The hosts and addresses that a transfer may go to.
package struct TransferRules: Sendable, Hashable {
  /// Lower-case host names or addresses, without a port.
  var allowedHosts: Set<String>
  /// Whether private, link-local and loopback addresses are allowed.
  var allowsPrivateAddresses: Bool

  package init(allowedHosts: Set<String>, allowsPrivateAddresses: Bool = false) {
    self.allowedHosts = allowedHosts
    self.allowsPrivateAddresses = allowsPrivateAddresses
  }
}
