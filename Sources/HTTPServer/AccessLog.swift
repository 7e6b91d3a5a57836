// One line for each request, written by nobody who has requests to answer.
//
// A loop puts what is known of a finished request, as it is, into an array of bytes; the array goes to the writer's queue a
// batch at a time, or once a second, and becomes text there. What the writer can't keep up with is dropped and counted: a
// full pipe slows no request.

import Dispatch
import HTTPCore
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A finished request.
struct AccessRecord {
  /// The numbers, which stand first in a record's bytes.
  struct Numbers: BitwiseCopyable {
    var identifier: (UInt64, UInt64)
    /// When it arrived: milliseconds since 1970.
    var arrived: Int64
    /// From its arrival to its answer's last byte, in nanoseconds.
    var duration: UInt64
    /// Of body, as sent.
    var bodyBytes: UInt64
    var status: UInt16
    /// The answer was not sent to its end.
    var isCut: Bool
    var methodBytes: UInt8
    var peerBytes: UInt8
    var targetBytes: UInt16
    var forwardedBytes: UInt16
    var stagesBytes: UInt16
  }
}

/// Records of finished requests, one after the other in one array.
struct AccessRecords: Sendable {
  /// Handed on when there is more than this.
  static let batchBytes = 32_768
  /// Longer texts are cut.
  private static let maximumText = 1024

  private(set) var bytes: [UInt8] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var byteCount: Int { bytes.count }

  /// - Parameters:
  ///   - head: the request's, or `nil` where the message was none.
  ///   - stages: `Server-Timing` of the answer.
  mutating func append(
    identifier: RequestIdentifier, arrived: Int64, duration: UInt64, head: RequestHead?, peer: String, status: Int,
    bodyBytes: Int, isCut: Bool, stages: String?
  ) {
    if bytes.capacity == 0 { bytes.reserveCapacity(Self.batchBytes + 4096) }
    let method = head?.method.name ?? "-"
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: MemoryLayout<AccessRecord.Numbers>.size))
    func mark() -> Int { bytes.count }
    bytes.append(contentsOf: method.utf8.prefix(32))
    let afterMethod = mark()
    bytes.append(contentsOf: peer.utf8.prefix(64))
    let afterPeer = mark()
    if let head {
      head.withTarget { target in
        // Without its query, which may hold a signature.
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
        bytes.append(contentsOf: target[..<min(end, Self.maximumText)])
      }
    } else {
      bytes.append(UInt8(ascii: "-"))
    }
    let afterTarget = mark()
    if let head, head.has(.xForwardedFor) {
      bytes.append(contentsOf: (head.value(of: .xForwardedFor) ?? "").utf8.prefix(Self.maximumText))
    }
    let afterForwarded = mark()
    if let stages { bytes.append(contentsOf: stages.utf8.prefix(Self.maximumText)) }
    let numbers = AccessRecord.Numbers(
      identifier: (identifier.high, identifier.low), arrived: arrived, duration: duration, bodyBytes: UInt64(bodyBytes),
      status: UInt16(status), isCut: isCut,
      methodBytes: UInt8(afterMethod - start - MemoryLayout<AccessRecord.Numbers>.size),
      peerBytes: UInt8(afterPeer - afterMethod), targetBytes: UInt16(afterTarget - afterPeer),
      forwardedBytes: UInt16(afterForwarded - afterTarget), stagesBytes: UInt16(mark() - afterForwarded))
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: numbers, toByteOffset: start, as: AccessRecord.Numbers.self) }
    count += 1
  }

  /// The lines, as `key=value` pairs like all others of the log.
  func lines() -> [UInt8] {
    var lines: [UInt8] = []
    lines.reserveCapacity(bytes.count * 2 + 256)
    var offset = 0
    for _ in 0..<count {
      let numbers = bytes.withUnsafeBytes {
        $0.loadUnaligned(fromByteOffset: offset, as: AccessRecord.Numbers.self)
      }
      offset += MemoryLayout<AccessRecord.Numbers>.size
      func text(_ length: some BinaryInteger) -> ArraySlice<UInt8> {
        defer { offset += Int(length) }
        return bytes[offset..<offset + Int(length)]
      }
      func add(_ text: String) { lines.append(contentsOf: text.utf8) }
      let method = text(numbers.methodBytes)
      let peer = text(numbers.peerBytes)
      let target = text(numbers.targetBytes)
      let forwarded = text(numbers.forwardedBytes)
      let stages = text(numbers.stagesBytes)
      add("time=\(Self.time(numbers.arrived)) level=info label=access msg=request id=")
      add("\(RequestIdentifier(high: numbers.identifier.0, low: numbers.identifier.1)) peer=")
      Self.add(peer, to: &lines)
      if !forwarded.isEmpty {
        add(" forwardedFor=")
        Self.add(forwarded, to: &lines)
      }
      add(" method=")
      Self.add(method, to: &lines)
      add(" path=")
      Self.add(target, to: &lines)
      add(" status=\(numbers.status) bytes=\(numbers.bodyBytes) milliseconds=\(Self.milliseconds(numbers.duration))")
      if numbers.isCut { add(" cut=true") }
      if !stages.isEmpty {
        add(" stages=")
        Self.add(stages, to: &lines)
      }
      lines.append(UInt8(ascii: "\n"))
    }
    return lines
  }

  /// As it is where it is plain, else in double quotes; nothing in it can end the line or the quotes.
  private static func add(_ text: ArraySlice<UInt8>, to lines: inout [UInt8]) {
    func isPlain(_ byte: UInt8) -> Bool {
      byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
        && byte != UInt8(ascii: "\\")
    }
    if text.allSatisfy(isPlain) { return lines.append(contentsOf: text) }
    lines.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): lines += [UInt8(ascii: "\\"), byte]
      case 0x20..<0x7F: lines.append(byte)
      default:
        let digits = Array("0123456789abcdef".utf8)
        lines += [UInt8(ascii: "\\"), UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    lines.append(UInt8(ascii: "\""))
  }

  private static func milliseconds(_ nanoseconds: UInt64) -> String {
    let microseconds = nanoseconds / 1000
    let rest = String(microseconds % 1000)
    return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - rest.utf8.count))\(rest)"
  }

  private static func time(_ milliseconds: Int64) -> String {
    RFC3339Time.string(millisecondsSince1970: milliseconds)
  }
}

/// Where records become lines.
package final class AccessLog: Sendable {
  private struct State {
    var waitingBytes = 0
    var dropped = 0
  }

  private let limitBytes: Int
  private let write: @Sendable ([UInt8]) -> Void
  private let queue = DispatchQueue(label: "photod.access", qos: .utility)
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limitBytes: what may wait to be written.
  ///   - write: takes whole lines, in order, on a queue of its own; it may block.
  package init(limitBytes: Int, write: @escaping @Sendable ([UInt8]) -> Void) {
    self.limitBytes = limitBytes
    self.write = write
  }

  /// To standard error, where the rest of the log goes.
  package static func toStandardError(limitBytes: Int) -> AccessLog {
    AccessLog(limitBytes: limitBytes) { lines in
      var sent = 0
      while sent < lines.count {
        let count = lines.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress! + sent, lines.count - sent) }
        if count < 0 && errno != EINTR { return }
        sent += max(0, count)
      }
    }
  }

  func submit(_ records: AccessRecords) {
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
      var lines = records.lines()
      let dropped = state.withLock { state in
        defer { state.dropped = 0 }
        return state.dropped
      }
      if dropped > 0 {
        lines += Array("level=warning label=access msg=\"the log could not keep up\" dropped=\(dropped)\n".utf8)
      }
      write(lines)
      state.withLock { $0.waitingBytes -= records.byteCount }
    }
  }

  /// Waits until what was submitted is written.
  package func finish() { queue.sync {} }
}
