/// What a server is doing, read at one moment, each number on its own.
package struct ServerStatistics: Sendable, Hashable {
  /// Connections that are open.
  package var connections: Int
  /// Bytes of requests that are held and counted, by connections and by whoever handles requests.
  package var receivedBytes: Int
}
