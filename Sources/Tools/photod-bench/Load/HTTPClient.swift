import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A blocking client with one connection and one request at a time, cheap enough that the server dominates the
/// measurement.
///
/// Use it on the thread that created it. Bodies are counted and discarded; a part is kept of error bodies and on
/// request. It connects when needed, and reconnects once if a kept connection turns out to be closed.
final class HTTPClient {
  enum Failure: Error {
    case notConnected(Int32)
    /// The connection ended before the response did.
    case closed
    /// `leaveAfterSeconds` have passed.
    case timeLimitReached
    case malformed(String)
  }

  /// The kept length of an error body.
  private static let problemBytes = 2048

  private let host: String
  private let port: UInt16
  private let receiveBufferBytes: Int32?
  /// If set, reads at most this fast, in small pieces.
  var bytesPerSecond: Int?
  /// The maximum time for reading a response.
  var leaveAfterSeconds = Double.infinity

  private var socket: Int32 = -1
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
  private var (next, filled) = (0, 0)
  private var began = 0.0
  /// The rest of the current chunk; `nil` if the body is not chunked.
  private var chunkLeft: Int?
  private var isReadingChunkSize = false
  /// Whether a chunk was read, but not yet the line end after it.
  private var isAtChunkEnd = false
  private var kept: [UInt8] = []
  private var keepBytes = 0

  /// - Parameters:
  ///   - host: an IPv4 address.
  ///   - receiveBufferBytes: the size of the kernel's receive buffer.
  init(port: UInt16, host: String = "127.0.0.1", receiveBufferBytes: Int32? = nil) {
    self.host = host
    self.port = port
    self.receiveBufferBytes = receiveBufferBytes
  }

  deinit {
    close()
    memory.deallocate()
  }

  /// Monotonic.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func request(_ target: String, method: String = "GET", header: String = "") -> [UInt8] {
    Array("\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\(header)\r\n".utf8)
  }

  /// A request with a JSON body.
  static func request(_ target: String, method: String, json: String) -> [UInt8] {
    request(
      target, method: method, header: "Content-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n")
      + Array(json.utf8)
  }

  // MARK: - Requests

  func perform(_ request: [UInt8], keepBytes: Int = 0) throws -> BenchResponse {
    let isFresh = socket < 0
    try send(request)
    do {
      return try receive(keepBytes: keepBytes)
    } catch Failure.closed where !isFresh && filled == 0 {
      // The server closed the idle connection.
      close()
      try send(request)
      return try receive(keepBytes: keepBytes)
    }
  }

  func send(_ request: [UInt8]) throws {
    if socket < 0 { try connect() }
    (next, filled) = (0, 0)
    began = Self.now()
    if Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count { return }
    close()
    try connect()
    began = Self.now()
    guard Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      throw Failure.closed
    }
  }

  /// - Parameter frames: the number of frames of a multipart response to read. If the response has more, close the
  ///   connection afterwards.
  func receive(frames: Int = .max, keepBytes: Int = 0) throws -> BenchResponse {
    do {
      return try answer(frames: frames, keepBytes: keepBytes)
    } catch {
      close()
      throw error
    }
  }

  /// - Parameter isReset: whether to send a RST and not wait for anything.
  func close(isReset: Bool = false) {
    guard socket >= 0 else { return }
    if isReset {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }
    Glibc.close(socket)
    socket = -1
  }

  // MARK: - Responses

  private func answer(frames: Int, keepBytes: Int) throws -> BenchResponse {
    (chunkLeft, isAtChunkEnd) = (nil, false)
    let status = try line()
    guard status.hasPrefix("HTTP/1."), let code = Int(status.dropFirst(9).prefix(3)) else {
      throw Failure.malformed(status)
    }
    var answer = BenchResponse(status: code)
    kept = []
    self.keepBytes = code >= 400 ? Self.problemBytes : keepBytes
    var length: Int?
    var (isChunked, closes) = (false, false)
    while case let field = try line(), !field.isEmpty {
      if let value = Self.value(of: "content-length", in: field) { length = Int(value) }
      if let value = Self.value(of: "transfer-encoding", in: field), value == "chunked" { isChunked = true }
      if let value = Self.value(of: "content-type", in: field) { answer.mediaType = String(value) }
      if let value = Self.value(of: "image-result", in: field) { answer.imageResult = String(value) }
      if let value = Self.value(of: "connection", in: field) { closes = value == "close" }
    }
    if isChunked { chunkLeft = 0 }
    if let length {
      try skip(length)
      answer.bodyBytes = length
    } else if answer.mediaType.hasPrefix("multipart/mixed"), isChunked {
      try parts(of: &answer, atMost: frames)
    } else if isChunked {
      answer.bodyBytes = try skipChunks()
    } else {
      throw Failure.malformed("a body without an end")
    }
    answer.seconds = Self.now() - began
    answer.kept = kept
    if answer.frames.isEmpty {
      answer.frames = [
        BenchResponse.Frame(
          seconds: answer.seconds, bytes: answer.bodyBytes, mediaType: answer.mediaType,
          imageResult: answer.imageResult)
      ]
    }
    if closes { close() }
    return answer
  }

  /// The parts of multipart/mixed, each with its own length (RFC 2046 §5.1.1).
  private func parts(of answer: inout BenchResponse, atMost limit: Int) throws {
    while case let delimiter = try line(), !(delimiter.hasPrefix("--") && delimiter.hasSuffix("--")) {
      guard delimiter.hasPrefix("--") else {
        if delimiter.isEmpty { continue }
        throw Failure.malformed(delimiter)
      }
      var frame = BenchResponse.Frame()
      var length: Int?
      while case let field = try line(), !field.isEmpty {
        if let value = Self.value(of: "content-length", in: field) { length = Int(value) }
        if let value = Self.value(of: "content-type", in: field) { frame.mediaType = String(value) }
        if let value = Self.value(of: "image-result", in: field) { frame.imageResult = String(value) }
      }
      guard let length else { throw Failure.malformed("a part without its length") }
      if frame.isProblem { keepBytes = kept.count + Self.problemBytes }
      try skip(length)
      frame.bytes = length
      frame.seconds = Self.now() - began
      answer.bodyBytes += length
      answer.frames.append(frame)
      if answer.frames.count == limit { return }
    }
    // The rest is the end of the chunked coding.
    _ = try skipChunks()
  }

  /// The value of a field; `nil` unless it has this name, which must be in lower case.
  private static func value(of name: String, in field: String) -> Substring? {
    let bytes = field.utf8
    guard bytes.count > name.utf8.count, bytes[bytes.index(bytes.startIndex, offsetBy: name.utf8.count)] == 0x3A,
      zip(bytes, name.utf8).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 })
    else { return nil }
    return field.dropFirst(name.utf8.count + 1).drop { $0 == " " }
  }

  /// A line of a head or a body, without its end.
  private func line() throws -> String {
    var bytes: [UInt8] = []
    while case let byte = try nextByte(), byte != 0x0A { bytes.append(byte) }
    if bytes.last == 0x0D { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func nextByte() throws -> UInt8 {
    if chunkLeft != nil, !isReadingChunkSize { try takeFromChunk() }
    if next == filled { try fill() }
    defer { next += 1 }
    return memory[next]
  }

  private func takeFromChunk() throws {
    if chunkLeft == 0 {
      guard try beginChunk() else { throw Failure.closed }
    }
    let left = (chunkLeft ?? 0) - 1
    chunkLeft = left
    isAtChunkEnd = left == 0
  }

  /// Reads the start of a chunk. `false` for the last chunk (RFC 9112 §7.1), which is read completely.
  private func beginChunk() throws -> Bool {
    isReadingChunkSize = true
    defer { isReadingChunkSize = false }
    if isAtChunkEnd { _ = try line() }
    isAtChunkEnd = false
    let size = try line()
    guard let count = Int(size.prefix { $0 != ";" }, radix: 16) else { throw Failure.malformed("chunk \(size)") }
    if count == 0 {
      while try !line().isEmpty {}
      return false
    }
    chunkLeft = count
    return true
  }

  private func skip(_ count: Int) throws {
    var left = count
    while left > 0 {
      if chunkLeft == 0 {
        guard try beginChunk() else { throw Failure.closed }
      }
      if next == filled { try fill() }
      let taken = min(left, filled - next, chunkLeft ?? .max)
      if kept.count < keepBytes { kept += memory[next..<next + min(taken, keepBytes - kept.count)] }
      next += taken
      left -= taken
      if let chunk = chunkLeft {
        chunkLeft = chunk - taken
        isAtChunkEnd = chunk == taken
      }
    }
  }

  private func skipChunks() throws -> Int {
    var count = 0
    while true {
      if let left = chunkLeft, left > 0 {
        try skip(left)
        count += left
      }
      guard try beginChunk() else { return count }
    }
  }

  private func fill() throws {
    if Self.now() - began > leaveAfterSeconds { throw Failure.timeLimitReached }
    var size = memory.count
    if let bytesPerSecond {
      size = 8192
      usleep(UInt32(size * 1_000_000 / bytesPerSecond))
    }
    let count = recv(socket, memory.baseAddress, size, 0)
    guard count > 0 else { throw Failure.closed }
    (next, filled) = (0, count)
  }

  private func connect() throws {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var isOn: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    if var receiveBufferBytes {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBufferBytes, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr(host)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      defer { Glibc.close(descriptor) }
      throw Failure.notConnected(errno)
    }
    socket = descriptor
  }
}
