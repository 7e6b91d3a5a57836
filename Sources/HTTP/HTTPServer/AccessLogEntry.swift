import HTTPCore

/// The access log's record of one request, from its arrival to the last byte of its response. `AccessLogBatch` stores
/// it in binary form.
struct AccessLogEntry {
  let identifier: RequestIdentifier
  /// Arrival time in milliseconds since 1970.
  let arrived: Int64
  /// Arrival time in nanoseconds of the loop's monotonic clock.
  let began: UInt64
  /// `nil` if the message was malformed.
  let head: RequestHead?
  var status = 0
  /// Bytes of the response body, without framing.
  var bodyBytes = 0
  /// The `Server-Timing` value of the response.
  var stages: String?
}
