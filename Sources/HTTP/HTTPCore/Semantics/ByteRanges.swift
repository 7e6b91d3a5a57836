/// The ranges that a `Range` field selects from a representation of a known size (RFC 9110 §14).
package enum ByteRanges: Sendable, Hashable {
  /// The whole representation: the field is missing or is ignored.
  case whole
  /// These parts, in the requested order; never empty.
  case parts([Range<Int>])
  /// None of the requested ranges exists: 416.
  case unsatisfiable

  /// Parses the field if it applies: for GET (§14.2), and if `If-Range` matches this representation (§13.1.5).
  ///
  /// A set of more ranges than `limit`, or of more bytes than the representation has, selects the whole representation:
  /// such a request saves no transfer, and attackers use it to turn small requests into large responses (§14.2,
  /// §17.15).
  package init(_ head: RequestHead, size: Int, validators: Validators, limit: Int) {
    guard head.method == .get, let value = head.value(of: .range) else {
      self = .whole
      return
    }
    if let condition = head.value(of: .ifRange), !Self.matches(condition, validators) {
      self = .whole
      return
    }
    self.init(value, size: size, limit: limit)
  }

  /// The part that a request selects with one plain range, such as `bytes=0-99` or `bytes=100-`. It equals the only
  /// part of `init`'s result if `If-Range` matches. `nil` for every other field: use `init`. Allocates nothing.
  ///
  /// - Parameter size: of the representation, in bytes.
  package static func plainPart(_ head: borrowing RequestHead, size: Int) -> Range<Int>? {
    head.withSingleValue(of: .range) { field in
      let unit: StaticString = "bytes="
      let start = unit.utf8CodeUnitCount
      guard field.count > start, (0..<start).allSatisfy({ field[$0] == unit.utf8Start[$0] }),
        let dash = field[start...].firstIndex(of: UInt8(ascii: "-")), let first = number(field[start..<dash])
      else { return nil }
      let last = dash + 1 == field.count ? size - 1 : number(field[(dash + 1)...])
      guard let last, first <= last, first < size else { return nil }
      return first..<min(last + 1, size)
    } ?? nil
  }

  /// A decimal number of at most 18 digits; `nil` for anything else.
  private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> Int? {
    guard (1...18).contains(digits.count), digits.allSatisfy(HTTPGrammar.isDigit) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  init(_ value: String, size: Int, limit: Int) {
    self = .whole
    guard let equals = value.firstIndex(of: "="), HTTPGrammar.trimmed(value[..<equals]).lowercased() == "bytes" else {
      return
    }
    let set = value[value.index(after: equals)...].split(separator: ",").map(HTTPGrammar.trimmed).filter { !$0.isEmpty }
    guard !set.isEmpty, set.count <= limit else { return }
    var parts: [Range<Int>] = []
    for text in set {
      guard let spec = Self.spec(text) else { return }
      switch spec {
      case .from(let first, let last) where first < size:
        parts.append(first..<(last < size - 1 ? last + 1 : size))
      case .suffix(let length) where length > 0 && size > 0: parts.append(max(0, size - length)..<size)
      default: continue
      }
    }
    if parts.isEmpty {
      self = .unsatisfiable
    } else if parts.reduce(0, { $0 + $1.count }) <= size {
      self = .parts(parts)
    }
  }

  private enum Spec {
    case from(Int, last: Int)
    case suffix(Int)
  }

  /// Parses an int-range or suffix-range (§14.1.2); `nil` for anything else. A position too large for Int is replaced
  /// by the largest Int.
  private static func spec(_ text: String) -> Spec? {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(HTTPGrammar.isDigit) }) else { return nil }
    if parts[0].isEmpty { return parts[1].isEmpty ? nil : .suffix(Int(parts[1]) ?? .max) }
    let first = Int(parts[0]) ?? .max
    let last = parts[1].isEmpty ? .max : Int(parts[1]) ?? .max
    return first <= last ? .from(first, last: last) : nil
  }

  /// Uses the strong comparison. A date is accepted only for a representation without an entity tag: two versions can
  /// have the same second, so a client that has an entity tag must use it (§13.1.5).
  private static func matches(_ condition: String, _ validators: Validators) -> Bool {
    if let tag = validators.entityTag { return condition == tag }
    guard let date = HTTPDate.seconds(condition), let modified = validators.lastModified else { return false }
    return date == modified
  }
}

extension HTTPResponse {
  /// Returns this response reduced to the ranges of the request. Only a 200 response to GET is reduced; all others are
  /// returned unchanged. The parts are copies, together no larger than the whole body, and keep its owner.
  ///
  /// - Parameters:
  ///   - validators: validators of this representation, for `If-Range`.
  ///   - limit: maximum number of ranges; a request with more gets the whole body.
  ///   - boundary: makes the boundary; called only for several ranges. See ``MultipartWriter``.
  ///   - unsatisfiable: makes the response if no range exists; `Content-Range` is added to it.
  package func applyingByteRanges(
    for head: RequestHead, validators: Validators, limit: Int, boundary: () -> String, unsatisfiable: () -> HTTPResponse
  ) -> HTTPResponse {
    guard self.head.status == .ok else { return self }
    switch ByteRanges(head, size: body.count, validators: validators, limit: limit) {
    case .whole: return self
    case .unsatisfiable:
      var answer = unsatisfiable()
      answer.head["Content-Range"] = "bytes */\(body.count)"
      return answer
    case .parts(let parts):
      var answer = HTTPResponse(206, self.head.fields, owner: owner)
      if parts.count == 1 {
        answer.head["Content-Range"] = contentRange(parts[0])
        answer.body = Array(body[parts[0]])
        return answer
      }
      let writer = MultipartWriter(boundary: boundary())
      let type = self.head["Content-Type"] ?? "application/octet-stream"
      answer.head["Content-Type"] = "multipart/byteranges; boundary=\(writer.boundary)"
      answer.body.reserveCapacity(parts.reduce(0) { $0 + $1.count + 200 })
      for (i, part) in parts.enumerated() {
        answer.body += i == 0 ? writer.opening : writer.delimiter
        answer.body += writer.partHead([("Content-Type", type), ("Content-Range", contentRange(part))])
        answer.body += body[part]
      }
      answer.body += writer.closing
      return answer
    }
  }

  private func contentRange(_ part: Range<Int>) -> String {
    "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(body.count)"
  }
}
