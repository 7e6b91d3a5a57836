import CPhotodSystem

#if canImport(Glibc)
  import Glibc
#endif

/// Where the server listens: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `unix:/run/photod.sock`.
package enum ListenAddress: Sendable, Hashable {
  case ip(host: String, port: UInt16)
  case unix(path: String)

  package init?(_ text: String) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard !path.isEmpty else { return nil }
      self = .unix(path: path)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty else { return nil }
    self = .ip(host: host, port: port)
  }

  /// As it is written on a command line.
  package var text: String {
    switch self {
    case .ip(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }

  /// As a client names it.
  package var url: String {
    switch self {
    case .ip: "http://\(text)"
    case .unix(let path): "http+unix://\(path)"
    }
  }

  /// Whether only this machine reaches it: 127.0.0.0/8, ::1, `localhost`, or a socket file.
  package var isLoopback: Bool {
    switch self {
    case .unix: return true
    case .ip(let host, _): return host == "localhost" || IPAddress(host)?.isLoopback == true
    }
  }
}

/// Why an address can't be listened at.
package enum ListenError: Error, Sendable, CustomStringConvertible {
  case unknownHost(ListenAddress)
  case failed(ListenAddress, call: String, code: Int32)
  /// The socket's path is longer than the system allows.
  case pathTooLong(ListenAddress)
  /// What a service manager passed on is no listening socket.
  case notListening(descriptor: Int32)

  package var description: String {
    switch self {
    case .unknownHost(let address): "\(address.text): the host is not an address of this machine"
    case .failed(let address, let call, let code): "\(address.text): \(call): \(String(cString: strerror(code)))"
    case .pathTooLong(let address): "\(address.text): the path is too long for a socket"
    case .notListening(let descriptor): "descriptor \(descriptor), which was passed on, is no listening stream socket"
    }
  }
}

extension ListenAddress {
  /// A bound, listening, non-blocking socket, and the address with the port that the system chose for port 0.
  func listen(backlog: Int32) throws(ListenError) -> (descriptor: Int32, bound: ListenAddress) {
    switch self {
    case .unix(let path): (try listenUnix(path, backlog: backlog), self)
    case .ip(let host, let port): try listenIP(host, port, backlog: backlog)
    }
  }

  private func listenUnix(_ path: String, backlog: Int32) throws(ListenError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < capacity else { throw .pathTooLong(self) }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .failed(self, call: "socket", code: errno) }
    // A socket file that nobody listens at is left over from a crash.
    if withAddress(&address, { Glibc.connect(descriptor, $0, $1) }) != 0, errno == ECONNREFUSED { unlink(path) }
    let bound = withAddress(&address) { bind(descriptor, $0, $1) }
    return try finishListening(descriptor, bound: bound, backlog: backlog)
  }

  private func listenIP(_ host: String, _ port: UInt16, backlog: Int32) throws(ListenError) -> (Int32, ListenAddress) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &found) == 0, let info = found else { throw .unknownHost(self) }
    defer { freeaddrinfo(found) }
    let descriptor = socket(
      info.pointee.ai_family, info.pointee.ai_socktype | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0
    )
    guard descriptor >= 0 else { throw .failed(self, call: "socket", code: errno) }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    if info.pointee.ai_family == AF_INET6 {
      setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    let bound = bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen)
    _ = try finishListening(descriptor, bound: bound, backlog: backlog)
    return (descriptor, .ip(host: host, port: Self.port(of: descriptor) ?? port))
  }

  private func finishListening(_ descriptor: Int32, bound: Int32, backlog: Int32) throws(ListenError) -> Int32 {
    guard bound == 0 else {
      let code = errno
      close(descriptor)
      throw .failed(self, call: "bind", code: code)
    }
    guard Glibc.listen(descriptor, backlog) == 0 else {
      let code = errno
      close(descriptor)
      throw .failed(self, call: "listen", code: code)
    }
    return descriptor
  }

  /// The address of a socket that is listened at already, as a service manager passes it on. Makes it non-blocking.
  ///
  /// - Throws: where it is no listening stream socket.
  static func adopt(_ descriptor: Int32) throws(ListenError) -> ListenAddress {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var isListening: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let named = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard named == 0, getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening != 0
    else { throw .notListening(descriptor: descriptor) }
    guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0,
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    else { throw .notListening(descriptor: descriptor) }
    if case .address(let address) = Peer(&storage) {
      return .ip(host: address.text, port: port(of: descriptor) ?? 0)
    }
    let path = withUnsafeBytes(of: &storage) { bytes in
      // The family, then the path, to its end or its NUL; an abstract name begins with one.
      let name = bytes[MemoryLayout<sa_family_t>.size..<max(MemoryLayout<sa_family_t>.size, Int(length))]
      return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }
    return .unix(path: path)
  }

  private static func port(of descriptor: Int32) -> UInt16? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard result == 0 else { return nil }
    // The port stands at the same place in both families (RFC 3493 §3.3).
    return withUnsafeBytes(of: &storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
  }
}

private func withAddress(
  _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
  let length = socklen_t(MemoryLayout<sockaddr_un>.size)
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
  }
}

extension ListenAddress {
  /// A blocking client socket to this address, for a health check; `nil` if nobody listens. The caller closes it.
  package func connect(timeoutSeconds: Int) -> Int32? {
    var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
    func open(_ family: Int32) -> Int32 {
      let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
      }
      return descriptor
    }
    let descriptor: Int32
    let result: Int32
    switch self {
    case .unix(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      descriptor = open(AF_UNIX)
      result = withAddress(&address) { Glibc.connect(descriptor, $0, $1) }
    case .ip(let host, let port):
      var hints = addrinfo()
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      var found: UnsafeMutablePointer<addrinfo>?
      // What listens everywhere is asked here.
      let here = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
      guard getaddrinfo(here, String(port), &hints, &found) == 0, let info = found else { return nil }
      defer { freeaddrinfo(found) }
      descriptor = open(info.pointee.ai_family)
      result = Glibc.connect(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen)
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return nil
  }
}
