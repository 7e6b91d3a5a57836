/// What a `Range` field asks of a representation of a known size (RFC 9110 §14).
package enum ByteRanges: Sendable, Hashable {
  /// The whole: there is no such field, or it is to be ignored.
  case whole
  /// These parts, in the order in which they were asked for; never empty.
  case parts([Range<Int>])
  /// None of what was asked for is there: 416.
  case unsatisfiable

  /// Reads the field where it applies: to GET (§14.2), and if `If-Range` names this very representation (§13.1.5).
  ///
  /// A set of more ranges than `limit`, or of more bytes than there are, is answered whole: it saves nobody anything, and
  /// is how small requests are made into large answers (§14.2, §17.15).
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

  init(_ value: String, size: Int, limit: Int) {
    self = .whole
    guard let equals = value.firstIndex(of: "="), Text.trimmed(value[..<equals]).lowercased() == "bytes" else { return }
    let set = value[value.index(after: equals)...].split(separator: ",").map(Text.trimmed).filter { !$0.isEmpty }
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

  /// int-range or suffix-range (§14.1.2); `nil` for what is neither. Positions beyond all integers are beyond all bytes.
  private static func spec(_ text: String) -> Spec? {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(Text.isDigit) }) else { return nil }
    if parts[0].isEmpty { return parts[1].isEmpty ? nil : .suffix(Int(parts[1]) ?? .max) }
    let first = Int(parts[0]) ?? .max
    let last = parts[1].isEmpty ? .max : Int(parts[1]) ?? .max
    return first <= last ? .from(first, last: last) : nil
  }

  /// By the strong comparison. A date matches only where it is all there is: one second may see two representations, so a
  /// client that was given an entity tag has to use it (§13.1.5).
  private static func matches(_ condition: String, _ validators: Validators) -> Bool {
    if let tag = validators.entityTag { return condition == tag }
    guard let date = HTTPDate.seconds(condition), let modified = validators.lastModified else { return false }
    return date == modified
  }
}

extension HTTPResponse {
  /// This answer, cut down to what the request's `Range` asks for. Only a whole 200 to GET is cut; all else stays as it is.
  /// Parts are copies, of no more bytes than the whole in all, and have the whole's owner.
  ///
  /// - Parameters:
  ///   - validators: this representation's, for `If-Range`.
  ///   - limit: how many ranges are answered; more are answered whole.
  ///   - boundary: for several ranges; asked for only then. See ``MultipartWriter``.
  ///   - unsatisfiable: the answer where none of the ranges is there; `Content-Range` is added to it.
  package func ranged(
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
