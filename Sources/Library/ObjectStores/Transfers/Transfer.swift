import CPhotodCurl
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// One request and its response: libcurl's easy handle, and the data that its callbacks collect. Used only on the
/// loop's queue.
final class Transfer {
  let id: TransferID
  let easy: UnsafeMutableRawPointer
  let handler: any TransferHandler

  private let body: TransferBody
  private let limits: TransferLimits
  private let allowsPrivateAddresses: Bool
  private var fields: UnsafeMutablePointer<curl_slist>?

  private var sentBytes: Int64 = 0
  private var head = StoreResponseHead()
  private var headerBytes = 0
  private var hasBegun = false
  private var refusedAddress = false
  /// Why a callback ended the transfer.
  private var reason: ObjectStoreError?

  /// `nil` if libcurl is out of memory.
  init?(
    _ id: TransferID, _ request: TransferRequest, _ handler: any TransferHandler, limits: TransferLimits,
    rules: TransferRules
  ) {
    guard let easy = curl_easy_init() else { return nil }
    self.id = id
    self.easy = UnsafeMutableRawPointer(easy)
    self.handler = handler
    self.limits = limits
    body = request.body
    allowsPrivateAddresses = rules.allowsPrivateAddresses
    set(request)
    setCallbacks()
  }

  deinit {
    curl_easy_cleanup(easy)
    curl_slist_free_all(fields)
  }

  /// The transfer that owns a handle.
  static func of(_ easy: UnsafeMutableRawPointer) -> Transfer? {
    var pointer: UnsafeMutableRawPointer?
    photod_curl_get_pointer(easy, CURLINFO_PRIVATE, &pointer)
    return pointer.map { at($0) }
  }

  /// Why the transfer failed; `nil` if the response is complete.
  func failure(for code: CURLcode) -> ObjectStoreError? {
    if let reason { return reason }
    switch code {
    case CURLE_OK: return hasBegun ? nil : .malformed(.protocolError)
    case CURLE_COULDNT_RESOLVE_HOST: return .unreachable(.nameNotFound)
    case CURLE_COULDNT_CONNECT: return refusedAddress ? .addressNotAllowed : .unreachable(.notConnected)
    case CURLE_OPERATION_TIMEDOUT: return .timedOut
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
      return .unreachable(.interrupted)
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return .unreachable(.tls)
    default: return .malformed(.protocolError)
    }
  }

  // MARK: Options

  private func set(_ request: TransferRequest) {
    func set(_ option: CURLoption, _ value: Int) { photod_curl_set_long(easy, option, value) }
    photod_curl_set_string(easy, CURLOPT_URL, request.address.text)
    photod_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    // Ignore the proxies of the environment: through a proxy, the check of addresses has no effect.
    photod_curl_set_string(easy, CURLOPT_PROXY, "")
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_PATH_AS_IS, 1)
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // HTTP/0.9 has no status and no header: any bytes would be a response.
    set(CURLOPT_HTTP09_ALLOWED, 0)
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_BUFFERSIZE, 65_536)
    set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectTimeout.wholeMilliseconds)
    set(CURLOPT_TIMEOUT_MS, request.timeout.wholeMilliseconds)
    set(CURLOPT_LOW_SPEED_LIMIT, 1)
    set(CURLOPT_LOW_SPEED_TIME, max(1, limits.stallTimeout.wholeMilliseconds / 1000))
    switch request.method {
    case .get: set(CURLOPT_HTTPGET, 1)
    case .head: set(CURLOPT_NOBODY, 1)
    case .delete: photod_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, "DELETE")
    case .put:
      set(CURLOPT_UPLOAD, 1)
      photod_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.count))
    }
    // Without "Expect: 100-continue", which costs a wait with servers that do not know it.
    for line in ["Expect:", "User-Agent: photod"] + request.fields.map({ "\($0.name): \($0.value)" }) {
      fields = curl_slist_append(fields, line) ?? fields
    }
    photod_curl_set_headers(easy, fields)
  }

  private func setCallbacks() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_OPENSOCKETDATA] {
      photod_curl_set_pointer(easy, option, context)
    }
    photod_curl_set_pointer(easy, CURLOPT_PRIVATE, context)
    photod_curl_set_data_function(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      Transfer.at(context).receivedHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
    }
    photod_curl_set_data_function(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      Transfer.at(context).receivedBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }
    photod_curl_set_data_function(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
      Transfer.at(context).send(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }
    photod_curl_set_seek_function(easy) { context, offset, origin in
      guard origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
      Transfer.at(context).sentBytes = Int64(offset)
      return CURL_SEEKFUNC_OK
    }
    photod_curl_set_open_socket_function(easy) { context, _, address in
      guard let address else { return CURL_SOCKET_BAD }
      return Transfer.at(context).openSocket(address)
    }
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context else { preconditionFailure("libcurl lost its context") }
    return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: Callbacks

  /// Opens a socket if the address may be connected to. libcurl connects it to this very address, whatever a name
  /// resolves to at another time.
  private func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
    guard let target = photod_curl_address(address).flatMap({ NetworkAddress($0) }) else { return CURL_SOCKET_BAD }
    guard allowsPrivateAddresses || target.isPublic else {
      refusedAddress = true
      return CURL_SOCKET_BAD
    }
    let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return socket(address.pointee.family, kind, address.pointee.protocol)
  }

  /// A line of the head. `false` ends the transfer.
  private func receivedHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    // Fields after a chunked body are not needed.
    guard !hasBegun else { return true }
    headerBytes += line.count
    guard headerBytes <= limits.headerBytes else {
      reason = .limitExceeded(.headerBytes)
      return false
    }
    let text = String(decoding: line, as: UTF8.self).trimmingEnd()
    if text.hasPrefix("HTTP/") {
      let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) }
      head = StoreResponseHead(status: status ?? 0)
      return true
    }
    if text.isEmpty {
      // 1xx responses come before the final one.
      guard head.status >= 200 else { return true }
      hasBegun = true
      guard handler.responseBegan(head) else {
        reason = .cancelled
        return false
      }
      return true
    }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return true }
    let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    head.fields[text[..<colon].lowercased()] = String(value)
    return true
  }

  private func receivedBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard !bytes.isEmpty else { return 0 }
    switch handler.received(bytes) {
    case .taken: return bytes.count
    case .pause: return Int(CURL_WRITEFUNC_PAUSE)
    case .end:
      reason = .cancelled
      return 0
    }
  }

  private func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let count = body.read(into: buffer, at: sentBytes) else {
      // EIO: the file of the body can't be read.
      reason = .system(SystemError(code: 5))
      return Int(CURL_READFUNC_ABORT)
    }
    sentBytes += Int64(count)
    return count
  }
}

extension Duration {
  /// At least 1.
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    return max(1, Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
  }
}

extension String {
  fileprivate func trimmingEnd() -> String {
    var bytes = Array(utf8)
    while let last = bytes.last, [0x0D, 0x0A, 0x20, 0x09].contains(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
