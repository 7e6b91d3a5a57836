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

  /// The address as written on a command line.
  package var text: String {
    switch self {
    case .ip(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }

  /// The address as a URL.
  package var url: String {
    switch self {
    case .ip: "http://\(text)"
    case .unix(let path): "http+unix://\(path)"
    }
  }

  /// Whether the address is reachable from this machine only: 127.0.0.0/8, ::1, `localhost`, or a socket file.
  package var isLoopback: Bool {
    switch self {
    case .unix: return true
    case .ip(let host, _): return host == "localhost" || IPAddress(host)?.isLoopback == true
    }
  }
}

/// Why the server can't listen at an address.
package enum ListenError: Error, Sendable, CustomStringConvertible {
  case unknownHost(ListenAddress)
  case failed(ListenAddress, call: String, code: Int32)
  /// The socket's path is longer than the system allows.
  case pathTooLong(ListenAddress)
  /// The file at the socket's path is not a socket, and is not removed.
  case notASocket(ListenAddress)
  /// The descriptor that a service manager passed is not a listening socket.
  case notListening(descriptor: Int32)

  package var description: String {
    switch self {
    case .unknownHost(let address): "\(address.text): the host name can't be resolved"
    case .failed(let address, let call, let code): "\(address.text): \(call): \(String(cString: strerror(code)))"
    case .pathTooLong(let address): "\(address.text): the socket path is too long"
    case .notASocket(let address): "\(address.text): there is a file that is not a socket; choose another path"
    case .notListening(let descriptor): "inherited descriptor \(descriptor) is not a listening stream socket"
    }
  }
}

extension ListenAddress {
  /// Creates a bound, listening, non-blocking socket. Returns it with the address, including the port that the system
  /// chose for port 0.
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
    // Check this first: connecting to any other file also fails with ECONNREFUSED, and the file would be removed below.
    guard !SocketFile.isSomethingElse(at: path) else {
      close(descriptor)
      throw .notASocket(self)
    }
    // A socket file without a listener is left over from a crash.
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

  /// The address of an already listening socket, as a service manager passes it. Makes the socket non-blocking.
  ///
  /// - Throws: ``ListenError/notListening(descriptor:)`` if the descriptor is not a listening stream socket.
  static func ofListeningSocket(_ descriptor: Int32) throws(ListenError) -> ListenAddress {
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
      // The family, then the path up to the end or a NUL byte. An abstract name begins with a NUL byte.
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
    // The port has the same offset in both families (RFC 3493 §3.3).
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
  /// Opens a blocking client socket to this address, for a health check. Returns `nil` if the connection fails. The
  /// caller closes the socket.
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
      // A server that listens on all interfaces is contacted over loopback.
      let reachableHost =
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: host
        }
      guard getaddrinfo(reachableHost, String(port), &hints, &found) == 0, let info = found else { return nil }
      defer { freeaddrinfo(found) }
      descriptor = open(info.pointee.ai_family)
      result = Glibc.connect(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen)
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return nil
  }
}
