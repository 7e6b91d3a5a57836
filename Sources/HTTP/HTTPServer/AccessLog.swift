// The access log: one line for each request, written outside the event loops.
//
// A loop appends the raw fields of each finished request to a byte array. The array goes to the writer's queue when it
// is large enough, or once a second, and is formatted there. If the writer can't keep up, batches are dropped and
// counted: a full pipe slows no request.

import Dispatch
import HTTPCore
import Primitives
import Synchronization
import Telemetry

/// The binary form of one finished request within a batch.
struct AccessLogRecord {
  /// The fixed-size fields at the start of a record. The texts follow.
  struct FixedFields: BitwiseCopyable {
    var identifier: (UInt64, UInt64)
    /// Arrival time in milliseconds since 1970.
    var arrived: Int64
    /// Nanoseconds from the request's arrival to the last byte of its response.
    var duration: UInt64
    /// Size of the response body as sent.
    var bodyBytes: UInt64
    var status: UInt16
    /// The connection ended before the response was fully sent.
    var wasAborted: Bool
    var methodBytes: UInt8
    var peerBytes: UInt8
    var targetBytes: UInt16
    var forwardedBytes: UInt16
    /// The forwarded clients come from the field `Forwarded`, and not from `X-Forwarded-For`.
    var isForwardedField: Bool
    var stagesBytes: UInt16
    /// The caller's trace; `nil` without a valid `traceparent`.
    var trace: TraceParent?
  }
}

/// A batch of finished requests, stored as consecutive records in one array.
struct AccessLogBatch: Sendable {
  /// A batch larger than this is submitted to the log.
  static let batchBytes = 32_768
  /// Longer texts are truncated.
  private static let maximumTextBytes = 1024

  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var byteCount: Int { bytes.count }

  /// - Parameters:
  ///   - duration: nanoseconds from the request's arrival to the last byte of its response.
  ///   - wasAborted: the connection ended before the response was fully sent.
  mutating func append(_ entry: AccessLogEntry, peer: String, duration: UInt64, wasAborted: Bool) {
    let head = entry.head
    if bytes.capacity == 0 { bytes.reserveCapacity(Self.batchBytes + 4096) }
    let method = head?.method.name ?? "-"
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: MemoryLayout<AccessLogRecord.FixedFields>.size))
    func mark() -> Int { bytes.count }
    append(method, limit: 32)
    let afterMethod = mark()
    append(peer, limit: 64)
    let afterPeer = mark()
    if let head {
      head.withTarget { target in
        // Omit the query, which may contain a signature.
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        bytes.append(contentsOf: target[..<min(end, Self.maximumTextBytes)])
      }
    } else {
      bytes.append(UInt8(ascii: "-"))
    }
    let afterTarget = mark()
    // The field that names the client behind a proxy: Forwarded, if there is one.
    let isForwardedField = head?.has(.forwarded) ?? false
    if let head, isForwardedField || head.has(.xForwardedFor) {
      let value = head.valueBytes(of: isForwardedField ? .forwarded : .xForwardedFor)
      bytes.append(contentsOf: value.prefix(Self.maximumTextBytes))
    }
    let afterForwarded = mark()
    if let stages = entry.stages { append(stages, limit: Self.maximumTextBytes) }
    let numbers = AccessLogRecord.FixedFields(
      identifier: (entry.identifier.high, entry.identifier.low), arrived: entry.arrived, duration: duration,
      bodyBytes: UInt64(entry.bodyBytes), status: UInt16(entry.status), wasAborted: wasAborted,
      methodBytes: UInt8(afterMethod - start - MemoryLayout<AccessLogRecord.FixedFields>.size),
      peerBytes: UInt8(afterPeer - afterMethod), targetBytes: UInt16(afterTarget - afterPeer),
      forwardedBytes: UInt16(afterForwarded - afterTarget), isForwardedField: isForwardedField,
      stagesBytes: UInt16(mark() - afterForwarded),
      trace: head.flatMap(TraceParent.init))
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: numbers, toByteOffset: start, as: AccessLogRecord.FixedFields.self)
    }
    count += 1
  }

  private mutating func append(_ text: String, limit: Int) {
    var text = text
    text.withUTF8 { bytes.append(contentsOf: $0.prefix(limit)) }
  }

  /// Formats the records as lines, like the rest of the log.
  func lines(_ format: LogFormat) -> LogLines {
    var lines = LogLines(format, capacity: bytes.count * 3 + 256)
    bytes.withUnsafeBytes { bytes in
      var offset = 0
      for _ in 0..<count {
        let fields = bytes.loadUnaligned(fromByteOffset: offset, as: AccessLogRecord.FixedFields.self)
        offset += MemoryLayout<AccessLogRecord.FixedFields>.size
        Self.add(fields, bytes, &offset, to: &lines)
      }
    }
    return lines
  }

  private static func add(
    _ fields: AccessLogRecord.FixedFields, _ bytes: UnsafeRawBufferPointer, _ offset: inout Int,
    to lines: inout LogLines
  ) {
    func text(_ length: some BinaryInteger) -> UnsafeRawBufferPointer {
      defer { offset += Int(length) }
      return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(length)])
    }
    let method = text(fields.methodBytes)
    let peer = text(fields.peerBytes)
    let target = text(fields.targetBytes)
    let forwarded = text(fields.forwardedBytes)
    let stages = text(fields.stagesBytes)
    lines.begin(millisecondsSince1970: fields.arrived, fraction: .ifNotZero, AccessLogKeys.request)
    let identifier = RequestIdentifier(high: fields.identifier.0, low: fields.identifier.1)
    withUnsafeTemporaryAllocation(byteCount: RequestIdentifier.digitCount, alignment: 1) { digits in
      identifier.write(to: digits)
      lines.add(AccessLogKeys.identifier, bytes: UnsafeRawBufferPointer(digits))
    }
    if let trace = fields.trace {
      lines.add("traceID", trace.traceID)
      lines.add("parentID", trace.parentID)
    }
    lines.add(AccessLogKeys.peer, bytes: peer)
    if !forwarded.isEmpty {
      lines.add(fields.isForwardedField ? AccessLogKeys.forwarded : AccessLogKeys.forwardedFor, bytes: forwarded)
    }
    lines.add(AccessLogKeys.method, bytes: method)
    lines.add(AccessLogKeys.path, bytes: target)
    lines.add(AccessLogKeys.status, UInt64(fields.status))
    lines.add(AccessLogKeys.bytes, fields.bodyBytes)
    lines.add(AccessLogKeys.milliseconds, nanosecondsAsMilliseconds: fields.duration)
    if fields.wasAborted { lines.add("aborted", true) }
    if !stages.isEmpty {
      withoutSummaries(stages).withUnsafeBytes { lines.add(AccessLogKeys.stages, bytes: $0) }
    }
    lines.end()
  }

  /// A `Server-Timing` value without its `desc` parameters, which are the same in each line. No other parameter has a
  /// quoted value.
  private static func withoutSummaries(_ stages: some Collection<UInt8>) -> [UInt8] {
    var kept: [UInt8] = []
    kept.reserveCapacity(stages.count)
    var isQuoted = false
    for byte in stages {
      if byte == UInt8(ascii: "\"") {
        if !isQuoted { kept.removeLast(min(kept.count, ";desc=".utf8.count)) }
        isQuoted.toggle()
      } else if !isQuoted {
        kept.append(byte)
      }
    }
    return kept
  }
}

/// The members of the access log's lines.
private enum AccessLogKeys {
  static let request = LogLines.Event(level: .info, label: "access", message: "request")
  static let identifier = LogLines.Key("id")
  static let peer = LogLines.Key("peer")
  static let forwarded = LogLines.Key("forwarded")
  static let forwardedFor = LogLines.Key("forwardedFor")
  static let method = LogLines.Key("method")
  static let path = LogLines.Key("path")
  static let status = LogLines.Key("status")
  static let bytes = LogLines.Key("bytes")
  static let milliseconds = LogLines.Key("milliseconds")
  static let stages = LogLines.Key("stages")
}

/// Formats batches and writes them on a queue of its own.
package final class AccessLog: Sendable {
  private struct State {
    var waitingBytes = 0
    var dropped = 0
  }

  private let limitBytes: Int
  private let format: LogFormat
  private let write: @Sendable ([UInt8]) -> Void
  private let queue = DispatchQueue(label: "photod.access", qos: .utility)
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limitBytes: maximum size of the batches that wait to be written.
  ///   - format: the form of the lines.
  ///   - write: receives complete lines, in order, on the log's own queue; it may block.
  package init(
    limitBytes: Int, format: LogFormat = .logfmt, write: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.limitBytes = limitBytes
    self.format = format
    self.write = write
  }

  /// A log that writes to standard error, like the rest of the daemon's log.
  package static func toStandardError(limitBytes: Int, format: LogFormat) -> AccessLog {
    AccessLog(limitBytes: limitBytes, format: format) { StandardErrorLines.shared.writeBlocking($0) }
  }

  func submit(_ records: AccessLogBatch) {
    let isAccepted = state.withLock { state in
      if state.waitingBytes + records.byteCount > limitBytes {
        state.dropped += records.count
        return false
      }
      state.waitingBytes += records.byteCount
      return true
    }
    guard isAccepted else { return }
    queue.async { [self] in
      var lines = records.lines(format)
      let dropped = state.withLock { state in
        defer { state.dropped = 0 }
        return state.dropped
      }
      if dropped > 0 {
        lines.begin(
          millisecondsSince1970: SystemTime.milliseconds, level: .warning, label: "access",
          message: "access log lines dropped")
        lines.add("dropped", number: "\(dropped)")
        lines.end()
      }
      write(lines.bytes)
      state.withLock { $0.waitingBytes -= records.byteCount }
    }
  }

  /// How long `flush` waits for standard error, which may be a pipe whose reader has stalled.
  private static let flushTimeout = DispatchTimeInterval.seconds(2)

  /// Waits until every submitted batch is written, but no longer than ``flushTimeout``.
  func flush() {
    let written = DispatchSemaphore(value: 0)
    queue.async { written.signal() }
    _ = written.wait(timeout: .now() + Self.flushTimeout)
  }
}
